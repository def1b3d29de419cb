//! Runs the checks of a stage in a worktree that holds one commit and nothing else. A pass counts for its
//! tree and is cached; a failed check always runs again.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_base::digest::Digest;
use sprag_base::glob::CaseFolding;
use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_host::checks;
use sprag_host::git::refs::GitError;
use sprag_host::git::{self, worktree_guard};
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::exec::ProcessEnd;
use sprag_plan::accept::stub::stub;
use sprag_plan::accept::{self, Artifact, CheckKind, CommandEndStatus, CommandOutput, FailedCheck};
use sprag_plan::ids::StageId;
use sprag_plan::spec::SandboxSettings;
use sprag_plan::spec::checks::{CheckCache, CheckSandbox, DeadCode, StageCheck, StageChecks};
use sprag_plan::spec::values::{FileGlob, RelPath, Seconds, ShellLine};

use crate::sandbox::sandboxed_runner::{SandboxedCommand, SandboxedRunner};

/// Maximum bytes of each output stream of a command.
const OUTPUT: usize = 10 * 1024 * 1024;
/// Larger files are not hand-written source.
const FILE: u64 = 10 * 1024 * 1024;

/// The place and the settings of a check.
pub(crate) struct CheckLocation<'a> {
    /// The worktree with the commit.
    pub worktree: &'a Path,
    pub working_dir: &'a RelPath,
    /// The user's checkout.
    pub root: &'a Path,
    pub stage: &'a StageId,
    /// The tree of the commit.
    pub tree: &'a str,
    /// The folder of cached passes.
    pub passes: &'a Path,
    pub path: &'a OsStr,
    pub disk: &'a dyn Disk,
    /// Runs the commands.
    pub behind: &'a SandboxedRunner<'a>,
    /// Part of the cache key: a pass in one sandbox proves nothing about another.
    pub sandbox: &'a SandboxSettings,
}

/// Runs all checks and returns the failed ones.
pub(crate) fn verify(place: &CheckLocation<'_>, wanted: &StageChecks) -> Vec<FailedCheck> {
    let mut red = all(place, wanted);
    red.extend(changed(place));
    red
}

/// Runs all checks, except the search for files that the checks changed.
pub(crate) fn all(place: &CheckLocation<'_>, wanted: &StageChecks) -> Vec<FailedCheck> {
    let mut red = Vec::new();
    red.extend(commands(place, CheckKind::Acceptance, &wanted.acceptance));
    red.extend(commands(place, CheckKind::AfterStage, &wanted.after_stage));
    // A command may have changed where git looks; git would obey that from here on.
    if let Err(GitError(why)) = place.proved() {
        red.push(of_commit(why));
        return red;
    }
    red.extend(artifacts(place, &wanted.artifacts));
    for wiring in &wanted.wiring {
        red.extend(accept::wiring(wiring, place.text(&wiring.source).as_deref()));
    }
    red.extend(commands(place, CheckKind::WiringTest, &wanted.wiring_tests));
    red.extend(commands(place, CheckKind::Truth, &wanted.truths));
    red.extend(wanted.dead_code_check.iter().filter_map(|check| dead_code(place, check)));
    if let Some(test) = &wanted.regression_test {
        red.extend(accept::regression(test, place.text(&test.file).as_deref()));
    }
    red
}

/// Returns a failure if the checks changed the commit: then they prove nothing about it.
pub(crate) fn changed(place: &CheckLocation<'_>) -> Option<FailedCheck> {
    if let Err(GitError(why)) = place.proved() {
        return Some(of_commit(why));
    }
    let paths = git::changed_tracked_paths(place.worktree);
    Some(of_commit(match &paths {
        Some(paths) => format!("a check changed `{}`", paths.first()?),
        None => "git cannot list the changes of the checks".to_owned(),
    }))
}

/// Runs the commands of one kind, each of them even if an earlier one failed.
pub(crate) fn commands(
    place: &CheckLocation<'_>,
    what: CheckKind,
    wanted: &[StageCheck],
) -> Vec<FailedCheck> {
    wanted.iter().filter_map(|check| command(place, what, check)).collect()
}

fn command(place: &CheckLocation<'_>, what: CheckKind, check: &StageCheck) -> Option<FailedCheck> {
    let pass = (check.cache == CheckCache::ByTree).then(|| place.pass(&check.digest()));
    if pass.as_ref().is_some_and(|pass| place.is_kept(pass)) {
        return None;
    }
    let red = accept::command(what, check, &place.run_command(&check.command, check.timeout, check.walls));
    if let (None, Some(pass)) = (&red, pass) {
        place.keep(&pass).discard("a pass that is not cached only costs time");
    }
    red
}

fn dead_code(place: &CheckLocation<'_>, check: &DeadCode) -> Option<FailedCheck> {
    accept::dead_code(check, &place.run_command(&check.command, check.timeout, CheckSandbox::Up))
}

