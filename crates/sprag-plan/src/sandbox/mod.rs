//! The sandbox policy as data: the paths that an agent reads, writes or cannot see, and the hosts that it
//! can reach. The code that builds the sandbox adds nothing and leaves nothing out.

mod homes;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::spec::client::{ClientName, StageClient};
use super::spec::{Network, SandboxLevel, SandboxSettings};
pub use homes::{CREDENTIALS, Home, home_of};

/// The sandbox of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    pub by: SandboxBackend,
    /// If several rules match a path, the longest one applies.
    pub rules: Vec<SandboxRule>,
    pub reach: NetworkAccess,
}

/// The technique of a sandbox, from strong to weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxBackend {
    /// A separate view of the machine, by bubblewrap.
    Bubblewrap,
    /// Access rules of the kernel. They cover neither named sockets nor protocols other than TCP.
    Landlock,
}

sprag_base::names! { pub fn name(SandboxBackend): Bubblewrap = "bubblewrap", Landlock = "Landlock" }

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRule {
    pub path: PathBuf,
    pub access: PathAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathAccess {
    Hidden,
    /// Hidden and replaced by an empty directory that belongs to the agent.
    Private,
    Read,
    /// A file inside a writable directory that must not change. A technique without such rules lets it
    /// change, and a check finds the change before the file is used.
    Pinned,
    Write,
}

/// Network access of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    Anybody,
    /// Only these hosts, through a proxy of Sprag.
    Hosts(Vec<String>),
    Nobody,
}

/// Paths around the work on a stage. Every path is absolute and contains no link.
#[derive(Clone, Copy, Debug)]
pub struct SandboxPaths<'a> {
    /// The user's checkout.
    pub root: &'a Path,
    pub worktree: &'a Path,
    /// The git directory of this worktree.
    pub git_dir: &'a Path,
    /// The git directory that all worktrees share.
    pub common: &'a Path,
    /// The name `sprag/STAGE/work`.
    pub branch: &'a str,
    /// The store of this clone, and its directory for runs.
    pub store: &'a Path,
    pub run: &'a Path,
    /// The session directory.
    pub site: &'a Path,
    pub brief: &'a Path,
    /// The directory of the daemon's socket.
    pub door: &'a Path,
    /// Directories of the stage in the run: notes and handoffs.
    pub own: &'a [PathBuf],
    /// The directory for the journals of its sessions, inside the store.
    pub journals: &'a Path,
    pub home: Option<&'a Path>,
    /// The program of Sprag, which the hooks of the agent call.
    pub program: &'a Path,
    /// Files of the client that are outside of system directories.
    pub tools: &'a [PathBuf],
    /// Caches of the user's checkout that the worktree shares.
    pub shared: &'a [PathBuf],
}

/// Paths for a command that checks work in the worktree of a stage or a candidate.
#[derive(Clone, Copy, Debug)]
pub struct ScratchPaths<'a> {
    pub root: &'a Path,
    pub worktree: &'a Path,
    pub common: &'a Path,
    /// The store of this clone, which a check does not need.
    pub store: &'a Path,
    pub temporary: &'a Path,
    pub home: Option<&'a Path>,
    /// Caches of the user's checkout that the worktree shares.
    pub shared: &'a [PathBuf],
}

/// Paths with common system data that lie below a hidden directory.
const NAMES: [&str; 5] = [
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
    "/run/current-system",
    "/run/wrappers",
];

