//! The evaluator: walks a text, tracks the state of the shell and collects commands, paths and doubts. It
//! also counts all limits of work.

pub(crate) mod builtins;
mod command_index;
pub(crate) mod output;
mod redirect;
mod simple_command;
pub(crate) mod state;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use sprag_base::text::Text;

use super::eval::command_index::CommandIndex;
use super::eval::state::ShellState;
use super::expand::unknown::{self, HOLE};
use super::parse::ast::{CommandNode, ParsedText, Span};
use super::parse::{self, ParseFault};
use super::{Carrier, Command, Doubt, DoubtKind, Host, Script, ShellStart, Word, WorkingDir};

pub(crate) const TEXT: usize = 64 * 1024;
/// Maximum depth of texts within texts: `bash -c`, `$( )`, functions.
pub(crate) const TEXTS: usize = 10;
/// Maximum depth of statements and texts together; bounds the stack.
pub(crate) const LEVELS: usize = 40;
const COMMANDS: usize = 4096;
/// Maximum number of steps for one text. A straight walk takes a few steps for each command. So loops and
/// calls have room, but work that multiplies ends.
const MAX_STEPS: usize = 65_536;
const BASE_STEPS: usize = 1024;
const STEPS_PER_BYTE: usize = 16;
const DOUBTS: usize = 64;
/// A loop over more literal words is walked once, with an unknown variable.
pub(crate) const TURNS: usize = 16;

/// The input of the current statement; texts may have holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StdinText {
    Inherited,
    Text(String),
    File(String),
}

/// The output of the current statements.
#[derive(Debug, Default)]
pub(super) struct PrintedText {
    pub(super) text: String,
    /// Whether it is uncertain that something was printed.
    pub(super) vague: bool,
}

pub(crate) struct Evaluator {
    pub(super) script: Script,
    pub(super) state: ShellState,
    pub(super) input: StdinText,
    outputs: Vec<PrintedText>,
    pub(super) via: Vec<Carrier>,
    pub(super) host: Host,
    pub(super) span: (usize, usize),
    /// Bodies of the functions that are being called.
    pub(super) running: Vec<Rc<CommandNode>>,
    /// Aliases and script files that are running.
    pub(super) calls: Vec<String>,
    /// Files that this text wrote, by absolute path.
    pub(super) files: BTreeMap<String, String>,
    /// Temporary directories that this text filled from another machine.
    fetched: Vec<String>,
    /// Code that runs at the end of the current text.
    pub(super) traps: Vec<String>,
    /// Git settings that this text stored.
    pub(super) git_settings: Vec<(String, String)>,
    /// The whole text, which spans point into.
    whole: Option<Rc<ParsedText>>,
    pub(super) texts: usize,
    pub(super) level: usize,
    steps: usize,
    max_steps: usize,
    /// Function bodies and texts that were walked in the second half of the steps.
    walked: BTreeSet<u64>,
    command_index: CommandIndex,
    /// The number of enclosing branches and loops in the current output.
    pub(super) branches: usize,
    /// Whether the same statement may be walked more than once.
    pub(super) repeats: bool,
    /// The number of enclosing pipes and background jobs.
    pub(super) pipes: usize,
    /// The number of descriptors that the shell allocated.
    pub(super) descriptors: usize,
}

impl Evaluator {
    pub(super) fn new(start: &ShellStart) -> Evaluator {
        Evaluator {
            script: Script::default(),
            state: ShellState::new(start),
            input: StdinText::Inherited,
            outputs: Vec::new(),
            via: Vec::new(),
            host: Host::Local,
            span: (0, 0),
            running: Vec::new(),
            calls: Vec::new(),
            files: BTreeMap::new(),
            fetched: Vec::new(),
            traps: Vec::new(),
            git_settings: Vec::new(),
            whole: None,
            texts: 0,
            level: 0,
            steps: 0,
            max_steps: MAX_STEPS,
            walked: BTreeSet::new(),
            command_index: CommandIndex::default(),
            branches: 0,
            repeats: false,
            pipes: 0,
            descriptors: 0,
        }
    }

