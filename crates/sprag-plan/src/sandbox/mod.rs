//! What an agent may touch while nobody watches it, as data: which places it reads, writes and does not see, and whom
//! it may talk to. Whoever builds the walls adds nothing of their own and leaves nothing out.

mod homes;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::spec::client::{ClientName, StageClient};
use super::spec::{Network, SandboxLevel, SandboxSettings};
pub use homes::{CREDENTIALS, Home, home_of};

/// The walls around one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    pub by: SandboxBackend,
    /// Of two that a path is below, the longer one counts.
    pub rules: Vec<SandboxRule>,
    pub reach: NetworkAccess,
}

/// What the walls are made of. From strong to weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxBackend {
    /// A view of the machine of its own, by bubblewrap.
    Bubblewrap,
    /// The kernel says no. It does not see sockets that have a name, nor anything but TCP.
    Landlock,
}

impl SandboxBackend {
    pub fn name(self) -> &'static str {
        match self {
            SandboxBackend::Bubblewrap => "bubblewrap",
            SandboxBackend::Landlock => "Landlock",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRule {
    pub path: PathBuf,
    pub access: PathAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathAccess {
    Hidden,
    /// Hidden, and in its place one that is empty and the agent's own.
    Private,
    Read,
    /// A file that has to stay as it is amid what may be written. A wall that knows no such thing lets it be
    /// changed, and that is found before anybody relies on it.
    Pinned,
    Write,
}

/// Whom an agent may talk to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    Anybody,
    /// These, by a go-between of ours.
    Hosts(Vec<String>),
    Nobody,
}

/// Where a stage is worked at. Every path is absolute and has no link in it.
#[derive(Clone, Copy, Debug)]
pub struct SandboxPaths<'a> {
    /// The user's checkout.
    pub root: &'a Path,
    pub worktree: &'a Path,
    /// The git directory of this worktree alone.
    pub git_dir: &'a Path,
    /// The one it shares with the others.
    pub common: &'a Path,
    /// `sprag/STAGE/work`.
    pub branch: &'a str,
    /// Our own records of this clone, and of runs within them.
    pub store: &'a Path,
    pub run: &'a Path,
    /// The folder of the session.
    pub site: &'a Path,
    pub brief: &'a Path,
    /// The folder in which the daemon listens.
    pub door: &'a Path,
    /// What is the stage's own of the run: notes, handoffs.
    pub own: &'a [PathBuf],
    /// Where its sessions have their journals, within the records.
    pub journals: &'a Path,
    pub home: Option<&'a Path>,
    /// Our own program: the agent's hooks call it.
    pub program: &'a Path,
    /// What the agent is made of, where that is no system directory.
    pub tools: &'a [PathBuf],
    /// Caches of the user's checkout that its worktree shares.
    pub shared: &'a [PathBuf],
}

/// Where a command of the plan looks at work: in a stage's worktree, or in that of a candidate.
#[derive(Clone, Copy, Debug)]
pub struct ScratchPaths<'a> {
    pub root: &'a Path,
    pub worktree: &'a Path,
    pub common: &'a Path,
    /// Our own records of this clone: none of them is anything to a check.
    pub store: &'a Path,
    pub temporary: &'a Path,
    pub home: Option<&'a Path>,
    /// Caches of the user's checkout that the worktree shares.
    pub shared: &'a [PathBuf],
}

/// Where programs find what every machine has, although it lies below a place that is hidden.
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
        // What other sessions did is not its to say. A wall that cannot take a part out of what is written lets it be.
        put(grounds.store.join("journal"), PathAccess::Pinned);
        grounds.journals.parent().into_iter().for_each(|all| put(all.to_path_buf(), PathAccess::Pinned));
        put(grounds.journals.to_path_buf(), PathAccess::Write);
        put(grounds.run.to_path_buf(), PathAccess::Hidden);
        put(grounds.site.to_path_buf(), PathAccess::Read);
        put(grounds.site.join("tmp"), PathAccess::Write);
        put(grounds.brief.to_path_buf(), PathAccess::Read);
        put(grounds.brief.with_extension("json"), PathAccess::Read);
        // Its commands and hooks find in them what its stage is doing.
        put(grounds.run.join("plans"), PathAccess::Read);
        put(grounds.door.to_path_buf(), PathAccess::Read);
        grounds.own.iter().for_each(|path| put(path.clone(), PathAccess::Write));
        put(grounds.worktree.to_path_buf(), PathAccess::Write);
        // Whoever could point it elsewhere would choose which configuration git obeys outside.
        put(grounds.worktree.join(".git"), PathAccess::Pinned);
        grounds.shared.iter().for_each(|path| put(path.clone(), PathAccess::Write));
        SandboxPolicy { by, rules, reach: reach(network, home.hosts) }
    }

    /// The walls around a command of the plan that looks at work: it runs what the agent wrote, so it reaches no more
    /// than the agent did, and of git and of runs less. It commits nothing, and nobody is told anything by it.
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

    /// The walls around a reviewer: it reads the work and what its own client needs, and writes nothing but its verdict.
    /// `tools` are what it is made of.
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

    /// What holds for a path: the longest rule it is below, and of two for the same path the stricter one.
    pub fn access(&self, path: &Path) -> PathAccess {
        let above = self.rules.iter().filter(|rule| path.starts_with(&rule.path));
        above
            .max_by_key(|rule| (rule.path.components().count(), std::cmp::Reverse(strictness(rule.access))))
            .map_or(PathAccess::Hidden, |rule| rule.access)
    }

    /// One rule for each path, those above before those below.
    pub fn ordered(&self) -> Vec<SandboxRule> {
        let mut paths: Vec<&PathBuf> = self.rules.iter().map(|rule| &rule.path).collect();
        paths.sort_by_key(|path| (path.components().count(), *path));
        paths.dedup();
        paths.into_iter().map(|path| SandboxRule { path: path.clone(), access: self.access(path) }).collect()
    }
}

