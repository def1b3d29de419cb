//! Reads the end of a session's transcript for facts that no event contains. A missing or malformed file
//! contains no facts.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use sprag_base::text::Text;
use sprag_govern::event::Input;
use sprag_trace::export;

use crate::clients::{self, Client};
use crate::sys::disk::open_regular;

/// Enough for one long answer of a tool and the lines after it.
const TAIL: u64 = 512 * 1024;

/// Reports whether a call succeeded if no event contained its outcome. `None` if unknown.
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

/// Enough for one answer of a model.
const ANSWER: u64 = 64 * 1024;

/// Returns the model of the session's agent, by the last transcript line that names one.
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
