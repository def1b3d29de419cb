//! The sandbox by bubblewrap: most paths are read-only, some are hidden, and the agent's worktree is
//! writable. Process ids stay those of the machine, so that hooks find their stage and the supervisor sees
//! all processes to end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sprag_host::sys::env::Env;
use sprag_host::sys::exec::{self, ProcessEnd, ProcessSpec};
use sprag_plan::sandbox::{NetworkAccess, PathAccess, SandboxPolicy, SandboxSupport};

use super::{PATIENCE, kind_of, last_words};

const NAME: &str = "bwrap";
/// A separate user namespace without rights elsewhere, no shared memory, and an end with the parent process.
const ALWAYS: [&str; 4] = ["--unshare-user", "--unshare-ipc", "--unshare-uts", "--die-with-parent"];

/// Returns the path of bubblewrap. Refuses a setuid program, because it would fail within Sprag's Landlock
/// rules.
pub(crate) fn program(path: &OsStr, worktree: Option<&Path>) -> Result<PathBuf, String> {
    let found = exec::on_foreign_path(NAME, path, worktree).ok_or(format!("`{NAME}` is not on PATH"))?;
    let mode = found.metadata().map_err(|error| error.to_string())?.permissions().mode();
    if mode & 0o6000 != 0 {
        return Err(format!("`{}` is setuid", found.display()));
    }
    Ok(found)
}

/// Tests bubblewrap, because user namespaces may be turned off.
pub(crate) fn can(env: &Env, worktree: Option<&Path>) -> SandboxSupport {
    let program = match program(&env.get("PATH").unwrap_or_default(), worktree) {
        Ok(program) => program,
        Err(why) => return SandboxSupport::No { why },
    };
    let mut args: Vec<&OsStr> = ALWAYS.iter().map(OsStr::new).collect();
    let view = ["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/tmp", "--remount-ro", "/tmp", "--"];
    args.extend(view.iter().map(OsStr::new));
    // A command that succeeds on every system.
    args.extend(["sh", "-c", ":"].map(OsStr::new));
    let run = ProcessSpec { cap: 4096, ..ProcessSpec::new(program.as_os_str(), &args, PATIENCE) };
    match exec::run_for_end(&run) {
        Ok(ran) if ran.ending == ProcessEnd::Code(0) => SandboxSupport::Yes,
        Ok(ran) => SandboxSupport::No { why: last_words(&ran.stderr) },
        Err(error) => SandboxSupport::No { why: error.to_string() },
    }
}

/// Builds the arguments before the agent's command. Each path is absolute and follows its option, so that
/// none can be read as an option.
pub(crate) fn args(confined: &SandboxPolicy, dir: &Path) -> io::Result<Vec<OsString>> {
    let mut args: Vec<OsString> = ALWAYS.iter().map(OsString::from).collect();
    if confined.reach == NetworkAccess::Nobody {
        args.push("--unshare-net".into());
    }
    let mut empty = Vec::new();
    for rule in confined.ordered() {
        let path = rule.path.into_os_string();
        if !Path::new(&path).is_absolute() {
            return Err(io::Error::other(format!("`{}` is not absolute", path.display())));
        }
        let Some(kind) = kind_of(Path::new(&path)) else { continue };
        let both = |option: &str| [option.into(), path.clone(), path.clone()];
        match (rule.access, kind.is_dir()) {
            (PathAccess::Read | PathAccess::Pinned, _) => args.extend(both("--ro-bind")),
            (PathAccess::Write, _) => args.extend(both("--bind")),
            (PathAccess::Private, _) => args.extend(["--tmpfs".into(), path.clone()]),
            (PathAccess::Hidden, true) => {
                args.extend(["--tmpfs".into(), path.clone()]);
                empty.push(path.clone());
            }
            (PathAccess::Hidden, false) => {
                args.extend(["--ro-bind".into(), "/dev/null".into(), path.clone()]);
            }
        }
        if path == "/" {
            args.extend(["--dev", "/dev"].map(OsString::from));
        }
    }
    // Remounted only after everything inside is mounted.
    args.extend(empty.into_iter().flat_map(|path| ["--remount-ro".into(), path]));
    args.extend(["--chdir".into(), dir.as_os_str().to_owned(), "--".into()]);
    Ok(args)
}

#[cfg(test)]
mod tests {
    use sprag_plan::sandbox::{SandboxBackend, SandboxRule};

    use super::*;

    fn confined(rules: &[(&Path, PathAccess)]) -> SandboxPolicy {
        let rules =
            rules.iter().map(|(path, access)| SandboxRule { path: path.to_path_buf(), access: *access });
        SandboxPolicy { by: SandboxBackend::Bubblewrap, rules: rules.collect(), reach: NetworkAccess::Nobody }
    }

    #[test]
    fn a_name_that_looks_like_an_option_stays_a_path() {
        let temp = tempfile::tempdir().unwrap();
        let odd = temp.path().join("--bind --");
        std::fs::create_dir(&odd).unwrap();
        let args =
            args(&confined(&[(Path::new("/"), PathAccess::Read), (&odd, PathAccess::Write)]), &odd).unwrap();
        let at = args.iter().position(|arg| arg == "--bind").unwrap();
        assert_eq!(
            (&args[at + 1], &args[at + 2]),
            (&odd.clone().into_os_string(), &odd.clone().into_os_string())
        );
        assert_eq!(args[args.len() - 3..], ["--chdir".into(), odd.into_os_string(), OsString::from("--")]);
        assert!(args.contains(&"--unshare-net".into()));
    }

    #[test]
    fn a_relative_path_is_refused() {
        assert!(args(&confined(&[(Path::new("--bind"), PathAccess::Write)]), Path::new("/")).is_err());
    }

    #[test]
    fn what_is_hidden_is_closed_after_what_is_seen_within_it() {
        let temp = tempfile::tempdir().unwrap();
        let inner = temp.path().join("inner");
        std::fs::write(&inner, "x").unwrap();
        let args = args(
            &confined(&[
                (temp.path(), PathAccess::Hidden),
                (&inner, PathAccess::Read),
                (Path::new("/nowhere/x"), PathAccess::Read),
            ]),
            Path::new("/"),
        )
        .unwrap();
        let at = |word: &str| args.iter().position(|arg| arg == word).unwrap();
        assert!(at("--tmpfs") < at("--ro-bind") && at("--ro-bind") < at("--remount-ro"));
        assert!(!args.contains(&"/nowhere/x".into()), "a missing path needs no rule");
    }
}