impl SandboxPolicy {
    pub fn new(
        by: SandboxBackend,
        grounds: &SandboxPaths<'_>,
        client: &StageClient,
        network: &Network,
    ) -> SandboxPolicy {
        let home = match client {
            StageClient::Known(known) => home_of(*known),
            StageClient::Command { .. } => NOTHING,
        };
        let mut rules = machine(grounds.home, &home);
        let mut put = |path: PathBuf, access| rules.push(SandboxRule { path, access });
        put(grounds.root.to_path_buf(), PathAccess::Read);
        put(grounds.program.to_path_buf(), PathAccess::Read);
        grounds.tools.iter().for_each(|path| put(path.clone(), PathAccess::Read));
        grounds.git().into_iter().for_each(|rule| put(rule.path, rule.access));
        put(grounds.store.to_path_buf(), PathAccess::Write);
        // An agent must not change the journals of other sessions. A technique that cannot exclude a part
        // of a writable directory leaves them writable.
        put(grounds.store.join("journal"), PathAccess::Pinned);
        grounds.journals.parent().into_iter().for_each(|all| put(all.to_path_buf(), PathAccess::Pinned));
        put(grounds.journals.to_path_buf(), PathAccess::Write);
        put(grounds.run.to_path_buf(), PathAccess::Hidden);
        put(grounds.site.to_path_buf(), PathAccess::Read);
        put(grounds.site.join("tmp"), PathAccess::Write);
        put(grounds.brief.to_path_buf(), PathAccess::Read);
        put(grounds.brief.with_extension("json"), PathAccess::Read);
        // The commands and hooks of the agent read the state of its stage there.
        put(grounds.run.join("plans"), PathAccess::Read);
        put(grounds.door.to_path_buf(), PathAccess::Read);
        grounds.own.iter().for_each(|path| put(path.clone(), PathAccess::Write));
        put(grounds.worktree.to_path_buf(), PathAccess::Write);
        // Redirecting this file would choose the configuration that git uses outside of the sandbox.
        put(grounds.worktree.join(".git"), PathAccess::Pinned);
        grounds.shared.iter().for_each(|path| put(path.clone(), PathAccess::Write));
        SandboxPolicy { by, rules, reach: reach(network, home.hosts) }
    }

    /// Builds the sandbox of a check. A check runs code that the agent wrote, so it may access no more than
    /// the agent, and less of git and of runs. It needs no commits and sends no reports.
    pub fn of_check(by: SandboxBackend, bench: &ScratchPaths<'_>, network: &Network) -> SandboxPolicy {
        let mut rules = machine(bench.home, &NOTHING);
        let mut put = |path: PathBuf, access| rules.push(SandboxRule { path, access });
        put(bench.root.to_path_buf(), PathAccess::Read);
        put(bench.common.to_path_buf(), PathAccess::Read);
        put(bench.common.join("hooks"), PathAccess::Hidden);
        put(bench.store.to_path_buf(), PathAccess::Hidden);
        put(bench.temporary.to_path_buf(), PathAccess::Write);
        put(bench.worktree.to_path_buf(), PathAccess::Write);
        put(bench.worktree.join(".git"), PathAccess::Pinned);
        bench.shared.iter().for_each(|path| put(path.clone(), PathAccess::Write));
        SandboxPolicy { by, rules, reach: reach(network, NOTHING.hosts) }
    }

    /// Builds the sandbox of a reviewer: it reads the work and the files of its client, and writes only its
    /// decision. `tools` are the files of the client.
    pub fn of_review(
        by: SandboxBackend,
        bench: &ScratchPaths<'_>,
        client: ClientName,
        tools: &[PathBuf],
        network: &Network,
    ) -> SandboxPolicy {
        let home = home_of(client);
        let mut rules = machine(bench.home, &home);
        let mut put = |path: PathBuf, access| rules.push(SandboxRule { path, access });
        put(bench.root.to_path_buf(), PathAccess::Read);
        for path in tools.iter() {
            put(path.clone(), PathAccess::Read);
        }
        put(bench.common.to_path_buf(), PathAccess::Read);
        put(bench.common.join("hooks"), PathAccess::Hidden);
        put(bench.store.to_path_buf(), PathAccess::Hidden);
        put(bench.worktree.to_path_buf(), PathAccess::Read);
        put(bench.temporary.to_path_buf(), PathAccess::Write);
        SandboxPolicy { by, rules, reach: reach(network, home.hosts) }
    }

