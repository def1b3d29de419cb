//! Finds the paths that a call would change, from its words. Other changes are found at the stop.

use serde_json::Value;

use sprag_base::path::absolute;
use sprag_base::text::Text;
use sprag_intent::WILD;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect};
use sprag_shell::{Carrier, Command, Host, Script, Word, WorkingDir};

use super::patches::{self, Patch};
use super::{Settings, git_writes, links};
use crate::event::Input;

/// A path that a call would change, before the host reads the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteTarget {
    At {
        named: String,
        /// The directory to which it is relative.
        dir: String,
        by: String,
        kind: TargetKind,
    },
    /// Paths of a patch. Its text is in a file that exists before the call.
    Patch { file: String, dir: String, patch: Patch },
    /// A change whose paths are unknown.
    Unknown { what: Text<120> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetKind {
    Path,
    /// A path with everything below it.
    Tree,
    /// A new directory.
    Directory,
    /// Files with these names are written into the path, if it is a directory.
    Into(Vec<String>),
    /// A word that may be a path. It counts if the path exists.
    IfThere,
    /// A shell pattern.
    Wild,
}

/// Programs that change everything below a path.
const TREES: &[&str] = &[
    "tar", "bsdtar", "gtar", "unzip", "7z", "7za", "7zr", "7zz", "rsync", "cpio", "rm", "shred", "trash",
    "find",
];
const COPYING: &[&str] = &["cp", "gcp", "mv", "gmv", "ln", "gln", "install", "scp"];

/// Returns the paths that a call would change, or `None` if it needs no intent.
pub fn wanted(call: &ToolCall, input: &Input, policy: &Settings) -> Option<Vec<WriteTarget>> {
    if !is_mutating(call, input, policy) {
        return None;
    }
    let at = |named: &str| WriteTarget::At {
        named: named.to_owned(),
        dir: input.cwd.clone(),
        by: call.name.to_string(),
        kind: TargetKind::Path,
    };
    let mut wanted: Vec<WriteTarget> = call.paths.iter().map(|path| at(path)).collect();
    let configured = policy.members_of(call.name.as_str());
    for member in configured.iter().flat_map(|members| members.split_whitespace()) {
        wanted.extend(texts(call.input.get(member)).into_iter().map(at));
    }
    if let Some(script) = input.script() {
        wanted.extend(of_script(script, input));
    } else if wanted.is_empty() && (call.effect == ToolEffect::Write || configured.is_some()) {
        wanted.push(unknown(call.name.as_str()));
    }
    if call.whole != InputCompleteness::Yes && call.effect == ToolEffect::Write {
        wanted.push(unknown("a call that is too long to read"));
    }
    Some(wanted)
}

/// Reports whether a call needs an intent. Sprag's own commands and reading calls do not.
pub(crate) fn is_mutating(call: &ToolCall, input: &Input, policy: &Settings) -> bool {
    match call.effect {
        ToolEffect::Read | ToolEffect::Net | ToolEffect::Delegate => {
            policy.members_of(call.name.as_str()).is_some()
        }
        ToolEffect::Write => true,
        ToolEffect::Exec => {
            !is_ours(call.name.as_str())
                && !policy.only_reads(call.name.as_str())
                && !input.script().is_some_and(Script::only_looks)
        }
    }
}

/// Reports whether a tool belongs to Sprag's MCP server.
fn is_ours(tool: &str) -> bool {
    tool.strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"))
        .is_some_and(|(server, _)| matches!(server, "sprag" | "plugin_sprag_sprag"))
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn unknown(what: &str) -> WriteTarget {
    WriteTarget::Unknown { what: Text::from(what) }
}

fn of_script(script: &Script, input: &Input) -> Vec<WriteTarget> {
    let mut wanted = Vec::new();
    for used in &script.writes {
        let command = used.command.and_then(|at| script.commands.get(at));
        if command.is_some_and(|command| command.host != Host::Local) {
            continue;
        }
        let named = match &used.path {
            Word::Known(named) => named.clone(),
            // Paths that `find` adds stay below its start path.
            Word::Partly(parts) if command.is_some_and(is_found) => match parts.first() {
                Some(Some(place)) => {
                    wanted.push(place_of(place, &used.cwd, &used.by, TargetKind::Tree, input));
                    continue;
                }
                _ => ".".to_owned(),
            },
            Word::Partly(_) | Word::Many => {
                wanted.push(unknown(&format!("{} {}", used.by, used.path.text('…'))));
                continue;
            }
        };
        // Most programs read a dash as standard output.
        if named == "-" && used.by != ">" {
            continue;
        }
        // The home directory of another user, or an unknown one.
        if named.starts_with('~') {
            wanted.push(unknown(&format!("{} {named}", used.by)));
            continue;
        }
        let kind = match used.by.as_str() {
            _ if named.contains(WILD) => TargetKind::Wild,
            "mkdir" => TargetKind::Directory,
            by if COPYING.contains(&by) => TargetKind::Into(sources(script, used.command, &named)),
            by if TREES.contains(&by) => TargetKind::Tree,
            "git" => TargetKind::Tree,
            _ => TargetKind::Path,
        };
        wanted.push(place_of(&named, &used.cwd, &used.by, kind, input));
    }
    for command in script.commands.iter().filter(|command| command.host == Host::Local) {
        let is_told = |by: &str| {
            let of_this =
                |at: usize| script.commands.get(at).is_some_and(|other| std::ptr::eq(other, command));
            script.writes.iter().any(|used| used.by == by && used.command.is_some_and(of_this))
        };
        match command.program() {
            Some("git") => wanted.extend(git_writes::wanted(command, script, input)),
            Some("patch") if !is_told("patch") => {
                wanted.extend(patches::wanted(command, "patch", script, input));
            }
            // A second name of a file is the same file.
            Some("link") => wanted.extend(edited(command, "link", input)),
            Some(editor) if EDITORS.contains(&editor) => wanted.extend(edited(command, editor, input)),
            _ => {}
        }
    }
    links::follow(script, input, &mut wanted);
    wanted
}

/// Programs that edit the files in their arguments.
const EDITORS: &[&str] =
    &["ed", "red", "ex", "vi", "vim", "nvim", "nano", "pico", "micro", "emacs", "emacsclient"];

fn edited(command: &Command, editor: &str, input: &Input) -> Vec<WriteTarget> {
    // These options take the next word as a value. A word after a plus is a command or a line number.
    const VALUES: &[&str] =
        &["-c", "--cmd", "-S", "-u", "-U", "-i", "-T", "-w", "-W", "-p", "-f", "--eval", "-l"];
    const LOOKING: &[&str] = &["-R", "-M", "--version", "--help", "-h"];
    let words: Vec<String> = command.argv.iter().skip(1).map(|word| word.text('…')).collect();
    if words.iter().any(|word| LOOKING.contains(&word.as_str())) {
        return Vec::new();
    }
    let is_value = |at: usize| at > 0 && VALUES.contains(&words[at - 1].as_str());
    let files = words.iter().enumerate().filter(|(at, word)| !word.starts_with(['-', '+']) && !is_value(*at));
    files.map(|(_, file)| place_of(file, &command.cwd, editor, TargetKind::Path, input)).collect()
}

fn is_found(command: &Command) -> bool {
    let is_finder = |carrier: &Carrier| matches!(carrier, Carrier::Program(name) if matches!(name.as_str(), "find" | "gfind" | "fd"));
    command.via.iter().any(is_finder)
}

/// Returns the names that copied files get in a directory.
fn sources(script: &Script, command: Option<usize>, target: &str) -> Vec<String> {
    let of_command = script.reads.iter().filter(|used| used.command == command && command.is_some());
    let names = of_command.map(|used| match &used.path {
        Word::Known(path) if path != target => {
            path.trim_end_matches('/').rsplit('/').next().map(str::to_owned)
        }
        _ => None,
    });
    names.collect::<Option<Vec<String>>>().unwrap_or_default()
}

pub(crate) fn place_of(
    named: &str,
    cwd: &WorkingDir,
    by: &str,
    kind: TargetKind,
    input: &Input,
) -> WriteTarget {
    match cwd {
        WorkingDir::At(dir) => WriteTarget::At {
            named: named.to_owned(),
            dir: absolute(&input.cwd, dir),
            by: by.to_owned(),
            kind,
        },
        WorkingDir::Unknown if named.starts_with('/') => {
            WriteTarget::At { named: named.to_owned(), dir: input.cwd.clone(), by: by.to_owned(), kind }
        }
        WorkingDir::Unknown => unknown(&format!("{by} {named}")),
    }
}
