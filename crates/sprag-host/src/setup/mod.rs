pub mod doctor;
pub mod install;
pub mod sandbox_doctor;
