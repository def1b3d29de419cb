//! The commands. Each command is a module with `Args` (its help) and `run`, and has one line in the list
//! below.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use serde_json::Value;

use sprag_base::ids::SessionId;
use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::report::{Delivery, find_session};
use sprag_host::store::{Store, journal, session_registry};
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::env::{self, Env};
use sprag_host::sys::human;
use sprag_host::sys::locations::{self, Locations};
use sprag_host::worktree::protect::snapshot;
use sprag_host::world::World;

use crate::failure::Failure;
use crate::output::{self, OutputFormat};

mod agent;
mod complete;
mod config;
mod help;
mod intent;
mod internal;
mod memory;
mod plan;
mod policy;
mod review;
mod run;
mod session;
mod setup;
mod stage;
mod status;
mod store;
mod trace;

commands! {
    Start {
        Init: setup::init,
        Doctor: setup::doctor,
        Status: status,
        Demo: setup::demo,
    }
    Sessions {
        Session: session,
        Review: review,
        Verify: session::verify,
        Debt: session::debt,
        Approve: session::approve,
    }
    Rules {
        Policy: policy,
        Intent: intent,
        Trace: trace,
    }
    Memory {
        Memory: memory,
        Search: memory::search,
    }
    Plans {
        Plan: plan,
        Run: run,
        Stage: stage,
    }
    Settings {
        Config: config,
        Trust: config::trust,
        Off: config::off,
        Store: store,
        Completions: config::completions,
    }
    Agents {
        Reflect: agent::reflect,
        Skip: agent::skip,
        Observe: agent::observe,
        Ref: agent::refer,
        Answer: agent::answer,
        Lesson: agent::lesson,
        Decide: agent::decide,
        Note: agent::note,
        Decision: agent::decision,
        Question: agent::question,
        Handoff: agent::handoff,
    }
    Internal {
        Help: help,
        On: config::on,
        Hook: internal::hook,
        Mcp: internal::mcp,
        Supervise: internal::supervise,
        Daemon: internal::daemon,
    }
}

/// Check, remember, trace and orchestrate the work of coding agents
#[derive(Parser)]
#[command(name = "sprag", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The context of every command.
pub(crate) struct CommandCx {
    pub env: Env,
    pub cwd: PathBuf,
    pub now: Timestamp,
    /// The session that the command line or the client names.
    pub session: Option<SessionId>,
}

/// How a command ended without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Done,
    /// Done; the answer is no.
    No,
    /// Done, but some input lines were bad.
    BadLines,
    /// Stopped in good order after this signal.
    Signal(i32),
}

pub(crate) type CommandResult = Result<CommandEnd, Failure>;

impl CommandCx {
    pub(crate) fn places(&self) -> Result<Locations, Failure> {
        let here = Locations::find(&self.cwd, &self.env)?;
        Ok(match &self.session {
            Some(session) => session_registry::of_command(here, session, &self.env),
            None => here,
        })
    }

    pub(crate) fn world(&self) -> Result<World<'_>, Failure> {
        Ok(World::new(&self.env, &RealDisk, self.places()?))
    }
}

pub(crate) fn main(args: &[OsString]) -> u8 {
    if complete::answer(args) {
        return 0;
    }
    let parsed = cli().try_get_matches_from(args).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(failure) = help::unknown_command(&error) {
                print_failure(&failure, args);
                return failure.kind as u8;
            }
            if error.use_stderr() && args.iter().any(|arg| arg == "--json") {
                output::json(Failure::usage(&error).json());
                return 2;
            }
            // Help is not an error. Clap prints help to stdout and errors to stderr.
            error.print().discard("a closed terminal has no reader");
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let env = Env::Real;
    let session = named_session(args).or_else(|| find_session::of_client(&env));
    let cx = CommandCx { cwd: locations::current_dir(&env), now: env::now(), session, env };
    match cli.command.run(&cx) {
        Ok(CommandEnd::Done) => 0,
        Ok(CommandEnd::No) => 1,
        Ok(CommandEnd::BadLines) => 3,
        // Shells use the same code for a program that a signal ended.
        Ok(CommandEnd::Signal(signal)) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        Err(failure) => {
            print_failure(&failure, args);
            failure.kind as u8
        }
    }
}

