//! The commands: one file each, all of one shape (`Args` with its help, `run`), and one line in the
//! list below.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, Subcommand};
use serde_json::Value;

use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::report::Delivery;
use sprag_host::store::{Store, journal};
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::env::{self, Env};
use sprag_host::sys::human;
use sprag_host::sys::locations::{self, Locations};
use sprag_host::world::World;

use crate::failure::Failure;
use crate::output::{self, OutputFormat};

mod agent;
mod config;
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
    Init: setup::init,
    Doctor: setup::doctor,
    Status: status,
    Sessions: session::list,
    Explain: session::explain,
    Debug: session::records,
    Debt: session::debt,
    Reflect: agent::reflect,
    Skip: agent::skip,
    Observe: agent::observe,
    Decide: agent::decide,
    Review: review,
    Verify: session::verify,
    Intent: intent,
    Plan: plan,
    Run: run,
    Note: agent::note,
    Decision: agent::decision,
    Question: agent::question,
    Handoff: agent::handoff,
    Resume: run::resume,
    Stop: run::stop,
    Stage: stage,
    Land: run::land,
    Repair: run::repair,
    Ref: agent::refer,
    Answer: agent::answer,
    Search: memory::search,
    Memory: memory,
    Eval: memory::eval,
    Learnings: memory::learnings,
    Lesson: agent::lesson,
    Show: memory::show,
    Mcp: internal::mcp,
    Backends: memory::backends,
    Import: memory::import,
    Export: memory::export,
    Stats: memory::stats,
    Trace: trace,
    Maintain: memory::maintain,
    Consolidate: memory::consolidate,
    Retroflect: memory::backfill,
    Gates: config::gates,
    Clients: config::clients,
    Config: config,
    Policy: policy,
    Approve: session::approve,
    Trust: config::trust,
    Off: config::off,
    On: config::on,
    Clean: store::clean,
    Rebuild: store::rebuild,
    Migrate: store::migrate,
    Completions: config::completions,
    Demo: setup::demo,
    Hook: internal::hook,
    Supervise: internal::supervise,
    Daemon: internal::daemon,
    Graph: run::graph,
    Logs: run::logs,
    Spans: run::spans,
    Attach: run::attach,
    Worktrees: run::worktrees,
}

/// Governs, remembers for, traces and orchestrates coding agents.
///
/// Sprag sits in the hooks of agent clients. `sprag init` installs it, `sprag doctor` tells whether
/// it works, `sprag status` shows what is open.
#[derive(Parser)]
#[command(name = "sprag", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What every command is given.
pub(crate) struct CommandCx {
    pub env: Env,
    pub cwd: PathBuf,
    pub now: Timestamp,
}

/// How a command ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Done,
    /// Done, and the answer is no.
    No,
    /// Done, but some lines of the input were bad.
    BadLines,
    /// Ended in good order by this signal.
    Signal(i32),
}

pub(crate) type CommandResult = Result<CommandEnd, Failure>;

impl CommandCx {
    pub(crate) fn places(&self) -> Result<Locations, Failure> {
        Ok(Locations::find(&self.cwd, &self.env)?)
    }

    pub(crate) fn world(&self) -> Result<World<'_>, Failure> {
        Ok(World::new(&self.env, &RealDisk, self.places()?))
    }
}

pub(crate) fn main(args: &[OsString]) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            if error.use_stderr() && args.iter().any(|arg| arg == "--json") {
                output::json(Failure::usage(&error).json());
                return 2;
            }
            // Help is an answer, not an error; either way clap knows where it goes.
            error.print().discard("nobody reads a closed terminal");
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let env = Env::Real;
    let cx = CommandCx { cwd: locations::current_dir(&env), now: env::now(), env };
    let wants_json = args.iter().any(|arg| arg == "--json");
    match cli.command.run(&cx) {
        Ok(CommandEnd::Done) => 0,
        Ok(CommandEnd::No) => 1,
        Ok(CommandEnd::BadLines) => 3,
        // As a shell tells it of a program that a signal has ended.
        Ok(CommandEnd::Signal(signal)) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        Err(failure) => {
            if wants_json {
                output::json(failure.json())
            } else {
                output::note(failure.text())
            }
            failure.kind as u8
        }
    }
}

/// The whole command line as data, for completions and the documents.
pub(crate) fn cli() -> clap::Command {
    Cli::command()
}

/// For a person alone: at a terminal, and below no client.
pub(crate) fn check_person(places: &Locations) -> Result<(), Failure> {
    check_not_agent(places)?;
    Ok(human::check(places.user.as_ref())?)
}

/// Below no client that the user's state knows, nor one that the sessions of this place know: where
/// the first is, the environment says, and an agent says what is in that.
pub(crate) fn check_not_agent(places: &Locations) -> Result<(), Failure> {
    human::check_not_agent(places.user.as_ref())?;
    Ok(human::check_not_below(&journal::clients(&Store::at(&places.store)))?)
}

/// Tells what is wrong with the layers, before something is done by what is left of them.
pub(crate) fn warn(world: &World<'_>) {
    for warning in &world.config.warnings {
        output::note(format!("sprag: warning: {warning}; what was in force before stays in force"));
    }
}

/// Where a report went, in words; a gate's objection is a failure.
pub(crate) fn delivered(delivery: &Delivery) -> Result<&'static str, Failure> {
    match delivery {
        Delivery::Recorded => Ok("recorded"),
        Delivery::Left(_) => Ok("left for the next hook"),
        Delivery::Refused(reason) => Err(Failure::refused(reason)),
    }
}

/// Prints one object for programs, or lets `human` tell people.
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

/// What somebody has to say, refused where there is nothing or where some of it would be lost. `command`
/// is the one that tells more.
pub(crate) fn words<const N: usize>(what: &str, text: &str, command: &str) -> Result<Text<N>, Failure> {
    let count = text.chars().count();
    if text.trim().is_empty() || count > N {
        return Err(Failure::bad_text(what, count, N, command));
    }
    Ok(Text::from(text))
}

/// A length of time as people write it: `90s`, `2h`, `30d`.
pub(crate) fn seconds(text: &str) -> Result<i64, Failure> {
    let span: jiff::Span = text.parse().map_err(|_| Failure::bad_span(text))?;
    let total = span.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours()));
    match total {
        Ok(seconds) if seconds >= 1.0 => Ok(seconds as i64),
        _ => Err(Failure::bad_span(text)),
    }
}

/// The one registration of a command.
macro_rules! commands {
    ($($variant:ident: $($module:ident)::+),+ $(,)?) => {
        #[derive(Subcommand)]
        enum Command {
            $($variant($($module)::+::Args)),+
        }

        impl Command {
            fn run(self, cx: &CommandCx) -> CommandResult {
                match self {
                    $(Command::$variant(args) => $($module)::+::run(args, cx)),+
                }
            }
        }
    };
}
use commands;
