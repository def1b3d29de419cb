//! A short summary of a rule set. Most calls concern no rule, and with the summary a hook can tell without
//! loading the rules. Most other calls concern only a few rules.

mod pieces;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use sprag_shell::{Carrier, Command, DoubtKind, PathUse, Script, Word, WorkingDir};

use crate::call::{ToolCall, ToolEffect};
use crate::pattern::command::folded;
use crate::pattern::word_glob::{WordGlob, WordGlobChar};
use crate::pattern::{
    CommandPattern, PathBase, PathPattern, Pattern, PatternAccess, PatternSense, PatternSlot,
};
use crate::prefilter::pieces::{PathPiece, may_be_outside, may_be_top, piece};
use crate::rule::{Decision, LoadedRule, OnDoubt, Strictness};

/// Names of the shards for rules about paths and tools.
pub(crate) const READS: &str = "<read>";
pub(crate) const WRITES: &str = "<write>";
pub(crate) const TOOLS: &str = "<tool>";
/// Name of the shard for rules about programs by a part of their name.
pub(super) const LIKE: &str = "<like>";
/// Prefix of the shards for rules about carriers.
const VIA: &str = "<via> ";

/// The rules that a call concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleConcern {
    None,
    /// The rules of these shards.
    Some(BTreeSet<String>),
    Every,
}

/// A summary of rules that never leaves out a rule that would fire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFilter {
    /// The shards of commands, one per line: a program, or a program and its first word.
    commands: TextBlock,
    /// Programs by a part of their name.
    like: Vec<WordGlob>,
    /// Whether some pattern fits commands of any program.
    every_program: bool,
    /// Names of tools.
    tools: Vec<WordGlob>,
    reads: Pieces,
    writes: Pieces,
    /// Whether some rule fires for a command that runs a file that Sprag does not read.
    opaque: bool,
}

/// Texts of which one occurs in every path that a pattern can fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Pieces {
    /// Whole parts of a path, between slashes.
    parts: TextBlock,
    /// Texts within a part.
    lines: TextBlock,
    /// Whether some pattern fits a home or the root itself.
    tops: bool,
    /// Whether some pattern fits every path outside the worktree.
    outside: bool,
    /// Whether some pattern fits paths without any such text.
    every: bool,
}

/// Lines in one string, which loads in one read and is searched in place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct TextBlock(String);

impl RuleFilter {
    pub(super) fn new(rules: &[LoadedRule], strictness: Strictness) -> RuleFilter {
        let mut watch = RuleFilter::default();
        let mut commands = BTreeSet::new();
        let (mut reads, mut writes) = (PieceSets::default(), PieceSets::default());
        for rule in rules.iter().filter(|rule| rule.decision != Decision::Allow) {
            watch.opaque |= strictness == Strictness::Strict || rule.on_opaque != OnDoubt::None;
            for pattern in &rule.any {
                match pattern {
                    Pattern::Tool(pattern) => watch.tools.extend(pattern.name.iter().cloned()),
                    Pattern::Path(pattern) if pattern.access == PatternAccess::Read => {
                        reads.add(pattern);
                    }
                    Pattern::Path(pattern) => writes.add(pattern),
                    Pattern::Shell(tokens) | Pattern::Via(tokens) => match command_keys(pattern) {
                        Some(keys) if keys == [LIKE] => watch.like.extend(program_globs(tokens).cloned()),
                        Some(keys) => commands.extend(keys),
                        // Such a pattern only fits commands with a doubt or a function, which the script
                        // shows.
                        None if !tokens.traits.is_empty() => {}
                        None => watch.every_program = true,
                    },
                }
            }
        }
        watch.commands = TextBlock::new(&commands);
        watch.reads = reads.pieces();
        watch.writes = writes.pieces();
        watch
    }

