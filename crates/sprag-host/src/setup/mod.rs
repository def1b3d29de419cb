pub mod doctor;
pub mod install;
mod sandbox_doctor;
