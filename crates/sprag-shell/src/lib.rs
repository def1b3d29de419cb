//! What a command line would really do: every simple command that could run, with its words as far
//! as they can be known, and what cannot be known as a value. Policy looks at this, never at text.
//!
//! Total and bounded in work: any text is answered, and what goes beyond the bounds is a doubt.

mod carriers;
mod continuations;
mod eval;
mod expand;
mod languages;
mod parse;
pub mod paths;

#[cfg(test)]
mod tests;

use sprag_base::text::Text;

use crate::expand::unknown;

/// What is known about the place a command line is started in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellStart {
    /// Without it, places are told relative to the start: `.`.
    pub cwd: Option<String>,
    /// Without it, home is the symbolic `~`.
    pub home: Option<String>,
}

impl Script {
    /// Reads any text. Everything unknown or beyond the bounds of work becomes a doubt.
    pub fn parse(text: &str, start: &ShellStart) -> Script {
        let mut script = eval::Evaluator::new(start).walk(text).script;
        if let Some(joined) = continuations::join(text) {
            script.absorb(eval::Evaluator::new(start).walk(&joined).script, text.len());
        }
        script
    }

    /// Adds the findings of another reading of the same text. Its places are not those of the text.
    fn absorb(&mut self, other: Script, length: usize) {
        let places: Vec<usize> =
            other.commands.into_iter().map(|command| self.place(command, length)).collect();
        let placed = |command: Option<usize>| command.map(|at| places[at]);
        for wrapper in other.wrappers {
            if !self.wrappers.iter().any(|known| is_same(known, &wrapper)) {
                self.wrappers.push(Command { span: (0, length), ..wrapper });
            }
        }
        for (known, found) in [(&mut self.writes, other.writes), (&mut self.reads, other.reads)] {
            for path in found {
                let path = PathUse { command: placed(path.command), ..path };
                if !known.contains(&path) {
                    known.push(path);
                }
            }
        }
        for doubt in other.doubts {
            let doubt = Doubt { command: placed(doubt.command), ..doubt };
            if !self.doubts.contains(&doubt) {
                self.doubts.push(doubt);
            }
        }
    }

    /// Returns the place of a command among the known ones, where it is added if it is new.
    fn place(&mut self, command: Command, length: usize) -> usize {
        let known = self.commands.iter().position(|known| is_same(known, &command));
        known.unwrap_or_else(|| {
            self.commands.push(Command { span: (0, length), ..command });
            self.commands.len() - 1
        })
    }
}

/// Reports whether two commands differ at most in their places.
fn is_same(one: &Command, other: &Command) -> bool {
    *one == Command { span: one.span, ..other.clone() }
}

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command that is reachable, in the order of the text.
    pub commands: Vec<Command>,
    /// The carriers themselves as they were written (`sudo -u x rm y`, `git -C d push`), for rules
    /// about a carrier: what such a command does is in `commands`.
    pub wrappers: Vec<Command>,
    /// Paths written and read by redirections and by programs known to do so.
    pub writes: Vec<PathUse>,
    pub reads: Vec<PathUse>,
    pub doubts: Vec<Doubt>,
}

/// One simple command, with everything around it unwrapped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    /// The effective words: carriers (`sudo`, `env`, `timeout` ...) and their options are gone.
    pub argv: Vec<Word>,
    /// Assignments in front of it, by name.
    pub assigns: Vec<(String, Word)>,
    pub stdin: StdinSource,
    pub cwd: WorkingDir,
    /// What it was unwrapped from, outermost first.
    pub via: Vec<Carrier>,
    /// The machine it runs on, if not this one.
    pub host: Host,
    /// Where it stands in the whole text.
    pub span: (usize, usize),
}

impl Command {
    /// The program by its base name, if it is known.
    pub fn program(&self) -> Option<&str> {
        match self.argv.first() {
            Some(Word::Known(word)) => Some(unknown::base_name(word)),
            Some(Word::Partly(_) | Word::Many) | None => None,
        }
    }
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    Known(String),
    /// Known parts around holes (`None`): a variable, a substitution, a glob.
    Partly(Vec<Option<String>>),
    /// Any number of unknown words, none included.
    Many,
}

impl Word {
    /// As text in which `hole` stands for what is not known.
    pub fn text(&self, hole: char) -> String {
        match self {
            Word::Known(text) => text.clone(),
            Word::Partly(parts) => {
                parts.iter().map(|part| part.clone().unwrap_or_else(|| hole.to_string())).collect()
            }
            Word::Many => hole.to_string(),
        }
    }
}

/// Where a command's input comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StdinSource {
    /// Whatever the shell has.
    Inherited,
    Text(String),
    File(Word),
    /// Output of another program.
    Unknown,
}

/// Where a command runs, as far as `cd` and the like tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WorkingDir {
    /// Relative to where the shell was started, or absolute.
    At(String),
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    Local,
    Other(String),
}

/// What a command was found in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// A program that runs another: `sudo`, `env`, `xargs`, `find -exec` ...
    Program(String),
    /// Text handed to a shell: `bash -c`, `eval`, a heredoc.
    Shell(String),
    /// Code of another language: `python -c`.
    Interpreter(String),
    Substitution,
    Function(String),
    Alias(String),
    Trap,
}

/// A path that is read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathUse {
    pub path: Word,
    pub cwd: WorkingDir,
    /// The program, or `>`, `>>`, `<` for a redirection.
    pub by: String,
    /// Index into `Script::commands`.
    pub command: Option<usize>,
}

/// What could not be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    pub kind: DoubtKind,
    /// What it is about, for people.
    pub about: Text<120>,
    /// Index into `Script::commands`, if it belongs to one.
    pub command: Option<usize>,
}

impl Doubt {
    /// Returns the doubt that stands for all that found no room.
    fn too_many() -> Doubt {
        Doubt { kind: DoubtKind::Limit, about: Text::new("too many doubts"), command: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoubtKind {
    /// The program or its code is known only at run time (`$X`, `curl … | sh`).
    Dynamic,
    /// The text is no valid shell.
    Parse,
    /// Beyond the bounds of work.
    Limit,
    /// A character that looks like another or like none.
    OddChar,
    /// A script file or a target of a build tool, which is not looked into.
    Opaque,
}
