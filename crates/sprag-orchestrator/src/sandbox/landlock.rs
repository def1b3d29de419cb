//! The sandbox by Landlock: the kernel allows the agent and its processes only the named accesses. Landlock
//! has only allow rules. A folder with a hidden part is therefore allowed entry by entry, as found at the
//! start of the agent.

use std::path::{Path, PathBuf};
use std::{fs, io};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use sprag_plan::sandbox::{PathAccess, SandboxPolicy, SandboxRule, SandboxSupport};

use super::{PlacedRule, kind_of};

/// The newest supported Landlock version; an older kernel applies the rules it knows.
const NEWEST: ABI = ABI::V6;
/// Maximum number of allowed paths. A home directory has hundreds of entries.
const PIECES: usize = 50_000;
/// Devices that every program may write to.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileRights {
    /// Not restricted here; bubblewrap restricts files.
    All,
    ByRules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ports {
    All,
    /// Connections only to this port.
    One(u16),
    None,
}

pub(crate) fn can_files() -> SandboxSupport {
    asked(
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1)),
    )
}

pub(crate) fn can_ports() -> SandboxSupport {
    asked(
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessNet::ConnectTcp),
    )
}

/// Creates a ruleset without applying it, to test whether the kernel supports it.
fn asked(rules: Result<Ruleset, landlock::RulesetError>) -> SandboxSupport {
    match rules.and_then(Ruleset::create) {
        Ok(_) => SandboxSupport::Yes,
        Err(error) => SandboxSupport::No { why: error.to_string() },
    }
}

/// Restricts this process and everything that it starts.
pub(crate) fn restrict(confined: &SandboxPolicy, files: FileRights, ports: Ports) -> io::Result<()> {
    let mut rules = Ruleset::default();
    // Blocks signals and abstract sockets out of the sandbox, if the kernel supports it.
    rules = rules.scope(Scope::from_all(NEWEST)).map_err(io::Error::other)?;
    if files == FileRights::ByRules {
        rules = rules.handle_access(AccessFs::from_all(NEWEST)).map_err(io::Error::other)?;
    }
    rules = match ports {
        Ports::All => rules,
        Ports::One(_) => narrowed(rules, AccessNet::ConnectTcp.into())?,
        Ports::None => narrowed(rules, AccessNet::from_all(ABI::V4))?,
    };
    let mut made = rules.create().map_err(io::Error::other)?;
    if files == FileRights::ByRules {
        for (path, access) in grants(confined)? {
            let access = match access {
                PathAccess::Write => AccessFs::from_all(NEWEST),
                PathAccess::Read | PathAccess::Pinned => AccessFs::from_read(NEWEST),
                PathAccess::Hidden | PathAccess::Private => continue,
            };
            made = made.add_rules(path_beneath_rules([path], access)).map_err(io::Error::other)?;
        }
        let device =
            AccessFs::from_file(NEWEST) | AccessFs::ReadDir | AccessFs::MakeReg | AccessFs::RemoveFile;
        made = made.add_rules(path_beneath_rules(DEVICES, device)).map_err(io::Error::other)?;
    }
    if let Ports::One(port) = ports {
        made = made.add_rule(NetPort::new(port, AccessNet::ConnectTcp)).map_err(io::Error::other)?;
    }
    let held = made.restrict_self().map_err(io::Error::other)?;
    let is_needed = files == FileRights::ByRules || ports != Ports::All;
    if files == FileRights::ByRules {
        // File rules alone do not restrict a privileged user, so all capabilities go.
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, none)?;
    }
    match held.ruleset {
        RulesetStatus::NotEnforced if is_needed => Err(io::Error::other("the kernel lacks Landlock")),
        RulesetStatus::NotEnforced | RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => {
            Ok(())
        }
    }
}

fn narrowed(rules: Ruleset, access: BitFlags<AccessNet>) -> io::Result<Ruleset> {
    let hard = rules.set_compatibility(CompatLevel::HardRequirement);
    let handled = hard.handle_access(access).map_err(io::Error::other)?;
    Ok(handled.set_compatibility(CompatLevel::BestEffort))
}

/// Returns the allowed paths. One entry covers a folder with uniform access.
fn grants(confined: &SandboxPolicy) -> io::Result<Vec<PlacedRule>> {
    let rules = confined.ordered();
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from("/")];
    while let Some(path) = open.pop() {
        if found.len() + open.len() > PIECES {
            return Err(io::Error::other(format!("`{}` has too many entries", path.display())));
        }
        let here = confined.access(&path);
        let below: Vec<&SandboxRule> = rules
            .iter()
            .filter(|rule| rule.path != path && rule.path.starts_with(&path))
            // Landlock cannot exclude a file from a writable folder. Code that relies on a pinned file checks
            // it.
            .filter(|rule| rule.access != PathAccess::Pinned && shade(rule.access) != shade(here))
            .filter(|rule| kind_of(&rule.path).is_some())
            .collect();
        match here {
            _ if below.is_empty() => found.push((path, here)),
            PathAccess::Hidden | PathAccess::Private => {
                open.extend(below.iter().map(|rule| rule.path.clone()))
            }
            PathAccess::Read | PathAccess::Pinned | PathAccess::Write => open.extend(entries(&path)),
        }
    }
    // Two rules above may lead to the same path.
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found.dedup();
    Ok(found.into_iter().filter(|(_, access)| shade(*access) != Shade::Dark).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shade {
    Dark,
    Read,
    Write,
}

fn shade(access: PathAccess) -> Shade {
    match access {
        PathAccess::Hidden | PathAccess::Private => Shade::Dark,
        PathAccess::Read | PathAccess::Pinned => Shade::Read,
        PathAccess::Write => Shade::Write,
    }
}

/// Returns the entries of a folder without links. Following a link needs no right, and its target has its own
/// rule.
fn entries(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| kind_of(path).is_some_and(|kind| !kind.is_symlink()))
        .collect()
}

#[cfg(test)]
mod tests {
    use sprag_plan::sandbox::{NetworkAccess, SandboxBackend};

    use super::*;

    #[test]
    fn a_place_with_a_hidden_part_is_allowed_piece_by_piece() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for name in ["home/.ssh", "home/src", "home/.config/gh", "home/.config/nvim", "work/a", "work/.git"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("home/.ssh"), root.join("home/link")).unwrap();
        let rule = |path: &str, access| SandboxRule { path: root.join(path), access };
        let rules = vec![
            SandboxRule { path: "/".into(), access: PathAccess::Hidden },
            rule("home", PathAccess::Read),
            rule("home/.ssh", PathAccess::Hidden),
            rule("home/.config/gh", PathAccess::Hidden),
            rule("home/.netrc", PathAccess::Hidden),
            rule("work", PathAccess::Write),
            rule("work/.git", PathAccess::Pinned),
        ];
        let confined = SandboxPolicy { by: SandboxBackend::Landlock, rules, reach: NetworkAccess::Anybody };
        let granted = grants(&confined).unwrap();
        let told: Vec<(String, PathAccess)> = granted
            .into_iter()
            .map(|(path, access)| (path.strip_prefix(&root).unwrap().display().to_string(), access))
            .collect();
        assert_eq!(
            told,
            [
                ("home/.config/nvim".to_owned(), PathAccess::Read),
                ("home/src".to_owned(), PathAccess::Read),
                ("work".to_owned(), PathAccess::Write),
            ]
        );
    }
}
