//! `sprag init`: puts our hooks into the settings of clients, after showing the change.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use sprag_base::result::Discard as _;
use sprag_host::clients::{self, CLIENTS, Client, ServerFileForm};
use sprag_host::setup::doctor::program_name;
use sprag_host::setup::install::{
    self, AGENT_COMMANDS, OnFailure, Permissions, SettingsChange, WantedSettings,
};
use sprag_host::sys::disk::{Disk as _, RealDisk};
use sprag_host::sys::exec::on_path;
use sprag_host::sys::human;
use sprag_host::sys::locations::{Locations, UserLocations};

use crate::commands::{CommandCx, CommandEnd, CommandResult, check_not_agent};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Install the hooks of Sprag in your agent clients (people only)
///
/// Shows the change first and asks. Foreign entries, comments and order stay. `--remove` gives the
/// files back as they were.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag init\n  \
    sprag init --client claude --dry-run")]
pub(crate) struct Args {
    /// Only this client (may be repeated)
    #[arg(long, value_name = "NAME")]
    client: Vec<String>,
    /// Into this project's settings, which colleagues share
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Into this user's settings (the default)
    #[arg(long)]
    user: bool,
    /// Take the hooks out again
    #[arg(long)]
    remove: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Only show the change
    #[arg(long)]
    dry_run: bool,
    /// Write the hooks alone: no reviewer agent, and no `.sprag/` in this repository
    #[arg(long)]
    hooks_only: bool,
    /// Also let the agent run its own commands without asking: reflect, skip, observe, ref, decide, review context, intent select
    #[arg(long)]
    permissions: bool,
    /// Also tell the clients of the memory's server, `sprag mcp` (Claude Code: in this repository's `.mcp.json`)
    #[arg(long)]
    mcp: bool,
    /// Also write a `post-rewrite` hook of git into this clone, so that records follow amended and rebased commits
    #[arg(long)]
    git_hook: bool,
    /// Let the client refuse tool calls when Sprag is missing or too slow
    #[arg(long)]
    fail_closed: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let user = UserLocations::find(&cx.env);
    let places = cx.places().ok();
    match &places {
        _ if args.dry_run => {}
        Some(places) => check_not_agent(places)?,
        None => human::check_not_agent(user.as_ref())?,
    }
    let chosen = choose(&args, cx)?;
    let (program, is_on_path) = program_name(&cx.env);
    let permissions = ask_permissions(&args, &chosen);
    let mut changes = Vec::new();
    for client in &chosen {
        let path = settings_path(client, &args, places.as_ref(), cx)?;
        if args.remove {
            changes.push(install::plan_removal(&path, client, user.as_ref())?);
            changes.extend(install::reviewer_agent::plan_removal(&path, client, user.as_ref())?);
            if let Some((path, form)) = server_file(client, &path, places.as_ref()) {
                changes.push(install::mcp_entry::plan_removal(&path, form, user.as_ref())?);
            }
        } else {
            let on_failure = if args.fail_closed { OnFailure::Block } else { OnFailure::Pass };
            let wanted = WantedSettings { client, program: &program, permissions, on_failure };
            changes.push(install::plan(&path, &wanted)?);
            if !args.hooks_only {
                changes.extend(install::reviewer_agent::plan(&path, client, user.as_ref())?);
            }
            if args.mcp {
                let file = server_file(client, &path, places.as_ref());
                let (path, form) = file.ok_or_else(|| Failure::not_in_git("a list of servers"))?;
                changes.push(install::mcp_entry::plan(&path, form, &program)?);
            }
        }
    }
    let common = places.as_ref().and_then(|places| places.common.clone());
    match &common {
        Some(common) if args.remove => changes.push(install::git_hook::plan_removal(common)?),
        Some(common) if args.git_hook => {
            let change = install::git_hook::plan(common, &program)?;
            changes.push(change.ok_or_else(|| Failure::hook_taken(&install::git_hook::path(common)))?);
        }
        None if args.git_hook => return Err(Failure::not_in_git("a hook of git")),
        Some(_) | None => {}
    }
    if !args.format.is_json() {
        tell(&args, &changes, (!is_on_path).then_some(&program));
    }
    let open: Vec<&SettingsChange> = changes.iter().filter(|change| !change.is_nothing()).collect();
    let is_confirmed = args.yes || open.is_empty() || (!args.dry_run && output::confirm("write this?"));
    if !args.dry_run {
        if !is_confirmed {
            let removes = if args.remove { " --remove" } else { "" };
            let where_to = if args.project { " --project" } else { "" };
            return Err(Failure::not_confirmed(&format!("sprag init{removes}{where_to} --yes")));
        }
        for change in &open {
            install::apply(&RealDisk, user.as_ref(), change)?;
            if args.remove {
                install::forget(&RealDisk, user.as_ref(), &change.path)?;
                remove_empty(&change.path);
            }
        }
    }
    if let Some(common) = common.filter(|_| args.git_hook && !args.remove && !args.dry_run) {
        install::git_hook::make_program(&common)?;
    }
    let project = if args.dry_run || args.hooks_only || args.remove {
        None
    } else {
        make_project(&args, places.as_ref())?
    };
    finish(&args, &chosen, &changes, project)
}

