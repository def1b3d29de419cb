//! `sprag init`: writes Sprag's hooks into the settings of clients, after it showed a summary and asked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use sprag_base::result::Discard as _;
use sprag_base::text::quoted;
use sprag_host::clients::{self, CLIENTS, Client, ServerFileForm};
use sprag_host::setup::doctor::program_name;
use sprag_host::setup::install::{
    self, AGENT_COMMANDS, OnFailure, Permissions, SettingsChange, WantedSettings,
};
use sprag_host::sys::disk::{Disk as _, RealDisk};
use sprag_host::sys::exec::on_path;
use sprag_host::sys::human;
use sprag_host::sys::locations::{self, Locations, UserLocations};
use sprag_host::worktree::protect::snapshot;

use crate::commands::{CommandCx, CommandEnd, CommandResult, check_not_agent};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Install the hooks of Sprag in your agent clients (people only)
///
/// Prints a summary and asks before it writes. Your own entries, comments and order stay. `--remove` restores
/// the files byte for byte.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag init\n  \
    sprag init --client claude --dry-run")]
pub(crate) struct Args {
    /// Only this client (repeatable; default: every client found)
    #[arg(long, value_name = "NAME")]
    client: Vec<String>,
    /// Write the settings of this project, which colleagues share
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Write the settings of this user (default)
    #[arg(long)]
    user: bool,
    /// Remove the hooks again, and list what remains elsewhere
    #[arg(long)]
    remove: bool,
    /// Write without a question, with the recommended answers
    #[arg(long)]
    yes: bool,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Write only hooks: no reviewer agent, no `.sprag/` in this repository
    #[arg(long)]
    hooks_only: bool,
    /// Also allow the commands for agents (`sprag reflect`, `sprag skip` and others) without a question
    #[arg(long)]
    permissions: bool,
    /// Also register the memory server `sprag mcp` (Claude Code: in `.mcp.json` of this repository)
    #[arg(long)]
    mcp: bool,
    /// Also write a `post-rewrite` hook of git, so that records follow amended and rebased commits
    #[arg(long)]
    git_hook: bool,
    /// Let the client refuse tool calls when Sprag is missing or too slow
    #[arg(long)]
    fail_closed: bool,
    #[command(flatten)]
    format: OutputFormat,
}

/// One file that `init` writes or restores.
struct PlannedFile {
    /// Title of the client, or `git`.
    owner: &'static str,
    /// Change in the file, for example `14 hooks in`.
    what: String,
    change: SettingsChange,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let user = UserLocations::find(&cx.env);
    let places = cx.places().ok();
    match &places {
        _ if args.dry_run => {}
        Some(places) => check_not_agent(places)?,
        None => human::check_not_agent(user.as_ref())?,
    }
    let setup = Setup { chosen: choose(&args, cx)?, user, places, args: &args, cx };
    let permissions = if setup.takes_permissions() { setup.offered() } else { Permissions::Leave };
    let files = setup.plan(permissions)?;
    if !args.format.is_json() {
        setup.print_summary(&files);
    }
    if !args.dry_run {
        setup.confirm(&files)?;
        setup.apply(&files)?;
        let offered = setup.plan(setup.offered())?;
        if setup.wants_permissions(&offered) {
            setup.apply(&offered)?;
            output::line(format!("allowed {} commands of Sprag for agents", AGENT_COMMANDS.len()));
        }
    }
    let makes_project = !(args.dry_run || args.hooks_only || args.remove);
    let project = if makes_project { setup.make_project()? } else { None };
    if let Some(user) = setup.user.as_ref().filter(|_| !args.dry_run) {
        snapshot::accept(user, &RealDisk)?;
    }
    setup.finish(&files, project)
}

struct Setup<'a> {
    args: &'a Args,
    cx: &'a CommandCx,
    chosen: Vec<&'static Client>,
    user: Option<UserLocations>,
    places: Option<Locations>,
}