    /// Returns the rules that a call concerns; `script` is its parsed command line.
    pub fn concern(&self, call: &ToolCall, script: Option<&Script>, cwd: &str) -> RuleConcern {
        let mut keys = BTreeSet::new();
        let named = |pieces: &Pieces| call.paths.iter().any(|path| pieces.within(&[path, cwd]));
        match call.effect {
            ToolEffect::Read if named(&self.reads) => keys.insert(READS.to_owned()),
            ToolEffect::Write | ToolEffect::Exec if named(&self.writes) => keys.insert(WRITES.to_owned()),
            ToolEffect::Read
            | ToolEffect::Delegate
            | ToolEffect::Write
            | ToolEffect::Exec
            | ToolEffect::Net => false,
        };
        if self.tools.iter().any(|tool| tool.fits(call.name.as_str())) {
            keys.insert(TOOLS.to_owned());
        }
        if let Some(script) = script {
            let speaks = |kind: DoubtKind| self.opaque || kind != DoubtKind::Opaque;
            if self.every_program || script.doubts.iter().any(|doubt| speaks(doubt.kind)) {
                return RuleConcern::Every;
            }
            let commands = script.commands.iter().map(|command| (command, ""));
            let wrappers = script.wrappers.iter().flat_map(|command| [(command, ""), (command, VIA)]);
            for (command, via) in commands.chain(wrappers) {
                if !self.add_keys(command, via, &mut keys) {
                    return RuleConcern::Every;
                }
            }
            if script.reads.iter().chain(&script.names).any(|used| self.reads.within_use(used, cwd)) {
                keys.insert(READS.to_owned());
            }
            if script.writes.iter().any(|used| self.writes.within_use(used, cwd)) {
                keys.insert(WRITES.to_owned());
            }
        }
        if keys.is_empty() { RuleConcern::None } else { RuleConcern::Some(keys) }
    }

    /// Adds the shards that a command concerns; returns `false` if it may be any program.
    fn add_keys(&self, command: &Command, via: &str, keys: &mut BTreeSet<String>) -> bool {
        let is_function = |via: &Carrier| matches!(via, Carrier::Function(_));
        let Some(Word::Known(written)) = command.argv.first() else {
            return command.argv.is_empty();
        };
        let base = written.rsplit('/').next().unwrap_or_default();
        let folded = folded(base);
        let names = [
            Some(base),
            folded.as_deref(),
            base.strip_suffix(".exe"),
            written.contains('/').then_some(written),
        ];
        for name in names.into_iter().flatten() {
            if self.like.iter().any(|like| like.fits(name)) {
                keys.insert(LIKE.to_owned());
            }
            let key = format!("{via}{name}");
            match command.argv.get(1) {
                None => {}
                // The first word is the verb. After an option it may be a value of the option.
                Some(Word::Known(verb)) if !verb.starts_with('-') => {
                    let fits = |known: &str| match known.strip_suffix('*') {
                        Some(start) => verb.starts_with(start),
                        None => verb == known,
                    };
                    keys.extend(self.commands.find_lines(&key, fits));
                }
                Some(_) => keys.extend(self.commands.find_lines(&key, |_| true)),
            }
            if self.commands.has(&key) {
                keys.insert(key);
            }
        }
        !command.via.iter().any(is_function)
    }
}

fn program_globs(tokens: &CommandPattern) -> impl Iterator<Item = &WordGlob> {
    let named = match tokens.slots.first() {
        Some(PatternSlot::Word { any, sense: PatternSense::Is }) => any.as_slice(),
        _ => &[],
    };
    named.iter()
}

/// Returns the shards of a command pattern, or `None` if it names no program.
pub(crate) fn command_keys(pattern: &Pattern) -> Option<Vec<String>> {
    let (tokens, via) = match pattern {
        Pattern::Shell(tokens) => (tokens, ""),
        Pattern::Via(tokens) => (tokens, VIA),
        Pattern::Path(_) | Pattern::Tool(_) => return None,
    };
    let mut globs = program_globs(tokens).peekable();
    if globs.peek().is_none() || globs.any(|glob| *glob == WordGlob::Any) {
        return None;
    }
    if tokens.programs().is_none() {
        return Some(vec![LIKE.to_owned()]);
    }
    let verbs: Option<Vec<String>> = match tokens.slots.get(1) {
        Some(PatternSlot::Word { any, sense: PatternSense::Is }) => any.iter().map(verb).collect(),
        _ => None,
    };
    let key = |program: &str| match &verbs {
        Some(verbs) => verbs.iter().map(|verb| format!("{via}{program} {verb}")).collect(),
        None => vec![format!("{via}{program}")],
    };
    tokens.programs().map(|programs| programs.flat_map(key).collect())
}

/// Returns the first word, or its known start and `*`.
fn verb(glob: &WordGlob) -> Option<String> {
    let word = match glob {
        WordGlob::Exact(word) => word.clone(),
        WordGlob::Any => return None,
        WordGlob::Signs(signs) => {
            let start: String = signs
                .iter()
                .map_while(|sign| match sign {
                    WordGlobChar::Char(c) => Some(*c),
                    WordGlobChar::Star | WordGlobChar::Stars => None,
                })
                .collect();
            start + "*"
        }
    };
    let start = word.strip_suffix('*').unwrap_or(&word);
    let is_word = !start.is_empty() && !start.contains(|c: char| c.is_whitespace() || c == '*');
    is_word.then_some(word)
}

