//! The subject of a judgement: one tool call with its parsed command line.

use serde_json::Value;

use sprag_shell::{Carrier, Command, Doubt, DoubtKind, PathUse, Script, Word, WorkingDir};

use crate::call::{ToolCall, ToolEffect};
use crate::pattern::command::{CommandLine, MatchPurpose};
use crate::pattern::location::KnownPaths;
use crate::pattern::word_glob::{GlobFit, Letter, WordGlob};
use crate::pattern::{CommandPattern, PathBase, PathPattern, Pattern, PatternAccess, ToolPattern};

/// How well a pattern matches a call, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchLevel {
    No,
    /// No visible match, but the call runs a file that Sprag does not read.
    OpaqueOnly,
    /// An unknown part may match.
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
    /// The commands of the script, followed by the commands that wrap them.
    pub(crate) lines: Vec<CommandLine<'a>>,
    pub(crate) doubt: HiddenPart<'a>,
}

/// A path that the call reads or writes, made absolute.
#[derive(Debug)]
struct TouchedPath {
    path: Vec<Letter>,
    /// Paths of secret places to which the shell may expand the path.
    secrets: Vec<Vec<Letter>>,
    /// Index of the command that uses the path.
    command: Option<usize>,
}

/// The exemptions of a rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exemptions<'r> {
    /// Words that exempt a command.
    pub unless: &'r [CommandPattern],
    /// Paths that exempt a use.
    pub except: &'r [PathPattern],
}

/// The doubt that could hide the most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HiddenPart<'a> {
    pub most: MatchLevel,
    pub doubt: Option<&'a Doubt>,
}

/// A word of the command line that is known only at run time, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnknownWord {
    Program(String),
    Operand(String),
    /// Words that a program such as `xargs` adds; its name.
    Added(String),
}

/// The longest word that a message shows.
const SHOWN: usize = 60;

/// The tool name for a command line without a call.
const SHELL: &str = "Bash";

