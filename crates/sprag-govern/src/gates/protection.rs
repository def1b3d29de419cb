//! Protects the files that guard the agent: Sprag's records and settings, git hooks, and the hooks that start
//! Sprag in a client. A call that would change them is refused. Sprag also compares the files with their
//! sealed state at every event, and restores changed ones.

use serde::{Deserialize, Serialize};

use sprag_base::glob::CaseFolding;
use sprag_base::path::{absolute, is_below};
use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::{Text, quoted};
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect};
use sprag_shell::{Carrier, Command, Script, Word, WorkingDir};

use crate::event::{Event, EventKind, Input};
use crate::facts::{ProtectedDamage, SharedFacts, WriteEffect, WrittenPath};
use crate::gates::before::Before;
use crate::gates::records::{DamagedFiles, GateRecord};
use crate::gates::{Ask, Gate, GateCx, OnFault, skipped_hooks};
use crate::reason::Reason;
use crate::verdict::Vote;

/// Every path of Sprag contains this name.
const OUR_NAME: &str = "sprag";

/// The agent whose decisions count. A client finds an agent by the name inside a file, not by the file name.
const REVIEWER: &str = "sprag-reviewer";

/// The gate has no state: the host keeps the snapshots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProtectionGate;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub restore: Restore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Restore {
    Off,
    On,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { restore: Restore::On }
    }
}

/// Asks for the paths that no agent may change, and for the paths that the call writes.
pub struct Question;

/// All spellings of the paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Files of Sprag: its records and the user's settings.
    pub ours: Vec<String>,
    /// All protected files: those of Sprag, and the hooks that start Sprag and other guards.
    pub guarded: Vec<String>,
    /// Directories in which a client looks for agents.
    pub agents: Vec<String>,
    pub written: Vec<WrittenPath>,
}

impl Gate for ProtectionGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Answer;

    const ABOUT: &'static str = "agents cannot change the files that guard them; Sprag restores changed ones";
    const SECTION: SettingSection = SettingSection {
        name: "protection",
        defaults: "\
# Files that guard the agent: `.sprag`, git hooks, hooks in the settings of clients.
[protection]
# Compare them with their sealed state at every event, and restore changed ones: `on` or `off`.
restore = \"on\"
",
        keys: &[SettingKey { name: "restore", tighten: Tighten::Ranked(&["off", "on"]) }],
    };

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        match &ask.input.event {
            Event::ToolRequested { call } | Event::PermissionAsked { call } => {
                may_touch(call, ask.input).then_some(Question)
            }
            _ => None,
        }
    }

    fn before(&self, ask: &Ask<'_, Settings>, actions: &mut Vec<Before>) {
        let is_event = !matches!(ask.input.event, Event::Reported(_) | Event::Tick);
        if is_event && ask.settings.restore == Restore::On {
            actions.push(Before::CompareProtected);
        }
    }

    /// Denies a call that cannot be parsed and mentions Sprag.
    fn on_fault(event: EventKind, raw: &str) -> OnFault {
        match event {
            EventKind::ToolRequested | EventKind::PermissionAsked if raw.contains("sprag") => OnFault::Deny,
            _ => OnFault::Pass,
        }
    }

    fn step(&mut self, cx: &mut GateCx<'_, ProtectionGate>) -> Vote {
        let damage = cx.prepared.restored.clone();
        if !damage.is_empty() {
            cx.log(GateRecord::Damaged(DamagedFiles { files: damage.clone() }));
        }
        let refusal = match &cx.input.event {
            Event::ToolRequested { call } | Event::PermissionAsked { call } => refuse(call, cx, &damage),
            _ => None,
        };
        match refusal {
            Some(reason) => Vote::Hold(reason),
            None if damage.is_empty() => Vote::Pass,
            None => Vote::Note(Text::new(describe(&damage))),
        }
    }
}

