//! The talk of a session as its client writes it down: the end of it, for what no event tells. A file
//! that is missing or odd says nothing.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use sprag_base::text::Text;
use sprag_govern::event::Input;
use sprag_trace::export;

use crate::clients::{self, Client};
use crate::sys::disk::open_regular;

/// One long answer of a tool, and what came after it.
const TAIL: u64 = 512 * 1024;

/// How a call went that the client has told nothing about. `None`: nobody knows.
pub(crate) fn went_well(input: &Input, call: &str) -> Option<bool> {
    let Client { settled, .. } = clients::find(&input.client)?;
    let settled = (*settled)?;
    let tail = tail(Path::new(input.transcript.as_deref()?))?;
    tail.lines().rev().filter(|line| line.contains(call)).find_map(|line| settled(line, call))
}

fn tail(path: &Path) -> Option<String> {
    last(path, TAIL)
}

fn last(path: &Path, size: u64) -> Option<String> {
    let mut file = open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(size))).ok()?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// As much as one answer of a model has.
const ANSWER: u64 = 64 * 1024;

/// Which model the session's agent is, as its client has written last.
pub(crate) fn model(input: &Input) -> Option<Text<250>> {
    let talk = last(Path::new(input.transcript.as_deref()?), ANSWER)?;
    let is_name = |name: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/@".contains(&byte);
        (1..=100).contains(&name.len()) && name.bytes().all(is_plain)
    };
    let names = talk.rsplit("\"model\":\"").filter_map(|rest| rest.split('"').next());
    let count = talk.matches("\"model\":\"").count();
    let name = names.take(count).find(is_name)?;
    Some(export::model_id(&input.client, name))
}
