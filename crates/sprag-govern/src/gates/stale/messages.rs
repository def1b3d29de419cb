//! What is said about files that somebody else wrote.

use sprag_base::text::{quoted, shell_word};

use super::facts::{EditFit, FileFacts, FileWriter, WriteReport};
use super::read_set::Coverage;
use crate::event::Input;
use crate::reason::Reason;

/// The file is not as the session saw it.
pub(crate) fn stale(file: &FileFacts, input: &Input) -> Reason {
    let by = match &file.author {
        Some(author) => format!("{} wrote it at {}", name(author, input), time(author)),
        None => match &file.other {
            Some(other) => {
                format!(
                    "it was changed since, last as far as known by {} at {}",
                    name(other, input),
                    time(other)
                )
            }
            None => "it was changed since, by no session that is known".to_owned(),
        },
    };
    let hunk = file.hunk.as_ref().map_or(String::new(), |hunk| format!("; {hunk}"));
    Reason::new(
        "stale_file",
        format!("`{}` is not as this session saw it: {by}{hunk}", quoted(&file.touch.named)),
        again(file),
    )
}

/// Somebody else just wrote the file, and the session has not seen all of it.
pub(crate) fn unseen(file: &FileFacts, input: &Input) -> Reason {
    let by = file.other.as_ref().map_or("somebody else".to_owned(), |other| {
        format!("{} wrote it at {}", name(other, input), time(other))
    });
    Reason::new(
        "stale_file",
        format!("`{}` has work in it that this session has not seen: {by}", quoted(&file.touch.named)),
        again(file),
    )
}

pub(crate) fn unread(file: &FileFacts, coverage: Option<Coverage>) -> Reason {
    let seen = if coverage.is_some() { "only a part of it was read" } else { "it was not read" };
    Reason::new(
        "unread_file",
        format!("`{}` would be overwritten, and {seen} in this session", quoted(&file.touch.named)),
        format!(
            "read all of it first, with your reading tool or `cat {}`; or change parts of it by their text",
            path(file)
        ),
    )
}

pub(crate) fn in_progress(file: &FileFacts, by: &FileWriter, seconds: i64, input: &Input) -> Reason {
    Reason::new(
        "write_in_progress",
        format!("`{}` is just being written by {}", quoted(&file.touch.named), name(by, input)),
        format!("read `{}` again and retry in {seconds} s", quoted(&file.touch.named)),
    )
}

pub(crate) fn busy(file: &FileFacts) -> Reason {
    Reason::new(
        "write_in_progress",
        format!("others are writing, and who has `{}` cannot be told", quoted(&file.touch.named)),
        "retry in a moment",
    )
}

pub(crate) fn odd(file: &FileFacts) -> Reason {
    Reason::new(
        "not_a_file",
        format!("`{}` is a pipe, a device or a socket, and no file", quoted(&file.touch.named)),
        "name a regular file",
    )
}

pub(crate) fn gone(file: &FileFacts) -> String {
    format!("`{}` was removed since this session saw it; it will be made anew", quoted(&file.touch.named))
}

pub(crate) fn elsewhere(file: &FileFacts, who: &FileWriter, root: &str) -> String {
    format!(
        "`{}` is also changed in the worktree `{}`, by session `{}` at {}: the two have to be merged",
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
            "lost_update: `{named}` is not what this call was to make of it: somebody else wrote it at the same \
             time, or something reformatted it. What it was to be is kept in `{}`, what it was found to be in \
             `{}`; next: read `{named}` again and see that nothing is missing",
            quoted(planned),
            quoted(found),
        ),
        Some(WriteReport { fit: EditFit::Shared { kept: Some(theirs) }, .. }) => format!(
            "lost_update: this call took so long that somebody else wrote `{named}` before it; what they wrote is \
             kept in `{}`; next: read both and see that nothing is missing",
            quoted(theirs),
        ),
        _ => format!(
            "lost_update: somebody else had `{named}` while this call wrote it; next: read it again and see that \
             nothing is missing"
        ),
    }
}

fn again(file: &FileFacts) -> String {
    format!(
        "read it again, with your reading tool or `cat {}`, and make the change on what is there now",
        path(file)
    )
}

fn path(file: &FileFacts) -> String {
    shell_word(&file.touch.named)
}

fn name(who: &FileWriter, input: &Input) -> String {
    match (&who.agent, who.session == input.session) {
        (Some(agent), true) => format!("agent `{}` of this session", quoted(agent.as_str())),
        (None, true) => "this session's own agent".to_owned(),
        (_, false) => format!("session `{}`", quoted(who.session.as_str())),
    }
}

/// The time of day is enough: it was a moment ago.
fn time(who: &FileWriter) -> String {
    let at = who.at.to_string();
    at.get(11..19).unwrap_or(&at).to_owned()
}