/// Returns the reason to refuse a call: it touches a protected file, or such a file could not be restored.
fn refuse(call: &ToolCall, cx: &GateCx<'_, ProtectionGate>, damage: &[ProtectedDamage]) -> Option<Reason> {
    let left = damage.iter().find_map(|found| match found {
        ProtectedDamage::Left { path, why } => Some((path, why)),
        ProtectedDamage::Restored { .. } | ProtectedDamage::Noticed { .. } => None,
    });
    match (left, touches(call, cx.input, cx.answer)) {
        (Some((path, why)), _) if call.effect.changes_the_world() => Some(damaged(path, why)),
        (_, Some(path)) => Some(protected(&path)),
        (_, None) => defines_reviewer(call, cx.input, cx.answer).map(another_reviewer).or_else(|| {
            cx.input
                .script()
                .and_then(|script| skipped_hooks::find(script, cx.input))
                .map(|name| skipped_hooks::refusal(&name))
        }),
    }
}

/// Describes damage to protected files for the agent and the user.
pub fn describe(damage: &[ProtectedDamage]) -> String {
    let each = damage.iter().map(|damage| {
        let path = quoted(damage.path());
        match damage {
            ProtectedDamage::Restored { kept: Some(kept), .. } => {
                format!("`{path}` was restored (the changed version is in `{}`)", quoted(kept))
            }
            ProtectedDamage::Restored { kept: None, .. } => format!("`{path}` was restored"),
            ProtectedDamage::Left { why, .. } | ProtectedDamage::Noticed { why, .. } => {
                format!("`{path}`: {why}")
            }
        }
    });
    let each = each.collect::<Vec<String>>().join("; ");
    format!(
        "protected files were changed: {each}; only the user may change them, with `sprag trust` afterwards"
    )
}

fn damaged(path: &str, why: &str) -> Reason {
    Reason::new(
        "protected_damage",
        format!("the protected file `{}` was changed: {why}", quoted(path)),
        "ask the user to check the file and to run `sprag trust`",
    )
}

fn protected(path: &str) -> Reason {
    Reason::new(
        "protected_path",
        format!("`{}` is protected; agents cannot change it", quoted(path)),
        "ask the user to change it",
    )
}

fn another_reviewer(path: &str) -> Reason {
    Reason::new(
        "protected_path",
        format!(
            "`{}` may define another agent `{REVIEWER}`; only the installed one may review",
            quoted(path)
        ),
        "rename the agent, and remove `sprag-reviewer` from its file",
    )
}

/// Returns the path of a written agent file if the call names the reviewer, in the content or in the path.
fn defines_reviewer<'a>(call: &ToolCall, input: &Input, known: &'a Answer) -> Option<&'a str> {
    let is_agent = |written: &&WrittenPath| {
        let is_within =
            |path: &String| known.agents.iter().any(|dir| is_below(path, dir, CaseFolding::Folded));
        written.paths.iter().any(|path| is_within(path) || path.to_ascii_lowercase().contains(AGENTS))
    };
    let mut agents = known.written.iter().filter(is_agent).peekable();
    agents.peek()?;
    let names = |text: &str| text.to_ascii_lowercase().contains(REVIEWER);
    let knows = |word: &Word| matches!(word, Word::Known(word) if names(word));
    let is_put_together = || {
        let script = input.script();
        script.is_some_and(|script| script.commands.iter().any(|command| command.argv.iter().any(knows)))
    };
    // JSON never escapes a letter of the name.
    let is_named = names(&call.input.to_string()) || is_put_together();
    agents.find(|written| is_named || written.paths.iter().any(|path| names(path))).map(|found| &*found.named)
}

/// Matches any directory, because a client also looks in parent directories.
const AGENTS: &str = "/.claude/agents/";

/// Reports whether a call may touch a protected file. A cheap test first: most calls write no known file and
/// do not name Sprag.
fn may_touch(call: &ToolCall, input: &Input) -> bool {
    let writes = input.script().map_or(!call.paths.is_empty() || call.effect == ToolEffect::Exec, |script| {
        script.writes.iter().any(|used| !is_device(&used.path))
    });
    call.effect.changes_the_world() && (writes || names_us(call))
}

fn is_device(path: &Word) -> bool {
    matches!(path, Word::Known(path) if path.starts_with("/dev/"))
}

fn names_us(call: &ToolCall) -> bool {
    call.whole == InputCompleteness::Cut { names_us: true } || call.mentions(OUR_NAME)
}

