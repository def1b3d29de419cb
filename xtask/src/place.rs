//! The folders of one throwaway user: a home, a project, a place for temporary files and a `bin`
//! with the program under test.
//!
//! Nothing in these paths may contain the program's name: a client tells the model where it works,
//! and `plain` asserts that the model hears of us nowhere.

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
    /// Fills an empty folder; `program` is put on the path as `sprag`.
    pub fn furnish(root: &Path, program: &Path, model_url: String) -> anyhow::Result<Place> {
        ensure!(
            !root.to_string_lossy().contains("sprag"),
            "the work folder `{}` names the product; point TMPDIR elsewhere",
            root.display()
        );
        let place = Place { root: root.to_path_buf(), model_url };
        for folder in [place.home(), place.project(), place.tmp(), place.bin()] {
            fs::create_dir_all(folder)?;
        }
        // A copy: the program under test must not depend on what lies next to it.
        fs::copy(program, place.sprag()).with_context(|| format!("cannot copy `{}`", program.display()))?;
        // Login shells set PATH anew, and Codex runs every command in one.
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

    /// Puts a small script on the path, in place of a program that needs a network or cannot be had.
    pub fn stand_in(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.bin().join(name);
        fs::write(&path, text)?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?)
    }

    /// A command in the project, with an environment made from nothing: no key, no setting and no
    /// home of the person who runs this can reach it.
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
        // The discard port: whatever is not meant for the scripted model ends there.
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

    /// What differs from the one commit, one line each, ignored files too.
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
