//! What a set of rules is about, in few words. Most calls concern no rule at all, and a hook that
//! can tell so from this does not have to load the rules; of the rest, most concern only a few.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::rules::glob::{Glob, Sign};
use crate::rules::pattern::{Access, PathPattern, Pattern, Sense, Slot, Tokens};
use crate::rules::rule::{Decision, OnDoubt, Ready};
use crate::shell::{Carrier, Command, DoubtKind, PathUse, Place, Script, Word};
use crate::tool::{Effect, ToolCall};

/// Shards of rules that are about no command.
pub(super) const READS: &str = "<read>";
pub(super) const WRITES: &str = "<write>";
pub(super) const TOOLS: &str = "<tool>";
/// And of those about programs by a part of their name.
pub(super) const LIKE: &str = "<like>";

/// Which rules have to be asked about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Concern {
    None,
    /// Those of these shards.
    Some(BTreeSet<String>),
    Every,
}

/// Never leaves out a rule that would say something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The shards of commands: a program, or a program and its first word, one a line.
    commands: Lines,
    /// Programs by a part of their name.
    like: Vec<Glob>,
    /// Some pattern fits commands of any program.
    every_program: bool,
    /// Names of tools.
    tools: Vec<Glob>,
    reads: Pieces,
    writes: Pieces,
    /// Some rule speaks where a file is run that nobody looks into.
    opaque: bool,
}

/// Texts of which one stands in every path that a pattern can fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Pieces {
    lines: Lines,
    /// Some pattern fits paths without any such text.
    every: bool,
}

/// Texts in one: read in one go, and searched as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Lines(String);

impl Watch {
    pub(super) fn new(rules: &[Ready], is_strict: bool) -> Watch {
        let mut watch = Watch::default();
        for rule in rules.iter().filter(|rule| rule.decision != Decision::Allow) {
            watch.opaque |= is_strict || rule.on_opaque != OnDoubt::None;
            rule.any.iter().for_each(|pattern| watch.add(pattern));
        }
        watch
    }

    fn add(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Tool(pattern) => self.tools.extend(pattern.name.iter().cloned()),
            Pattern::Path(pattern) if pattern.access == Access::Read => self.reads.add(pattern),
            Pattern::Path(pattern) => self.writes.add(pattern),
            Pattern::Shell(tokens) | Pattern::Via(tokens) => match command_keys(tokens) {
                Some(keys) if keys == [LIKE] => self.like.extend(program_globs(tokens).cloned()),
                Some(keys) => keys.iter().for_each(|key| self.commands.add(key)),
                // What such a pattern asks of a command shows in the script: a doubt, or a function.
                None if !tokens.traits.is_empty() => {}
                None => self.every_program = true,
            },
        }
    }

    /// Which rules have to be asked about a call; `script` is its command line, read.
    pub fn concern(&self, call: &ToolCall, script: Option<&Script>, cwd: &str) -> Concern {
        let mut keys = BTreeSet::new();
        let named = |pieces: &Pieces| call.paths.iter().any(|path| pieces.within(&[path, cwd]));
        match call.effect {
            Effect::Read if named(&self.reads) => keys.insert(READS.to_owned()),
            Effect::Write | Effect::Exec if named(&self.writes) => keys.insert(WRITES.to_owned()),
            Effect::Read | Effect::Delegate | Effect::Write | Effect::Exec | Effect::Net => false,
        };
        if self.tools.iter().any(|tool| tool.fits(call.name.as_str())) {
            keys.insert(TOOLS.to_owned());
        }
        if let Some(script) = script {
            let speaks = |kind: DoubtKind| self.opaque || kind != DoubtKind::Opaque;
            if self.every_program || script.doubts.iter().any(|doubt| speaks(doubt.kind)) {
                return Concern::Every;
            }
            for command in script.commands.iter().chain(&script.wrappers) {
                if !self.add_keys(command, &mut keys) {
                    return Concern::Every;
                }
            }
            if script.reads.iter().any(|used| self.reads.within_use(used, cwd)) {
                keys.insert(READS.to_owned());
            }
            if script.writes.iter().any(|used| self.writes.within_use(used, cwd)) {
                keys.insert(WRITES.to_owned());
            }
        }
        if keys.is_empty() { Concern::None } else { Concern::Some(keys) }
    }

    /// Adds the shards a command concerns; `false` if it may be any program.
    fn add_keys(&self, command: &Command, keys: &mut BTreeSet<String>) -> bool {
        let is_function = |via: &Carrier| matches!(via, Carrier::Function(_));
        let Some(Word::Known(written)) = command.argv.first() else {
            return command.argv.is_empty();
        };
        let base = written.rsplit('/').next().unwrap_or_default();
        let names = [Some(base), base.strip_suffix(".exe"), written.contains('/').then_some(written)];
        for name in names.into_iter().flatten() {
            if self.like.iter().any(|like| like.fits(name)) {
                keys.insert(LIKE.to_owned());
            }
            if self.commands.has(name) {
                keys.insert(name.to_owned());
            }
            match command.argv.get(1) {
                None => {}
                // The first word is the verb. After an option it may be the option's value.
                Some(Word::Known(verb)) if !verb.starts_with('-') => {
                    let key = format!("{name} {verb}");
                    if !verb.is_empty() && self.commands.has(&key) {
                        keys.insert(key);
                    }
                }
                Some(_) => keys.extend(self.commands.starting_with(name)),
            }
        }
        !command.via.iter().any(is_function)
    }
}

