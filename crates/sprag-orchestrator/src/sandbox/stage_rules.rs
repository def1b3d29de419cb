//! The sandbox policy of a stage's agent with the paths of this machine. Creates missing folders, and refuses
//! paths that a link redirects.

use std::path::{Path, PathBuf};
use std::{fs, io};

use sprag_base::result::Discard as _;
use sprag_host::store::journal;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::env::Env;
use sprag_host::sys::{exec, locations};
use sprag_plan::ids::StageId;
use sprag_plan::sandbox::{
    PathAccess, SandboxBackend, SandboxChoice, SandboxPaths, SandboxPolicy, SandboxRule, choose, home_of,
};
use sprag_plan::spec::client::{ClientName, StageClient};
use sprag_plan::spec::{CacheSpec, Caching, Plan, StageKind, StageSpec};

use crate::layout::{DOOR, RunLayout, handoffs_dir, notes_dir, notes_path};
use crate::sandbox;
use crate::session_dir::{SessionDir, SpawnRequest};

/// Git settings in the sandbox: no hooks and no maintenance.
const GIT: [(&str, &str); 3] =
    [("core.hooksPath", "/dev/null"), ("gc.auto", "0"), ("maintenance.auto", "false")];
/// Variables of programs that fail without a writable cache, and their folders.
const CACHES: [(&str, &str); 4] =
    [("GOCACHE", "go-build"), ("npm_config_cache", "npm"), ("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv")];
/// Folders of Sprag's records that commands and hooks of an agent write to. Created first, because a sandbox
/// may only allow existing paths.
const RECORDS: [&str; 10] =
    ["journal", "log", "inbox", "outbox", "crash", "start", "objects", "guard", "claims", "cache"];
/// A file that keeps the folder of a branch when git packs references. Git ignores names that start with a
/// dot.
const KEPT: &str = ".sprag";

/// Returns the first stage that requires a sandbox where none works.
pub(crate) fn refused(plan: &Plan, root: &Path) -> Option<(StageId, String)> {
    let offer = sandbox::offer(&Env::Real, Some(root));
    plan.stages().iter().find_map(|spec| match choose(&spec.sandbox, &spec.agent.client, &offer) {
        SandboxChoice::Refused { why } => Some((spec.id.clone(), why)),
        SandboxChoice::Off | SandboxChoice::Bare { .. } | SandboxChoice::Within(_) => None,
    })
}

/// Returns the sandbox of a stage on this machine.
pub(crate) fn choice(spec: &StageSpec, root: &Path) -> SandboxChoice {
    choose(&spec.sandbox, &spec.agent.client, &sandbox::offer(&Env::Real, Some(root)))
}

/// Describes the sandbox of a stage in one line for its agent.
pub(crate) fn describe(spec: &StageSpec, root: &Path) -> String {
    match choice(spec, root) {
        SandboxChoice::Off => "You have no sandbox: the plan turns it off.".to_owned(),
        SandboxChoice::Bare { why } => format!("You have no sandbox: {why}."),
        SandboxChoice::Within(wall) => format!(
            "You run in a {} sandbox: you can write to this worktree and to branch `{}`; other paths are read-only or hidden. Temporary files go to `$TMPDIR`.",
            wall.name(),
            spec.id.branch(),
        ),
        SandboxChoice::Refused { why } => format!("The sandbox does not work: {why}."),
    }
}

/// Adds the sandbox to a spawn request. Returns an error if none works and the plan requires one.
pub(crate) fn within(
    ground: &RunLayout,
    spec: &StageSpec,
    choice: &SandboxChoice,
    site: &SessionDir,
    mut spawn: SpawnRequest,
    disk: &dyn Disk,
) -> Result<SpawnRequest, String> {
    let wall = match choice {
        SandboxChoice::Off | SandboxChoice::Bare { .. } => return Ok(spawn),
        SandboxChoice::Within(wall) => *wall,
        SandboxChoice::Refused { why } => return Err(why.clone()),
    };
    let program = program_of(&spawn);
    let confined = walls(ground, spec, site, wall, program.as_ref().map(|(_, real)| real.as_path()), disk)?;
    if let (Some((found, real)), Some(first)) = (&program, spawn.argv.first_mut())
        && matches!(confined.access(found), PathAccess::Hidden | PathAccess::Private)
    {
        // The sandbox hides the path where the program was found, but not its real path.
        *first = real.display().to_string();
    }
    spawn.env = told_within(spawn.env, &site.dir().join("tmp"));
    spawn.confined = Some(confined);
    Ok(spawn)
}