impl Setup<'_> {
    fn scope(&self) -> SettingsScope {
        if self.args.project { SettingsScope::Project } else { SettingsScope::User }
    }

    /// Plans every file, with the permission rules for agents if `permissions` says so.
    fn plan(&self, permissions: Permissions) -> Result<Vec<PlannedFile>, Failure> {
        let (args, user) = (self.args, self.user.as_ref());
        let mut files = Vec::new();
        for client in &self.chosen {
            let hooks = client.install.events.len();
            let mut add =
                |what: String, change| files.push(PlannedFile { owner: client.title, what, change });
            let path = settings_path(client, self.scope(), self.places.as_ref(), self.cx)?;
            if args.remove {
                add(format!("{hooks} hooks in"), install::plan_removal(&path, client, user)?);
                if let Some(change) = install::reviewer_agent::plan_removal(&path, client, user)? {
                    add("1 agent file".to_owned(), change);
                }
                if let Some((path, form)) = server_file(client, &path, self.places.as_ref()) {
                    add(
                        "the memory server in".to_owned(),
                        install::mcp_entry::plan_removal(&path, form, user)?,
                    );
                }
                continue;
            }
            let (program, _) = program_name(&self.cx.env);
            let on_failure = if args.fail_closed { OnFailure::Block } else { OnFailure::Pass };
            let wanted = WantedSettings { client, program: &program, permissions, on_failure };
            add(format!("{hooks} hooks in"), install::plan(&path, &wanted)?);
            if !args.hooks_only
                && let Some(change) = install::reviewer_agent::plan(&path, client, user)?
            {
                add("1 agent file".to_owned(), change);
            }
            if args.mcp {
                let file = server_file(client, &path, self.places.as_ref());
                let (path, form) = file.ok_or_else(|| Failure::not_in_git("a list of servers"))?;
                add("the memory server in".to_owned(), install::mcp_entry::plan(&path, form, &program)?);
            }
        }
        if let Some(change) = self.plan_git_hook()? {
            files.push(PlannedFile { owner: "git", what: "1 hook".to_owned(), change });
        }
        Ok(files)
    }

    fn plan_git_hook(&self) -> Result<Option<SettingsChange>, Failure> {
        let common = self.places.as_ref().and_then(|places| places.common.as_ref());
        match common {
            Some(common) if self.args.remove => Ok(Some(install::git_hook::plan_removal(common)?)),
            Some(common) if self.args.git_hook => {
                let (program, _) = program_name(&self.cx.env);
                let change = install::git_hook::plan(common, &program)?;
                Ok(Some(change.ok_or_else(|| Failure::hook_taken(&install::git_hook::path(common)))?))
            }
            None if self.args.git_hook => Err(Failure::not_in_git("a git hook")),
            Some(_) | None => Ok(None),
        }
    }

    /// Prints one line per client, and the whole change in a dry run.
    fn print_summary(&self, files: &[PlannedFile]) {
        let owners = self.chosen.iter().map(|client| client.title).chain(["git"]);
        for owner in owners {
            let own: Vec<&PlannedFile> = files.iter().filter(|file| file.owner == owner).collect();
            let open: Vec<String> = own
                .iter()
                .filter(|file| !file.change.is_nothing())
                .map(|file| format!("{} `{}`", file.what, self.short(&file.change.path)))
                .collect();
            let verb = if self.args.remove { "remove " } else { "" };
            match (own.is_empty(), open.is_empty()) {
                (true, _) => {}
                (_, true) if owner == "git" => {}
                (_, true) if self.args.remove => output::line(format!("{owner}: nothing to remove")),
                (_, true) => output::line(format!("{owner}: up to date")),
                _ => output::line(format!("{owner}: {verb}{}", open.join(", "))),
            }
        }
        if self.args.dry_run {
            print_diffs(files);
        }
        let (program, is_on_path) = program_name(&self.cx.env);
        if !is_on_path && !self.args.remove {
            output::note(format!(
                "sprag: warning: `sprag` is not on PATH; the hooks name `{program}` and fail when that file moves"
            ));
        }
        if self.args.project && !self.args.remove {
            output::note(
                "sprag: warning: a colleague without `sprag` gets a failing hook from these settings",
            );
        }
    }

    /// Returns a path with `~` for the home directory.
    fn short(&self, path: &Path) -> String {
        let below_home = locations::home(&self.cx.env).and_then(|home| path.strip_prefix(home).ok());
        below_home.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()))
    }

    /// Asks before anything is written; `d` prints the whole change and asks again.
    fn confirm(&self, files: &[PlannedFile]) -> Result<(), Failure> {
        let is_open = files.iter().any(|file| !file.change.is_nothing());
        if self.args.yes || !is_open {
            return Ok(());
        }
        loop {
            let action = if self.args.remove { "restore" } else { "write" };
            match output::ask(&format!("{action} these files?  [y]es  [d]iff  [n]o")).as_deref() {
                Some("y" | "yes") => return Ok(()),
                Some("d" | "diff") => print_diffs(files),
                Some(other) if !["", "n", "no"].contains(&other) => {
                    output::line(format!("`{}` is not an answer: type y, d or n", quoted(other)));
                }
                _ => {
                    let removes = if self.args.remove { " --remove" } else { "" };
                    let where_to = if self.args.project { " --project" } else { "" };
                    return Err(Failure::not_confirmed(&format!("sprag init{removes}{where_to} --yes")));
                }
            }
        }
    }

    fn apply(&self, files: &[PlannedFile]) -> Result<(), Failure> {
        let user = self.user.as_ref();
        for change in files.iter().map(|file| &file.change).filter(|change| !change.is_nothing()) {
            install::apply(&RealDisk, user, change)?;
            if self.args.remove {
                install::forget(&RealDisk, user, &change.path)?;
                remove_empty(&change.path);
            }
        }
        let common = self.places.as_ref().and_then(|places| places.common.as_ref());
        if let Some(common) = common.filter(|_| self.args.git_hook && !self.args.remove) {
            install::git_hook::make_program(common)?;
        }
        Ok(())
    }

    fn offered(&self) -> Permissions {
        if self.args.mcp { Permissions::OfferWithTools } else { Permissions::Offer }
    }

    /// Reports whether the rules for agents need no question: `--yes` takes the recommended answers.
    fn takes_permissions(&self) -> bool {
        let args = self.args;
        args.permissions || (args.yes && !args.hooks_only && !args.remove)
    }

    /// Asks whether agents may run their own commands of Sprag without a question, if a rule is missing.
    fn wants_permissions(&self, offered: &[PlannedFile]) -> bool {
        let args = self.args;
        let has_rules = self.chosen.iter().any(|client| client.install.permission.is_some());
        let is_missing = offered.iter().any(|file| !file.change.is_nothing());
        let is_asked = !(self.takes_permissions() || args.yes || args.remove || args.format.is_json());
        if !has_rules || !is_missing || !is_asked {
            return false;
        }
        let names = AGENT_COMMANDS.join("`, `");
        output::confirm_recommended(&format!(
            "Agents report to Sprag with the commands `{names}`. Without a rule, your client asks you each time.\n\
             allow these commands without a question? (recommended)"
        ))
    }

    /// Makes `.sprag/`, which a repository commits: its settings and its learnings.
    fn make_project(&self) -> Result<Option<PathBuf>, Failure> {
        let Some(dir) = self.places.as_ref().and_then(Locations::project) else {
            return Ok(None);
        };
        let question = format!(
            "`{}` keeps settings and learnings of this repository in git, so that your team shares them.\n\
             create it? (recommended)",
            dir.display()
        );
        let is_wanted = self.args.yes
            || (!self.args.format.is_json() && !dir.exists() && output::confirm_recommended(&question));
        if dir.exists() || !is_wanted {
            return Ok(None);
        }
        RealDisk.make_dirs(&dir).map_err(|error| Failure::io("make", &dir, &error))?;
        for (name, text) in [
            (".gitignore", "local.toml\ninbox/\n"),
            ("config.toml", "# Settings of this project; `sprag config show --defaults` lists every key.\n"),
        ] {
            let path = dir.join(name);
            fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))?;
        }
        Ok(Some(dir))
    }

    fn finish(&self, files: &[PlannedFile], project: Option<PathBuf>) -> CommandResult {
        let args = self.args;
        if args.format.is_json() {
            let changed: Vec<_> = files
                .iter()
                .map(|PlannedFile { change, .. }| {
                    json!({"path": change.path, "changed": !change.is_nothing(), "diff": change.diff()})
                })
                .collect();
            output::json(json!({"dry_run": args.dry_run, "files": changed, "project": project}));
            return Ok(CommandEnd::Done);
        }
        if args.dry_run {
            output::line("nothing was changed");
            return Ok(CommandEnd::Done);
        }
        if args.remove {
            self.print_remaining()?;
            return Ok(CommandEnd::Done);
        }
        if let Some(dir) = project {
            output::line(format!("created `{}`", dir.display()));
        }
        for client in &self.chosen {
            output::line(format!("{}: {}", client.title, client.install.after));
        }
        output::next("sprag doctor");
        Ok(CommandEnd::Done)
    }

    /// Lists what `--remove` leaves: hooks in the other settings, and files with the user's data.
    fn print_remaining(&self) -> Result<(), Failure> {
        let mut remaining = Vec::new();
        for client in &self.chosen {
            let Ok(path) = settings_path(client, self.scope().other(), self.places.as_ref(), self.cx) else {
                continue;
            };
            if !install::plan_removal(&path, client, self.user.as_ref())?.is_nothing() {
                let command = match self.scope() {
                    SettingsScope::User => "sprag init --remove --project",
                    SettingsScope::Project => "sprag init --remove",
                };
                remaining.push(format!("hooks in `{}`: `{command}` removes them", self.short(&path)));
            }
        }
        if let Some(places) = &self.places {
            if let Some(dir) = places.project().filter(|dir| dir.exists()) {
                remaining.push(format!("settings and shared learnings in `{}`", dir.display()));
            }
            if places.store.exists() {
                remaining.push(format!(
                    "records and learnings of this repository in `{}`",
                    places.store.display()
                ));
            }
        }
        if let Some(user) = &self.user {
            for (dir, what) in
                [(&user.config, "your settings"), (&user.state, "your own learnings and state")]
            {
                if dir.exists() {
                    remaining.push(format!("{what} in `{}`", self.short(dir)));
                }
            }
        }
        if !remaining.is_empty() {
            output::line("not removed:");
            for line in remaining {
                output::line(format!("  {line}"));
            }
        }
        Ok(())
    }
}

