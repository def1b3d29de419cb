//! Reads the state of a file: text, binary, link or absent. It reads once and within limits, and opens only
//! regular files.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use sprag_base::sha256::Sha256Sum;
use sprag_trace::{FileForm, TracedFile, blocks};

use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;

/// Most bytes of text; larger files are known by their hash only.
pub(crate) const TEXT_BYTES: u64 = 8 * 1024 * 1024;
/// Most bytes that are hashed; larger files are known by size and time.
const HASHED_BYTES: u64 = 256 * 1024 * 1024;

/// State of a file at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileContent {
    Absent,
    Here { form: FileForm, sum: Sha256Sum, bytes: Vec<u8> },
}

impl FileContent {
    pub(super) fn of_bytes(bytes: Vec<u8>) -> FileContent {
        let form = if blocks::is_binary(&bytes) { FileForm::Binary } else { FileForm::Text };
        FileContent::Here { form, sum: Sha256Sum::hash_bytes(&bytes), bytes }
    }

    /// Reads a file. `None`: the path is not a file, or is unreadable.
    pub(super) fn read(path: &Path) -> Option<FileContent> {
        let Ok(found) = fs::symlink_metadata(path) else {
            return Some(FileContent::Absent);
        };
        if found.is_symlink() {
            let target = fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec();
            return Some(FileContent::Here {
                form: FileForm::Link,
                sum: Sha256Sum::hash_bytes(&target),
                bytes: target,
            });
        }
        if !found.is_file() {
            return None;
        }
        if found.len() <= TEXT_BYTES {
            let bytes = read_capped(open_regular(path).ok()?, TEXT_BYTES + 1).ok()?;
            if bytes.len() as u64 <= TEXT_BYTES {
                return Some(FileContent::of_bytes(bytes));
            }
        }
        let stamp = format!("{} {} {}", found.len(), found.mtime(), found.mtime_nsec());
        let sum =
            if found.len() <= HASHED_BYTES { hashed(path)? } else { Sha256Sum::hash_bytes(stamp.as_bytes()) };
        Some(FileContent::Here { form: FileForm::Large, sum, bytes: Vec::new() })
    }

    pub(super) fn sum(&self) -> Option<Sha256Sum> {
        match self {
            FileContent::Absent => None,
            FileContent::Here { sum, .. } => Some(*sum),
        }
    }

    /// Returns the bytes of a text file.
    pub(super) fn text(&self) -> Option<&[u8]> {
        match self {
            FileContent::Here { form: FileForm::Text, bytes, .. } => Some(bytes),
            FileContent::Absent | FileContent::Here { .. } => None,
        }
    }

    /// Returns the bytes that were read. `None`: the file is absent, a link or too large.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            FileContent::Here { form: FileForm::Text | FileForm::Binary, bytes, .. } => Some(bytes),
            FileContent::Absent | FileContent::Here { .. } => None,
        }
    }

    fn form(&self) -> FileForm {
        match self {
            FileContent::Absent => FileForm::Text,
            FileContent::Here { form, .. } => *form,
        }
    }
}

fn hashed(path: &Path) -> Option<Sha256Sum> {
    let mut file = open_regular(path).ok()?.take(HASHED_BYTES);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => break,
            count => hash.update(&buffer[..count]),
        }
    }
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Sha256Sum::parse(&format!("sha256:{digits}"))
}

/// Returns the change of a file, and whether the list of lines was cut. `None`: unchanged.
pub(crate) fn change(path: &str, before: &FileContent, after: &FileContent) -> Option<(TracedFile, bool)> {
    if before.sum() == after.sum() && before.form() == after.form() {
        return None;
    }
    let mut file = TracedFile {
        path: path.to_owned(),
        before: before.sum(),
        after: after.sum(),
        form: if *after == FileContent::Absent { before.form() } else { after.form() },
        ..TracedFile::default()
    };
    let lines = |state: &FileContent| match state {
        FileContent::Absent => Some(Vec::new()),
        state => state.text().map(<[u8]>::to_vec),
    };
    if let (Some(old), Some(new)) = (lines(before), lines(after)) {
        let found = blocks::between(&old, &new);
        file.ranges = found.ranges;
        file.deleted = found.deleted;
        return Some((file, found.is_cut));
    }
    // A file without lines is one block of all its bytes.
    let block =
        |sum: Sha256Sum| sprag_trace::LineRange { start: 1, end: 1, content_hash: sum, contributor: None };
    file.deleted.extend(before.sum().map(block));
    file.ranges.extend(after.sum().map(block));
    Some((file, false))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn whatever_it_is_it_has_a_state() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("text"), "a\nb\n").unwrap();
        fs::write(at("binary"), b"a\0b").unwrap();
        fs::write(at("odd"), b"a\xff\nb\n").unwrap();
        symlink("/nowhere", at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        let form = |name: &str| FileContent::read(&at(name)).map(|state| state.form());
        assert_eq!(FileContent::read(&at("none")), Some(FileContent::Absent));
        assert_eq!(form("text"), Some(FileForm::Text));
        assert_eq!(form("odd"), Some(FileForm::Text));
        assert_eq!(form("binary"), Some(FileForm::Binary));
        assert_eq!(form("link"), Some(FileForm::Link));
        assert_eq!(form("pipe"), None);
        assert_eq!(form(""), None);
        let (file, _) =
            change("x", &FileContent::Absent, &FileContent::read(&at("binary")).unwrap()).unwrap();
        assert_eq!((file.ranges.len(), file.ranges[0].content_hash), (1, Sha256Sum::hash_bytes(b"a\0b")));
        assert_eq!(change("x", &FileContent::Absent, &FileContent::Absent), None);
        let (file, _) = change("x", &FileContent::read(&at("odd")).unwrap(), &FileContent::Absent).unwrap();
        assert_eq!((file.after, file.deleted[0].end), (None, 2));
    }
}
