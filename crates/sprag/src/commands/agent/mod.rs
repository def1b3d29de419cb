//! Commands that agents run.

pub(crate) mod answer;
pub(crate) mod decide;
pub(crate) mod decision;
pub(crate) mod handoff;
pub(crate) mod lesson;
pub(crate) mod note;
pub(crate) mod observe;
pub(crate) mod question;
pub(crate) mod refer;
pub(crate) mod reflect;
pub(crate) mod skip;
