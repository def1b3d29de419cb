//! The parser of the scripts in `stories/`: each line is `event | verdict`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::stage_checks;

/// One line of a script, before the bar.
#[derive(Debug)]
pub(crate) enum Step {
    Session(String),
    Start(String),
    Prompt(String),
    Bash(String),
    /// A command that the gates allowed, and whether it succeeded.
    Ran {
        command: String,
        well: bool,
    },
    /// Writes a file with a number of lines.
    Grow {
        path: String,
        lines: u64,
    },
    /// The user changes a file, before or during the session.
    Dirty {
        path: String,
        lines: u64,
    },
    /// The project uses a tracker.
    Tracker(String),
    TaskNew,
    TaskDone(String),
    /// Submits one valid or one malformed candidate.
    Reflect {
        is_good: bool,
    },
    Skip(String),
    Observe(String),
    /// Sets the result of a check from here on.
    Check(stage_checks::Told),
    /// Runs the checks by hand.
    Verify,
    /// Commits everything.
    Commit,
    SubagentStart,
    Review(Turn),
    /// A command of a sub-agent of the session.
    SubagentBash(String),
    /// The user sets a key.
    Config {
        key: String,
        value: String,
    },
    /// The client is about to ask its user about a command.
    Permission(String),
    /// Writes a file, with or without conflict markers.
    Write {
        path: String,
        is_conflicted: bool,
    },
    Stop {
        saying: String,
        waiting: bool,
        again: bool,
        plan: bool,
    },
    SubagentStop,
    /// The repository has this intent from here on.
    Intent {
        id: String,
        globs: Vec<String>,
    },
    Select(String),
    /// Delegates work to another agent.
    Delegate,
    /// Sets the value of `AGENT_ROLE` from here on.
    Role(String),
    /// Sets the content of the marker file from here on.
    Marker(String),
    /// Sets the strictness of the delegation gate from here on.
    Delegation(String),
    End,
    /// Lets time pass. The program cannot do this, so only the core plays on.
    Wait(i64),
}

/// A step of a review.
#[derive(Debug)]
pub(crate) enum Turn {
    ReviewerStarts,
    ReviewerStops,
    /// The reviewer changes a file itself.
    ReviewerWrites,
    ReviewerDecides(String),
    /// The agent of the session tries to decide.
    AuthorDecides(String),
}

pub(crate) struct Script {
    pub name: String,
    pub lines: Vec<(usize, Step, String)>,
}

impl Script {
    pub(crate) fn runs_in_real_time(&self) -> bool {
        !self.lines.iter().any(|(_, step, _)| matches!(step, Step::Wait(_)))
    }

    /// Reports whether a client has the events of the script.
    pub(crate) fn suits(&self, client: &str) -> bool {
        client != "codex" || !self.lines.iter().any(|(_, step, _)| matches!(step, Step::TaskDone(_)))
    }
}

pub(crate) fn scripts() -> Vec<Script> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/stories");
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| read_script(path)).collect()
}

fn read_script(path: &Path) -> Script {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let lines = lines.map(|(at, line)| {
        let (step, verdict) = line.split_once('|').unwrap_or((line, "pass"));
        (at, read_step(step.trim()), verdict.trim().to_owned())
    });
    Script { name: path.file_stem().unwrap().to_string_lossy().into_owned(), lines: lines.collect() }
}

fn read_step(text: &str) -> Step {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "session" => Step::Session(rest.to_owned()),
        "start" => Step::Start(if rest.is_empty() { "startup".to_owned() } else { rest.to_owned() }),
        "prompt" => Step::Prompt(rest.to_owned()),
        "bash" => Step::Bash(rest.to_owned()),
        "ran" => Step::Ran { command: rest.to_owned(), well: true },
        "failed" => Step::Ran { command: rest.to_owned(), well: false },
        "grow" | "dirty" => {
            let (path, lines) = rest.split_once(' ').unwrap();
            let (path, lines) = (path.to_owned(), lines.parse().unwrap());
            if word == "grow" { Step::Grow { path, lines } } else { Step::Dirty { path, lines } }
        }
        "tracker" => Step::Tracker(rest.to_owned()),
        "task-new" => Step::TaskNew,
        "task-done" => Step::TaskDone(rest.to_owned()),
        "reflect" => Step::Reflect { is_good: rest != "badly" },
        "skip" => Step::Skip(rest.to_owned()),
        "observe" => Step::Observe(rest.to_owned()),
        "check" => Step::Check(stage_checks::Told::read(rest)),
        "verify" => Step::Verify,
        "commit" => Step::Commit,
        "subagent-start" => Step::SubagentStart,
        "reviewer" | "author" => Step::Review(match (word, rest.split_once(' ').unwrap_or((rest, ""))) {
            ("reviewer", ("starts", _)) => Turn::ReviewerStarts,
            ("reviewer", ("writes", _)) => Turn::ReviewerWrites,
            ("reviewer", ("stops", _)) => Turn::ReviewerStops,
            ("reviewer", ("decides", verdict)) => Turn::ReviewerDecides(verdict.to_owned()),
            ("author", ("decides", verdict)) => Turn::AuthorDecides(verdict.to_owned()),
            _ => panic!("unknown step `{text}`"),
        }),
        "subagent-bash" => Step::SubagentBash(rest.to_owned()),
        "config" => {
            let (key, value) = rest.split_once(' ').unwrap();
            Step::Config { key: key.to_owned(), value: value.to_owned() }
        }
        "permission" => Step::Permission(rest.to_owned()),
        "break" => Step::Write { path: rest.to_owned(), is_conflicted: true },
        "mend" => Step::Write { path: rest.to_owned(), is_conflicted: false },
        "stop" => {
            let (flags, saying) = rest.split_once("saying ").unwrap_or((rest, "Done."));
            let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
            Step::Stop {
                saying: saying.to_owned(),
                waiting: has("waiting"),
                again: has("again"),
                plan: has("planning"),
            }
        }
        "subagent-stop" => Step::SubagentStop,
        "intent" => {
            let (id, globs) = rest.split_once(' ').unwrap();
            Step::Intent { id: id.to_owned(), globs: globs.split(' ').map(str::to_owned).collect() }
        }
        "select" => Step::Select(rest.to_owned()),
        "delegate" => Step::Delegate,
        "role" => Step::Role(rest.to_owned()),
        "marker" => Step::Marker(rest.to_owned()),
        "delegation" => Step::Delegation(rest.to_owned()),
        "end" => Step::End,
        "wait" => Step::Wait(rest.parse().unwrap()),
        other => panic!("unknown step `{other}`"),
    }
}