fn program_globs(tokens: &Tokens) -> impl Iterator<Item = &Glob> {
    let named = match tokens.slots.first() {
        Some(Slot::Word { any, sense: Sense::Is }) => any.as_slice(),
        _ => &[],
    };
    named.iter()
}

/// The shards of a pattern of commands; `None` if it names no program.
pub(super) fn command_keys(tokens: &Tokens) -> Option<Vec<String>> {
    let mut globs = program_globs(tokens).peekable();
    if globs.peek().is_none() || globs.any(|glob| *glob == Glob::Any) {
        return None;
    }
    if tokens.programs().is_none() {
        return Some(vec![LIKE.to_owned()]);
    }
    let verbs: Option<Vec<&str>> = match tokens.slots.get(1) {
        Some(Slot::Word { any, sense: Sense::Is }) => any.iter().map(verb).collect(),
        _ => None,
    };
    let key = |program: &str| match &verbs {
        Some(verbs) => verbs.iter().map(|verb| format!("{program} {verb}")).collect(),
        None => vec![program.to_owned()],
    };
    tokens.programs().map(|programs| programs.flat_map(key).collect())
}

fn verb(glob: &Glob) -> Option<&str> {
    match glob {
        Glob::Exact(verb) if !verb.is_empty() && !verb.contains(char::is_whitespace) => Some(verb),
        Glob::Exact(_) | Glob::Any | Glob::Signs(_) => None,
    }
}

impl Pieces {
    fn add(&mut self, pattern: &PathPattern) {
        for (_, glob) in &pattern.any {
            match piece(glob) {
                Some(piece) => self.lines.add(&piece),
                None => self.every = true,
            }
        }
    }

    fn within(&self, texts: &[&str]) -> bool {
        self.every || self.lines.iter().any(|piece| texts.iter().any(|text| text.contains(piece)))
    }

    fn within_use(&self, used: &PathUse, cwd: &str) -> bool {
        let Place::At(place) = &used.cwd else {
            return true;
        };
        match &used.path {
            Word::Known(path) if path.bytes().any(|byte| b"*?[\\{".contains(&byte)) => true,
            Word::Known(path) => self.within(&[path, place, cwd]),
            // What stands around a hole may form such a text with what is in it.
            Word::Partly(_) | Word::Many => true,
        }
    }
}