/// Returns the environment for a sandbox: temporary folder, git settings, and cache folders outside the home
/// directory.
pub(crate) fn told_within(mut env: Vec<(String, String)>, temporary: &Path) -> Vec<(String, String)> {
    let is_ours = |name: &str| name == "TMPDIR" || name.starts_with("GIT_CONFIG_");
    env.retain(|(name, _)| !is_ours(name) && !CACHES.iter().any(|(cache, _)| cache == name));
    env.push(("TMPDIR".to_owned(), temporary.display().to_string()));
    env.push(("GIT_CONFIG_COUNT".to_owned(), GIT.len().to_string()));
    for (at, (key, value)) in GIT.into_iter().enumerate() {
        env.push((format!("GIT_CONFIG_KEY_{at}"), key.to_owned()));
        env.push((format!("GIT_CONFIG_VALUE_{at}"), value.to_owned()));
    }
    env.extend(CACHES.map(|(name, dir)| (name.to_owned(), temporary.join(dir).display().to_string())));
    env
}

/// Returns the caches of the user's checkout that a worktree shares.
pub(crate) fn shared(caches: &[CacheSpec], root: &Path, common: &Path) -> Vec<PathBuf> {
    let of = |cached: &CacheSpec| fs::canonicalize(root.join(cached.path.as_str())).ok();
    let shared = caches.iter().filter(|cached| cached.how == Caching::Share).filter_map(of);
    shared.filter(|path| path.starts_with(root) && !path.starts_with(common)).collect()
}

/// Returns the path of the agent's program and its real path.
fn program_of(spawn: &SpawnRequest) -> Option<(PathBuf, PathBuf)> {
    let first = spawn.argv.first()?;
    let path = spawn.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str())?;
    let found =
        if first.contains('/') { spawn.dir.join(first) } else { exec::on_path(first, path.as_ref())? };
    let real = fs::canonicalize(&found).ok()?;
    Some((found, real))
}

fn walls(
    ground: &RunLayout,
    spec: &StageSpec,
    site: &SessionDir,
    wall: SandboxBackend,
    agent: Option<&Path>,
    disk: &dyn Disk,
) -> Result<SandboxPolicy, String> {
    let told = |path: &Path, error: &io::Error| format!("`{}`: {error}", path.display());
    let whole = |path: &Path| fs::canonicalize(path).map_err(|error| told(path, &error));
    let worktree = ground.worktree(&spec.id);
    let common = locations::common_dir(&worktree).ok_or("no git repository")?;
    let git_dir = locations::git_dir(&worktree).ok_or("no git repository")?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let home = locations::home(&Env::Real).map(|home| whole(&home)).transpose()?;
    let store = ground.run.parent().unwrap_or(&ground.run);
    let (branch, brief) = (spec.id.branch(), ground.brief(&spec.id));
    let made = |path: &Path| disk.make_dirs(path).map_err(|error| told(path, &error));
    made(&site.dir().join("tmp"))?;
    RECORDS.iter().try_for_each(|name| made(&store.join(name)))?;
    made(&journal::folder(store, spec.id.as_str()))?;
    // From here on all paths are canonical; redirects by links are found below.
    let (root, common, git_dir) = (whole(&ground.root)?, whole(&common)?, whole(&git_dir)?);
    let (store, run, site) = (whole(store)?, whole(&ground.run)?, whole(site.dir())?);
    let (brief, program) = (whole(&brief).unwrap_or(brief), whole(&program)?);
    let expected = root.join(".worktrees").join(spec.id.as_str());
    if whole(&worktree)? != expected {
        return Err(format!("`{}` is reached by a link", worktree.display()));
    }
    let door = run.join(DOOR);
    let handed_over = handoffs_dir(&run, &ground.plan, &spec.id);
    [&door, &handed_over, &notes_dir(&run, &ground.plan)].into_iter().try_for_each(|path| made(path))?;
    // The distill command reads the notes of all stages and marks those it has used.
    let noted = match spec.kind {
        StageKind::KnowledgeDistill => run.join("notes"),
        StageKind::Standard | StageKind::Knowledge | StageKind::IntegrationVerify => {
            let own = notes_path(&run, &ground.plan, &spec.id);
            disk::append_regular(&own).map_err(|error| told(&own, &error))?;
            own
        }
    };
    let own = [noted, handed_over];
    let shared = shared(&spec.caches, &root, &common);
    // The sandbox may hide the folder of a script that the plan names.
    let mut tools: Vec<PathBuf> = match &spec.agent.client {
        StageClient::Command { command, .. } => {
            let named = command.iter().map(|word| PathBuf::from(word.to_string()));
            named
                .filter(|path| path.is_absolute() && path.is_file())
                .filter_map(|path| whole(&path).ok())
                .collect()
        }
        StageClient::Known(_) => Vec::new(),
    };
    tools.extend(agent.map(Path::to_path_buf));
    let journals = journal::folder(&store, spec.id.as_str());
    let grounds = SandboxPaths {
        root: &root,
        worktree: &expected,
        git_dir: &git_dir,
        common: &common,
        branch: &branch,
        store: &store,
        run: &run,
        site: &site,
        brief: &brief,
        door: &door,
        own: &own,
        journals: &journals,
        home: home.as_deref(),
        program: &program,
        tools: &tools,
        shared: &shared,
    };
    for path in [grounds.references(), grounds.reference_logs()] {
        made(&path)?;
    }
    fs::write(grounds.references().join(KEPT), "").map_err(|error| told(&grounds.references(), &error))?;
    if wall == SandboxBackend::Landlock {
        // Landlock can only allow existing paths.
        (0..=255).try_for_each(|byte: u8| made(&common.join(format!("objects/{byte:02x}"))))?;
    }
    if let (StageClient::Known(known), Some(home)) = (&spec.agent.client, &home) {
        make_homes(*known, home, disk)?;
    }
    let confined = SandboxPolicy::new(wall, &grounds, &spec.agent.client, &spec.sandbox.network);
    settled(confined, &[&common, &expected, &store])
}

