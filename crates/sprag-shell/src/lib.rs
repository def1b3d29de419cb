//! Finds every simple command that a command line could run, with its words as far as they can be known.
//! Unknown parts are values too. The policy judges this result, never the text.
//!
//! The analysis accepts any text, and its work is bounded. Everything beyond the limits is a doubt.

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

/// The known environment in which a command line starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellStart {
    /// The working directory; without it, paths are relative to the start: `.`.
    pub cwd: Option<String>,
    /// The home directory; without it, home is the symbolic `~`.
    pub home: Option<String>,
}

impl Script {
    /// Reads any text. Everything unknown or beyond the limits of work becomes a doubt.
    pub fn parse(text: &str, start: &ShellStart) -> Script {
        let mut script = eval::Evaluator::new(start).walk(text).script;
        if let Some(joined) = continuations::join(text) {
            script.absorb(eval::Evaluator::new(start).walk(&joined).script, text.len());
        }
        script
    }

    /// Adds the findings of another reading of the same text, whose spans do not fit this text.
    fn absorb(&mut self, other: Script, length: usize) {
        let places: Vec<usize> =
            other.commands.into_iter().map(|command| self.place(command, length)).collect();
        let placed = |command: Option<usize>| command.map(|at| places[at]);
        for wrapper in other.wrappers {
            if !self.wrappers.iter().any(|known| is_same(known, &wrapper)) {
                self.wrappers.push(Command { span: (0, length), ..wrapper });
            }
        }
        let lists = [
            (&mut self.writes, other.writes),
            (&mut self.reads, other.reads),
            (&mut self.names, other.names),
        ];
        for (known, found) in lists {
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

    /// Returns the position of a command in the list and adds a new command.
    fn place(&mut self, command: Command, length: usize) -> usize {
        let known = self.commands.iter().position(|known| is_same(known, &command));
        known.unwrap_or_else(|| {
            self.commands.push(Command { span: (0, length), ..command });
            self.commands.len() - 1
        })
    }
}

/// Reports whether two commands differ at most in their spans.
fn is_same(one: &Command, other: &Command) -> bool {
    *one == Command { span: one.span, ..other.clone() }
}

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Every reachable simple command, in the order of the text.
    pub commands: Vec<Command>,
    /// The carriers as written (`sudo -u x rm y`, `git -C d push`), for rules about a carrier. The commands
    /// that they run are in `commands`.
    pub wrappers: Vec<Command>,
    /// Paths that redirections and known programs write and read.
    pub writes: Vec<PathUse>,
    pub reads: Vec<PathUse>,
    /// Paths that a command names and may read: operands of programs that the table does not list, and
    /// `/proc/self/environ/NAME` for a secret variable that is printed or sent.
    pub names: Vec<PathUse>,
    pub doubts: Vec<Doubt>,
}

/// One simple command without its carriers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    /// The effective words, without carriers (`sudo`, `env`, `timeout` ...) and their options.
    pub argv: Vec<Word>,
    /// Assignments in front of the command, by name.
    pub assigns: Vec<(String, Word)>,
    pub stdin: StdinSource,
    pub cwd: WorkingDir,
    /// The carriers of the command, outermost first.
    pub via: Vec<Carrier>,
    /// The machine that the command runs on, if not this one.
    pub host: Host,
    /// The byte range of the command in the whole text.
    pub span: (usize, usize),
}

impl Command {
    /// Returns the base name of the program, if it is known.
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
    /// Any number of unknown words, including none.
    Many,
}

impl Word {
    /// Returns the word as text, with `hole` for unknown parts.
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

/// The source of a command's input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StdinSource {
    /// The input of the shell.
    Inherited,
    Text(String),
    File(Word),
    /// Output of another program.
    Unknown,
}

/// The working directory of a command, as far as `cd` and the like show.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WorkingDir {
    /// Relative to the start directory of the shell, or absolute.
    At(String),
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    Local,
    Other(String),
}

/// The carrier in which a command was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// A program that runs another: `sudo`, `env`, `xargs`, `find -exec` ...
    Program(String),
    /// Text for a shell: `bash -c`, `eval`, a heredoc.
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

/// A part of the command line that cannot be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    pub kind: DoubtKind,
    /// A description for people.
    pub about: Text<120>,
    /// Index into `Script::commands`, if the doubt belongs to a command.
    pub command: Option<usize>,
}

impl Doubt {
    /// Returns the doubt that stands for all doubts beyond the limit.
    fn too_many() -> Doubt {
        Doubt { kind: DoubtKind::Limit, about: Text::new("too many doubts"), command: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoubtKind {
    /// The program or its code is known only at run time (`$X`, `curl … | sh`).
    Dynamic,
    /// The text is not valid shell code.
    Parse,
    /// The text exceeds the limits of work.
    Limit,
    /// A character that looks like another one or is invisible.
    OddChar,
    /// A script file or a target of a build tool, which Sprag does not read.
    Opaque,
}