/// The pieces of path patterns while they are collected.
#[derive(Default)]
struct PieceSets {
    parts: BTreeSet<String>,
    lines: BTreeSet<String>,
    tops: bool,
    outside: bool,
    every: bool,
}

impl PieceSets {
    fn add(&mut self, pattern: &PathPattern) {
        for (base, glob) in &pattern.any {
            match piece(glob) {
                _ if *base == PathBase::Outside => std::mem::replace(&mut self.outside, true),
                Some(PathPiece::Part(part)) => self.parts.insert(part),
                Some(PathPiece::Within(text)) => self.lines.insert(text),
                Some(PathPiece::Top) => std::mem::replace(&mut self.tops, true),
                None => std::mem::replace(&mut self.every, true),
            };
        }
    }

    fn pieces(&self) -> Pieces {
        Pieces {
            parts: TextBlock::new(&self.parts),
            lines: TextBlock::new(&self.lines),
            tops: self.tops,
            outside: self.outside,
            every: self.every,
        }
    }
}

impl Pieces {
    fn within(&self, texts: &[&str]) -> bool {
        let has_part = |text: &&str| text.split('/').any(|part| self.parts.has(part));
        self.every
            || self.tops && may_be_top(texts)
            || self.outside && may_be_outside(texts)
            || texts.iter().any(has_part)
            || texts.iter().any(|text| self.lines.any_within(text))
    }

    fn within_use(&self, used: &PathUse, cwd: &str) -> bool {
        let WorkingDir::At(place) = &used.cwd else {
            return true;
        };
        match &used.path {
            Word::Known(path) if path.bytes().any(|byte| b"*?[\\{".contains(&byte)) => true,
            Word::Known(path) if place == cwd => self.within(&[path, cwd]),
            Word::Known(path) => self.within(&[path, place, cwd]),
            // Known text next to a hole may form such a text together with the content of the hole.
            Word::Partly(_) | Word::Many => true,
        }
    }
}

impl TextBlock {
    fn new(lines: &BTreeSet<String>) -> TextBlock {
        TextBlock(lines.iter().map(|line| format!("{line}\n")).collect())
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split_terminator('\n')
    }

    fn has(&self, line: &str) -> bool {
        let from = self.first_from(line);
        self.0[from..].strip_prefix(line).is_some_and(|rest| rest.starts_with('\n'))
    }

    /// Returns the lines that start with this word and whose second word fits.
    fn find_lines(&self, word: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
        let start = format!("{word} ");
        let from = self.first_from(&start);
        let lines = self.0[from..].split_terminator('\n');
        let lines = lines.take_while(|line| line.starts_with(&start));
        lines.filter(|line| fits(&line[start.len()..])).map(str::to_owned).collect()
    }

    /// Returns the position of the first line that is not less than this one.
    fn first_from(&self, line: &str) -> usize {
        let bytes = self.0.as_bytes();
        let (mut low, mut high) = (0, bytes.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let start =
                bytes[low..middle].iter().rposition(|&byte| byte == b'\n').map_or(low, |at| low + at + 1);
            let length = bytes[start..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - start);
            if bytes[start..start + length] < *line.as_bytes() {
                low = start + length + 1
            } else {
                high = start
            }
        }
        low
    }

    /// Reports whether one of the lines occurs in the text.
    fn any_within(&self, text: &str) -> bool {
        // For each first byte of a line, a bit set of second bytes in eight classes. It excludes most
        // positions of a text.
        let mut firsts = [0u8; 256];
        let bit = |byte: u8| 1u8 << (byte & 7);
        for line in self.iter().map(str::as_bytes) {
            firsts[usize::from(line[0])] |= line.get(1).map_or(u8::MAX, |&second| bit(second));
        }
        let bytes = text.as_bytes();
        let may_start = |at: &usize| {
            let seconds = firsts[usize::from(bytes[*at])];
            seconds == u8::MAX || bytes.get(at + 1).is_some_and(|&second| seconds & bit(second) != 0)
        };
        (0..bytes.len()).filter(may_start).any(|at| self.starts(&bytes[at..]))
    }

