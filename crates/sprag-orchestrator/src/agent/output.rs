//! Reads the output of an agent line by line, also while the supervisor rotates a full log file.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sprag_host::sys::disk;

use crate::session_dir::SessionDir;

/// Longer lines are returned in pieces.
const LINE: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

pub struct AgentOutput {
    tails: [(Stream, OutputTail); 2],
}

impl AgentOutput {
    /// Starts at the first line that is still stored.
    pub fn new(site: &SessionDir) -> AgentOutput {
        AgentOutput {
            tails: [(Stream::Out, OutputTail::new(site.out())), (Stream::Err, OutputTail::new(site.err()))],
        }
    }

    /// Passes all complete lines that are available now to `each`.
    pub fn read_lines(&mut self, mut each: impl FnMut(Stream, &str)) -> io::Result<()> {
        for (stream, tail) in &mut self.tails {
            tail.read_lines(&mut |line| each(*stream, line))?;
        }
        Ok(())
    }

    /// Reads the remaining lines and the last incomplete line.
    pub fn finish(mut self, mut each: impl FnMut(Stream, &str)) -> io::Result<()> {
        self.read_lines(&mut each)?;
        for (stream, tail) in &mut self.tails {
            if !tail.begun.is_empty() {
                each(*stream, &String::from_utf8_lossy(&tail.begun));
            }
        }
        Ok(())
    }
}

struct OutputTail {
    path: PathBuf,
    file: Option<File>,
    /// The start of a line that has no end yet.
    begun: Vec<u8>,
}

impl OutputTail {
    fn new(path: PathBuf) -> OutputTail {
        OutputTail { path, file: None, begun: Vec::new() }
    }

    fn read_lines(&mut self, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        if self.file.is_none() {
            let file = open(&self.path)?;
            // The rotated file is older than all that follows. If it was rotated just now, it is the file
            // that is open already.
            if let Some(old) = open(&self.path.with_extension("log.1"))?
                && file.as_ref().is_none_or(|file| !is_same(file, &old))
            {
                self.read(&old, each)?;
            }
            self.file = file;
        }
        loop {
            let Some(file) = self.file.take() else { return Ok(()) };
            self.read(&file, each)?;
            let is_there = fs::metadata(&self.path)
                .is_ok_and(|now| file.metadata().is_ok_and(|ours| ours.ino() == now.ino()));
            let next = if is_there { None } else { open(&self.path)? };
            let is_done = next.is_none();
            self.file = next.or(Some(file));
            if is_done {
                return Ok(());
            }
        }
    }

    fn read(&mut self, mut file: &File, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        let mut buffer = vec![0; LINE];
        loop {
            let count = match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for piece in buffer[..count].split_inclusive(|&byte| byte == b'\n') {
                self.begun.extend_from_slice(piece);
                if let Some(line) = self.begun.strip_suffix(b"\n") {
                    each(&String::from_utf8_lossy(line));
                    self.begun.clear();
                } else if self.begun.len() >= LINE {
                    each(&String::from_utf8_lossy(&self.begun));
                    self.begun.clear();
                }
            }
        }
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match disk::open_regular(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_same(one: &File, other: &File) -> bool {
    let file = |file: &File| file.metadata().map(|about| (about.dev(), about.ino())).ok();
    file(one) == file(other)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn told(printed: &mut AgentOutput) -> Vec<String> {
        let mut lines = Vec::new();
        printed.read_lines(|stream, line| lines.push(format!("{stream:?} {line}"))).unwrap();
        lines
    }

    #[test]
    fn lines_are_told_once_and_whole_also_when_the_file_is_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        let site = SessionDir::at(dir.path());
        let mut printed = AgentOutput::new(&site);
        assert_eq!(told(&mut printed), [""; 0]);
        let append = |path: &Path, text: &str| {
            let mut file = File::options().create(true).append(true).open(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        append(&site.out(), "one\ntw");
        append(&site.err(), "bad\n");
        assert_eq!(told(&mut printed), ["Out one", "Err bad"]);
        append(&site.out(), "o\n");
        fs::rename(site.out(), site.out().with_extension("log.1")).unwrap();
        append(&site.out(), "three\nlast");
        assert_eq!(told(&mut printed), ["Out two", "Out three"]);
        assert_eq!(told(&mut printed), [""; 0]);
        let mut rest = Vec::new();
        printed.finish(|_, line| rest.push(line.to_owned())).unwrap();
        assert_eq!(rest, ["last"]);
        assert_eq!(
            told(&mut AgentOutput::new(&site)),
            ["Out one", "Out two", "Out three", "Err bad"],
            "a later reader gets both files"
        );
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let dir = tempfile::tempdir().unwrap();
        let site = SessionDir::at(dir.path());
        fs::write(site.out(), vec![b'x'; 10 * LINE + 5]).unwrap();
        let mut lengths = Vec::new();
        AgentOutput::new(&site).finish(|_, line| lengths.push(line.len())).unwrap();
        assert!(lengths.iter().all(|&length| length <= 2 * LINE));
        assert_eq!(lengths.iter().sum::<usize>(), 10 * LINE + 5);
    }
}