/// What holds for everybody on this machine.
fn machine(user: Option<&Path>, own: &Home) -> Vec<SandboxRule> {
    let mut rules = Vec::new();
    let mut put = |path: PathBuf, access| rules.push(SandboxRule { path, access });
    put("/".into(), PathAccess::Read);
    // Sockets of the user's session are there: by one of them a command is run outside.
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

/// Of a home, for whoever is no client.
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
    /// Committing on its own branch, and nothing else, takes this much of a repository.
    fn git(&self) -> Vec<SandboxRule> {
        let rule = |path: PathBuf, access| SandboxRule { path, access };
        let common = |name: &str| self.common.join(name);
        vec![
            rule(self.common.to_path_buf(), PathAccess::Read),
            rule(common("hooks"), PathAccess::Hidden),
            rule(common("objects"), PathAccess::Write),
            // Loose objects are written; what was packed is the history of everybody else.
            rule(common("objects/pack"), PathAccess::Read),
            rule(common("objects/info"), PathAccess::Read),
            rule(self.references(), PathAccess::Write),
            rule(self.reference_logs(), PathAccess::Write),
            rule(self.git_dir.to_path_buf(), PathAccess::Write),
            // They say where the configuration is.
            rule(self.git_dir.join("commondir"), PathAccess::Pinned),
            rule(self.git_dir.join("gitdir"), PathAccess::Pinned),
        ]
    }

    /// The directory that holds its branch and no other: git makes a lock beside it.
    pub fn references(&self) -> PathBuf {
        let reference = self.common.join("refs/heads").join(self.branch);
        reference.parent().map(Path::to_path_buf).unwrap_or(reference)
    }

    pub fn reference_logs(&self) -> PathBuf {
        let reference = self.common.join("logs/refs/heads").join(self.branch);
        reference.parent().map(Path::to_path_buf).unwrap_or(reference)
    }
}

/// A client that cannot reach its model does nothing at all.
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

/// Whether a host is one of these. `*.example.org` is every name below it.
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

/// What a machine can build walls of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxOffer {
    pub bubblewrap: SandboxSupport,
    pub landlock: SandboxSupport,
    /// Whether the kernel can tell to whom a TCP connection may be made.
    pub ports: SandboxSupport,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxSupport {
    Yes,
    No { why: String },
}

impl Default for SandboxSupport {
    fn default() -> SandboxSupport {
        SandboxSupport::No { why: "nobody has looked".to_owned() }
    }
}

/// How a stage is kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxChoice {
    /// The plan says so.
    Off,
    /// There is nothing to build walls of, and the plan does not insist.
    Bare {
        why: String,
    },
    Within(SandboxBackend),
    /// The plan insists: nothing is started.
    Refused {
        why: String,
    },
}

/// How an agent of this client is kept.
pub fn choose(sandbox: &SandboxSettings, client: &StageClient, offer: &SandboxOffer) -> SandboxChoice {
    match client {
        StageClient::Command { .. } => chosen(sandbox, RequiredHost::Nobody, offer),
        StageClient::Known(_) => chosen(sandbox, RequiredHost::Model, offer),
    }
}

/// How a command of the plan is kept that looks at work.
pub fn choose_for_check(sandbox: &SandboxSettings, offer: &SandboxOffer) -> SandboxChoice {
    chosen(sandbox, RequiredHost::Nobody, offer)
}

/// Who has to be reached although the network is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequiredHost {
    Model,
    Nobody,
}

/// A network that is not open is insisted on: half a wall would pass for one.
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
            return without(format!("no bubblewrap: {why}; no Landlock: {other}"));
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
            without(format!("the network cannot be narrowed: {why}"))
        }
    }
}
