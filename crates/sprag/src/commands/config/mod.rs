//! `sprag config`: shows and sets configuration values, each with its layer.

mod clients;
pub(crate) mod completions;
mod gates;
pub(crate) mod off;
pub(crate) mod on;
pub(crate) mod trust;

use std::path::PathBuf;

use serde_json::json;

use sprag_host::config::{self, Layer, Resolved};
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::locations::Locations;

use super::{CommandCx, CommandResult, accept_protected, check_not_agent, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Show or change the configuration
///
/// Values come from layers: defaults, user, project, worktree and environment. Without a subcommand it shows
/// every value with its layer.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag config show\n  \
    sprag config set circuit_breaker.max_blocks 5")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show every value with its layer
    Show {
        /// Print the commented defaults instead
        #[arg(long)]
        defaults: bool,
        #[command(flatten)]
        format: OutputFormat,
    },
    /// Print one value
    Get {
        /// Key with dots, for example `circuit_breaker.max_blocks`
        key: String,
        #[command(flatten)]
        format: OutputFormat,
    },
    /// Set one value (people only)
    ///
    /// Writes the file of the user, unless `--project` or `--local` is given.
    Set {
        /// Key with dots, for example `circuit_breaker.max_blocks`
        key: String,
        /// Value as TOML; a bare word is a string
        value: String,
        /// Write the file of the project, which is committed
        #[arg(long, conflicts_with = "local")]
        project: bool,
        /// Write the file of this worktree only
        #[arg(long)]
        local: bool,
        #[command(flatten)]
        format: OutputFormat,
    },
    /// Print the files of all layers, lowest first
    Path {
        #[command(flatten)]
        format: OutputFormat,
    },
    Gates(gates::Args),
    Clients(clients::Args),
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command.unwrap_or(Command::Show { defaults: false, format: OutputFormat::default() }) {
        Command::Show { defaults: true, format } => show(
            format,
            || json!({ "defaults": config::defaults() }),
            || output::text_raw(&config::defaults()),
        ),
        Command::Show { format, .. } => show_all(format, cx),
        Command::Get { key, format } => get(&key, format, cx),
        Command::Set { key, value, project, local, format } => {
            let layer = match (project, local) {
                (true, _) => Layer::Project,
                (_, true) => Layer::Local,
                _ => Layer::User,
            };
            set(&key, &value, layer, format, cx)
        }
        Command::Path { format } => paths(format, cx),
        Command::Gates(args) => gates::run(args, cx),
        Command::Clients(args) => clients::run(args, cx),
    }
}

fn places(cx: &CommandCx) -> Locations {
    // Defaults and the environment also apply outside git and without a home directory.
    cx.places().unwrap_or(Locations {
        worktree: None,
        git_dir: None,
        common: None,
        store: PathBuf::new(),
        user: None,
    })
}

fn resolved(cx: &CommandCx) -> Result<Resolved, Failure> {
    let resolved = config::load(&places(cx), &cx.env);
    if resolved.problems.is_empty() { Ok(resolved) } else { Err(Failure::config(&resolved.problems)) }
}

fn show_all(format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let resolved = resolved(cx)?;
    show(
        format,
        || {
            let settings: Vec<_> = resolved
                .settings
                .iter()
                .map(|(key, setting)| json!({"key": key, "value": setting.value, "layer": setting.layer.name()}))
                .collect();
            let ignored: Vec<_> = resolved
                .ignored
                .iter()
                .map(|ignored| json!({"key": ignored.key, "path": ignored.path, "may": ignored.may}))
                .collect();
            json!({"settings": settings, "ignored": ignored})
        },
        || {
            let rows: Vec<Vec<String>> = resolved
                .settings
                .iter()
                .map(|(key, setting)| {
                    vec![key.clone(), setting.layer.name().to_owned(), setting.value.to_string()]
                })
                .collect();
            output::table(&["key", "layer", "value"], &rows);
            for ignored in &resolved.ignored {
                output::note(format!(
                    "sprag: `{}` in `{}` is ignored: an untrusted project may set it {}\n  next: sprag trust",
                    ignored.key,
                    ignored.path.display(),
                    ignored.may
                ));
            }
        },
    )
}

fn get(key: &str, format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let resolved = resolved(cx)?;
    let Some(setting) = resolved.settings.get(key) else {
        return Err(Failure::unknown_key(key, config::nearest(&resolved.settings, key).as_deref()));
    };
    show(
        format,
        || json!({"key": key, "value": setting.value, "layer": setting.layer.name()}),
        || output::line(setting.value.as_str().map_or_else(|| setting.value.to_string(), str::to_owned)),
    )
}

fn set(key: &str, value: &str, layer: Layer, format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    check_not_agent(&places)?;
    let found = config::files(&places).into_iter().find(|(found, _)| *found == layer);
    let Some((_, path)) = found else {
        return Err(Failure::not_in_git("the configuration of a project"));
    };
    config::edit::set(&RealDisk, layer, &path, key, value)?;
    accept_protected(&places)?;
    show(
        format,
        || json!({"key": key, "value": value, "path": path}),
        || output::line(format!("set `{key}` to {value} in `{}`", path.display())),
    )
}

fn paths(format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let files = config::files(&places(cx));
    show(
        format,
        || {
            let files: Vec<_> = files
                .iter()
                .map(|(layer, path)| json!({"layer": layer.name(), "path": path, "exists": path.exists()}))
                .collect();
            json!({ "files": files })
        },
        || {
            for (layer, path) in &files {
                let there = if path.exists() { "" } else { " (missing)" };
                output::line(format!("{:<8} {}{there}", layer.name(), path.display()));
            }
        },
    )
}