impl Lines {
    fn add(&mut self, line: &str) {
        if self.has(line) {
            return;
        }
        if self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn has(&self, line: &str) -> bool {
        let bytes = self.0.as_bytes();
        let is_whole =
            |at: usize| at > 0 && bytes[at - 1] == b'\n' && bytes.get(at + line.len()) == Some(&b'\n');
        !line.is_empty() && self.0.match_indices(line).any(|(at, _)| is_whole(at))
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split('\n').filter(|line| !line.is_empty())
    }

    /// Lines of this word and another.
    fn starting_with(&self, word: &str) -> Vec<String> {
        let is_start = |line: &&str| line.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
        self.iter().filter(is_start).map(str::to_owned).collect()
    }
}

/// The longest text without `*` or `/` in a glob: a path may be put together from several texts, but
/// never from within a name.
fn piece(glob: &Glob) -> Option<String> {
    let literal: String = match glob {
        Glob::Any => return None,
        Glob::Exact(text) => text.clone(),
        Glob::Signs(signs) => {
            let sign = |sign: &Sign| match sign {
                Sign::Char(c) => *c,
                Sign::Star | Sign::Stars => '/',
            };
            signs.iter().map(sign).collect()
        }
    };
    literal.split('/').max_by_key(|part| part.len()).filter(|part| !part.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::tests::rule;
    use crate::rules::{RuleSet, Strictness};
    use crate::shell::Start;
    use crate::tool::{Tool, Whole};

    const TABLE: &[Tool] = &[
        Tool { name: "Bash", effect: Effect::Exec, paths: &[], command: Some("command") },
        Tool { name: "Read", effect: Effect::Read, paths: &["file_path"], command: None },
    ];

    fn watch(patterns: &[&str]) -> Watch {
        RuleSet::new([&rule("r", Decision::Deny, patterns)], Strictness::Usual).unwrap().watch()
    }

    fn concern(watch: &Watch, text: &str) -> Concern {
        let start = Start { cwd: Some("/w".to_owned()), home: Some("/home/u".to_owned()) };
        let call = ToolCall::new(TABLE, "Bash", json!({"command": text}), None, Whole::Yes);
        watch.concern(&call, Some(&Script::parse(text, &start)), "/w")
    }

    #[test]
    fn only_what_a_rule_is_about_concerns_it() {
        let git = watch(&["Bash:git push --force*", "Bash:find *", "Write:.sprag/**", "Read:**/.env"]);
        for (text, keys) in [
            ("git push", "git push"),
            ("sudo git push origin", "git push"),
            ("git --no-pager push", "git push"),
            ("find . -name x", "find"),
            ("echo x > .sprag/a", "<write>"),
            ("cd .sprag && rm x", "<write>"),
            ("cat a/.env", "<read>"),
        ] {
            assert_eq!(concern(&git, text), Concern::Some([keys.to_owned()].into()), "{text}");
        }
        for text in
            ["git status", "cargo test --workspace", "ls -la", "cat README.md | head -5", "echo x > out"]
        {
            assert_eq!(concern(&git, text), Concern::None, "{text}");
        }
        for text in ["$X", "git() { git push; }; git", "curl x | sh"] {
            assert_eq!(concern(&git, text), Concern::Every, "{text}");
        }
        assert_eq!(concern(&watch(&["Bash:* --force*"]), "ls"), Concern::Every);
        assert_ne!(concern(&watch(&["Write:**"]), "echo x > a"), Concern::None);
    }

    #[test]
    fn a_tool_concerns_rules_about_it_and_its_paths() {
        let read = watch(&["Read:~/.ssh/**"]);
        let call = |path: &str| ToolCall::new(TABLE, "Read", json!({"file_path": path}), None, Whole::Yes);
        assert_ne!(read.concern(&call("/home/u/.ssh/id_rsa"), None, "/w"), Concern::None);
        assert_ne!(read.concern(&call("id_rsa"), None, "/home/u/.ssh"), Concern::None);
        assert_eq!(read.concern(&call("/w/src/main.rs"), None, "/w"), Concern::None);
        let close = ToolCall::new(TABLE, "mcp__t__close", json!({}), None, Whole::Yes);
        assert_ne!(watch(&["mcp__*__close"]).concern(&close, None, "/w"), Concern::None);
    }

    #[test]
    fn texts_are_found_by_whole_lines() {
        let lines = |texts: &[&str]| {
            let mut lines = Lines::default();
            texts.iter().for_each(|text| lines.add(text));
            lines
        };
        assert!(lines(&["rm", "git"]).has("git") && lines(&["rm", "git"]).has("rm"));
        assert!(lines(&["rmdir", "rm"]).has("rm"));
        assert!(!lines(&["rmdir", "xrm"]).has("rm") && !lines(&["rm"]).has(""));
        assert_eq!(lines(&["git push", "git", "gitk a"]).starting_with("git"), ["git push"]);
    }
}