    /// Returns the access to a path: the longest matching rule applies, and of two rules for the same path
    /// the stricter one.
    pub fn access(&self, path: &Path) -> PathAccess {
        let above = self.rules.iter().filter(|rule| path.starts_with(&rule.path));
        above
            .max_by_key(|rule| (rule.path.components().count(), std::cmp::Reverse(strictness(rule.access))))
            .map_or(PathAccess::Hidden, |rule| rule.access)
    }

    /// Returns one rule for each path, parents before children.
    pub fn ordered(&self) -> Vec<SandboxRule> {
        let mut paths: Vec<&PathBuf> = self.rules.iter().map(|rule| &rule.path).collect();
        paths.sort_by_key(|path| (path.components().count(), *path));
        paths.dedup();
        paths.into_iter().map(|path| SandboxRule { path: path.clone(), access: self.access(path) }).collect()
    }
}

/// Returns the rules that apply to every process on this machine.
fn machine(user: Option<&Path>, own: &Home) -> Vec<SandboxRule> {
    let mut rules = Vec::new();
    let mut put = |path: PathBuf, access| rules.push(SandboxRule { path, access });
    put("/".into(), PathAccess::Read);
    // It holds sockets of the user's session, through which a command could run outside.
    put("/run".into(), PathAccess::Hidden);
    for path in ["/tmp", "/var/tmp"] {
        put(path.into(), PathAccess::Private);
    }
    for path in NAMES {
        put(path.into(), PathAccess::Read);
    }
    if let Some(user) = user {
        put(user.to_path_buf(), PathAccess::Read);
        let is_own = |name: &str| own.reads.contains(&name) || own.writes.contains(&name);
        let foreign = CREDENTIALS.iter().filter(|name| !is_own(name));
        foreign.for_each(|name| put(user.join(name), PathAccess::Hidden));
        own.reads.iter().for_each(|name| put(user.join(name), PathAccess::Read));
        own.writes.iter().for_each(|name| put(user.join(name), PathAccess::Write));
        own.pins.iter().for_each(|name| put(user.join(name), PathAccess::Pinned));
    }
    rules
}

/// Access to a home directory for a process that is not a client.
const NOTHING: Home = Home { reads: &[], writes: &[], pins: &[], hosts: &[] };

fn strictness(access: PathAccess) -> u8 {
    match access {
        PathAccess::Hidden => 0,
        PathAccess::Private => 1,
        PathAccess::Read => 2,
        PathAccess::Pinned => 3,
        PathAccess::Write => 4,
    }
}

impl SandboxPaths<'_> {
    /// Returns the rules that let the agent commit on its own branch and nothing else.
    fn git(&self) -> Vec<SandboxRule> {
        let rule = |path: PathBuf, access| SandboxRule { path, access };
        let common = |name: &str| self.common.join(name);
        vec![
            rule(self.common.to_path_buf(), PathAccess::Read),
            rule(common("hooks"), PathAccess::Hidden),
            rule(common("objects"), PathAccess::Write),
            // Loose objects are writable; packs hold the history of others.
            rule(common("objects/pack"), PathAccess::Read),
            rule(common("objects/info"), PathAccess::Read),
            rule(self.references(), PathAccess::Write),
            rule(self.reference_logs(), PathAccess::Write),
            rule(self.git_dir.to_path_buf(), PathAccess::Write),
            // These files name the place of the configuration.
            rule(self.git_dir.join("commondir"), PathAccess::Pinned),
            rule(self.git_dir.join("gitdir"), PathAccess::Pinned),
        ]
    }

    /// Returns the directory that holds only this branch: git creates a lock beside the branch.
    pub fn references(&self) -> PathBuf {
        let reference = self.common.join("refs/heads").join(self.branch);
        reference.parent().map(Path::to_path_buf).unwrap_or(reference)
    }

    pub fn reference_logs(&self) -> PathBuf {
        let reference = self.common.join("logs/refs/heads").join(self.branch);
        reference.parent().map(Path::to_path_buf).unwrap_or(reference)
    }
}