fn artifacts(place: &CheckLocation<'_>, globs: &[FileGlob]) -> Vec<FailedCheck> {
    if globs.is_empty() {
        return Vec::new();
    }
    // Untracked files are not part of the commit.
    let paths = git::tracked_paths(place.worktree).unwrap_or_default();
    globs
        .iter()
        .filter_map(|glob| Some(accept::artifact(glob.as_str(), &lacking(place, glob, &paths)?)))
        .collect()
}

fn lacking(place: &CheckLocation<'_>, glob: &FileGlob, paths: &[String]) -> Option<Artifact> {
    let pattern = glob.glob();
    let mut found = paths.iter().filter(|path| pattern.fits(path, CaseFolding::Exact)).peekable();
    if found.peek().is_none() {
        return Some(Artifact::Missing);
    }
    found.find_map(|path| {
        // An unreadable file counts as empty.
        let Ok(text) = read(&place.worktree.join(path)) else {
            return Some(Artifact::Empty { path: path.clone() });
        };
        if text.trim().is_empty() {
            return Some(Artifact::Empty { path: path.clone() });
        }
        Some(Artifact::Stub { path: path.clone(), stub: stub(path, &text)? })
    })
}

impl CheckLocation<'_> {
    fn run_command(&self, command: &ShellLine, timeout: Seconds, walls: CheckSandbox) -> CommandOutput {
        let (worktree, root) = (self.worktree.as_os_str(), self.root.as_os_str());
        let env = [
            (checks::VARIABLE, OsStr::new("1")),
            ("WORKTREE", worktree),
            ("PROJECT_ROOT", root),
            ("STAGE_ID", OsStr::new(self.stage.as_str())),
        ];
        let ran = self.behind.run(&SandboxedCommand {
            argv: &[OsStr::new("sh"), OsStr::new("-c"), OsStr::new(command.as_str())],
            walls,
            env: &env,
            deadline: Duration::from_secs(u64::from(timeout.get())),
            cap: OUTPUT,
        });
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match ran {
            Ok(ran) => CommandOutput {
                end: match ran.ending {
                    ProcessEnd::Code(code) => CommandEndStatus::Code(code),
                    ProcessEnd::Signal => CommandEndStatus::Signal,
                    ProcessEnd::TimedOut => CommandEndStatus::TimedOut,
                },
                stdout: text(&ran.stdout),
                stderr: text(&ran.stderr),
            },
            Err(why) => CommandOutput {
                end: CommandEndStatus::NotStarted { why: Text::new(why) },
                stdout: String::new(),
                stderr: String::new(),
            },
        }
    }

    fn text(&self, path: &RelPath) -> Option<String> {
        read(&self.worktree.join(path.as_str())).ok()
    }

    /// Checks that git can be trusted in the worktree. The user's checkout is always trusted.
    fn proved(&self) -> Result<(), GitError> {
        if self.worktree == self.root { Ok(()) } else { worktree_guard::prove(self.root, self.worktree) }
    }

    /// Returns the cache file of a check on this tree. The key has `PATH`, because it decides which programs
    /// run.
    fn pass(&self, check: &Digest) -> PathBuf {
        let walls = serde_json::to_vec(self.sandbox).expect("a sandbox is plain data with text keys");
        let of = [self.tree.as_bytes(), check.to_string().as_bytes(), self.working_dir.as_str().as_bytes()]
            .into_iter()
            .chain([self.stage.as_str().as_bytes(), self.path.as_encoded_bytes(), &walls])
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>();
        self.passes.join(Digest::hash_parts(of).to_string())
    }

    /// Reports whether a pass is cached. The file names its tree, so that a foreign file does not count.
    fn is_kept(&self, pass: &Path) -> bool {
        disk::read_small(pass, 256).is_ok_and(|text| text == self.tree)
    }

    fn keep(&self, pass: &Path) -> io::Result<()> {
        disk::make_parent(self.disk, pass)?;
        disk::replace_derived(self.disk, pass, self.tree.as_bytes())
    }
}

fn of_commit(why: String) -> FailedCheck {
    FailedCheck {
        what: CheckKind::Gate,
        of: Text::from("the commit"),
        why: Text::new(why),
        tail: Text::default(),
    }
}

