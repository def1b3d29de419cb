//! `sprag help`: prints the help of commands and arranges them in groups.

use std::fmt::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{CommandCx, CommandEnd, CommandResult, GROUPS, cli};
use crate::failure::Failure;
use crate::output;

/// Show the help of a command, or of a topic such as `agents`
#[derive(clap::Args)]
pub(super) struct Args {
    /// Command with its subcommands, for example `run stop`; or the topic `agents`
    #[arg(value_name = "COMMAND")]
    path: Vec<String>,
}

/// Commands that the help lists below one title.
pub(super) struct Group {
    pub(super) title: &'static str,
    /// Names of the variants; the command has the same name in lower case.
    pub(super) commands: &'static [&'static str],
}

/// Title of the group that `sprag help agents` lists.
const AGENTS: &str = "Agents";
/// Title of the group that no help lists: clients, the daemon and other commands run these.
const INTERNAL: &str = "Internal";

pub(super) fn run(args: Args, _cx: &CommandCx) -> CommandResult {
    if args.path == ["agents"] {
        output::text_raw(&agents());
        return Ok(CommandEnd::Done);
    }
    let mut command = cli();
    command.build();
    let mut found = &mut command;
    for name in &args.path {
        let known: Vec<String> = found.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        match found.find_subcommand_mut(name) {
            Some(sub) => found = sub,
            None => return Err(unknown(name, &known)),
        }
    }
    output::text_raw(&found.render_long_help().to_string());
    Ok(CommandEnd::Done)
}

/// Returns the command line with the groups in its help and without clap's own `help` commands.
pub(super) fn arrange(command: clap::Command) -> clap::Command {
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}{{after-help}}",
        visible(&command)
    );
    let hidden = GROUPS.iter().filter(|group| is_hidden(group)).flat_map(Group::names);
    hidden
        .fold(command, |command, name| command.mut_subcommand(name, |sub| sub.hide(true)))
        .help_template(template)
        .after_help("`sprag help COMMAND` shows options and examples. `sprag help agents` lists the commands for agents.")
        .mut_subcommands(without_help)
        .disable_help_subcommand(true)
}

fn without_help(command: clap::Command) -> clap::Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

impl Group {
    fn names(&self) -> impl Iterator<Item = String> {
        self.commands.iter().map(|name| name.to_ascii_lowercase())
    }
}

fn is_hidden(group: &Group) -> bool {
    matches!(group.title, AGENTS | INTERNAL)
}

fn visible(command: &clap::Command) -> String {
    let groups = GROUPS.iter().filter(|group| !is_hidden(group));
    groups.map(|group| format!("{}:\n{}", group.title, rows(command, group))).collect::<Vec<_>>().join("\n")
}

fn rows(command: &clap::Command, group: &Group) -> String {
    let mut text = String::new();
    for name in group.names() {
        let about = command.find_subcommand(&name).and_then(|sub| sub.get_about());
        let about = about.map(ToString::to_string).unwrap_or_default();
        writeln!(text, "  {name:<12} {about}").expect("a string takes every text");
    }
    text
}

fn agents() -> String {
    let group = GROUPS.iter().find(|group| group.title == AGENTS);
    let rows = group.map(|group| rows(&cli(), group)).unwrap_or_default();
    format!(
        "Commands that agents run. A hook message or a brief names the one to run next.\n\n{rows}\n\
         Agents of a plan also run `sprag stage complete`, `ask`, `block`, `task`, `output` and `dispute`.\n\
         `sprag help COMMAND` shows options and examples.\n"
    )
}

/// Returns the failure for a command line whose first word is not a command, with the nearest commands.
pub(super) fn unknown_command(error: &clap::Error) -> Option<Failure> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return None };
    // A wrong subcommand keeps clap's own message, which lists the right ones.
    let is_root =
        usage.to_string().split_whitespace().nth(2).is_some_and(|word| word.starts_with(['[', '<']));
    is_root.then(|| unknown(name, &all_paths()))
}

fn unknown(name: &str, known: &[String]) -> Failure {
    let mut near: Vec<(f64, &String)> = known
        .iter()
        .map(|path| {
            let last = path.rsplit(' ').next().unwrap_or(path);
            (strsim::jaro_winkler(name, last), path)
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.len().cmp(&b.1.len())));
    Failure::unknown_command(name, near.iter().take(3).map(|(_, path)| path.as_str()))
}

/// Returns every command with its subcommands, as a user types them after `sprag`.
fn all_paths() -> Vec<String> {
    fn walk(command: &clap::Command, path: &str, paths: &mut Vec<String>) {
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name()).trim().to_owned();
            walk(sub, &path, paths);
            paths.push(path);
        }
    }
    let mut paths = Vec::new();
    walk(&cli(), "", &mut paths);
    paths
}