/// Returns the first protected path that a call would change.
fn touches(call: &ToolCall, input: &Input, known: &Answer) -> Option<String> {
    if !may_touch(call, input) {
        return None;
    }
    if let InputCompleteness::Cut { names_us: true } = call.whole {
        return Some("a call that is too long to read".to_owned());
    }
    let written = known.written.iter().find(|written| known.guarded.iter().any(|place| hits(written, place)));
    if let Some(written) = written {
        return Some(written.named.clone());
    }
    let script = input.script();
    if let Some(found) = script.and_then(|script| reaches(script, input, known)) {
        return Some(found);
    }
    if is_plain(call, input) {
        return None;
    }
    if let Some(found) = script.is_none().then(|| writes_by_tool(call, input, known)).flatten() {
        return Some(found);
    }
    // The effect of such a call is unknown, so its words decide.
    let words = call.words();
    let is_ours = |word: &&&str| {
        known.ours.iter().any(|place| is_below(&absolute(&input.cwd, word), place, CaseFolding::Folded))
    };
    words.iter().find(is_ours).map(|word| (*word).to_owned())
}

/// Parts of the names of tools that only read.
const READERS: &[&str] =
    &["find", "get", "glob", "grep", "info", "list", "query", "read", "search", "stat", "view"];

/// Returns a protected path in the input of a tool that is not in a table, unless its name says that it reads.
/// Only a text that is a path as a whole counts, so that a tool may mention a path.
fn writes_by_tool(call: &ToolCall, input: &Input, known: &Answer) -> Option<String> {
    let name = call.name.as_str().to_ascii_lowercase();
    let name = name.rsplit("__").next().unwrap_or_default();
    if name.split(['_', '-', '.']).any(|part| READERS.contains(&part)) {
        return None;
    }
    let values = call.values();
    let mut paths = values.iter().filter(|text| !text.contains(['\n', ' ']) && text.len() < 4096);
    let found = paths.find(|text| {
        let path = text.strip_prefix("file://").unwrap_or(text);
        let path = match path.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", input.home),
            None => absolute(&input.cwd, path),
        };
        known.guarded.iter().any(|place| is_below(&path, place, CaseFolding::Folded))
    });
    found.map(|text| (*text).to_owned())
}

/// Programs that only read, and may read Sprag's records.
const LOOKING: &[&str] = &[
    "[",
    "cat",
    "cd",
    "cmp",
    "cut",
    "diff",
    "du",
    "echo",
    "egrep",
    "fd",
    "fgrep",
    "file",
    "find",
    "git",
    "grep",
    "head",
    "jq",
    "less",
    "ls",
    "md5sum",
    "printf",
    "pwd",
    "rg",
    "sha256sum",
    "sort",
    "sprag",
    "stat",
    "tail",
    "test",
    "tree",
    "uniq",
    "wc",
];

/// Programs that give a file a second name, under which it could be changed.
const LINKING: &[&str] = &["link", "ln", "mount"];

/// Path parts that make a partly known path suspicious.
const TELLING: &[&str] = &[".sprag", "hooks", "settings.json", "settings.local.json", ".codex", "sprag"];

