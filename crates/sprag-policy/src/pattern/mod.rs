//! The pattern language of rules.
//!
//! ```text
//! Bash:gh issue close*        words of a command, in order; a last `*` allows more words
//! Bash:git push ** +*         `**` is any words, `*` in a word any text
//! Bash:{rm,unlink} !-i *      alternatives; `!`: not this
//! Bash:git push --force *     options match anywhere; clusters, `--force=…`, `--forc` count
//! Bash:sort ?{-n,-r,--key} *  no options but these
//! Bash:curl -X=DELETE *       an option with this value: `-X DELETE`, `-XDELETE`, `-X=DELETE`
//! Bash:git checkout -- *      after `--` there are no options
//! Bash:rm -r ** <root> *      a word of a class, see [`OperandClass`]
//! git reset <scratch>         in `unless`: the command runs below a temporary directory
//! Bash:serve <away> *         the command runs outside the worktree and the temporary directories
//! Bash:rm <remote> *          the command runs on another machine or in a container
//! Bash:$HOME=* claude *       a variable that is set for the command
//! Bash:<fed> *                a command that gets its code from elsewhere at run time
//! Bash:<again> *              a function that calls itself
//! Via:timeout *               a carrier as written, with the command that it runs
//! Write:src/** Read:~/.ssh/** paths written or read, by tools, redirections and programs
//! <scratch>/.git/hooks/**     in `except`: a path below a temporary directory, outside the worktree
//! Write:<outside>             a path outside the worktree and the temporary directories
//! mcp__*__close_issue Task    names of tools
//! Task(subagent_type=review*) with a member of their input
//! ```
//!
//! A brace or a space that is part of a word is written `\{` or `\ `.

pub(crate) mod command;
mod computed;
pub(crate) mod location;
mod options;
pub(crate) mod subject;
mod text;
pub(crate) mod word_glob;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::pattern::text::{SPACE, alternatives, split_outside_braces};
use crate::pattern::word_glob::WordGlob;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    Shell(CommandPattern),
    Via(CommandPattern),
    Path(PathPattern),
    Tool(ToolPattern),
}

/// A command pattern: the words of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPattern {
    /// Words in order, the program first.
    pub slots: Vec<PatternSlot>,
    /// Options, in any order.
    pub flags: Vec<FlagTest>,
    /// If set, the command may have no other options.
    pub only: Option<Vec<Flag>>,
    pub traits: Vec<OperandTrait>,
    /// If not empty, one of these variables must be set in front of the command.
    pub assigns: Vec<AssignTest>,
    pub rest: TrailingWords,
}

