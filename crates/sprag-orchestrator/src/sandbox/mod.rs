//! The sandbox around an agent: detects what this machine supports and sets up the sandbox right before the
//! agent starts. If the setup fails, no agent starts.

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

/// Limits the choice of sandboxes: `off`, `bubblewrap` or `landlock`. A plan that requires a sandbox is
/// refused if none is left.
pub const VARIABLE: &str = "SPRAG_SANDBOX";
/// Time limit for a trial of the sandbox.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the sandboxes that work on this machine, by a trial. Ignores programs in the worktree.
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
        // Both sandboxes use the port rules.
        ports: not_wanted("").filter(|_| is_off).unwrap_or_else(landlock::can_ports),
    }
}

/// Enters the part of the sandbox that applies to this process; returns the command to start.
pub fn confine(
    site: &SessionDir,
    port: Option<u16>,
    argv: &[impl AsRef<OsStr>],
) -> io::Result<Vec<OsString>> {
    let kept = site.walls()?;
    let confined = kept.confined.as_ref().ok_or_else(|| io::Error::other("the sandbox policy is missing"))?;
    let ports = match (&confined.reach, confined.by) {
        (NetworkAccess::Anybody, _) | (NetworkAccess::Nobody, SandboxBackend::Bubblewrap) => {
            landlock::Ports::All
        }
        (NetworkAccess::Nobody, SandboxBackend::Landlock) => landlock::Ports::None,
        (NetworkAccess::Hosts(_), _) => {
            landlock::Ports::One(port.ok_or_else(|| io::Error::other("the proxy port is missing"))?)
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

/// Sets up the sandbox for a trial command, so that a sandbox failure does not look like a failure of the
/// agent.
pub fn try_out(program: &Path, args: &[&str], spawn: &SpawnRequest) -> Result<(), String> {
    let args: Vec<&OsStr> =
        args.iter().map(OsStr::new).chain([program.as_os_str(), "--version".as_ref()]).collect();
    let env: Vec<(&str, &OsStr)> =
        spawn.env.iter().map(|(name, value)| (name.as_str(), OsStr::new(value))).collect();
    let run =
        ProcessSpec { dir: &spawn.dir, env: &env, ..ProcessSpec::new(program.as_os_str(), &args, PATIENCE) };
    let ran = exec::run_for_end(&run).map_err(|error| error.to_string())?;
    match ran.ending {
        ProcessEnd::Code(0) => Ok(()),
        ProcessEnd::Code(_) | ProcessEnd::Signal | ProcessEnd::TimedOut => Err(last_words(&ran.stderr)),
    }
}

/// Returns the last line of the output that is not empty and not advice.
pub fn last_words(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.starts_with("next:"));
    one_line(last.unwrap_or("no error output"))
}

/// Describes a sandbox in one line for people and agents.
pub fn describe(confined: &SandboxPolicy) -> String {
    let network = match &confined.reach {
        NetworkAccess::Anybody => "open network".to_owned(),
        NetworkAccess::Nobody => "no network".to_owned(),
        NetworkAccess::Hosts(hosts) => format!("network only to {}", hosts.join(", ")),
    };
    format!("{}, {network}", confined.by.name())
}

/// Returns the file type of an existing path, without following links.
fn kind_of(path: &Path) -> Option<std::fs::FileType> {
    std::fs::symlink_metadata(path).ok().map(|found| found.file_type())
}

/// A path and the access that a rule grants to it.
type PlacedRule = (PathBuf, sprag_plan::sandbox::PathAccess);

/// The flag that makes this program become an agent.
const AS_AGENT: &str = "--as-agent-of";

/// The flag for the folder with the sandbox policy.
const WITHIN: &str = "--within";

/// The flag for the port of the proxy.
const THROUGH: &str = "--through";

/// Returns the arguments with which this program becomes another one, inside the sandbox recorded in a
/// folder.
pub fn steps(within: Option<&Path>, port: Option<u16>) -> Vec<String> {
    let mut words = vec!["supervise".to_owned(), AS_AGENT.to_owned(), getpid().as_raw_nonzero().to_string()];
    words.extend(within.into_iter().flat_map(|site| [WITHIN.to_owned(), site.display().to_string()]));
    words.extend(port.into_iter().flat_map(|port| [THROUGH.to_owned(), port.to_string()]));
    words.push("--".to_owned());
    words
}