/// Returns a protected path that a command uses without writing it. Such uses are: a program that may lock or
/// change Sprag's records, a link to a protected file, and a write to a partly known path.
fn reaches(script: &Script, input: &Input, known: &Answer) -> Option<String> {
    let within =
        |places: &[String], path: &str| places.iter().any(|place| is_below(path, place, CaseFolding::Folded));
    for command in &script.commands {
        let cwd = match &command.cwd {
            WorkingDir::At(dir) => absolute(&input.cwd, dir),
            WorkingDir::Unknown => input.cwd.clone(),
        };
        let program = command.program().unwrap_or_default();
        let words = command.argv.iter().skip(1).filter_map(|word| match word {
            Word::Known(word) => Some(word.as_str()),
            Word::Partly(_) | Word::Many => None,
        });
        for word in words.chain([""]) {
            let path = absolute(&cwd, word);
            let is_odd = !LOOKING.contains(&program) && within(&known.ours, &path);
            if is_odd || (LINKING.contains(&program) && within(&known.guarded, &path)) {
                return Some(if word.is_empty() { program.to_owned() } else { word.to_owned() });
            }
        }
    }
    // An open file descriptor is enough for a lock.
    let opened = script.reads.iter().filter(|used| used.by.starts_with('<'));
    for used in opened {
        if let (Word::Known(path), WorkingDir::At(dir)) = (&used.path, &used.cwd)
            && within(&known.ours, &absolute(&absolute(&input.cwd, dir), path))
        {
            return Some(path.clone());
        }
    }
    script.writes.iter().find_map(|used| match &used.path {
        Word::Known(path) if path.contains(['*', '?', '[']) => {
            let dir = match &used.cwd {
                WorkingDir::At(dir) => absolute(&input.cwd, dir),
                WorkingDir::Unknown => input.cwd.clone(),
            };
            let path = absolute(&dir, path);
            known.guarded.iter().any(|place| may_be(&path, place)).then(|| path.clone())
        }
        Word::Partly(parts) => {
            let known: String = parts.iter().map(|part| part.as_deref().unwrap_or("\0")).collect();
            let tells =
                known.split(['/', '\0']).any(|name| TELLING.contains(&name)) || known.contains(".git/\0");
            tells.then(|| known.replace('\0', "…"))
        }
        // `rm "$(command -v sprag)"`: the model gives a program by its name alone.
        Word::Known(path) if path == OUR_NAME => looks_us_up(script).then(|| path.clone()),
        Word::Known(_) | Word::Many => None,
    })
}

/// Reports whether a line asks where the program is.
fn looks_us_up(script: &Script) -> bool {
    let is_us = |word: &Word| matches!(word, Word::Known(word) if word == OUR_NAME);
    let asks = |command: &Command| {
        matches!(command.program(), Some("which" | "type" | "command" | "whereis" | "hash"))
            && command.argv.iter().skip(1).any(is_us)
    };
    script.commands.iter().chain(&script.wrappers).any(asks)
}

/// Reports whether a path with `*`, `?` or `[` may match a place or a path below it. As in a shell, a pattern
/// matches a leading dot only if it starts with one.
fn may_be(path: &str, place: &str) -> bool {
    let mut parts = path.split('/');
    place.split('/').all(|name| parts.next().is_some_and(|part| is_match(part, name)))
}

fn is_match(part: &str, name: &str) -> bool {
    if !part.contains(['*', '?', '[']) {
        return part.eq_ignore_ascii_case(name);
    }
    let is_hidden = name.starts_with('.') && !part.starts_with('.');
    let end = part.rsplit(['*', '?', ']']).next().unwrap_or_default();
    let start = part.split(['*', '?', '[']).next().unwrap_or_default();
    !is_hidden && name.starts_with(start) && name.ends_with(end)
}

fn hits(written: &WrittenPath, place: &str) -> bool {
    let removes =
        |path: &str| written.how == WriteEffect::Removed && is_below(place, path, CaseFolding::Folded);
    written.paths.iter().any(|path| is_below(path, place, CaseFolding::Folded) || removes(path))
}

/// Reports whether the effect of a call is known well enough. It is for a tool with a path, and for listed
/// programs without any doubt in the shell model.
fn is_plain(call: &ToolCall, input: &Input) -> bool {
    let Some(script) = input.script() else {
        return !call.paths.is_empty();
    };
    let is_known = |command: &Command| {
        let is_code = command.via.iter().any(|via| matches!(via, Carrier::Interpreter(_)));
        let is_listed =
            |name: &str| LOOKING.contains(&name) || CHANGING.contains(&name) || BUILDING.contains(&name);
        !is_code && command.program().is_some_and(is_listed)
    };
    script.doubts.is_empty() && script.commands.iter().chain(&script.wrappers).all(is_known)
}

/// Programs that run the project's own code. Sprag does not check protected files after them: a check would
/// slow every build, and their author could write a script instead.
const BUILDING: &[&str] = &[
    "bun", "cargo", "cmake", "ctest", "dotnet", "eslint", "go", "gradle", "gradlew", "jest", "just", "mvn",
    "mypy", "ninja", "npm", "npx", "pip", "pip3", "pnpm", "prettier", "pytest", "ruff", "rustc", "swift",
    "tox", "tsc", "uv", "vitest", "yarn",
];

