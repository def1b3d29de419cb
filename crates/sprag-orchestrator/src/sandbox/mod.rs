//! The walls around an agent: what this machine can build them of, and building them at the last moment before the
//! agent is there. What cannot be built is an error, and an error here means that no agent starts.

mod bubblewrap;
pub mod doctor;
mod landlock;
pub mod proxy;
pub(crate) mod sandboxed_runner;
pub(crate) mod stage_rules;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::getpid;

use sprag_base::text::one_line;
use sprag_host::sys::env::Env;
use sprag_host::sys::exec::{self, ProcessEnd, ProcessSpec};
use sprag_plan::sandbox::{NetworkAccess, SandboxBackend, SandboxOffer, SandboxPolicy, SandboxSupport};

use super::session_dir::{SessionDir, SpawnRequest};

/// Narrows what may be used: `off`, `bubblewrap` or `landlock`. A plan that insists is refused rather than let go.
pub const VARIABLE: &str = "SPRAG_SANDBOX";
/// Longer than it takes to build walls and come out again.
const PATIENCE: Duration = Duration::from_secs(20);

/// What there is on this machine, found out by trying it. A program that the project brought along is not tried.
pub fn offer(env: &Env, worktree: Option<&Path>) -> SandboxOffer {
    let wanted = env.text(VARIABLE);
    let not_wanted = |name: &str| match wanted.as_deref() {
        None => None,
        Some(wanted) if wanted == name => None,
        Some(wanted) => Some(SandboxSupport::No { why: format!("`{VARIABLE}` is `{}`", one_line(wanted)) }),
    };
    let is_off = wanted.as_deref().is_some_and(|wanted| !["bubblewrap", "landlock"].contains(&wanted));
    SandboxOffer {
        bubblewrap: not_wanted("bubblewrap").unwrap_or_else(|| bubblewrap::can(env, worktree)),
        landlock: not_wanted("landlock").unwrap_or_else(landlock::can_files),
        // Either of them is helped by it.
        ports: not_wanted("").filter(|_| is_off).unwrap_or_else(landlock::can_ports),
    }
}

/// Goes within the walls, as far as that is done from outside, and says what is to be started then.
pub fn confine(
    site: &SessionDir,
    port: Option<u16>,
    argv: &[impl AsRef<OsStr>],
) -> io::Result<Vec<OsString>> {
    let kept = site.walls()?;
    let confined = kept.confined.as_ref().ok_or_else(|| io::Error::other("its walls are not on record"))?;
    let ports = match (&confined.reach, confined.by) {
        (NetworkAccess::Anybody, _) | (NetworkAccess::Nobody, SandboxBackend::Bubblewrap) => {
            landlock::Ports::All
        }
        (NetworkAccess::Nobody, SandboxBackend::Landlock) => landlock::Ports::None,
        (NetworkAccess::Hosts(_), _) => {
            landlock::Ports::One(port.ok_or_else(|| io::Error::other("there is no go-between"))?)
        }
    };
    let argv = argv.iter().map(|word| word.as_ref().to_owned());
    match confined.by {
        SandboxBackend::Bubblewrap => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let program = bubblewrap::program(&path, Some(&kept.worktree)).map_err(io::Error::other)?;
            let mut whole = vec![program.into_os_string()];
            whole.extend(bubblewrap::args(confined, &kept.dir)?);
            whole.extend(argv);
            landlock::restrict(confined, landlock::FileRights::All, ports)?;
            Ok(whole)
        }
        SandboxBackend::Landlock => {
            landlock::restrict(confined, landlock::FileRights::ByRules, ports)?;
            Ok(argv.collect())
        }
    }
}

/// Builds the walls once for nothing: an agent whose walls fail must not look like one that failed itself.
pub fn try_out(program: &Path, args: &[&str], spawn: &SpawnRequest) -> Result<(), String> {
    let args: Vec<&OsStr> =
        args.iter().map(OsStr::new).chain([program.as_os_str(), "--version".as_ref()]).collect();
    let env: Vec<(&str, &OsStr)> =
        spawn.env.iter().map(|(name, value)| (name.as_str(), OsStr::new(value))).collect();
    let run = ProcessSpec {
        program: program.as_os_str(),
        args: &args,
        dir: &spawn.dir,
        env: &env,
        unset: &[],
        stdin: b"",
        deadline: PATIENCE,
        cap: 64 * 1024,
    };
    let ran = exec::run_for_end(&run).map_err(|error| error.to_string())?;
    match ran.ending {
        ProcessEnd::Code(0) => Ok(()),
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => Err(last_words(&ran.stderr)),
    }
}

/// The last line that somebody said, in place of all of it.
pub fn last_words(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.starts_with("next:"));
    one_line(last.unwrap_or("it ended without a word"))
}

/// How an agent is kept, in a few words for people and agents.
pub fn describe(confined: &SandboxPolicy) -> String {
    let network = match &confined.reach {
        NetworkAccess::Anybody => "the network is open".to_owned(),
        NetworkAccess::Nobody => "there is no network".to_owned(),
        NetworkAccess::Hosts(hosts) => format!("the network reaches {} and nobody else", hosts.join(", ")),
    };
    format!("{}, {network}", confined.by.name())
}

/// A path that is there, whatever it is; a link counts as itself.
fn kind_of(path: &Path) -> Option<std::fs::FileType> {
    std::fs::symlink_metadata(path).ok().map(|found| found.file_type())
}

/// What a rule is about on this machine.
type PlacedRule = (PathBuf, sprag_plan::sandbox::PathAccess);

/// The flag by which our program is told to become an agent.
const AS_AGENT: &str = "--as-agent-of";

/// And that its walls are on record in this folder.
const WITHIN: &str = "--within";

/// With the port of the go-between, where there is one.
const THROUGH: &str = "--through";

/// What our program is told to become a program, within the walls that are on record in a folder.
pub fn steps(within: Option<&Path>, port: Option<u16>) -> Vec<String> {
    let mut words = vec!["supervise".to_owned(), AS_AGENT.to_owned(), getpid().as_raw_nonzero().to_string()];
    words.extend(within.into_iter().flat_map(|site| [WITHIN.to_owned(), site.display().to_string()]));
    words.extend(port.into_iter().flat_map(|port| [THROUGH.to_owned(), port.to_string()]));
    words.push("--".to_owned());
    words
}
