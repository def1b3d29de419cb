//! A temporary repository for each test of this crate and of crates above it.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::in_own_repository;

pub struct Scratch(TempDir);

impl Scratch {
    #[expect(clippy::new_without_default, reason = "it makes a repository on disk, which no default does")]
    pub fn new() -> Scratch {
        let scratch = Scratch(tempfile::tempdir().expect("a test has a place for its files"));
        scratch.run(&["init", "-q", "-b", "main"]);
        scratch
    }

    pub fn dir(&self) -> &Path {
        self.0.path()
    }

    pub fn run(&self, args: &[&str]) -> String {
        self.run_in(self.dir(), args)
    }

    pub fn run_in(&self, dir: &Path, args: &[&str]) -> String {
        let ran = in_own_repository(dir, args).expect("git can be started");
        assert!(ran.succeeded(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim_end().to_owned()
    }

    /// Writes a file and commits it. Returns the name of the commit.
    pub fn commit(&self, path: &str, text: &str) -> String {
        fs::write(self.dir().join(path), text).expect("the folder is the test's own");
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "--allow-empty", "-m", path]);
        self.run(&["rev-parse", "HEAD"])
    }
}