fn print_diffs(files: &[PlannedFile]) {
    for change in files.iter().map(|file| &file.change).filter(|change| !change.is_nothing()) {
        output::line(change.diff().trim_end());
    }
}

/// Returns the file in which this client lists MCP servers, if it has one.
fn server_file(
    client: &Client,
    settings: &Path,
    places: Option<&Locations>,
) -> Option<(PathBuf, ServerFileForm)> {
    let worktree = places.and_then(|places| places.worktree.as_deref());
    let path = install::mcp_entry::path(settings, client, worktree)?;
    client.install.server.as_ref().map(|server| (path, server.form))
}

/// Removes the folder of the reviewer agent if it is empty now.
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
        // A git hook needs no client.
        let is_needed = !args.git_hook;
        return if found.is_empty() && is_needed { Err(Failure::nothing_to_install()) } else { Ok(found) };
    }
    let known: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    args.client
        .iter()
        .map(|name| clients::find(name).ok_or_else(|| Failure::unknown_client(name, &known)))
        .collect()
}

/// Owner of the settings that a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SettingsScope {
    User,
    Project,
}

impl SettingsScope {
    fn other(self) -> SettingsScope {
        match self {
            SettingsScope::User => SettingsScope::Project,
            SettingsScope::Project => SettingsScope::User,
        }
    }
}

fn settings_path(
    client: &Client,
    scope: SettingsScope,
    places: Option<&Locations>,
    cx: &CommandCx,
) -> Result<PathBuf, Failure> {
    if scope == SettingsScope::Project {
        let worktree = places.and_then(|places| places.worktree.as_ref());
        let worktree = worktree.ok_or_else(|| Failure::not_in_git("a project's settings"))?;
        return Ok(worktree.join(client.install.project_file));
    }
    Ok((client.install.user_file)(&cx.env).ok_or(sprag_host::sys::locations::NoHome)?)
}
