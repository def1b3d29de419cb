//! What rules judge: one call of a tool, with its command line read where it has one.

use serde_json::Value;

use sprag_shell::{Doubt, DoubtKind, PathUse, Script, Word, WorkingDir};

use crate::call::{ToolCall, ToolEffect};
use crate::pattern::command::{CommandLine, MatchPurpose};
use crate::pattern::location::KnownPaths;
use crate::pattern::word_glob::{GlobFit, Letter, WordGlob};
use crate::pattern::{CommandPattern, PathBase, PathPattern, Pattern, PatternAccess, ToolPattern};

/// Whether a pattern is about a call. From least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchLevel {
    No,
    /// Not in what can be seen, but a file that is not looked into runs.
    OpaqueOnly,
    /// Something unknown may be it.
    Uncertain,
    Match,
}

impl From<GlobFit> for MatchLevel {
    fn from(fit: GlobFit) -> MatchLevel {
        match fit {
            GlobFit::No => MatchLevel::No,
            GlobFit::Maybe => MatchLevel::Uncertain,
            GlobFit::Yes => MatchLevel::Match,
        }
    }
}

#[derive(Debug)]
pub struct Subject<'a> {
    tool: &'a str,
    input: &'a Value,
    reads: Vec<TouchedPath>,
    writes: Vec<TouchedPath>,
    pub(crate) script: Option<&'a Script>,
    pub(crate) ground: &'a KnownPaths,
    /// The commands of the script, and behind them what they were unwrapped from.
    pub(crate) lines: Vec<CommandLine<'a>>,
    pub(crate) doubt: HiddenPart<'a>,
}

/// A path that is read or written, made absolute.
#[derive(Debug)]
struct TouchedPath {
    path: Vec<Letter>,
    /// Index of its command.
    command: Option<usize>,
}

/// The doubt that could hide any command at all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HiddenPart<'a> {
    pub most: MatchLevel,
    pub doubt: Option<&'a Doubt>,
}

/// The name under which a command line alone is judged.
const SHELL: &str = "Bash";