/// A variable that is set for one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignTest {
    pub name: WordGlob,
    pub value: WordGlob,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatternSlot {
    /// `**`
    Gap,
    /// `--`
    End,
    Word {
        any: Vec<WordGlob>,
        sense: PatternSense,
    },
    Class {
        class: OperandClass,
        sense: PatternSense,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatternSense {
    Is,
    /// `!`
    IsNot,
}

/// Classes of operands that depend on the directory in which the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperandClass {
    /// A directory whose loss is a disaster: `KnownPaths::root`.
    Root,
    /// An operand that is unknown before the command runs: `KnownPaths::unknown`.
    Unknown,
    /// A root outside the worktree: `KnownPaths::system`.
    System,
    /// An operand that is known only in part, or not at all.
    Partial,
    /// A path outside the worktree and the temporary directories: `KnownPaths::outside`.
    Outside,
}

/// Properties of a command that its words do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperandTrait {
    /// A known program gets its code from elsewhere at run time (`curl … | sh`).
    Fed,
    /// A function calls itself.
    Again,
    /// The command runs below a temporary directory, outside the worktree.
    Scratch,
    /// The command runs outside the worktree and the temporary directories.
    Away,
    /// The command runs on another machine or in a container.
    Remote,
    /// The program is known only at run time, and the other words do not show that the command is harmless.
    Computed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagTest {
    pub any: Vec<Flag>,
    pub sense: PatternSense,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    /// The name with its dashes.
    pub name: WordGlob,
    /// The name as written, if it has no `*`; used for clusters and abbreviations.
    pub text: Option<String>,
    pub value: Option<WordGlob>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrailingWords {
    /// No more words may follow.
    Nothing,
    Anything,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathPattern {
    pub access: PatternAccess,
    pub any: Vec<(PathBase, WordGlob)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatternAccess {
    Read,
    Write,
}

/// The directory that a path pattern is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PathBase {
    /// The whole path, from `/` or, after `**/`, from anywhere.
    Whole,
    Repo,
    Home,
    /// Anywhere below a temporary directory, outside the worktree.
    Scratch,
    /// Every path outside the worktree and the temporary directories: `KnownPaths::outside_path`.
    Outside,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPattern {
    pub name: Vec<WordGlob>,
    pub members: Vec<(String, Vec<WordGlob>)>,
}

/// Error for an invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern {
    pub pattern: String,
    pub why: &'static str,
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad pattern `{}`: {}", self.pattern, self.why)
    }
}

impl std::error::Error for BadPattern {}

/// Maximum length of a pattern, in bytes.
const LONGEST: usize = 4096;

type PatternResult<T> = Result<T, &'static str>;

impl Pattern {
    pub fn parse(pattern: &str) -> Result<Pattern, BadPattern> {
        let parsed = if pattern.len() > LONGEST {
            Err("too long")
        } else if let Some(tokens) = pattern.strip_prefix("Bash:") {
            CommandPattern::read(tokens).and_then(CommandPattern::with_a_program).map(Pattern::Shell)
        } else if let Some(tokens) = pattern.strip_prefix("Via:") {
            CommandPattern::read(tokens).and_then(CommandPattern::with_a_program).map(Pattern::Via)
        } else if let Some(path) = pattern.strip_prefix("Write:") {
            PathPattern::read(PatternAccess::Write, path).map(Pattern::Path)
        } else if let Some(path) = pattern.strip_prefix("Read:") {
            PathPattern::read(PatternAccess::Read, path).map(Pattern::Path)
        } else {
            ToolPattern::read(pattern).map(Pattern::Tool)
        };
        parsed.map_err(|why| BadPattern { pattern: pattern.chars().take(200).collect(), why })
    }

    /// Reads an `unless` entry: words that exempt a command.
    pub fn parse_exemption(pattern: &str) -> Result<CommandPattern, BadPattern> {
        if let Some(command) = pattern.strip_prefix("Bash:") {
            return match Pattern::parse(pattern)? {
                Pattern::Shell(tokens) => Ok(tokens),
                _ => Err(BadPattern { pattern: command.to_owned(), why: "expected a command" }),
            };
        }
        let mut parsed =
            if pattern.len() > LONGEST { Err("too long") } else { CommandPattern::read(pattern) };
        if let Ok(tokens) = &mut parsed {
            // The words may stand anywhere after the program.
            let words = std::mem::take(&mut tokens.slots);
            tokens.slots.push(PatternSlot::Word { any: vec![WordGlob::Any], sense: PatternSense::Is });
            for word in words {
                tokens.slots.extend([PatternSlot::Gap, word]);
            }
            tokens.rest = TrailingWords::Anything;
        }
        parsed.map_err(|why| BadPattern { pattern: pattern.chars().take(200).collect(), why })
    }
}

/// Whether a word with a leading dash is an option. After `--` it is not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionWords {
    Open,
    Ended,
}

impl CommandPattern {
    fn read(text: &str) -> PatternResult<CommandPattern> {
        let mut tokens = CommandPattern {
            slots: Vec::new(),
            flags: Vec::new(),
            only: None,
            traits: Vec::new(),
            assigns: Vec::new(),
            rest: TrailingWords::Nothing,
        };
        let mut options = OptionWords::Open;
        let text = text.replace("\\ ", SPACE);
        let mut words = text.split_whitespace().peekable();
        if words.peek().is_none() {
            return Err("no command given");
        }
        while let Some(token) = words.next() {
            let last = words.peek().is_none();
            if last && token.ends_with('*') {
                tokens.rest = TrailingWords::Anything;
            }
            match token {
                "*" | "**" if last => {}
                "**" => tokens.slots.push(PatternSlot::Gap),
                "--" if options == OptionWords::Open => {
                    options = OptionWords::Ended;
                    tokens.slots.push(PatternSlot::End);
                }
                _ => tokens.token(token, options)?,
            }
        }
        Ok(tokens)
    }

    fn token(&mut self, token: &str, options: OptionWords) -> PatternResult<()> {
        let (sense, text) = match token.strip_prefix('!') {
            // A lone `!` is a word of `find` and `test`.
            Some(text) if !text.is_empty() => (PatternSense::IsNot, text),
            _ => (PatternSense::Is, token),
        };
        if let Some(name) = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')) {
            match (name, sense) {
                ("root", _) => self.slots.push(PatternSlot::Class { class: OperandClass::Root, sense }),
                ("system", _) => self.slots.push(PatternSlot::Class { class: OperandClass::System, sense }),
                ("unknown", _) => self.slots.push(PatternSlot::Class { class: OperandClass::Unknown, sense }),
                ("outside", _) => self.slots.push(PatternSlot::Class { class: OperandClass::Outside, sense }),
                ("partial", _) => self.slots.push(PatternSlot::Class { class: OperandClass::Partial, sense }),
                ("away", PatternSense::Is) => self.traits.push(OperandTrait::Away),
                ("remote", PatternSense::Is) => self.traits.push(OperandTrait::Remote),
                ("computed", PatternSense::Is) => self.traits.push(OperandTrait::Computed),
                ("scratch", PatternSense::Is) => self.traits.push(OperandTrait::Scratch),
                ("fed", PatternSense::Is) => self.traits.push(OperandTrait::Fed),
                ("again", PatternSense::Is) => self.traits.push(OperandTrait::Again),
                _ => {
                    return Err(
                        "unknown class; use <root>, <system>, <outside>, <partial>, <unknown>, <scratch>, <away>, <remote>, <computed>, <fed> or <again>",
                    );
                }
            }
            return Ok(());
        }
        if let Some(test) = text.strip_prefix('$').filter(|text| text.contains('=')) {
            for one in alternatives(test)? {
                let Some((name, value)) = one.split_once('=') else {
                    return Err("write a variable as `$NAME=value`");
                };
                self.assigns.push(AssignTest { name: WordGlob::token(name), value: WordGlob::token(value) });
            }
            return Ok(());
        }
        if let Some(text) = text.strip_prefix('?').filter(|text| text.starts_with(['-', '{'])) {
            let any = alternatives(text)?;
            if !any.iter().all(|text| text.starts_with('-')) {
                return Err("`?` must be followed by options");
            }
            self.only.get_or_insert_default().extend(any.iter().map(|text| Flag::read(text)));
            return Ok(());
        }
        let any = alternatives(text)?;
        let flags = any
            .iter()
            .filter(|text| options == OptionWords::Open && text.len() > 1 && text.starts_with('-'))
            .count();
        if flags == 0 {
            self.slots.push(PatternSlot::Word {
                any: any.iter().map(|text| WordGlob::token(text)).collect(),
                sense,
            });
        } else if flags == any.len() {
            self.flags.push(FlagTest { any: any.iter().map(|text| Flag::read(text)).collect(), sense });
        } else {
            return Err("alternatives must be all options or all words");
        }
        Ok(())
    }

    fn with_a_program(self) -> PatternResult<CommandPattern> {
        match self.slots.first() {
            None if !self.flags.is_empty() || self.only.is_some() => {
                Err("an option needs a command before it")
            }
            Some(PatternSlot::Class { .. } | PatternSlot::End) => Err("the first word must be a program"),
            Some(PatternSlot::Word { .. } | PatternSlot::Gap) | None => Ok(self),
        }
    }

    /// Returns the programs that the pattern names, if it names them literally.
    pub fn programs(&self) -> Option<impl Iterator<Item = &str>> {
        let Some(PatternSlot::Word { any, sense: PatternSense::Is }) = self.slots.first() else {
            return None;
        };
        let exact = |glob: &WordGlob| matches!(glob, WordGlob::Exact(_));
        any.iter().all(exact).then(|| {
            any.iter().filter_map(|glob| match glob {
                WordGlob::Exact(text) => Some(text.as_str()),
                WordGlob::Any | WordGlob::Signs(_) => None,
            })
        })
    }
}