impl<'a> Subject<'a> {
    /// Creates the subject of a command line without a tool call.
    pub fn script(script: &'a Script, ground: &'a KnownPaths) -> Subject<'a> {
        Subject::new(SHELL, &Value::Null, ToolEffect::Exec, &[], Some(script), ground)
    }

    /// Creates the subject of a tool call; `script` is its parsed command line, if it has one.
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
        let named = named.map(|path| TouchedPath {
            path: ground.resolve(&path, &here),
            secrets: Vec::new(),
            command: None,
        });
        let touched = |uses: &[PathUse]| -> Vec<TouchedPath> {
            let touch = |used: &PathUse| {
                let path = ground.resolve(&used.path, &used.cwd);
                let secrets = if matches!(used.path, Word::Known(_)) && path.contains(&Letter::Hole) {
                    secret_expansions(&path, ground)
                } else {
                    Vec::new()
                };
                TouchedPath { path, secrets, command: used.command }
            };
            // A shell that sources a file does not show its content.
            uses.iter().filter(|used| !matches!(used.by.as_str(), "source" | ".")).map(touch).collect()
        };
        let mut reads = script.map(|script| touched(&script.reads)).unwrap_or_default();
        reads.extend(script.map(|script| touched(&script.names)).unwrap_or_default());
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
            // If the code is unknown, only the carrier that runs it is visible.
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

    /// Returns how well a pattern matches this call, except for commands that an entry of `unless` exempts.
    pub fn outcome(&self, pattern: &Pattern, exempt: Exemptions<'_>) -> MatchLevel {
        let found = self.found(pattern, exempt);
        match pattern {
            Pattern::Tool(_) => found,
            Pattern::Shell(_) | Pattern::Via(_) | Pattern::Path(_) => found.max(self.doubt.most),
        }
    }

    /// Returns the same level without the parts that a doubt may hide.
    pub(crate) fn found(&self, pattern: &Pattern, exempt: Exemptions<'_>) -> MatchLevel {
        let in_lines = |lines: &[CommandLine<'_>], tokens: &CommandPattern| {
            let mut best = GlobFit::No;
            for line in lines {
                best = best.max(self.line_fit(line, tokens, exempt.unless));
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
            Pattern::Path(pattern) => self.path_fit(pattern, exempt),
        };
        fit.into()
    }

    /// Matches one command with one pattern.
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

    /// Returns the commands that wrap other commands.
    pub(crate) fn wrappers(&self) -> &[CommandLine<'a>] {
        &self.lines[self.script.map_or(0, |script| script.commands.len())..]
    }

    /// Reports whether `unless` exempts a command from a rule that allows. Words count in any case: SQL has none.
    pub(crate) fn exempt(&self, line: &CommandLine<'_>, unless: &[CommandPattern]) -> bool {
        let found = |line: &CommandLine<'_>| {
            unless.iter().any(|tokens| line.fit(tokens, self.ground, MatchPurpose::Find) == GlobFit::Yes)
        };
        found(line) || lowered(line.command).is_some_and(|command| found(&CommandLine::new(&command)))
    }

    /// Reports whether `unless` exempts a command from a rule that restricts. Only literal words count.
    fn excused(&self, line: &CommandLine<'_>, unless: &[CommandPattern]) -> bool {
        unless.iter().any(|tokens| line.fit(tokens, self.ground, MatchPurpose::Exempt) == GlobFit::Yes)
    }

    fn path_fit(&self, pattern: &PathPattern, exempt: Exemptions<'_>) -> GlobFit {
        let touched = match pattern.access {
            PatternAccess::Read => &self.reads,
            PatternAccess::Write => &self.writes,
        };
        let mut best = GlobFit::No;
        for touch in touched {
            let mut fit = self.place_fit(pattern, &touch.path);
            // Many paths that a command reads are unknown, and hardly any is the file in question. So only
            // the known part counts.
            if fit == GlobFit::Maybe && pattern.access == PatternAccess::Read && !is_hidden_name(&touch.path)
            {
                let known: Vec<Letter> =
                    touch.path.iter().copied().filter(|letter| *letter != Letter::Hole).collect();
                let expands = |secret: &Vec<Letter>| {
                    self.place_fit(pattern, secret) == GlobFit::Yes
                        && !exempt.except.iter().any(|except| self.is_excepted(except, secret))
                };
                if !touch.secrets.iter().any(expands) {
                    fit = fit.min(self.place_fit(pattern, &known));
                }
            }
            let line = touch.command.and_then(|at| self.lines.get(at));
            let excepted = |except: &PathPattern| self.is_excepted(except, &touch.path);
            if fit > best
                && !line.is_some_and(|line| self.excused(line, exempt.unless))
                && !exempt.except.iter().any(excepted)
            {
                best = fit;
            }
        }
        best
    }

    /// Reports whether an exception certainly covers a path. A worktree that contains the home exempts
    /// nothing, because everything of the user lies in it.
    fn is_excepted(&self, except: &PathPattern, path: &[Letter]) -> bool {
        let of_repo = except.any.iter().any(|(anchor, _)| *anchor == PathBase::Repo);
        // The shell expands a pattern to some name.
        let name = |letter: &Letter| if *letter == Letter::Hole { Letter::Char('x') } else { *letter };
        let named: Vec<Letter> = path.iter().map(name).collect();
        !(of_repo && self.ground.holds_home()) && self.place_fit(except, &named) == GlobFit::Yes
    }

    fn place_fit(&self, pattern: &PathPattern, path: &[Letter]) -> GlobFit {
        let fit = |(anchor, glob): &(PathBase, WordGlob)| match anchor {
            PathBase::Whole => glob.fit(path),
            PathBase::Repo => anchored(glob, path, &self.ground.repo),
            PathBase::Home => anchored(glob, path, &self.ground.home),
            PathBase::Scratch => self.ground.scratch_path(path).min(glob.fit(path)),
            PathBase::Outside => self.ground.outside_path(path),
        };
        pattern.any.iter().map(fit).max().unwrap_or(GlobFit::No)
    }

    /// Returns the first word that is known only at run time.
    pub(crate) fn unknown_word(&self) -> Option<UnknownWord> {
        self.commands().iter().find_map(|line| {
            let at = line.command.argv.iter().position(|word| !matches!(word, Word::Known(_)))?;
            if let Some(written) = self.written(line.command).and_then(unknown_text) {
                let is_program = at == 0;
                return Some(if is_program {
                    UnknownWord::Program(written)
                } else {
                    UnknownWord::Operand(written)
                });
            }
            let adds = |via: &Carrier| match via {
                Carrier::Program(name) if matches!(name.as_str(), "xargs" | "gxargs" | "parallel") => {
                    Some(UnknownWord::Added(name.clone()))
                }
                _ => None,
            };
            line.command.via.iter().find_map(adds)
        })
    }

    /// Returns the text of a shell call.
    pub(crate) fn command_text(&self) -> Option<&'a str> {
        self.input.get("command").and_then(Value::as_str)
    }

    /// Returns a command as written in the call.
    pub(crate) fn written(&self, command: &Command) -> Option<&'a str> {
        let (start, end) = command.span;
        self.command_text()?.get(start..end)
    }

    /// Returns the first variable or substitution of the call, as written.
    pub(crate) fn first_variable(&self) -> Option<String> {
        self.command_text().and_then(unknown_text)
    }

    /// Reports whether the shell may split a word of the call into several, because it has no quotes.
    pub(crate) fn splits(&self, word: &str) -> bool {
        let is_many = |line: &CommandLine<'_>| {
            line.command.argv.contains(&Word::Many)
                && self.written(line.command).is_some_and(|text| {
                    text.contains(word) && !text.contains(&format!("\"{word}")) && !word.starts_with("$(")
                })
        };
        word.starts_with('$') && self.commands().iter().any(is_many)
    }

    pub(crate) fn tool(&self) -> &'a str {
        self.tool
    }

    /// Returns the first path that matches a pattern, with the command that uses it.
    pub(crate) fn touched_by(
        &self,
        pattern: &PathPattern,
        exempt: Exemptions<'_>,
    ) -> Option<(Option<&CommandLine<'a>>, String)> {
        let touched = match pattern.access {
            PatternAccess::Read => &self.reads,
            PatternAccess::Write => &self.writes,
        };
        touched.iter().find_map(|touch| {
            let line = touch.command.and_then(|at| self.lines.get(at));
            let expands = |secret: &Vec<Letter>| self.place_fit(pattern, secret) == GlobFit::Yes;
            let fits =
                self.place_fit(pattern, &touch.path) != GlobFit::No || touch.secrets.iter().any(expands);
            let excepted = exempt.except.iter().any(|except| self.is_excepted(except, &touch.path))
                || line.is_some_and(|line| self.excused(line, exempt.unless));
            let written = |letter: &Letter| match letter {
                Letter::Char(c) => *c,
                Letter::Hole => '*',
            };
            (fits && !excepted).then(|| (line, touch.path.iter().map(written).collect()))
        })
    }

    /// Reports whether every path that the call writes is harmless.
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