/// Returns the value of `--session`. An agent in another directory still means its own session.
fn named_session(args: &[OsString]) -> Option<SessionId> {
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let at = words.iter().position(|word| word == "--session" || word.starts_with("--session="))?;
    let named = words[at].strip_prefix("--session=").map(str::to_owned);
    named.or_else(|| words.get(at + 1).map(|word| word.clone().into_owned())).map(SessionId::new)
}

fn print_failure(failure: &Failure, args: &[OsString]) {
    if args.iter().any(|arg| arg == "--json") {
        output::json(failure.json());
    } else {
        output::note(failure.text());
    }
}

/// Returns the whole command line as data, for parsing, completions and the documents.
pub(crate) fn cli() -> clap::Command {
    complete::add_candidates(help::arrange(Cli::command()), "")
}

/// Checks that a person runs this command: at a terminal, and not below a client.
pub(crate) fn check_person(places: &Locations) -> Result<(), Failure> {
    check_not_agent(places)?;
    Ok(human::check(places.user.as_ref())?)
}

/// Checks that no client started this command. An agent can change the environment and so hide the state of
/// the user, which lists clients. So the clients in the sessions of this store count, too.
pub(crate) fn check_not_agent(places: &Locations) -> Result<(), Failure> {
    human::check_not_agent(places.user.as_ref())?;
    Ok(human::check_not_below(&journal::clients(&Store::at(&places.store)))?)
}

/// Accepts the protected files as a person has left them.
pub(crate) fn accept_protected(places: &Locations) -> Result<(), Failure> {
    Ok(places.user.as_ref().map_or(Ok(()), |user| snapshot::accept(user, &RealDisk))?)
}

/// Prints what is wrong with the layers of the configuration.
pub(crate) fn warn(world: &World<'_>) {
    for warning in &world.config.warnings {
        output::note(format!("sprag: warning: {warning}; the earlier values stay in force"));
    }
}

/// Returns how Sprag took a report, in words. The objection of a gate is a failure.
pub(crate) fn delivered(delivery: &Delivery) -> Result<&'static str, Failure> {
    match delivery {
        Delivery::Recorded => Ok("recorded"),
        Delivery::Left(_) => Ok("left for the next hook"),
        Delivery::Refused(reason) => Err(Failure::refused(reason)),
    }
}

/// Prints one JSON object for programs, or calls `human` to print text.
pub(crate) fn show(
    format: OutputFormat,
    value: impl FnOnce() -> Value,
    human: impl FnOnce(),
) -> CommandResult {
    if format.is_json() {
        output::json(value());
    } else {
        human();
    }
    Ok(CommandEnd::Done)
}

/// Returns the text of an argument. Refuses an empty text and a text that would be cut. `command` is the
/// command whose help the failure names.
pub(crate) fn words<const N: usize>(what: &str, text: &str, command: &str) -> Result<Text<N>, Failure> {
    let count = text.chars().count();
    if text.trim().is_empty() || count > N {
        return Err(Failure::bad_text(what, count, N, command));
    }
    Ok(Text::from(text))
}

/// Parses a duration such as `90s`, `2h` or `30d` into seconds.
pub(crate) fn seconds(text: &str) -> Result<i64, Failure> {
    let span: jiff::Span = text.parse().map_err(|_| Failure::bad_span(text))?;
    let total = span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours()));
    match total {
        Ok(seconds) if seconds >= 1.0 => Ok(seconds as i64),
        _ => Err(Failure::bad_span(text)),
    }
}

/// Registers the commands: the enum that clap parses, the dispatch, and the groups of the help.
macro_rules! commands {
    ($($group:ident { $($variant:ident: $($module:ident)::+),+ $(,)? })+) => {
        #[derive(Subcommand)]
        enum Command {
            $($($variant($($module)::+::Args),)+)+
        }

        impl Command {
            fn run(self, cx: &CommandCx) -> CommandResult {
                match self {
                    $($(Command::$variant(args) => $($module)::+::run(args, cx),)+)+
                }
            }
        }

        /// All commands, in the order of the help.
        const GROUPS: &[help::Group] = &[
            $(help::Group { title: stringify!($group), commands: &[$(stringify!($variant)),+] }),+
        ];
    };
}
use commands;
