//! Access to the operating system: files, environment, processes, and YAML.

pub mod disk;
pub mod env;
pub mod exec;
pub(crate) mod hook_caller;
pub mod human;
pub(crate) mod links;
pub mod locations;
pub(crate) mod mmap;
pub mod processes;
pub mod yaml;
