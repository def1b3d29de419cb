//! Sessions, debts, approvals and verification.

pub(crate) mod approve;
pub(crate) mod debt;
pub(crate) mod explain;
pub(crate) mod list;
pub(crate) mod records;
pub(crate) mod verify;