    /// Reports whether the text starts with one of the lines.
    fn starts(&self, text: &[u8]) -> bool {
        let first = [text[0]];
        let from = std::str::from_utf8(&first).map_or(0, |first| self.first_from(first));
        let lines = self.0.as_bytes()[from..].split(|&byte| byte == b'\n');
        let mut lines = lines.take_while(|line| line.first() == Some(&text[0]) || from == 0);
        lines.any(|line| !line.is_empty() && text.starts_with(line))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_shell::ShellStart;

    use super::*;
    use crate::RuleSet;
    use crate::call::{InputCompleteness, ToolRow};
    use crate::tests::rule;

    const TABLE: &[ToolRow] = &[
        ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
        ToolRow { name: "Read", effect: ToolEffect::Read, paths: &["file_path"], command: None },
    ];

    fn watch(patterns: &[&str]) -> RuleFilter {
        RuleSet::new([&rule("r", Decision::Deny, patterns)], Strictness::Usual).unwrap().watch()
    }

    fn concern(watch: &RuleFilter, text: &str) -> RuleConcern {
        let start = ShellStart { cwd: Some("/w".to_owned()), home: Some("/home/u".to_owned()) };
        let call = ToolCall::new(TABLE, "Bash", json!({"command": text}), None, InputCompleteness::Yes);
        watch.concern(&call, Some(&Script::parse(text, &start)), "/w")
    }

    #[test]
    fn only_what_a_rule_is_about_concerns_it() {
        let git = watch(&[
            "Bash:git push --force*",
            "Bash:git prune*",
            "Bash:find *",
            "Write:.sprag/**",
            "Read:**/.env",
        ]);
        for (text, keys) in [
            ("git push", "git push"),
            ("sudo git push origin", "git push"),
            ("git prune-packed", "git prune*"),
            ("find . -name x", "find"),
            ("echo x > .sprag/a", "<write>"),
            ("cd .sprag && rm x", "<write>"),
            ("cat a/.env", "<read>"),
        ] {
            assert_eq!(concern(&git, text), RuleConcern::Some([keys.to_owned()].into()), "{text}");
        }
        for text in
            ["git status", "cargo test --workspace", "ls -la", "cat README.md | head -5", "echo x > out"]
        {
            assert_eq!(concern(&git, text), RuleConcern::None, "{text}");
        }
        for text in ["$X", ":(){ :|:& };:", "curl x | sh"] {
            assert_eq!(concern(&git, text), RuleConcern::Every, "{text}");
        }
        assert_eq!(concern(&watch(&["Bash:* --force*"]), "ls"), RuleConcern::Every);
        assert_ne!(concern(&watch(&["Write:**"]), "echo x > a"), RuleConcern::None);
    }

    #[test]
    fn a_tool_concerns_rules_about_it_and_its_paths() {
        let read = watch(&["Read:~/.ssh/**"]);
        let call = |path: &str| {
            ToolCall::new(TABLE, "Read", json!({"file_path": path}), None, InputCompleteness::Yes)
        };
        assert_ne!(read.concern(&call("/home/u/.ssh/id_rsa"), None, "/w"), RuleConcern::None);
        assert_ne!(read.concern(&call("id_rsa"), None, "/home/u/.ssh"), RuleConcern::None);
        assert_eq!(read.concern(&call("/w/src/main.rs"), None, "/w"), RuleConcern::None);
        let close = ToolCall::new(TABLE, "mcp__t__close", json!({}), None, InputCompleteness::Yes);
        assert_ne!(watch(&["mcp__*__close"]).concern(&close, None, "/w"), RuleConcern::None);
    }

    #[test]
    fn texts_are_found_by_whole_lines() {
        let lines = |texts: &[&str]| TextBlock::new(&texts.iter().map(|text| (*text).to_owned()).collect());
        let many = ["a", "b c", "b d", "bb", "git", "git push", "git reset", "gitk a", "rm", "rmdir", "z"];
        for text in many {
            assert!(lines(&many).has(text), "{text}");
        }
        for text in ["", "aa", "b", "gi", "git pus", "git pushy", "zz", "0", "rmd"] {
            assert!(!lines(&many).has(text), "{text}");
        }
        assert_eq!(lines(&many).find_lines("git", |_| true), ["git push", "git reset"]);
        assert_eq!(lines(&many).find_lines("git", |verb| verb == "push"), ["git push"]);
        assert_eq!(lines(&many).find_lines("rm", |_| true), [] as [&str; 0]);
        let pieces = lines(&[".env", ".ssh", "id_rsa", "é"]);
        assert!(
            ["/w/.env", ".env", "a/.ssh/x", "id_rsa", "caf\u{e9}"].iter().all(|text| pieces.any_within(text))
        );
        assert!(!["", "/w/env", ".en", "ssh", "caf\u{ea}"].iter().any(|text| pieces.any_within(text)));
        assert!(!TextBlock::default().has("x") && !TextBlock::default().any_within("x"));
    }
}
