//! What an agent may touch while nobody watches it, as data: which places it reads, writes and does not see, and whom
//! it may talk to. Whoever builds the walls adds nothing of their own and leaves nothing out.

mod homes;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::spec::client::{Client, Known};
use super::spec::{Confine, Network, Sandbox};
pub use homes::{CREDENTIALS, Home, home_of};

/// The walls around one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    pub by: Wall,
    /// Of two that a path is below, the longer one counts.
    pub rules: Vec<Rule>,
    pub reach: Reach,
}

/// What the walls are made of. From strong to weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wall {
    /// A view of the machine of its own, by bubblewrap.
    Bubblewrap,
    /// The kernel says no. It does not see sockets that have a name, nor anything but TCP.
    Landlock,
}

impl Wall {
    pub fn name(self) -> &'static str {
        match self {
            Wall::Bubblewrap => "bubblewrap",
            Wall::Landlock => "Landlock",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    pub path: PathBuf,
    pub access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
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
pub enum Reach {
    Anybody,
    /// These, by a go-between of ours.
    Hosts(Vec<String>),
    Nobody,
}

/// Where a stage is worked at. Every path is absolute and has no link in it.
#[derive(Clone, Copy, Debug)]
pub struct Grounds<'a> {
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
pub struct Bench<'a> {
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

impl Confined {
    pub fn new(by: Wall, grounds: &Grounds<'_>, client: &Client, network: &Network) -> Confined {
        let home = match client {
            Client::Known(known) => home_of(*known),
            Client::Command { .. } => NOTHING,
        };
        let mut rules = machine(grounds.home, &home);
        let mut put = |path: PathBuf, access| rules.push(Rule { path, access });
        put(grounds.root.to_path_buf(), Access::Read);
        put(grounds.program.to_path_buf(), Access::Read);
        grounds.tools.iter().for_each(|path| put(path.clone(), Access::Read));
        grounds.git().into_iter().for_each(|rule| put(rule.path, rule.access));
        put(grounds.store.to_path_buf(), Access::Write);
        // What other sessions did is not its to say. A wall that cannot take a part out of what is written lets it be.
        put(grounds.store.join("journal"), Access::Pinned);
        grounds.journals.parent().into_iter().for_each(|all| put(all.to_path_buf(), Access::Pinned));
        put(grounds.journals.to_path_buf(), Access::Write);
        put(grounds.run.to_path_buf(), Access::Hidden);
        put(grounds.site.to_path_buf(), Access::Read);
        put(grounds.site.join("tmp"), Access::Write);
        put(grounds.brief.to_path_buf(), Access::Read);
        put(grounds.brief.with_extension("json"), Access::Read);
        // Its commands and hooks find in them what its stage is doing.
        put(grounds.run.join("plans"), Access::Read);
        put(grounds.door.to_path_buf(), Access::Read);
        grounds.own.iter().for_each(|path| put(path.clone(), Access::Write));
        put(grounds.worktree.to_path_buf(), Access::Write);
        // Whoever could point it elsewhere would choose which configuration git obeys outside.
        put(grounds.worktree.join(".git"), Access::Pinned);
        grounds.shared.iter().for_each(|path| put(path.clone(), Access::Write));
        Confined { by, rules, reach: reach(network, home.hosts) }
    }

    /// The walls around a command of the plan that looks at work: it runs what the agent wrote, so it reaches no more
    /// than the agent did, and of git and of runs less. It commits nothing, and nobody is told anything by it.
    pub fn of_check(by: Wall, bench: &Bench<'_>, network: &Network) -> Confined {
        let mut rules = machine(bench.home, &NOTHING);
        let mut put = |path: PathBuf, access| rules.push(Rule { path, access });
        put(bench.root.to_path_buf(), Access::Read);
        put(bench.common.to_path_buf(), Access::Read);
        put(bench.common.join("hooks"), Access::Hidden);
        put(bench.store.to_path_buf(), Access::Hidden);
        put(bench.temporary.to_path_buf(), Access::Write);
        put(bench.worktree.to_path_buf(), Access::Write);
        put(bench.worktree.join(".git"), Access::Pinned);
        bench.shared.iter().for_each(|path| put(path.clone(), Access::Write));
        Confined { by, rules, reach: reach(network, NOTHING.hosts) }
    }

    /// The walls around a reviewer: it reads the work and what its own client needs, and writes nothing but its verdict.
    /// `tools` are what it is made of.
    pub fn of_review(
        by: Wall,
        bench: &Bench<'_>,
        client: Known,
        tools: &[PathBuf],
        network: &Network,
    ) -> Confined {
        let home = home_of(client);
        let mut rules = machine(bench.home, &home);
        let mut put = |path: PathBuf, access| rules.push(Rule { path, access });
        put(bench.root.to_path_buf(), Access::Read);
        tools.iter().for_each(|path| put(path.clone(), Access::Read));
        put(bench.common.to_path_buf(), Access::Read);
        put(bench.common.join("hooks"), Access::Hidden);
        put(bench.store.to_path_buf(), Access::Hidden);
        put(bench.worktree.to_path_buf(), Access::Read);
        put(bench.temporary.to_path_buf(), Access::Write);
        Confined { by, rules, reach: reach(network, home.hosts) }
    }

    /// What holds for a path: the longest rule it is below, and of two for the same path the stricter one.
    pub fn access(&self, path: &Path) -> Access {
        let above = self.rules.iter().filter(|rule| path.starts_with(&rule.path));
        above
            .max_by_key(|rule| (rule.path.components().count(), std::cmp::Reverse(strictness(rule.access))))
            .map_or(Access::Hidden, |rule| rule.access)
    }

    /// One rule for each path, those above before those below.
    pub fn ordered(&self) -> Vec<Rule> {
        let mut paths: Vec<&PathBuf> = self.rules.iter().map(|rule| &rule.path).collect();
        paths.sort_by_key(|path| (path.components().count(), *path));
        paths.dedup();
        paths.into_iter().map(|path| Rule { path: path.clone(), access: self.access(path) }).collect()
    }
}

/// What holds for everybody on this machine.
fn machine(user: Option<&Path>, own: &Home) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut put = |path: PathBuf, access| rules.push(Rule { path, access });
    put("/".into(), Access::Read);
    // Sockets of the user's session are there: by one of them a command is run outside.
    put("/run".into(), Access::Hidden);
    ["/tmp", "/var/tmp"].into_iter().for_each(|path| put(path.into(), Access::Private));
    NAMES.into_iter().for_each(|path| put(path.into(), Access::Read));
    if let Some(user) = user {
        put(user.to_path_buf(), Access::Read);
        let is_own = |name: &str| own.reads.contains(&name) || own.writes.contains(&name);
        let foreign = CREDENTIALS.iter().filter(|name| !is_own(name));
        foreign.for_each(|name| put(user.join(name), Access::Hidden));
        own.reads.iter().for_each(|name| put(user.join(name), Access::Read));
        own.writes.iter().for_each(|name| put(user.join(name), Access::Write));
        own.pins.iter().for_each(|name| put(user.join(name), Access::Pinned));
    }
    rules
}

/// Of a home, for whoever is no client.
const NOTHING: Home = Home { reads: &[], writes: &[], pins: &[], hosts: &[] };

fn strictness(access: Access) -> u8 {
    match access {
        Access::Hidden => 0,
        Access::Private => 1,
        Access::Read => 2,
        Access::Pinned => 3,
        Access::Write => 4,
    }
}

impl Grounds<'_> {
    /// Committing on its own branch, and nothing else, takes this much of a repository.
    fn git(&self) -> Vec<Rule> {
        let rule = |path: PathBuf, access| Rule { path, access };
        let common = |name: &str| self.common.join(name);
        vec![
            rule(self.common.to_path_buf(), Access::Read),
            rule(common("hooks"), Access::Hidden),
            rule(common("objects"), Access::Write),
            // Loose objects are written; what was packed is the history of everybody else.
            rule(common("objects/pack"), Access::Read),
            rule(common("objects/info"), Access::Read),
            rule(self.references(), Access::Write),
            rule(self.reference_logs(), Access::Write),
            rule(self.git_dir.to_path_buf(), Access::Write),
            // They say where the configuration is.
            rule(self.git_dir.join("commondir"), Access::Pinned),
            rule(self.git_dir.join("gitdir"), Access::Pinned),
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
fn reach(network: &Network, model: &[&str]) -> Reach {
    let model = || model.iter().map(|host| (*host).to_owned());
    match network {
        Network::Open => Reach::Anybody,
        Network::None if model().next().is_none() => Reach::Nobody,
        Network::None => Reach::Hosts(model().collect()),
        Network::Hosts(hosts) => Reach::Hosts(model().chain(hosts.iter().map(ToString::to_string)).collect()),
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
pub struct Offer {
    pub bubblewrap: Can,
    pub landlock: Can,
    /// Whether the kernel can tell to whom a TCP connection may be made.
    pub ports: Can,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Can {
    Yes,
    No { why: String },
}

impl Default for Can {
    fn default() -> Can {
        Can::No { why: "nobody has looked".to_owned() }
    }
}

/// How a stage is kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The plan says so.
    Off,
    /// There is nothing to build walls of, and the plan does not insist.
    Bare {
        why: String,
    },
    Within(Wall),
    /// The plan insists: nothing is started.
    Refused {
        why: String,
    },
}

/// How an agent of this client is kept.
pub fn choose(sandbox: &Sandbox, client: &Client, offer: &Offer) -> Choice {
    match client {
        Client::Command { .. } => chosen(sandbox, Wanted::Nobody, offer),
        Client::Known(_) => chosen(sandbox, Wanted::Model, offer),
    }
}

/// How a command of the plan is kept that looks at work.
pub fn choose_for_check(sandbox: &Sandbox, offer: &Offer) -> Choice {
    chosen(sandbox, Wanted::Nobody, offer)
}

/// Who has to be reached although the network is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Model,
    Nobody,
}

/// A network that is not open is insisted on: half a wall would pass for one.
fn chosen(sandbox: &Sandbox, wanted: Wanted, offer: &Offer) -> Choice {
    let insists = match (sandbox.confine, &sandbox.network) {
        (Confine::Off, _) => return Choice::Off,
        (Confine::Required, _) | (Confine::Auto, Network::Hosts(_) | Network::None) => true,
        (Confine::Auto, Network::Open) => false,
    };
    let without = |why: String| if insists { Choice::Refused { why } } else { Choice::Bare { why } };
    let wall = match (&offer.bubblewrap, &offer.landlock) {
        (Can::Yes, _) => Wall::Bubblewrap,
        (Can::No { .. }, Can::Yes) => Wall::Landlock,
        (Can::No { why }, Can::No { why: other }) => {
            return without(format!("no bubblewrap: {why}; no Landlock: {other}"));
        }
    };
    match (&sandbox.network, wall, &offer.ports) {
        (Network::Open, _, _) | (_, _, Can::Yes) => Choice::Within(wall),
        (Network::None, Wall::Bubblewrap, Can::No { .. }) if wanted == Wanted::Nobody => Choice::Within(wall),
        (Network::None | Network::Hosts(_), _, Can::No { why }) => {
            without(format!("the network cannot be narrowed: {why}"))
        }
    }
}
