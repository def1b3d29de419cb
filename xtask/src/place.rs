//! The folders of a temporary user: a home, a project, a folder for temporary files and a `bin` with the
//! program under test.
//!
//! No path may contain the name of the program. A client tells the model its working directory, and the case
//! `plain` asserts that the model never reads the name.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::process;

pub struct Place {
    pub root: PathBuf,
    pub model_url: String,
}

impl Place {
    /// Fills an empty folder and puts `program` on the path as `sprag`.
    pub fn furnish(root: &Path, program: &Path, model_url: String) -> anyhow::Result<Place> {
        ensure!(
            !root.to_string_lossy().contains("sprag"),
            "the path of the work folder `{}` contains `sprag`; set TMPDIR to another directory",
            root.display()
        );
        let place = Place { root: root.to_path_buf(), model_url };
        for folder in [place.home(), place.project(), place.tmp(), place.bin()] {
            fs::create_dir_all(folder)?;
        }
        // A copy, so that the program under test does not depend on files next to it.
        fs::copy(program, place.sprag()).with_context(|| format!("cannot copy `{}`", program.display()))?;
        // Login shells set PATH again, and Codex runs every command in one.
        let profile = format!("export PATH='{}':\"$PATH\"\n", place.bin().display());
        fs::write(place.home().join(".profile"), &profile)?;
        fs::write(place.home().join(".zprofile"), &profile)?;
        place.start_repository()?;
        Ok(place)
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    pub fn sprag(&self) -> PathBuf {
        self.bin().join("sprag")
    }

    /// Puts a small script on the path, in place of a program that needs a network or is not available.
    pub fn stand_in(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.bin().join(name);
        fs::write(&path, text)?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?)
    }

    /// Returns a command in the project with an empty environment. No key, setting or home of the caller can
    /// reach it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.project()).envs([
            ("PATH", self.path()),
            ("HOME", self.home().display().to_string()),
            ("TMPDIR", self.tmp().display().to_string()),
            ("SHELL", process::find("bash").unwrap_or_else(|| "/bin/sh".into()).display().to_string()),
        ]);
        command.envs([
            ("TERM", "dumb"),
            ("LANG", "C.UTF-8"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "e2e"),
            ("GIT_AUTHOR_EMAIL", "e2e@localhost"),
            ("GIT_COMMITTER_NAME", "e2e"),
            ("GIT_COMMITTER_EMAIL", "e2e@localhost"),
        ]);
        // The discard port receives all traffic that is not for the scripted model.
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env(name, "http://127.0.0.1:9");
        }
        command.envs([("no_proxy", "127.0.0.1,localhost"), ("NO_PROXY", "127.0.0.1,localhost")]);
        command
    }

    pub fn path(&self) -> String {
        let mut folders = vec![self.bin()];
        let programs = ["node", "git"].into_iter().filter_map(process::find);
        folders.extend(programs.filter_map(|program| program.parent().map(Path::to_path_buf)));
        folders.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        folders.join(":")
    }

    fn start_repository(&self) -> anyhow::Result<()> {
        fs::write(self.project().join("README.md"), "a project\n")?;
        self.git(&["init", "--quiet"])?;
        self.git(&["add", "README.md"])?;
        self.git(&["commit", "--quiet", "--message", "start"])?;
        Ok(())
    }

    /// Returns the differences from the one commit, one line each, with ignored files.
    pub fn changes(&self) -> anyhow::Result<Vec<String>> {
        let status = self.git(&["status", "--porcelain", "--ignored", "--untracked-files=all"])?;
        Ok(status.lines().map(str::to_owned).collect())
    }

    fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.command(Path::new("git")).args(arguments).output().context("cannot start `git`")?;
        ensure!(
            output.status.success(),
            "`git {}` failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
