//! Follows the transcript that a client writes. It has facts that the client does not print, and in a
//! terminal the client prints nothing that Sprag can read.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sprag_base::result::Discard as _;
use sprag_host::sys::disk;

use crate::session_dir::limits::TranscriptDir;

/// Maximum number of folders above a transcript: clients sort transcripts by day or by project.
const DEPTH: usize = 4;
/// Maximum number of directory entries per search.
const ENTRIES: usize = 20_000;
/// Bytes per read; the next read takes the rest.
const CHUNK: u64 = 8 * 1024 * 1024;

pub(crate) struct TranscriptTail {
    talk: TranscriptDir,
    file: Option<PathBuf>,
    read: u64,
}

impl TranscriptTail {
    pub(super) fn new(talk: TranscriptDir) -> TranscriptTail {
        TranscriptTail { talk, file: None, read: 0 }
    }

    /// Passes the new bytes of the transcript to `with` once the session is known. An unreadable transcript
    /// yields nothing.
    pub(super) fn read_new(&mut self, session: Option<&str>, mut with: impl FnMut(&[u8])) {
        if self.file.is_none() {
            let session = self.talk.session.as_deref().or(session);
            // The id becomes part of a file name, and a client may send anything.
            let is_plain = |id: &&str| {
                id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            let Some(session) = session.filter(is_plain) else { return };
            self.file = find(&self.talk.dir, &format!("{session}.jsonl"));
        }
        let Some(path) = &self.file else { return };
        let bytes = since(path, self.read);
        if !bytes.is_empty() {
            self.read += bytes.len() as u64;
            with(&bytes);
        }
    }
}

pub(crate) fn since(path: &Path, from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let open = || -> std::io::Result<File> {
        let mut file = disk::open_regular(path)?;
        file.seek(SeekFrom::Start(from))?;
        Ok(file)
    };
    if let Ok(file) = open() {
        file.take(CHUNK)
            .read_to_end(&mut bytes)
            .discard("the bytes before the error count; the next read continues there");
    }
    bytes
}

/// Finds a file by the end of its name. Searches the newest folders first, since folder names sort by date.
fn find(dir: &Path, ending: &str) -> Option<PathBuf> {
    let mut open = vec![(dir.to_owned(), 0)];
    let mut left = ENTRIES;
    while let Some((dir, depth)) = open.pop() {
        let mut folders = Vec::new();
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEPTH => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && entry.file_name().to_string_lossy().ends_with(ending) => {
                    return Some(entry.path());
                }
                _ => {}
            }
        }
        folders.sort_unstable();
        open.extend(folders.into_iter().map(|folder| (folder, depth + 1)));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_talk_is_found_by_its_session_and_followed() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("2026/11/16");
        fs::create_dir_all(&place).unwrap();
        fs::create_dir_all(dir.path().join("2025/01/01")).unwrap();
        let mut tail = TranscriptTail::new(TranscriptDir { dir: dir.path().to_owned(), session: None });
        let mut heard = Vec::new();
        tail.read_new(Some("0123-abcd"), |bytes| heard.extend_from_slice(bytes));
        fs::write(place.join("rollout-ffff-0000.jsonl"), "another\n").unwrap();
        let path = place.join("rollout-0123-abcd.jsonl");
        fs::write(&path, "one\n").unwrap();
        tail.read_new(None, |bytes| heard.extend_from_slice(bytes));
        tail.read_new(Some("../../etc"), |bytes| heard.extend_from_slice(bytes));
        assert_eq!(heard, b"");
        tail.read_new(Some("0123-abcd"), |bytes| heard.extend_from_slice(bytes));
        File::options().append(true).open(&path).unwrap().write_all(b"two\n").unwrap();
        tail.read_new(None, |bytes| heard.extend_from_slice(bytes));
        assert_eq!(heard, b"one\ntwo\n");
    }
}