/// Programs that change only the files that the shell model reports.
const CHANGING: &[&str] = &[
    "basename", "chgrp", "chmod", "chown", "cp", "date", "df", "dirname", "env", "export", "false", "gh",
    "id", "kill", "ln", "mkdir", "mktemp", "mv", "popd", "ps", "pushd", "read", "readlink", "realpath", "rm",
    "rmdir", "seq", "set", "sleep", "tee", "timeout", "touch", "tr", "true", "type", "uname", "unset",
    "which", "whoami",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_base::ids::SessionId;
    use sprag_base::time::Timestamp;
    use sprag_policy::call::ToolRow;

    use super::*;

    const TOOLS: &[ToolRow] = &[
        ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
        ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
        ToolRow { name: "Read", effect: ToolEffect::Read, paths: &["file_path"], command: None },
    ];

    fn held(tool: &str, key: &str, value: &str) -> bool {
        let call = ToolCall::new(TOOLS, tool, json!({ key: value }), None, InputCompleteness::Yes);
        let event = Event::ToolRequested { call: call.clone() };
        let input = Input {
            cwd: "/w/repo/src".to_owned(),
            home: "/home/u".to_owned(),
            ..Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w/repo")
        };
        let named = match input.script() {
            Some(script) => script.writes.iter().map(|used| (used.path.clone(), used.by == "rm")).collect(),
            None => call.paths.iter().map(|path| (Word::Known(path.clone()), false)).collect::<Vec<_>>(),
        };
        let written = named.into_iter().filter_map(|(path, is_removed)| match path {
            Word::Known(named) => {
                let path = absolute("/w/repo/src", &named);
                let how = if is_removed { WriteEffect::Removed } else { WriteEffect::Written };
                Some(WrittenPath { named, paths: [path.clone(), path], how })
            }
            Word::Partly(_) | Word::Many => None,
        });
        let ours = vec!["/w/repo/.git/sprag".to_owned()];
        let known = Answer { guarded: ours.clone(), ours, written: written.collect(), agents: Vec::new() };
        touches(&call, &input, &known).is_some()
    }

    #[test]
    fn no_tool_changes_the_records() {
        assert!(held("Write", "file_path", "/w/repo/.git/sprag/log/2026-11.jsonl"));
        assert!(held("Write", "file_path", "../.git/sprag/journal/s.jsonl"));
        assert!(held("Bash", "command", "rm -rf ../.git/sprag"));
        assert!(held("Bash", "command", "echo x >../.git/sprag/off"));
        assert!(held("Bash", "command", "dd of=/w/repo/.git/./sprag/x"));
        assert!(held("Bash", "command", "mkdir x && cp x ../.git/Sprag/off"));
        assert!(held("Bash", "command", "flock ../.git/sprag/guard/lock sleep 600"));
        assert!(held("Bash", "command", "(flock 9; sleep 600) 9< ../.git/sprag/log.lock"));
        assert!(held("Bash", "command", "cd ../.git/sprag/guard && flock lock sleep 600"));
        assert!(held("Bash", "command", "ln -s ../.git/sprag s; echo x > s/off"));
        assert!(held("Bash", "command", "echo x > ../.git/spra?/off"));
        assert!(held("Bash", "command", "echo x > $(git rev-parse --git-dir)/hooks/pre-commit"));
        assert!(held("Bash", "command", "rm -rf ../.git"));
        assert!(held("Bash", "command", "python3 -c 'open(\"../.git/sprag/off\", \"w\")'"));
    }

    #[test]
    fn everything_else_is_left_alone() {
        assert!(!held("Read", "file_path", "/w/repo/.git/sprag/log/2026-11.jsonl"));
        assert!(!held("Write", "file_path", "/w/repo/.git/sprag-notes"));
        assert!(!held("Bash", "command", "sprag session records 1 && ls sprag"));
        assert!(!held("Bash", "command", "git log"));
        assert!(!held("Bash", "command", "cat ../.git/sprag/log/2026-11.jsonl | head -3"));
        assert!(!held("Bash", "command", "git commit -m 'keep .git/sprag out of it'"));
        assert!(!held("Bash", "command", "cp a ../.git/x && touch .."));
        assert!(!held("Bash", "command", "echo x > \"$OUT/x\" && cp *.rs /tmp/b"));
    }
}
