//! Messages about files that other writers changed.

use sprag_base::text::{quoted, shell_word};

use super::facts::{EditFit, FileFacts, FileWriter, WriteReport};
use super::read_set::Coverage;
use crate::event::Input;
use crate::reason::Reason;

/// Returns the refusal for a file that changed since the session read it.
pub(crate) fn stale(file: &FileFacts, input: &Input) -> Reason {
    let by = match &file.author {
        Some(author) => format!("{} wrote it at {}", name(author, input), time(author)),
        None => match &file.other {
            Some(other) => {
                format!(
                    "an unknown process wrote it (last known writer: {} at {})",
                    name(other, input),
                    time(other)
                )
            }
            None => "an unknown process wrote it".to_owned(),
        },
    };
    let hunk = file.hunk.as_ref().map_or(String::new(), |hunk| format!("; {hunk}"));
    Reason::new(
        "stale_file",
        format!("`{}` changed since this session read it: {by}{hunk}", quoted(&file.touch.named)),
        again(file),
    )
}

/// Returns the refusal for a file that another writer changed and the session has not read in full.
pub(crate) fn unseen(file: &FileFacts, input: &Input) -> Reason {
    let by = file.other.as_ref().map_or("another session wrote it".to_owned(), |other| {
        format!("{} wrote it at {}", name(other, input), time(other))
    });
    Reason::new(
        "stale_file",
        format!("`{}` has changes that this session has not read: {by}", quoted(&file.touch.named)),
        again(file),
    )
}

pub(crate) fn unread(file: &FileFacts, coverage: Option<Coverage>) -> Reason {
    let seen = if coverage.is_some() { "has read only a part of it" } else { "has not read it" };
    Reason::new(
        "unread_file",
        format!("this call overwrites `{}`, but this session {seen}", quoted(&file.touch.named)),
        format!(
            "read the whole file with your reading tool or `cat {}`, then retry; or edit only parts of it",
            path(file)
        ),
    )
}

pub(crate) fn in_progress(file: &FileFacts, by: &FileWriter, seconds: i64, input: &Input) -> Reason {
    Reason::new(
        "write_in_progress",
        format!("{} is writing `{}` now", name(by, input), quoted(&file.touch.named)),
        format!("wait {seconds} s, read `{}` again, then retry", quoted(&file.touch.named)),
    )
}

pub(crate) fn busy(file: &FileFacts) -> Reason {
    Reason::new(
        "write_in_progress",
        format!(
            "cannot check whether another agent is writing `{}`: too many agents write at once",
            quoted(&file.touch.named)
        ),
        "wait a few seconds, then retry",
    )
}

pub(crate) fn odd(file: &FileFacts) -> Reason {
    Reason::new(
        "not_a_file",
        format!("`{}` is a pipe, a device or a socket, not a regular file", quoted(&file.touch.named)),
        "name a regular file",
    )
}

pub(crate) fn gone(file: &FileFacts) -> String {
    format!(
        "`{}` was removed since this session read it; this call creates it again",
        quoted(&file.touch.named)
    )
}

pub(crate) fn elsewhere(file: &FileFacts, who: &FileWriter, root: &str) -> String {
    format!(
        "`{}` also changed in worktree `{}` (session `{}` at {}); a later merge must combine both changes",
        quoted(&file.touch.named),
        quoted(root),
        quoted(who.session.as_str()),
        time(who),
    )
}

pub(crate) fn lost(file: &FileFacts) -> String {
    let named = quoted(&file.touch.named);
    match &file.wrote {
        Some(WriteReport { fit: EditFit::Unplanned { kept: Some([planned, found]) }, .. }) => format!(
            "lost_update: another process wrote or reformatted `{named}` \
             (planned text: `{}`, found text: `{}`); next: read `{named}` again and restore lost changes",
            quoted(planned),
            quoted(found),
        ),
        Some(WriteReport { fit: EditFit::Shared { kept: Some(theirs) }, .. }) => format!(
            "lost_update: another agent wrote `{named}` during this call; its version is in `{}`; \
             next: read both versions and restore lost changes",
            quoted(theirs),
        ),
        _ => format!(
            "lost_update: another agent may have written `{named}` during this call; \
             next: read the file again and restore lost changes"
        ),
    }
}

fn again(file: &FileFacts) -> String {
    format!("read it again, with your reading tool or `cat {}`, then repeat the change", path(file))
}

fn path(file: &FileFacts) -> String {
    shell_word(&file.touch.named)
}

fn name(who: &FileWriter, input: &Input) -> String {
    match (&who.agent, who.session == input.session) {
        (Some(agent), true) => format!("agent `{}` of this session", quoted(agent.as_str())),
        (None, true) => "the main agent of this session".to_owned(),
        (_, false) => format!("session `{}`", quoted(who.session.as_str())),
    }
}

/// Returns only the time of day, because the write is recent.
fn time(who: &FileWriter) -> String {
    let at = who.at.to_string();
    at.get(11..19).unwrap_or(&at).to_owned()
}
