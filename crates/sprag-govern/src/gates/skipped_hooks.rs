//! Finds commands that start git in the session's repository without its hooks, which are checks.

use sprag_base::glob::CaseFolding;
use sprag_base::path::{absolute, is_below};
use sprag_base::text::quoted;
use sprag_shell::{Command, Script, Word, WorkingDir};

use crate::event::Input;
use crate::gates::commit::git_writes::GIT;
use crate::reason::Reason;

/// Verbs of git that run hooks.
const HOOKED: &[&str] = &["am", "cherry-pick", "commit", "merge", "pull", "push", "rebase", "revert"];

/// Variables that give git another configuration, or another place of its hooks.
const OTHER_CONFIGURATION: &[&str] = &[
    "GIT_COMMON_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "HOME",
    "XDG_CONFIG_HOME",
];

/// Variables that tell the common hook managers to run nothing.
const NO_HOOKS: &[&str] = &[
    "HUSKY",
    "HUSKY_SKIP_HOOKS",
    "HUSKY_SKIP_INIT",
    "LEFTHOOK",
    "LEFTHOOK_EXCLUDE",
    "OVERCOMMIT_DISABLE",
    "PRE_COMMIT_ALLOW_NO_CONFIG",
    "SKIP",
];

/// Returns the variable or option with which a command starts git in the session's repository without its
/// hooks. A variable that an earlier command of the line exports counts too.
pub(crate) fn find(script: &Script, input: &Input) -> Option<String> {
    let commands = || script.commands.iter().chain(&script.wrappers);
    let hooked = || commands().filter(|command| runs_hooks(command, input));
    hooked().next()?;
    let own =
        hooked().flat_map(|command| &command.assigns).map(|(name, value)| (name.clone(), value.text('\0')));
    let exported: Vec<&str> = commands()
        .filter(|command| command.program() == Some("export"))
        .flat_map(|command| &command.argv)
        .filter_map(|word| match word {
            Word::Known(word) => Some(word.as_str()),
            Word::Partly(_) | Word::Many => None,
        })
        .collect();
    let set = exported.iter().filter_map(|word| word.split_once('='));
    let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
    // `A=b; export A`: the assignment is a command of its own.
    let later = commands()
        .filter(|command| command.argv.is_empty())
        .flat_map(|command| &command.assigns)
        .filter(|(name, _)| exported.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.text('\0')));
    let by_variable =
        own.chain(set).chain(later).find(|(name, value)| skips(name, value)).map(|(name, _)| name);
    by_variable.or_else(|| hooked().find_map(other_directory))
}

pub(crate) fn refusal(name: &str) -> Reason {
    Reason::new(
        "skips_hooks",
        format!("`{}` makes git skip its hooks, which are checks", quoted(name)),
        "run the command without it, and fix the reported problems",
    )
}

fn runs_hooks(command: &Command, input: &Input) -> bool {
    let has_verb = command.argv.iter().skip(1).any(|word| match word {
        Word::Known(word) => HOOKED.contains(&word.as_str()),
        Word::Partly(_) | Word::Many => false,
    });
    let is_here = match &command.cwd {
        WorkingDir::At(dir) => is_below(&absolute(&input.cwd, dir), &input.root, CaseFolding::Exact),
        WorkingDir::Unknown => true,
    };
    command.program() == Some(GIT) && has_verb && is_here
}

fn skips(name: &str, value: &str) -> bool {
    match name {
        "HUSKY" | "LEFTHOOK" => matches!(value, "0" | "false" | "\0"),
        known if NO_HOOKS.contains(&known) => !value.is_empty(),
        known if OTHER_CONFIGURATION.contains(&known) => true,
        known => {
            known.starts_with("GIT_CONFIG_KEY_") && {
                let key = value.to_ascii_lowercase();
                ["core.hookspath", "include.path", "\0"].contains(&key.as_str())
                    || key.starts_with("includeif.")
                    || key.starts_with("hook.")
            }
        }
    }
}

/// Returns the option that gives git another git directory for this worktree, which has other hooks.
fn other_directory(command: &Command) -> Option<String> {
    let mut words = command.argv.iter().skip(1).map(|word| word.text('\0'));
    let mut is_worktree = false;
    let mut dir = None;
    while let Some(word) = words.next() {
        match word
            .split_once('=')
            .map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())))
        {
            ("--work-tree", _) => is_worktree = true,
            ("--git-dir", value) => dir = value.or_else(|| words.next()),
            _ => {}
        }
    }
    let is_usual = |dir: &str| dir.trim_end_matches('/').ends_with(".git");
    dir.filter(|dir| is_worktree && !is_usual(dir)).map(|dir| format!("--git-dir={dir}"))
}
