//! Stores the output of an agent. The supervisor reads all of it even if the disk is full, so that the agent
//! never blocks. Only the last part is stored.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout};

use rustix::event::{PollFd, PollFlags};

use sprag_base::result::Discard as _;
use sprag_host::sys::disk;

use crate::session_dir::SessionDir;

/// Maximum size of a log file. Each stream has one current and one rotated file.
const CAP: u64 = 8 * 1024 * 1024;

pub(crate) struct Streams {
    out: Option<(ChildStdout, OutputFile)>,
    err: Option<(ChildStderr, OutputFile)>,
}

impl Streams {
    pub(super) fn new(child: &mut Child, site: &SessionDir) -> Streams {
        let not_waiting = |pipe: &dyn std::os::fd::AsFd| {
            rustix::io::ioctl_fionbio(pipe.as_fd(), true)
                .discard("a blocking pipe is read only when it has data");
        };
        let out = child.stdout.take().inspect(|pipe| not_waiting(pipe));
        let err = child.stderr.take().inspect(|pipe| not_waiting(pipe));
        Streams {
            out: out.map(|pipe| (pipe, OutputFile::at(site.out()))),
            err: err.map(|pipe| (pipe, OutputFile::at(site.err()))),
        }
    }

    pub(super) fn watched(&self) -> Vec<PollFd<'_>> {
        let out = self.out.iter().map(|(pipe, _)| PollFd::new(pipe, PollFlags::IN));
        out.chain(self.err.iter().map(|(pipe, _)| PollFd::new(pipe, PollFlags::IN))).collect()
    }

    /// Reads all available output and passes stdout to `said`.
    pub(super) fn read_available(&mut self, mut said: impl FnMut(&[u8])) {
        drain(&mut self.out, &mut said);
        drain(&mut self.err, &mut |_| {});
    }
}

fn drain<Pipe: io::Read>(stream: &mut Option<(Pipe, OutputFile)>, said: &mut dyn FnMut(&[u8])) {
    let mut buffer = [0; 64 * 1024];
    while let Some((pipe, log)) = stream {
        match pipe.read(&mut buffer) {
            Ok(0) => *stream = None,
            Ok(count) => {
                log.write(&buffer[..count]);
                said(&buffer[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => *stream = None,
        }
    }
}

struct OutputFile {
    path: PathBuf,
    file: Option<File>,
    size: u64,
}

impl OutputFile {
    fn at(path: PathBuf) -> OutputFile {
        OutputFile { path, file: None, size: 0 }
    }

    /// Appends bytes to the log file. Errors are ignored: a full disk loses output and nothing else.
    fn write(&mut self, bytes: &[u8]) {
        if self.size > CAP {
            self.file = None;
            fs::rename(&self.path, self.path.with_extension("log.1"))
                .discard("a log that is not rotated only grows");
        }
        if self.file.is_none() {
            let opened = disk::append_regular(&self.path);
            self.size =
                opened.as_ref().ok().and_then(|file| file.metadata().ok()).map_or(0, |found| found.len());
            self.file = opened.ok();
        }
        if let Some(file) = &mut self.file {
            file.write_all(bytes).discard("a full disk loses only log output");
            self.size += bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_long_talk_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = OutputFile::at(dir.path().join("out.log"));
        let chunk = vec![b'x'; 1024 * 1024];
        (0..40).for_each(|_| log.write(&chunk));
        log.write(b"the end");
        let kept = |name: &str| fs::read(dir.path().join(name)).unwrap();
        assert!(kept("out.log").ends_with(b"the end"));
        assert!(kept("out.log").len() + kept("out.log.1").len() <= 2 * (CAP as usize + chunk.len()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
