//! Set-up: init, doctor, demo.

pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod init;
