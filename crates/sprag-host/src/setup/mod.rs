//! Installation and doctor.

pub mod doctor;
pub mod install;
