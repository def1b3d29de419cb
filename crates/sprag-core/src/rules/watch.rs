//! What a set of rules is about, in few words. Most calls concern no rule at all, and a hook that
//! can tell so from this does not have to load the rules.

use serde::{Deserialize, Serialize};

use crate::rules::glob::{Glob, Sign};
use crate::rules::pattern::{Access, PathPattern, Pattern, Tokens};
use crate::rules::rule::{Decision, OnDoubt, Ready};
use crate::shell::{Carrier, Command, DoubtKind, PathUse, Place, Script, Word};
use crate::tool::{Effect, ToolCall};

/// Never says no where a rule would say something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// One a line, with a line's end in front.
    programs: String,
    /// Some pattern fits commands of any program.
    every_program: bool,
    /// Names of tools.
    tools: Vec<Glob>,
    reads: Pieces,
    writes: Pieces,
    /// Some rule speaks where a file is run that nobody looks into.
    opaque: bool,
}

/// Texts of which one stands in every path that a pattern can fit, one a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Pieces {
    text: String,
    /// Some pattern fits paths without any such text.
    every: bool,
}

impl Watch {
    pub(super) fn new(rules: &[Ready], is_strict: bool) -> Watch {
        let mut watch = Watch { programs: "\n".to_owned(), ..Watch::default() };
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
            Pattern::Shell(tokens) | Pattern::Via(tokens) => self.add_command(tokens),
        }
    }

    fn add_command(&mut self, tokens: &Tokens) {
        match tokens.programs() {
            Some(programs) => {
                for program in programs {
                    if !has_line(&self.programs, program) {
                        self.programs.push_str(program);
                        self.programs.push('\n');
                    }
                }
            }
            // What such a pattern asks of a command shows in the script: a doubt, or a function.
            None if !tokens.traits.is_empty() => {}
            None => self.every_program = true,
        }
    }

    /// Whether the rules have to be asked about a call; `script` is its command line, read.
    pub fn concerns(&self, call: &ToolCall, script: Option<&Script>, cwd: &str) -> bool {
        let path = |pieces: &Pieces| call.paths.iter().any(|path| pieces.within([path.as_str(), cwd]));
        let by_path = match call.effect {
            Effect::Read => path(&self.reads),
            Effect::Write | Effect::Exec => path(&self.writes),
            Effect::Net => false,
        };
        by_path
            || self.tools.iter().any(|tool| tool.fits(call.name.as_str()))
            || script.is_some_and(|script| self.concerns_script(script, cwd))
    }

    fn concerns_script(&self, script: &Script, cwd: &str) -> bool {
        let speaks = |kind: DoubtKind| self.opaque || kind != DoubtKind::Opaque;
        script.doubts.iter().any(|doubt| speaks(doubt.kind))
            || script.commands.iter().chain(&script.wrappers).any(|command| self.names(command))
            || script.reads.iter().any(|used| self.reads.within_use(used, cwd))
            || script.writes.iter().any(|used| has_hole(&used.path) || self.writes.within_use(used, cwd))
    }

    fn names(&self, command: &Command) -> bool {
        let Some(Word::Known(written)) = command.argv.first() else {
            return true;
        };
        let base = written.rsplit('/').next().unwrap_or_default();
        let has = |name: &str| has_line(&self.programs, name);
        self.every_program
            || has(base)
            || base.strip_suffix(".exe").is_some_and(has)
            || (written.contains('/') && has(written))
            || command.via.iter().any(|via| matches!(via, Carrier::Function(_)))
    }
}

impl Pieces {
    fn add(&mut self, pattern: &PathPattern) {
        for (_, glob) in &pattern.any {
            match piece(glob) {
                None => self.every = true,
                Some(piece) if has_line(&self.text, &piece) => {}
                Some(piece) => {
                    if self.text.is_empty() {
                        self.text.push('\n');
                    }
                    self.text.push_str(&piece);
                    self.text.push('\n');
                }
            }
        }
    }