/// Computes the network access. The hosts of the model are always included, because a client cannot work
/// without its model.
fn reach(network: &Network, model: &[&str]) -> NetworkAccess {
    let model = || model.iter().map(|host| (*host).to_owned());
    match network {
        Network::Open => NetworkAccess::Anybody,
        Network::None if model().next().is_none() => NetworkAccess::Nobody,
        Network::None => NetworkAccess::Hosts(model().collect()),
        Network::Hosts(hosts) => {
            NetworkAccess::Hosts(model().chain(hosts.iter().map(ToString::to_string)).collect())
        }
    }
}

/// Reports whether a host is in a list. `*.example.org` stands for every name below it.
pub fn is_among(hosts: &[String], host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    hosts.iter().any(|wanted| {
        let wanted = wanted.to_ascii_lowercase();
        match wanted.strip_prefix("*.") {
            Some(above) => host.strip_suffix(above).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            None => host == wanted,
        }
    })
}

/// Sandbox techniques that a machine supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxOffer {
    pub bubblewrap: SandboxSupport,
    pub landlock: SandboxSupport,
    /// Whether the kernel can restrict TCP connections.
    pub ports: SandboxSupport,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxSupport {
    Yes,
    No { why: String },
}

impl Default for SandboxSupport {
    fn default() -> SandboxSupport {
        SandboxSupport::No { why: "not tested".to_owned() }
    }
}

/// The sandbox of a stage on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxChoice {
    /// The plan turns it off.
    Off,
    /// The machine supports no technique, and the plan does not require one.
    Bare {
        why: String,
    },
    Within(SandboxBackend),
    /// The plan requires a sandbox, so nothing is started.
    Refused {
        why: String,
    },
}

/// Chooses the sandbox of an agent of this client.
pub fn choose(sandbox: &SandboxSettings, client: &StageClient, offer: &SandboxOffer) -> SandboxChoice {
    match client {
        StageClient::Command { .. } => chosen(sandbox, RequiredHost::Nobody, offer),
        StageClient::Known(_) => chosen(sandbox, RequiredHost::Model, offer),
    }
}

/// Chooses the sandbox of a check.
pub fn choose_for_check(sandbox: &SandboxSettings, offer: &SandboxOffer) -> SandboxChoice {
    chosen(sandbox, RequiredHost::Nobody, offer)
}

/// Hosts that are needed although the network is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequiredHost {
    Model,
    Nobody,
}

/// Chooses the technique. A restricted network requires a sandbox: a partial one would look complete.
fn chosen(sandbox: &SandboxSettings, wanted: RequiredHost, offer: &SandboxOffer) -> SandboxChoice {
    let insists = match (sandbox.confine, &sandbox.network) {
        (SandboxLevel::Off, _) => return SandboxChoice::Off,
        (SandboxLevel::Required, _) | (SandboxLevel::Auto, Network::Hosts(_) | Network::None) => true,
        (SandboxLevel::Auto, Network::Open) => false,
    };
    let without =
        |why: String| if insists { SandboxChoice::Refused { why } } else { SandboxChoice::Bare { why } };
    let wall = match (&offer.bubblewrap, &offer.landlock) {
        (SandboxSupport::Yes, _) => SandboxBackend::Bubblewrap,
        (SandboxSupport::No { .. }, SandboxSupport::Yes) => SandboxBackend::Landlock,
        (SandboxSupport::No { why }, SandboxSupport::No { why: other }) => {
            return without(format!(
                "bubblewrap is not available: {why}; Landlock is not available: {other}"
            ));
        }
    };
    match (&sandbox.network, wall, &offer.ports) {
        (Network::Open, _, _) | (_, _, SandboxSupport::Yes) => SandboxChoice::Within(wall),
        (Network::None, SandboxBackend::Bubblewrap, SandboxSupport::No { .. })
            if wanted == RequiredHost::Nobody =>
        {
            SandboxChoice::Within(wall)
        }
        (Network::None | Network::Hosts(_), _, SandboxSupport::No { why }) => {
            without(format!("the network cannot be restricted: {why}"))
        }
    }
}