impl<'a> Subject<'a> {
    /// A command line alone.
    pub fn script(script: &'a Script, ground: &'a KnownPaths) -> Subject<'a> {
        Subject::new(SHELL, &Value::Null, ToolEffect::Exec, &[], Some(script), ground)
    }

    /// Any call; `script` is its command line, read, if it is a shell's.
    pub fn call(call: &'a ToolCall, script: Option<&'a Script>, ground: &'a KnownPaths) -> Subject<'a> {
        Subject::new(call.name.as_str(), &call.input, call.effect, &call.paths, script, ground)
    }

    fn new(
        tool: &'a str,
        input: &'a Value,
        effect: ToolEffect,
        paths: &'a [String],
        script: Option<&'a Script>,
        ground: &'a KnownPaths,
    ) -> Subject<'a> {
        let mut lines = Vec::new();
        let here = WorkingDir::At(String::new());
        let named = paths.iter().map(|path| Word::Known(path.clone()));
        let named = named.map(|path| TouchedPath { path: ground.resolve(&path, &here), command: None });
        let touched = |uses: &[PathUse]| -> Vec<TouchedPath> {
            let touch = |used: &PathUse| TouchedPath {
                path: ground.resolve(&used.path, &used.cwd),
                command: used.command,
            };
            uses.iter().map(touch).collect()
        };
        let mut reads = script.map(|script| touched(&script.reads)).unwrap_or_default();
        let mut writes = script.map(|script| touched(&script.writes)).unwrap_or_default();
        match effect {
            ToolEffect::Read => reads.extend(named),
            ToolEffect::Write | ToolEffect::Exec => writes.extend(named),
            ToolEffect::Net | ToolEffect::Delegate => {}
        }
        let mut doubt = HiddenPart { most: MatchLevel::No, doubt: None };
        if let Some(script) = script {
            let dynamic = |at: Option<usize>| {
                script.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Dynamic && doubt.command == at)
            };
            let commands = script.commands.iter().enumerate();
            lines.extend(commands.map(|(at, command)| {
                let mut line = CommandLine::new(command);
                line.fed = dynamic(Some(at));
                line
            }));
            // Code of which nothing is known leaves only the carrier that was to run it.
            let is_fed = dynamic(None);
            lines.extend(script.wrappers.iter().map(|command| {
                let mut line = CommandLine::new(command);
                line.fed = is_fed;
                line
            }));
            for found in &script.doubts {
                let most = hides(found, script);
                if most > doubt.most {
                    doubt = HiddenPart { most, doubt: Some(found) };
                }
            }
        }
        Subject { tool, input, reads, writes, script, ground, lines, doubt }
    }

    /// What a pattern finds in this call. A command that one of `unless` fits is passed over.
    pub fn outcome(&self, pattern: &Pattern, unless: &[CommandPattern]) -> MatchLevel {
        let found = self.found(pattern, unless);
        match pattern {
            Pattern::Tool(_) => found,
            Pattern::Shell(_) | Pattern::Via(_) | Pattern::Path(_) => found.max(self.doubt.most),
        }
    }

    /// The same, with what doubt may hide left out.
    pub(crate) fn found(&self, pattern: &Pattern, unless: &[CommandPattern]) -> MatchLevel {
        let in_lines = |lines: &[CommandLine<'_>], tokens: &CommandPattern| {
            let mut best = GlobFit::No;
            for line in lines {
                best = best.max(self.line_fit(line, tokens, unless));
                if best == GlobFit::Yes {
                    break;
                }
            }
            best
        };
        let fit = match pattern {
            Pattern::Tool(pattern) => self.tool_fit(pattern),
            Pattern::Shell(tokens) => in_lines(&self.lines, tokens),
            Pattern::Via(tokens) => in_lines(self.wrappers(), tokens),
            Pattern::Path(pattern) => self.path_fit(pattern, unless),
        };
        fit.into()
    }

    /// One command against one pattern.
    pub(crate) fn line_fit(
        &self,
        line: &CommandLine<'_>,
        tokens: &CommandPattern,
        unless: &[CommandPattern],
    ) -> GlobFit {
        match line.fit(tokens, self.ground, MatchPurpose::Find) {
            GlobFit::No => GlobFit::No,
            _ if self.excused(line, unless) => GlobFit::No,
            fit => fit,
        }
    }

    pub(crate) fn commands(&self) -> &[CommandLine<'a>] {
        &self.lines[..self.script.map_or(0, |script| script.commands.len())]
    }

    /// What the commands were unwrapped from.
    pub(crate) fn wrappers(&self) -> &[CommandLine<'a>] {
        &self.lines[self.script.map_or(0, |script| script.commands.len())..]
    }

    /// Whether a command is none that the rule allows: in whatever spelling.
    pub(crate) fn exempt(&self, line: &CommandLine<'_>, unless: &[CommandPattern]) -> bool {
        unless.iter().any(|tokens| line.fit(tokens, self.ground, MatchPurpose::Find) == GlobFit::Yes)
    }

    /// Whether a command is none that the rule is about: only what is written out counts.
    fn excused(&self, line: &CommandLine<'_>, unless: &[CommandPattern]) -> bool {
        unless.iter().any(|tokens| line.fit(tokens, self.ground, MatchPurpose::Exempt) == GlobFit::Yes)
    }

    fn path_fit(&self, pattern: &PathPattern, unless: &[CommandPattern]) -> GlobFit {
        let touched = match pattern.access {
            PatternAccess::Read => &self.reads,
            PatternAccess::Write => &self.writes,
        };
        let mut best = GlobFit::No;
        for touch in touched {
            let mut fit = self.place_fit(pattern, &touch.path);
            // Much that is read is unknown, and hardly any of it is the file in question: what
            // counts is whether the known part names it.
            if fit == GlobFit::Maybe && pattern.access == PatternAccess::Read {
                let known: Vec<Letter> =
                    touch.path.iter().copied().filter(|letter| *letter != Letter::Hole).collect();
                fit = fit.min(self.place_fit(pattern, &known));
            }
            let line = touch.command.and_then(|at| self.lines.get(at));
            if fit > best && !line.is_some_and(|line| self.excused(line, unless)) {
                best = fit;
            }
        }
        best
    }

    fn place_fit(&self, pattern: &PathPattern, path: &[Letter]) -> GlobFit {
        let fit = |(anchor, glob): &(PathBase, WordGlob)| match anchor {
            PathBase::Whole => glob.fit(path),
            PathBase::Repo => anchored(glob, path, &self.ground.repo),
            PathBase::Home => anchored(glob, path, &self.ground.home),
        };
        pattern.any.iter().map(fit).max().unwrap_or(GlobFit::No)
    }

    /// Whether every path that is written is harmless.
    pub(crate) fn writes_only(&self, harmless: impl Fn(&dyn Fn(&PathPattern) -> bool) -> bool) -> bool {
        self.writes.iter().all(|touch| {
            let null = "/dev/null".chars().map(Letter::Char).eq(touch.path.iter().copied());
            null || harmless(&|pattern| self.place_fit(pattern, &touch.path) == GlobFit::Yes)
        })
    }

    fn tool_fit(&self, pattern: &ToolPattern) -> GlobFit {
        let named = pattern.name.iter().any(|name| name.fits(self.tool));
        let member = |(key, any): &(String, Vec<WordGlob>)| {
            let text = match self.input.get(key) {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                _ => return false,
            };
            any.iter().any(|glob| glob.fits(&text))
        };
        (named && pattern.members.iter().all(member)).into()
    }
}

/// How much a doubt hides. Where only the program is unknown, its words still tell.
fn hides(doubt: &Doubt, script: &Script) -> MatchLevel {
    match doubt.kind {
        DoubtKind::Parse | DoubtKind::Limit | DoubtKind::OddChar => MatchLevel::Uncertain,
        DoubtKind::Opaque => MatchLevel::OpaqueOnly,
        DoubtKind::Dynamic => {
            let command = doubt.command.and_then(|at| script.commands.get(at));
            match command.and_then(|command| command.argv.first()) {
                Some(Word::Partly(_) | Word::Many) => MatchLevel::No,
                Some(Word::Known(_)) | None => MatchLevel::Uncertain,
            }
        }
    }
}

/// A path pattern that is relative to a place.
fn anchored(glob: &WordGlob, path: &[Letter], place: &str) -> GlobFit {
    if path.first() == Some(&Letter::Hole) {
        return GlobFit::Maybe.min(glob.fit(path));
    }
    let mut rest = path;
    for c in place.chars() {
        match rest.split_first() {
            Some((Letter::Char(found), after)) if *found == c => rest = after,
            Some((Letter::Hole, _)) => return GlobFit::Maybe,
            _ => return GlobFit::No,
        }
    }
    match rest.split_first() {
        None => glob.fit(&[]),
        Some((Letter::Char('/'), inner)) => glob.fit(inner),
        _ => GlobFit::No,
    }
}