    fn within<'t>(&self, texts: impl IntoIterator<Item = &'t str> + Clone) -> bool {
        let mut pieces = self.text.split('\n').filter(|piece| !piece.is_empty());
        self.every || pieces.any(|piece| texts.clone().into_iter().any(|text| text.contains(piece)))
    }

    fn within_use(&self, used: &PathUse, cwd: &str) -> bool {
        let place = match &used.cwd {
            Place::At(place) => place.as_str(),
            Place::Unknown => return true,
        };
        match &used.path {
            Word::Known(path) if path.bytes().any(|byte| b"*?[\\{".contains(&byte)) => true,
            Word::Known(path) => self.within([path.as_str(), place, cwd]),
            // What stands around a hole may form such a text with what is in it.
            Word::Partly(_) | Word::Many => true,
        }
    }
}

fn has_hole(word: &Word) -> bool {
    !matches!(word, Word::Known(_))
}

fn has_line(lines: &str, line: &str) -> bool {
    let found = |at: usize| {
        let end = at + line.len();
        lines.as_bytes().get(end) == Some(&b'\n') && at > 0 && lines.as_bytes()[at - 1] == b'\n'
    };
    !line.is_empty() && lines.match_indices(line).any(|(at, _)| found(at))
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

    const TOOLS: &[Tool] = &[
        Tool { name: "Bash", effect: Effect::Exec, paths: &[], command: Some("command") },
        Tool { name: "Read", effect: Effect::Read, paths: &["file_path"], command: None },
    ];

    fn watch(patterns: &[&str]) -> Watch {
        RuleSet::new([&rule("r", Decision::Deny, patterns)], Strictness::Usual).unwrap().watch()
    }

    fn concerns(watch: &Watch, text: &str) -> bool {
        let start = Start { cwd: Some("/w".to_owned()), home: Some("/home/u".to_owned()) };
        let call = ToolCall::new(TOOLS, "Bash", json!({"command": text}), None, Whole::Yes);
        watch.concerns(&call, Some(&Script::parse(text, &start)), "/w")
    }

    #[test]
    fn only_what_a_rule_is_about_concerns_it() {
        let git = watch(&["Bash:git push --force*", "Write:.sprag/**", "Read:**/.env"]);
        for text in
            ["git status", "sudo git push", "echo x > .sprag/a", "cd .sprag && rm x", "cat a/.env", "$X"]
        {
            assert!(concerns(&git, text), "{text}");
        }
        for text in ["cargo test --workspace", "ls -la", "cat README.md | head -5", "echo x > out.txt"] {
            assert!(!concerns(&git, text), "{text}");
        }
        assert!(concerns(&watch(&["Bash:* --force*"]), "ls"));
        assert!(concerns(&watch(&["Write:**"]), "echo x > a"));
    }

    #[test]
    fn a_tool_concerns_rules_about_it_and_its_paths() {
        let read = watch(&["Read:~/.ssh/**"]);
        let call = |path: &str| ToolCall::new(TOOLS, "Read", json!({"file_path": path}), None, Whole::Yes);
        assert!(read.concerns(&call("/home/u/.ssh/id_rsa"), None, "/w"));
        assert!(read.concerns(&call("id_rsa"), None, "/home/u/.ssh"));
        assert!(!read.concerns(&call("/w/src/main.rs"), None, "/w"));
        assert!(watch(&["mcp__*__close"]).concerns(
            &ToolCall::new(TOOLS, "mcp__t__close", json!({}), None, Whole::Yes),
            None,
            "/w"
        ));
    }

    #[test]
    fn texts_are_found_by_whole_lines() {
        assert!(has_line("\nrm\ngit\n", "git") && has_line("\nrm\ngit\n", "rm"));
        assert!(!has_line("\nrmdir\ngit\n", "rm") && !has_line("\nxrm\n", "rm") && !has_line("\nrm\n", ""));
        assert!(has_line("\nrmdir\nrm\n", "rm"));
    }
}