impl Flag {
    fn read(text: &str) -> Flag {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(WordGlob::token(value))),
            None => (text, None),
        };
        Flag { name: WordGlob::token(name), text: (!name.contains('*')).then(|| name.to_owned()), value }
    }
}

impl PathPattern {
    /// Reads an `except` entry: paths that a rule does not concern.
    pub fn parse_exemption(path: &str) -> Result<PathPattern, BadPattern> {
        let parsed = if path.len() > LONGEST {
            Err("too long")
        } else {
            PathPattern::read(PatternAccess::Write, path)
        };
        parsed.map_err(|why| BadPattern { pattern: path.chars().take(200).collect(), why })
    }

    fn read(access: PatternAccess, text: &str) -> PatternResult<PathPattern> {
        if text.trim().is_empty() {
            return Err("no path given");
        }
        if text.trim() == "<outside>" {
            return Ok(PathPattern { access, any: vec![(PathBase::Outside, WordGlob::Any)] });
        }
        let mut any = Vec::new();
        for path in alternatives(text.trim())? {
            let (anchor, path) = match path.as_str() {
                "~" => (PathBase::Home, ""),
                path if path.starts_with('/') || path.starts_with("**") => (PathBase::Whole, path),
                path if path.starts_with("<scratch>/") => {
                    (PathBase::Scratch, path.strip_prefix("<scratch>").unwrap_or(path))
                }
                path => match path.strip_prefix("~/") {
                    Some(inner) => (PathBase::Home, inner),
                    None => (PathBase::Repo, path.strip_prefix("./").unwrap_or(path)),
                },
            };
            let path = if anchor == PathBase::Scratch { format!("**{path}") } else { path.to_owned() };
            let path = path.as_str();
            any.push((anchor, WordGlob::path(path)));
            // A pattern for the content also covers its directory: a command that replaces `a` replaces
            // `a/**`.
            if let Some(directory) = path.strip_suffix("/**")
                && !directory.is_empty()
            {
                any.push((anchor, WordGlob::path(directory)));
            }
        }
        Ok(PathPattern { access, any })
    }
}

impl ToolPattern {
    fn read(text: &str) -> PatternResult<ToolPattern> {
        let text = text.trim();
        let (name, members) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(members) => (name, Some(members)),
                None => return Err("the `)` is missing"),
            },
        };
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || ":)".contains(c)) {
            return Err("expected `Bash:…`, `Via:…`, `Write:…`, `Read:…` or a tool name");
        }
        let globs = |text: &str| -> PatternResult<Vec<WordGlob>> {
            Ok(alternatives(text)?.iter().map(|text| WordGlob::token(text)).collect())
        };
        let mut read = Vec::new();
        for member in split_outside_braces(members.unwrap_or_default()) {
            let Some((key, value)) = member.split_once('=') else {
                return Err("write a member as `key=value`");
            };
            if key.trim().is_empty() {
                return Err("write a member as `key=value`");
            }
            read.push((key.trim().to_owned(), globs(value.trim())?));
        }
        Ok(ToolPattern { name: globs(name)?, members: read })
    }
}