/// Where this client is told of servers. A client that takes none is not asked for.
fn server_file(
    client: &Client,
    settings: &Path,
    places: Option<&Locations>,
) -> Option<(PathBuf, ServerFileForm)> {
    let worktree = places.and_then(|places| places.worktree.as_deref());
    let path = install::mcp_entry::path(settings, client, worktree)?;
    client.install.server.as_ref().map(|server| (path, server.form))
}

/// A folder that was only made for a file of ours goes with it; one with anything in it stays.
fn remove_empty(file: &Path) {
    if let Some(dir) = file.parent().filter(|dir| dir.ends_with("agents")) {
        RealDisk.remove_dir(dir).discard("a folder with other files in it stays");
    }
}

fn choose(args: &Args, cx: &CommandCx) -> Result<Vec<&'static Client>, Failure> {
    if args.client.is_empty() {
        let is_there = |client: &&&Client| {
            let settings = (client.install.user_file)(&cx.env);
            let has_settings = settings.as_ref().and_then(|path| path.parent()).is_some_and(Path::is_dir);
            has_settings || cx.env.get("PATH").is_some_and(|path| on_path(client.program, &path).is_some())
        };
        let found: Vec<&'static Client> = CLIENTS.iter().filter(is_there).copied().collect();
        // A hook of git is for git, whoever is here besides.
        let is_needed = !args.git_hook;
        return if found.is_empty() && is_needed { Err(Failure::nothing_to_install()) } else { Ok(found) };
    }
    let known: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    args.client
        .iter()
        .map(|name| clients::find(name).ok_or_else(|| Failure::unknown_client(name, &known)))
        .collect()
}

fn settings_path(
    client: &Client,
    args: &Args,
    places: Option<&Locations>,
    cx: &CommandCx,
) -> Result<PathBuf, Failure> {
    if args.project {
        let worktree = places.and_then(|places| places.worktree.as_ref());
        let worktree = worktree.ok_or_else(|| Failure::not_in_git("a project's settings"))?;
        return Ok(worktree.join(client.install.project_file));
    }
    Ok((client.install.user_file)(&cx.env).ok_or(sprag_host::sys::locations::NoHome)?)
}

/// A separate answer: without the rules every report asks the user, and fails where nobody is there.
fn ask_permissions(args: &Args, chosen: &[&Client]) -> Permissions {
    let has_rules = chosen.iter().any(|client| client.install.permission.is_some());
    let is_asked = !args.permissions
        && !args.yes
        && !args.dry_run
        && !args.remove
        && !args.format.is_json()
        && has_rules;
    let question =
        format!("let the agent run `sprag {}` without asking you?", AGENT_COMMANDS.join("`, `sprag "));
    if !(args.permissions || (is_asked && output::confirm(&question))) {
        Permissions::Leave
    } else if args.mcp {
        Permissions::OfferWithTools
    } else {
        Permissions::Offer
    }
}

/// `unfound` is this program as hooks name it, if PATH does not find it.
fn tell(args: &Args, changes: &[SettingsChange], unfound: Option<&String>) {
    for change in changes {
        if change.is_nothing() {
            output::line(format!("`{}` is as it should be", change.path.display()))
        } else {
            output::line(change.diff().trim_end())
        }
    }
    if let Some(program) = unfound.filter(|_| !args.remove) {
        output::note(format!(
            "sprag: PATH does not find this program, so hooks name it as `{program}`; they break when it moves"
        ));
    }
    if args.project && !args.remove {
        output::note("sprag: a colleague without sprag gets a failing hook from a project's settings");
    }
}

/// `.sprag/` is what a repository commits: its policy, and later what was learned.
fn make_project(args: &Args, places: Option<&Locations>) -> Result<Option<PathBuf>, Failure> {
    let Some(dir) = places.and_then(Locations::project) else {
        return Ok(None);
    };
    if dir.exists()
        || !(args.yes || (!args.format.is_json() && output::confirm(&format!("make `{}`?", dir.display()))))
    {
        return Ok(None);
    }
    RealDisk.make_dirs(&dir).map_err(|error| Failure::io("make", &dir, &error))?;
    for (name, text) in [
        (".gitignore", "local.toml\ninbox/\n"),
        ("config.toml", "# Policy of this project; `sprag config show --defaults` lists every key.\n"),
    ] {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))?;
    }
    Ok(Some(dir))
}

fn finish(
    args: &Args,
    chosen: &[&Client],
    changes: &[SettingsChange],
    project: Option<PathBuf>,
) -> CommandResult {
    if args.format.is_json() {
        let changed: Vec<_> = changes
            .iter()
            .map(
                |change| json!({"path": change.path, "changed": !change.is_nothing(), "diff": change.diff()}),
            )
            .collect();
        output::json(json!({"dry_run": args.dry_run, "files": changed, "project": project}));
        return Ok(CommandEnd::Done);
    }
    if args.dry_run {
        output::line("nothing was changed");
        return Ok(CommandEnd::Done);
    }
    if let Some(dir) = project {
        output::line(format!("made `{}`", dir.display()));
    }
    if !args.remove {
        for client in chosen {
            output::line(format!("{}: {}", client.title, client.install.after));
        }
        output::next("sprag doctor");
    }
    Ok(CommandEnd::Done)
}
