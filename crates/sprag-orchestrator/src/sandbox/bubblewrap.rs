//! Walls by bubblewrap: the agent sees a machine on which most is read-only, some is not there, and its own worktree is
//! as it is. Process numbers stay those of the machine, so that hooks find out whose they are and the supervisor
//! sees all it has to end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sprag_host::sys::env::Env;
use sprag_host::sys::exec::{self, ProcessEnd, ProcessSpec};
use sprag_plan::sandbox::{NetworkAccess, PathAccess, SandboxPolicy, SandboxSupport};

use super::{PATIENCE, kind_of, last_words};

const NAME: &str = "bwrap";
/// Its own users (without any right elsewhere), no memory shared with others, and no life after ours.
const ALWAYS: [&str; 4] = ["--unshare-user", "--unshare-ipc", "--unshare-uts", "--die-with-parent"];

/// Where it is. One that runs with the rights of somebody else is not used: it would refuse to, behind walls of ours.
pub(crate) fn program(path: &OsStr, worktree: Option<&Path>) -> Result<PathBuf, String> {
    let found = exec::on_foreign_path(NAME, path, worktree).ok_or(format!("`{NAME}` is not on PATH"))?;
    let mode = found.metadata().map_err(|error| error.to_string())?.permissions().mode();
    if mode & 0o6000 != 0 {
        return Err(format!("`{}` is setuid", found.display()));
    }
    Ok(found)
}

/// Namespaces of users may be switched off, so it is tried.
pub(crate) fn can(env: &Env, worktree: Option<&Path>) -> SandboxSupport {
    let program = match program(&env.get("PATH").unwrap_or_default(), worktree) {
        Ok(program) => program,
        Err(why) => return SandboxSupport::No { why },
    };
    let mut args: Vec<&OsStr> = ALWAYS.iter().map(OsStr::new).collect();
    let view = ["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/tmp", "--remount-ro", "/tmp", "--"];
    args.extend(view.iter().map(OsStr::new));
    // Something that ends well wherever there is a system at all.
    args.extend(["sh", "-c", ":"].map(OsStr::new));
    let run = ProcessSpec {
        program: program.as_os_str(),
        args: &args,
        dir: Path::new("/"),
        env: &[],
        unset: &[],
        stdin: b"",
        deadline: PATIENCE,
        cap: 4096,
    };
    match exec::run_for_end(&run) {
        Ok(ran) if ran.ending == ProcessEnd::Code(0) => SandboxSupport::Yes,
        Ok(ran) => SandboxSupport::No { why: last_words(&ran.stderr) },
        Err(error) => SandboxSupport::No { why: error.to_string() },
    }
}

/// Everything up to the agent's own words. Each path stands for itself behind an option that takes one, and is
/// absolute: none can pass for an option.
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
    // Only once all that is to be seen within them is in place.
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
        assert!(!args.contains(&"/nowhere/x".into()), "what is not there needs no wall");
    }
}