/// Creates the folders that a client writes to, because a sandbox may only allow existing paths.
pub(crate) fn make_homes(client: ClientName, home: &Path, disk: &dyn Disk) -> Result<(), String> {
    let is_used = |name: &&&str| Path::new(name).parent().is_some_and(|parent| home.join(parent).is_dir());
    home_of(client)
        .writes
        .iter()
        .filter(is_used)
        .map(|name| home.join(name))
        .try_for_each(|path| disk.make_dirs(&path).map_err(|error| format!("`{}`: {error}", path.display())))
}

/// Makes every rule canonical. A hidden path is hidden at its real place. Refuses a writable path of Sprag's
/// that is a link.
pub(crate) fn settled(mut confined: SandboxPolicy, ours: &[&Path]) -> Result<SandboxPolicy, String> {
    let mut rules: Vec<SandboxRule> = Vec::new();
    for rule in confined.rules {
        let real = match fs::canonicalize(&rule.path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                rules.push(rule);
                continue;
            }
            Err(error) => return Err(format!("`{}`: {error}", rule.path.display())),
        };
        let is_ours = ours.iter().any(|ours| rule.path.starts_with(ours));
        let is_relied_on = matches!(rule.access, PathAccess::Write | PathAccess::Pinned);
        if real != rule.path && is_ours && is_relied_on {
            return Err(format!("`{}` is a link to `{}`", rule.path.display(), real.display()));
        }
        // A link to a parent folder would open all of it.
        let opens = real != rule.path && rule.access == PathAccess::Write;
        if opens && rules.iter().any(|other| other.path.starts_with(&real)) {
            return Err(format!(
                "`{}` leads to `{}` and would open more than allowed",
                rule.path.display(),
                real.display()
            ));
        }
        rules.push(SandboxRule { path: real, access: rule.access });
    }
    confined.rules = rules;
    Ok(confined)
}

/// Removes leftover folders of a deleted branch.
pub(crate) fn forget(ground: &RunLayout, stage: &StageId, disk: &dyn Disk) {
    let Some(common) = locations::common_dir(&ground.root) else { return };
    let places: [PathBuf; 2] =
        ["refs/heads", "logs/refs/heads"].map(|dir| common.join(dir).join(stage.branch()));
    for dir in places.iter().filter_map(|path| path.parent()) {
        // An existing branch and a shared folder stay.
        if !dir.join("work").exists() {
            disk.remove(&dir.join(KEPT)).discard("the file is empty and harmless");
            fs::remove_dir(dir).discard("a folder that is not empty stays on purpose");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use sprag_plan::sandbox::NetworkAccess;

    use super::*;

    #[test]
    fn keys_are_hidden_where_they_are_and_our_own_places_are_no_links() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for name in ["dots/ssh", "home", "git/objects", "elsewhere"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink(root.join("dots/ssh"), root.join("home/.ssh")).unwrap();
        symlink(root.join("elsewhere"), root.join("git/refs")).unwrap();
        let confined = |path: &str, access| SandboxPolicy {
            by: SandboxBackend::Landlock,
            rules: vec![
                SandboxRule { path: root.join("home"), access: PathAccess::Read },
                SandboxRule { path: root.join(path), access },
            ],
            reach: NetworkAccess::Anybody,
        };
        let git = root.join("git");
        let settled = |confined| settled(confined, &[&git]);
        let hidden = settled(confined("home/.ssh", PathAccess::Hidden)).unwrap();
        assert_eq!(hidden.access(&root.join("dots/ssh/id")), PathAccess::Hidden);
        assert!(settled(confined("git/objects", PathAccess::Write)).is_ok());
        assert!(settled(confined("git/refs", PathAccess::Write)).unwrap_err().contains("is a link to"));
        symlink("/", root.join("home/.claude")).unwrap();
        assert!(
            settled(confined("home/.claude", PathAccess::Write)).unwrap_err().contains("more than allowed")
        );
    }
}
