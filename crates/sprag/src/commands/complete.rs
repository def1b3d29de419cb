//! Completes values that only this repository knows: sessions, stages, plans, learnings, intents, clients.

use std::ffi::OsString;

use clap::Arg;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::CompleteEnv;

use sprag_govern::history::SessionList;
use sprag_host::clients::CLIENTS;
use sprag_host::store::projections;
use sprag_host::sys::env::{self, Env};
use sprag_host::sys::locations;
use sprag_host::{intent_files, memory};
use sprag_intent::IntentFiles;

use super::run::selection;
use super::{CommandCx, cli};

/// Variable that a completion script sets when it asks for candidates.
pub(super) const VARIABLE: &str = "SPRAG_COMPLETE";

/// Candidates of one kind, read when a shell asks for them.
type Candidates = fn() -> Vec<CompletionCandidate>;

/// Arguments whose values have candidates: the command path ends with the first word, the argument has the
/// second name. An empty word matches every command.
const VALUES: &[(&str, &str, Candidates)] = &[
    ("", "session", sessions),
    ("", "stage", stages),
    ("run resume", "plan", plans),
    ("run land", "plan", plans),
    ("", "plan", plans),
    ("", "client", clients),
    ("memory show", "id", learnings),
    ("memory verify", "id", learnings),
    ("memory rate", "id", learnings),
    ("memory edit", "id", learnings),
    ("memory promote", "id", learnings),
    ("memory supersede", "id", learnings),
    ("memory supersede", "by", learnings),
    ("memory archive", "ids", learnings),
    ("memory restore", "ids", learnings),
    ("ref", "id", learnings),
    ("intent show", "id", intents),
    ("intent select", "id", intents),
    ("intent done", "id", intents),
    ("intent reopen", "id", intents),
    ("intent expand", "id", intents),
    ("intent accept", "id", intents),
    ("", "intent", intents),
];

/// Answers a shell that asks for candidates. Returns `false` for an ordinary call.
pub(super) fn answer(args: &[OsString]) -> bool {
    let complete = CompleteEnv::with_factory(cli).var(VARIABLE).completer("sprag");
    let current_dir = locations::current_dir(&Env::Real);
    complete.try_complete(args.iter().cloned(), Some(&current_dir)).unwrap_or(false)
}

/// Adds the candidates of [`VALUES`] to the arguments of a command and its subcommands.
pub(super) fn add_candidates(command: clap::Command, path: &str) -> clap::Command {
    let subcommands: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| add_to_argument(arg, path));
    subcommands.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}").trim().to_owned();
        command.mut_subcommand(name, |sub| add_candidates(sub, &path))
    })
}

fn add_to_argument(arg: Arg, path: &str) -> Arg {
    let is_flag = arg.get_action().takes_values();
    let found = VALUES.iter().find(|(end, name, _)| arg.get_id() == *name && path.ends_with(end));
    match found {
        Some((_, _, candidates)) if is_flag => arg.add(ArgValueCandidates::new(*candidates)),
        _ => arg,
    }
}

fn context() -> CommandCx {
    let env = Env::Real;
    CommandCx { cwd: locations::current_dir(&env), now: env::now(), session: None, env }
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help.to_owned().into()))
}

fn sessions() -> Vec<CompletionCandidate> {
    let cx = context();
    let Ok(world) = cx.world() else { return Vec::new() };
    let Ok(sessions) = projections::load_all::<SessionList>(&world.store()) else { return Vec::new() };
    sessions.rows().iter().map(|row| candidate(row.id.as_str(), row.prompt.as_str())).collect()
}

fn stages() -> Vec<CompletionCandidate> {
    let Ok(Some(run)) = selection::find(&context(), None) else { return Vec::new() };
    run.board.rows.iter().map(|row| candidate(row.id.as_str(), row.state.name())).collect()
}

fn plans() -> Vec<CompletionCandidate> {
    let runs = selection::all(&context()).unwrap_or_default();
    runs.iter().map(|(listed, _)| CompletionCandidate::new(&listed.plan)).collect()
}

fn learnings() -> Vec<CompletionCandidate> {
    let cx = context();
    let Ok(world) = cx.world() else { return Vec::new() };
    let Ok(all) = memory::load(&world.places) else { return Vec::new() };
    let entries = all.entries();
    entries
        .map(|(_, entry)| {
            let learning = &entry.learning;
            candidate(&all.short(learning.id.as_str()), learning.candidate.summary.as_str())
        })
        .collect()
}

fn intents() -> Vec<CompletionCandidate> {
    let Some(worktree) = context().places().ok().and_then(|places| places.worktree) else {
        return Vec::new();
    };
    match intent_files::load(&worktree).map(|loaded| loaded.read) {
        Some(IntentFiles::Good(set)) => {
            set.iter().map(|intent| candidate(intent.id.as_str(), intent.name.as_str())).collect()
        }
        Some(IntentFiles::Bad(_)) | None => Vec::new(),
    }
}

fn clients() -> Vec<CompletionCandidate> {
    CLIENTS.iter().map(|client| candidate(client.name, client.title)).collect()
}