/// Returns how much a doubt may hide. If only the program is unknown, the patterns still match its words.
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

/// Returns a command with its known operands in lower case, if that changes them.
fn lowered(command: &Command) -> Option<Command> {
    let lower = |word: &Word| match word {
        Word::Known(text) if !text.starts_with('-') => Word::Known(text.to_lowercase()),
        word => word.clone(),
    };
    let argv: Vec<Word> = command.argv.iter().map(lower).collect();
    (argv != command.argv).then(|| Command { argv, ..command.clone() })
}

/// Returns the first variable or substitution of a command, as written.
fn unknown_text(command: &str) -> Option<String> {
    let at = command.find(['$', '`'])?;
    let rest = &command[at..];
    let end = match rest.as_bytes() {
        [b'$', b'(', ..] => closed(rest, '(', ')'),
        [b'$', b'{', ..] => closed(rest, '{', '}'),
        [b'`', ..] => rest[1..].find('`').map(|end| end + 2),
        _ => rest[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(|end| end + 1),
    };
    let written = &rest[..end.unwrap_or(rest.len())];
    let short: String = written.chars().take(SHOWN).collect();
    Some(if short.len() < written.len() { short + "…" } else { short })
}

/// Returns the position after the bracket that closes the first one.
fn closed(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        depth += usize::from(c == open);
        depth -= usize::from(c == close && depth > 0);
        (c == close && depth == 0).then_some(at + 1)
    })
}

/// Names of secret places that a pattern of the shell may stand for.
const SECRET_NAMES: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".azure",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".password-store",
    ".config",
    ".env",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "credentials",
    "config.json",
];
/// Names of secret directories below `.config`.
const SECRET_TOOLS: &[&str] = &["gh", "gcloud", "rclone", "op"];
/// Maximum number of paths to which a pattern is expanded.
const EXPANSIONS: usize = 64;

/// Returns the paths of secret places outside the worktree to which the shell may expand a path with a pattern
/// in it. A pattern that starts with `*` does not stand for a hidden name.
fn secret_expansions(path: &[Letter], ground: &KnownPaths) -> Vec<Vec<Letter>> {
    if path.first() == Some(&Letter::Hole) || ground.outside_path(path) != GlobFit::Yes {
        return Vec::new();
    }
    let text = |part: &[Letter]| -> String { crate::pattern::location::text(part) };
    let mut paths: Vec<Vec<Letter>> = vec![Vec::new()];
    let mut before = String::new();
    for part in path.split(|letter| *letter == Letter::Char('/')).skip(1) {
        let mut names: Vec<Vec<Letter>> = Vec::new();
        if part.contains(&Letter::Hole) {
            let is_hidden = part.first() == Some(&Letter::Char('.'));
            let has_text = part.iter().any(|letter| *letter != Letter::Hole);
            let known = SECRET_NAMES.iter().filter(|name| has_text && name.starts_with('.') == is_hidden);
            let tools = SECRET_TOOLS.iter().filter(|_| before == ".config");
            let fits = |name: &&&str| WordGlob::Exact((**name).to_string()).fit(part) != GlobFit::No;
            names
                .extend(known.chain(tools).filter(fits).map(|name| name.chars().map(Letter::Char).collect()));
            names.push(
                part.iter()
                    .map(|letter| if *letter == Letter::Hole { Letter::Char('x') } else { *letter })
                    .collect(),
            );
        } else {
            names.push(part.to_vec());
        }
        before = text(part);
        paths = paths
            .iter()
            .flat_map(|path| {
                names.iter().map(move |name| {
                    let mut path = path.clone();
                    path.push(Letter::Char('/'));
                    path.extend(name.iter().copied());
                    path
                })
            })
            .take(EXPANSIONS)
            .collect();
    }
    paths
}

/// Reports whether the last part of a path starts like the name of a hidden file: `.e*`.
fn is_hidden_name(path: &[Letter]) -> bool {
    let name = path.rsplit(|letter| *letter == Letter::Char('/')).next().unwrap_or_default();
    matches!(name, [Letter::Char('.'), Letter::Char(_), ..]) && name.contains(&Letter::Hole)
}

/// Matches a path with a pattern that is relative to a directory.
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