    /// Walks the whole text.
    pub(super) fn walk(mut self, text: &str) -> Evaluator {
        let mut text = text;
        if text.len() > TEXT {
            self.doubt(DoubtKind::Limit, "text of more than 64 KiB");
            let mut end = TEXT;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text = &text[..end];
        }
        let cleaned;
        if text.contains(|c| c == '\0' || unknown::is_hole(c)) {
            self.doubt(DoubtKind::OddChar, "a null or private-use character");
            cleaned = unknown::without_marks(text).replace('\0', "");
            text = &cleaned;
        }
        self.span = (0, text.len());
        self.max_steps = MAX_STEPS.min(BASE_STEPS + STEPS_PER_BYTE * text.len());
        self.text(text);
        self
    }

    /// Counts one step; returns false when the limit is reached.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps <= self.max_steps {
            return true;
        }
        self.doubt(DoubtKind::Limit, "too many steps");
        false
    }

    /// Reports whether half of the steps are spent. From then on the evaluator walks each text at most once,
    /// with unknown values, so that the other half reaches every command.
    pub(super) fn is_thrifty(&mut self) -> bool {
        let is_thrifty = self.steps > self.max_steps / 2;
        if is_thrifty {
            self.doubt(DoubtKind::Limit, "too many turns and calls");
        }
        is_thrifty
    }

    /// Reports whether the evaluator may walk this code. In the second half of the steps each text is walked
    /// only once.
    pub(super) fn may_walk(&mut self, code: &str) -> bool {
        if !self.is_thrifty() {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        code.hash(&mut hasher);
        if self.walked.insert(hasher.finish()) {
            return true;
        }
        self.state.forget();
        self.print_unknown();
        false
    }

    /// Returns the number of steps taken and the maximum.
    #[cfg(test)]
    pub(crate) fn steps_taken(&self) -> (usize, usize) {
        (self.steps, self.max_steps)
    }

    pub(super) fn count(&mut self, steps: usize) {
        self.steps += steps;
    }

    pub(super) fn doubt(&mut self, kind: DoubtKind, about: &str) {
        self.doubt_of(kind, about, None);
    }

    pub(super) fn doubt_of(&mut self, kind: DoubtKind, about: &str, command: Option<usize>) {
        let shown: String =
            about.chars().take(130).map(|c| if unknown::is_hole(c) { '…' } else { c }).collect();
        let doubt = Doubt { kind, about: Text::new(sprag_base::text::one_line(&shown)), command };
        let doubts = &mut self.script.doubts;
        if doubts.len() > DOUBTS || doubts.contains(&doubt) {
            return;
        }
        // A doubt beyond the limit counts as well, so that a list of harmless doubts cannot hide it.
        let has_room = doubts.len() < DOUBTS;
        doubts.push(if has_room { doubt } else { Doubt::too_many() });
    }

    /// Returns a copy of the state and counts the work.
    pub(super) fn fork(&mut self) -> ShellState {
        let state = &self.state;
        self.steps += (state.variables.len() + state.functions.len() + state.aliases.len()) / 16;
        state.clone()
    }

    /// Adds a command and returns its position in the list.
    pub(super) fn command(&mut self, command: Command) -> Option<usize> {
        if self.repeats
            && let Some(same) = self.command_index.find(&self.script.commands, &command)
        {
            return Some(same);
        }
        if self.script.commands.len() >= COMMANDS {
            self.doubt(DoubtKind::Limit, "too many commands");
            return None;
        }
        self.script.commands.push(command);
        Some(self.script.commands.len() - 1)
    }

    /// Adds a carrier as it was written.
    pub(super) fn wrapper(&mut self, words: &[String], assigns: &[(String, String)]) {
        self.count_words(words);
        if self.script.wrappers.len() < COMMANDS {
            let wrapper = self.as_command(words, assigns);
            if !self.repeats || !self.script.wrappers.contains(&wrapper) {
                self.script.wrappers.push(wrapper);
            }
        }
    }

    /// Counts the work of copying words and input.
    pub(super) fn count_words(&mut self, words: &[String]) {
        let input = match &self.input {
            StdinText::Text(text) => text.len(),
            StdinText::Inherited | StdinText::File(_) => 0,
        };
        let bytes: usize = words.iter().map(String::len).sum();
        let cwd = self.state.cwd.as_ref().map_or(0, String::len);
        self.count(words.len() / 8 + (bytes + input + cwd) / 64);
    }

    pub(super) fn as_command(&self, words: &[String], assigns: &[(String, String)]) -> Command {
        use super::StdinSource as In;
        let stdin = match &self.input {
            StdinText::Inherited => In::Inherited,
            StdinText::Text(text) if unknown::is_known(text) => In::Text(text.clone()),
            StdinText::Text(_) => In::Unknown,
            StdinText::File(path) => In::File(unknown::word(path)),
        };
        Command {
            argv: words.iter().map(|word| unknown::word(word)).collect(),
            assigns: assigns.iter().map(|(name, value)| (name.clone(), unknown::word(value))).collect(),
            stdin,
            cwd: self.state.place(),
            via: self.via.clone(),
            host: self.host.clone(),
            span: self.span,
        }
    }

    /// Adds text to the current output.
    pub(super) fn print(&mut self, text: &str) {
        let vague = self.branches > 0;
        if let Some(output) = self.outputs.last_mut() {
            output.vague |= vague;
            if output.text.len() + text.len() <= TEXT {
                output.text.push_str(text);
            } else {
                output.vague = true;
            }
        }
    }

    /// Adds unknown text to the current output.
    pub(super) fn print_unknown(&mut self) {
        let mut line = String::from(HOLE);
        line.push('\n');
        self.print(&line);
    }

    /// Returns the output of `inner`.
    pub(super) fn captured(&mut self, inner: impl FnOnce(&mut Evaluator)) -> PrintedText {
        self.outputs.push(PrintedText::default());
        let branches = std::mem::take(&mut self.branches);
        inner(self);
        self.branches = branches;
        self.outputs.pop().unwrap_or_default()
    }

    /// Walks code as a separate text, inside `carrier` and on a copy of the state.
    pub(super) fn inner_text(&mut self, text: &str, carrier: Carrier) {
        let state = self.fork();
        self.same_shell_text(text, carrier);
        self.state = state;
    }

    /// Walks code in the current state: `eval`, `source`, an alias.
    pub(super) fn same_shell_text(&mut self, text: &str, carrier: Carrier) {
        if text.trim().is_empty() {
            return;
        }
        self.via.push(carrier);
        self.text(text);
        self.via.pop();
    }

    fn text(&mut self, text: &str) {
        self.count(text.len() / 64);
        if self.texts >= TEXTS || self.level >= LEVELS || text.len() > TEXT || !self.step() {
            self.doubt(DoubtKind::Limit, "code nested too deep");
            return;
        }
        if !self.may_walk(text) {
            return;
        }
        let (code, fault) = parse::read(text, LEVELS - self.level);
        match fault {
            None => {}
            Some(ParseFault::Syntax) => self.doubt(DoubtKind::Parse, text),
            Some(ParseFault::Budget) => self.doubt(DoubtKind::Limit, text),
        }
        let code = Rc::new(code);
        self.whole.get_or_insert_with(|| Rc::clone(&code));
        self.texts += 1;
        let waiting = self.traps.len();
        self.list(&code, &code.list);
        for trap in self.traps.split_off(waiting) {
            let before = self.fork();
            self.same_shell_text(&trap, Carrier::Trap);
            self.state.blur(&before);
        }
        self.texts -= 1;
    }

    /// Sets the span of a command, if the command stands in the whole text.
    pub(super) fn locate(&mut self, code: &Rc<ParsedText>, span: Span) {
        if self.whole.as_ref().is_some_and(|whole| Rc::ptr_eq(whole, code)) {
            self.span = (span.start as usize, span.end as usize);
        }
    }

    /// Returns a path relative to the current directory, or `None` if either is unknown.
    pub(super) fn whole_path(&self, path: &str) -> Option<String> {
        if !unknown::is_known(path) {
            return None;
        }
        if let Some(descriptor) = path.strip_prefix("/proc/self/fd/") {
            return Some(format!("/dev/fd/{descriptor}"));
        }
        super::eval::state::join(self.state.cwd.as_deref(), path)
    }

    /// Records a directory whose files come from another machine. A build of a worktree uses such files all the
    /// time, so only temporary directories count.
    pub(super) fn fetches(&mut self, path: &str) {
        if let Some(whole) = self.whole_path(path)
            && ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| {
                whole.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
            && self.fetched.len() < 64
        {
            self.fetched.push(whole);
        }
    }

    /// Reports whether a file comes from another machine.
    pub(super) fn is_fetched(&self, whole: &str) -> bool {
        self.fetched
            .iter()
            .any(|place| whole.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/')))
    }

    pub(super) fn place(&self) -> WorkingDir {
        self.state.place()
    }
}

/// Returns the word for a list of path uses.
pub(crate) fn path_word(path: &str) -> Word {
    unknown::word(path)
}