/// Reads a regular file as text; refuses links, which may lead out of the worktree.
fn read(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&disk::read_regular(path, FILE)?).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use sprag_host::git::scratch::Scratch;
    use sprag_host::sys::disk::RealDisk;
    use sprag_plan::ids::EffectKey;
    use sprag_plan::spec::{Network, SandboxLevel};

    use super::*;
    use crate::layout::RunLayout;
    use crate::sandbox::sandboxed_runner::CommandOwner;

    struct Desk {
        git: Scratch,
        passes: tempfile::TempDir,
        working_dir: RelPath,
        stage: StageId,
    }

    impl Desk {
        fn new() -> Desk {
            let git = Scratch::new();
            git.commit("a.rs", "pub fn a() -> u8 { 1 }\n");
            let working_dir = serde_json::from_value(json!(".")).unwrap();
            Desk { git, passes: tempfile::tempdir().unwrap(), working_dir, stage: StageId::new("one") }
        }

        fn red(&self, wanted: Value) -> Vec<String> {
            let mut all = json!({"acceptance": [], "after_stage": [], "artifacts": [], "wiring": [],
                "wiring_tests": [], "truths": []});
            all.as_object_mut().unwrap().extend(wanted.as_object().unwrap().clone());
            let tree = self.git.run(&["rev-parse", "HEAD^{tree}"]);
            let ground = RunLayout {
                root: self.git.dir().to_path_buf(),
                run: self.passes.path().to_path_buf(),
                plan: "p".to_owned(),
                target: "refs/heads/main".to_owned(),
                epoch: 1,
            };
            let sandbox = SandboxSettings { confine: SandboxLevel::Off, network: Network::Open };
            let dir = self.git.dir();
            let of = CommandOwner { worktree: dir, dir, sandbox: &sandbox, caches: &[] };
            let place = CheckLocation {
                worktree: self.git.dir(),
                working_dir: &self.working_dir,
                root: self.git.dir(),
                stage: &self.stage,
                tree: &tree,
                passes: self.passes.path(),
                path: OsStr::new("/usr/bin"),
                disk: &RealDisk,
                behind: &SandboxedRunner::new(&ground, &EffectKey("look".into()), of, &RealDisk),
                sandbox: &sandbox,
            };
            let red = verify(&place, &serde_json::from_value(all).unwrap());
            red.iter().map(|red| format!("{} `{}`: {}", red.what, red.of, red.why)).collect()
        }
    }

    fn check(command: &str) -> Value {
        json!({"command": command, "exit_code": 0, "stderr": "any", "timeout": "30s", "cache": "by_tree"})
    }

    #[test]
    fn every_kind_of_check_is_looked_at_and_all_that_is_red_is_told() {
        let desk = Desk::new();
        desk.git.commit("empty.rs", " \n");
        desk.git.commit("stub.rs", "fn a() {\n    todo!()\n}\n");
        let red = desk.red(json!({
            "acceptance": [check("test $STAGE_ID = one"), check("exit 3")],
            "truths": [check("false")],
            "artifacts": ["a.rs", "empty.rs", "stub.rs", "docs/**"],
            "wiring": [{"source": "a.rs", "pattern": "fn b", "description": "b is there"}],
            "regression_test": {"file": "no.rs", "must_contain": ["x"]},
            "dead_code_check": {"command": "echo unused a", "fail_patterns": ["^unused"], "ignore_patterns": [], "timeout": "9s"},
        }));
        assert_eq!(
            red,
            [
                "acceptance `exit 3`: exit code 3, expected 0",
                "artifact `empty.rs`: `empty.rs` is empty",
                "artifact `stub.rs`: `stub.rs` is a stub: line 2 is `todo!()`",
                "artifact `docs/**`: no file matches",
                "wiring `a.rs`: `fn b` is not in `a.rs`: b is there",
                "truth `false`: exit code 1, expected 0",
                "dead code `echo unused a`: the output has `unused a`",
                "regression test `no.rs`: `no.rs` is missing",
            ]
        );
    }

    #[test]
    fn a_pass_counts_for_its_tree_alone_and_a_failure_never() {
        let desk = Desk::new();
        let counted = desk.passes.path().join("runs");
        let once = check(&format!("echo x >>{}; test -e wanted", counted.display()));
        let runs = || fs::read_to_string(&counted).unwrap().lines().count();
        assert_eq!(desk.red(json!({"acceptance": [once]})).len(), 1);
        desk.red(json!({"acceptance": [once]}));
        assert_eq!(runs(), 2, "a failed check runs again");
        desk.git.commit("wanted", "x");
        assert_eq!((desk.red(json!({"acceptance": [once]})).len(), runs()), (0, 3));
        assert_eq!((desk.red(json!({"acceptance": [once]})).len(), runs()), (0, 3));
        desk.git.commit("wanted", "y");
        assert_eq!((desk.red(json!({"acceptance": [once]})).len(), runs()), (0, 4));
    }

    #[test]
    fn a_check_that_changes_the_commit_has_shown_nothing() {
        let desk = Desk::new();
        let red = desk.red(json!({"acceptance": [check("echo 'fn b() {}' >>a.rs")]}));
        assert_eq!(red, ["gate `the commit`: a check changed `a.rs`"]);
    }

    #[test]
    fn a_link_out_of_the_worktree_is_no_artifact() {
        let desk = Desk::new();
        std::os::unix::fs::symlink("/etc/passwd", desk.git.dir().join("link.rs")).unwrap();
        desk.git.commit("b", "x");
        let wanted = json!({"wiring": [{"source": "link.rs", "pattern": "root", "description": "root"}]});
        assert_eq!(desk.red(wanted), ["wiring `link.rs`: `link.rs` is missing"]);
    }
}
