//! Merging: the queue of finished work, and the proof that a commit was merged. Only this module makes a
//! `MergedCommit`.

pub mod merge_failure;
pub(crate) mod merged_commit;
pub mod queue;
