//! One event, from state to verdict: the part of the walk that hooks and reports share.
//!
//! The journal is locked from reading the state to appending what came of it, so that no update of
//! a parallel process is lost. Facts that take long are gathered before the lock is taken again.

mod event;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use sprag_base::record::Record;
use sprag_govern::decide::{self, Weight};
use sprag_govern::event::{Actor, Author, Event, EventKind, Input};
use sprag_govern::gates::Effect;
use sprag_govern::gates::needs::{Facts, Needs};
use sprag_govern::gates::review::case::Seat;
use sprag_govern::obligation::Debts;
use sprag_govern::report::Report;
use sprag_govern::session::{Process, Session};
use sprag_govern::verdict::{Ruling, Verdict};
use sprag_intent::Standings;
use sprag_memory::answers::Answers;
use sprag_memory::destination::Place;
use sprag_memory::episode::Patterns;
use sprag_memory::lifecycle::tiers::Summaries;

use crate::config::compiled::{self, Compiled};
use crate::disk::Disk;
use crate::env::Env;
use crate::journal::{self, Journal};
use crate::places::Places;
use crate::store::{LOCK_WAIT, Sessions, Store};
use crate::{
    backends, claims, facts, inbox, learnings, memory, outbox, person, projections, records, seen, staged,
    start, trace, trackers, upkeep,
};

/// Where a walk takes place.
pub struct World<'a> {
    pub env: &'a Env,
    pub disk: &'a dyn Disk,
    pub places: Places,
    pub config: Compiled,
}

/// What came of an event.
#[derive(Debug, Default)]
pub struct Walked {
    pub verdict: Verdict,
    pub warnings: Vec<String>,
    /// What was written that outlives the event, wherever it went.
    pub written: Vec<Record>,
    /// The state was there to be changed. Without it nothing came of the event.
    pub is_kept: bool,
    chores: Chores,
}

#[derive(Debug, Default)]
struct Chores {
    /// What backends want to hear of.
    mirrors: Vec<Record>,
    moves_journal: bool,
    looks_around: bool,
    asks_tracker: bool,
    sweeps_claims: bool,
}

impl Walked {
    /// What was logged that backends want to hear of.
    pub fn mirrors(&self) -> &[Record] {
        &self.chores.mirrors
    }

    pub fn has_chores(&self) -> bool {
        let Chores { mirrors, moves_journal, looks_around, asks_tracker, sweeps_claims } = &self.chores;
        !mirrors.is_empty() || *moves_journal || *looks_around || *asks_tracker || *sweeps_claims
    }
}

/// How long a report waits for others of its session.
const REPORT_WAIT: Duration = Duration::from_secs(30);

impl<'a> World<'a> {
    pub fn new(env: &'a Env, disk: &'a dyn Disk, places: Places) -> World<'a> {
        let config = compiled::for_hook(&places, env, disk);
        World { env, disk, places, config }
    }

    pub fn store(&self) -> Store {
        Store::at(&self.places.store)
    }

    /// As the session of an event is written to: those of a stage begin in a folder of their own.
    fn store_of(&self, input: &Input) -> Store {
        let is_report = input.client == sprag_base::record::REPORTER;
        let sessions = match &input.stage {
            Some(stage) => Sessions::OfStage(file_name(stage.as_str())),
            // A person may speak of any session.
            None if is_report => Sessions::All,
            None => Sessions::Plain,
        };
        Store { sessions, ..self.store() }
    }
}

/// The record of a run says which stage it is, and is a file as others are.
fn file_name(stage: &str) -> String {
    stage.chars().filter(|sign| sign.is_ascii_alphanumeric() || *sign == '-').collect()
}

/// Judges one event and writes down what came of it before anyone is told.
pub fn walk(world: &World<'_>, input: &Input) -> io::Result<Walked> {
    let store = world.store_of(input);
    // Whoever runs a command can wait longer than a hook: what is reported must not be lost.
    let wait = if input.client == sprag_base::record::REPORTER { REPORT_WAIT } else { LOCK_WAIT };
    let mut journal = Journal::open(&store, world.disk, &input.session, wait)?;
    let mut gathered;
    let needs = decide::needs(&journal.loaded.session, input, &world.config.settings.govern);
    if needs.is_slow() {
        let session = journal.loaded.session.clone();
        journal.unlock()?;
        gathered = facts::gather(needs, world, input, &session);
        journal = Journal::open(&store, world.disk, &input.session, wait)?;
    } else {
        gathered = facts::gather(needs, world, input, &journal.loaded.session);
    }
    let mut walked = Walked { warnings: warnings(&journal), ..Walked::default() };
    walked.warnings.extend(facts::warning(needs, &gathered));
    walked.warnings.extend(staged::warning(needs, &gathered));
    if needs.has(Needs::CHECKS) && gathered.checks.is_none() {
        walked.warnings.push("the checks could not be run; what is done was not looked into".to_owned());
    }
    let mut steps = Steps { records: Vec::new(), effects: Vec::new(), is_binding: false };
    let mut session = std::mem::take(&mut journal.loaded.session);
    let before = session.clone();
    let taken = take_in(world, &journal, input, &mut session, &mut steps)?;
    if !journal.is_locked() {
        session.gates.forget_single_use();
    }
    let client = seen_client(world, input, &session);
    // A report may be the first that is heard of a session; what counts is what its client says.
    let is_first = before.about.started.is_none()
        && journal.keeps_state()
        && input.client != sprag_base::record::REPORTER;
    gathered.lost = is_first && seen::has_begun(&world.places, &input.session);
    if let Some(client) = client
        && let Some(user) = &world.places.user
    {
        // Without it a person's command is still refused where there is no terminal.
        person::remember(user, world.disk, client).unwrap_or_default();
    }
    let step = decide::decide(session, input, &gathered, &world.config.settings.govern, client);
    if let Some(taken) =
        gathered.start.as_ref().filter(|taken| step.session.about.start.as_ref() != Some(taken))
    {
        // A parallel call was first. What cannot be removed is swept up later.
        start::drop_taken(&world.places, world.disk, taken.as_str()).unwrap_or_default();
    }
    walked.verdict = step.verdict;
    claims::release(world, input, &gathered, &walked.verdict.ruling);
    if !journal.keeps_state() {
        bound_without_count(world, input, &mut walked)?;
    }
    for warning in &walked.warnings {
        steps.records.push(warned(input, warning));
    }
    steps.records.push(event::record(input, &walked.verdict));
    steps.effects.extend(step.effects);
    steps.is_binding |= step.weight == Weight::Binding;
    journal.loaded.session = before;
    walked.chores = Chores {
        moves_journal: step.session.about.ended
            || journal.loaded.events >= u64::from(world.config.settings.retention.journal_events),
        asks_tracker: asks_tracker(input, &step.session, &gathered),
        looks_around: matches!(
            input.event,
            Event::SessionStarted { .. } | Event::StopRequested(_) | Event::SessionEnded { .. }
        ),
        sweeps_claims: claims::is_due(input, &gathered),
        mirrors: Vec::new(),
    };
    walked.is_kept = journal.is_locked();
    (walked.written, walked.chores.mirrors) = commit(world, &store, journal, steps, input, &step.session)?;
    if is_first {
        seen::note(&world.places, world.disk, &input.session);
    }
    for path in taken {
        // Its report is on record and its id known: one that cannot be removed does no harm.
        world.disk.remove(&path).unwrap_or_default();
    }
    Ok(walked)
}

/// The same, without writing anything.
pub fn rehearse(world: &World<'_>, input: &Input) -> Walked {
    let path = journal::path(&world.store(), &input.session);
    let mut session = journal::read(&path).map(|(loaded, _)| loaded.session).unwrap_or_default();
    session.gates.forget_single_use();
    let needs = decide::needs(&session, input, &world.config.settings.govern);
    let gathered = facts::gather(needs, world, input, &session);
    let step = decide::decide(session, input, &gathered, &world.config.settings.govern, None);
    Walked { verdict: step.verdict, ..Walked::default() }
}

/// What may be lost and may wait until the client has its answer.
pub fn chores(world: &World<'_>, input: &Input, walked: &Walked) -> io::Result<()> {
    let store = world.store();
    if walked.chores.moves_journal {
        let journal = Journal::open(&store, world.disk, &input.session, std::time::Duration::ZERO)?;
        journal.move_to_log(&store, world.disk, &input.session, input.at)?;
    }
    if walked.chores.asks_tracker {
        trackers::ask_active(world)?;
    }
    if walked.chores.sweeps_claims {
        claims::sweep(world, input)?;
    }
    if !walked.chores.mirrors.is_empty() {
        backends::enqueue(world, &walked.chores.mirrors, input.at)?;
    }
    if walked.chores.looks_around || !walked.chores.mirrors.is_empty() {
        outbox::replay(world, input.at, outbox::PER_HOOK)?;
    }
    if walked.chores.looks_around {
        if let Some(personal) = learnings::personal(&world.places) {
            outbox::replay_log(&personal, world.disk, input.at, outbox::PER_HOOK)?;
        }
        projections::renew::<Debts>(&store, world.disk)?;
        projections::renew::<Standings>(&store, world.disk)?;
        projections::renew::<Patterns>(&store, world.disk)?;
        projections::renew::<Answers>(&store, world.disk)?;
        projections::renew::<Summaries>(&store, world.disk)?;
        trace::after_reply(&store, world.disk, input.at)?;
        if matches!(input.event, Event::SessionStarted { .. } | Event::SessionEnded { .. }) {
            learnings::after_hook(world, input.at)?;
            upkeep::in_hook(world, input.at)?;
        }
        memory::maintain::after_reply(&store, world.disk, &[])?;
        if let Some(personal) = memory::ask::personal(&world.places) {
            memory::maintain::after_reply(&personal, world.disk, &[])?;
        }
    }
    Ok(())
}

/// A prompt is when work starts; the answer is there for a later event.
fn asks_tracker(input: &Input, session: &Session, facts: &Facts) -> bool {
    matches!(input.event, Event::Prompted { author: Author::User, .. })
        && session.gates.reflection.ticket().is_none()
        && facts.tracker.as_ref().is_some_and(|found| found.is_for_tickets)
}

struct Steps {
    records: Vec<Record>,
    effects: Vec<Effect>,
    is_binding: bool,
}

fn warnings(journal: &Journal) -> Vec<String> {
    let mut warnings = Vec::new();
    if !journal.loaded.damage.is_empty() {
        let mut damage = journal.loaded.damage.clone();
        damage.dedup();
        warnings.push(format!("the session's journal is damaged: {} could not be read", damage.join(", ")));
    }
    if journal.loaded.is_newer {
        warnings
            .push("the session's journal was written by a newer sprag; its state is left alone".to_owned());
    }
    if !journal.is_locked() {
        warnings.push("the session's journal is locked by another process; nothing was changed".to_owned());
    }
    warnings
}

/// Takes in what sandboxed commands of this session have left. Returns the files to remove.
fn take_in(
    world: &World<'_>,
    journal: &Journal,
    input: &Input,
    session: &mut Session,
    steps: &mut Steps,
) -> io::Result<Vec<PathBuf>> {
    let mut taken = Vec::new();
    if !journal.is_locked() {
        return Ok(taken);
    }
    for (path, drop) in inbox::waiting(&world.places, world.env, &input.session) {
        if is_for_runner(session, &drop.report) {
            continue;
        }
        let is_known = steps.records.iter().any(|record| record.id == drop.id)
            || journal.holds_id(&drop.id)?
            || projections::log_holds_id(&world.store(), &drop.id, &drop.at.month())?;
        if !is_known {
            let report = Input {
                at: drop.at.min(input.at).max(session.about.started.unwrap_or(input.at)),
                event: Event::Reported(drop.report.redacted()),
                // Whoever's call it is that takes it in, it is not theirs.
                actor: Actor::Main,
                ..input.clone()
            };
            let needs = decide::needs(session, &report, &world.config.settings.govern);
            let facts = facts::gather(needs, world, &report, session);
            let step =
                decide::decide(std::mem::take(session), &report, &facts, &world.config.settings.govern, None);
            *session = step.session;
            steps.records.push(Record { id: drop.id, ..event::record(&report, &step.verdict) });
            steps.effects.extend(step.effects);
            steps.is_binding = true;
        }
        taken.push(path);
    }
    Ok(taken)
}

/// The verdict of a reviewer that Sprag runs as a process is taken by whoever runs it, and by nobody else:
/// only there it is known whose it is.
fn is_for_runner(session: &Session, report: &Report) -> bool {
    matches!(report, Report::Decided(_)) && session.gates.review.seat().is_some_and(Seat::is_process)
}

/// The process of the client, if it is another one than before. Only a hook is called by it.
fn seen_client(world: &World<'_>, input: &Input, session: &Session) -> Option<Process> {
    let known = session.about.client.map(|client| client.pid);
    let is_hook = matches!(world.env, Env::Real) && input.client != sprag_base::record::REPORTER;
    if !is_hook || (known.is_some() && known == person::parent_id()) {
        return None;
    }
    person::client_process().filter(|client| session.about.client != Some(*client))
}

/// Where the state cannot be kept no hold is counted, so those the journal tells of are counted
/// instead: a lock that never comes free must not hold an agent for ever.
fn bound_without_count(world: &World<'_>, input: &Input, walked: &mut Walked) -> io::Result<()> {
    let is_stop = matches!(
        input.event,
        Event::StopRequested(_) | Event::SubagentStopped(_) | Event::TaskCompleting { .. }
    );
    if !is_stop || walked.verdict.ruling == Ruling::Pass {
        return Ok(());
    }
    let (_, records) = journal::read(&journal::path(&world.store(), &input.session))?;
    // A hold of ours may come back as a prompt; only a person's starts a turn.
    let starts_turn = |record: &Record| record.kind == "prompted" && record.body["author"] == "user";
    let turn = records.iter().rev().take_while(|record| !starts_turn(record));
    let bounded = [EventKind::StopRequested, EventKind::SubagentStopped, EventKind::TaskCompleting];
    let is_bounded = |record: &&Record| bounded.iter().any(|kind| record.kind == kind.name());
    let holds = turn.filter(is_bounded).filter(|record| record.body["verdict"] == "hold").count();
    if holds >= world.config.settings.govern.circuit_breaker.per_turn() as usize {
        walked.verdict.ruling = Ruling::Pass;
        walked.warnings.push("the stop was let go: its holds cannot be counted".to_owned());
    }
    Ok(())
}

/// Writes everything down. Gives back what outlives the event, and what of that backends want to hear of.
fn commit(
    world: &World<'_>,
    store: &Store,
    mut journal: Journal,
    mut steps: Steps,
    input: &Input,
    after: &Session,
) -> io::Result<(Vec<Record>, Vec<Record>)> {
    let (mut written, mut mirrors) = (Vec::new(), Vec::new());
    if journal.is_locked() {
        let mut places =
            [(Place::Project, Vec::new()), (Place::Personal, Vec::new()), (Place::Session, Vec::new())];
        for Effect { place, kind, body } in steps.effects {
            let record =
                records::record(kind, input.at, Some(&input.session), Some(records::by(input)), body);
            places
                .iter_mut()
                .filter(|(at, _)| *at == place)
                .for_each(|(_, records)| records.push(record.clone()));
            written.push(record);
        }
        let [(_, project), (_, personal), (_, own)] = places;
        // What outlives the session goes first: a journal must not speak of a debt nobody can find.
        if !project.is_empty() {
            store.log(world.disk, &project)?;
        }
        if !personal.is_empty() {
            let home = learnings::personal(&world.places).ok_or(io::ErrorKind::NotFound)?;
            home.log(world.disk, &personal)?;
        }
        steps.records.splice(0..0, own);
        mirrors.extend(project.into_iter().filter(backends::concerns));
    }
    journal.commit(world.disk, steps.records, after)?;
    if steps.is_binding {
        journal.unlock_and_sync(world.disk)?
    } else {
        journal.unlock()?
    }
    Ok((written, mirrors))
}

fn warned(input: &Input, what: &str) -> Record {
    records::record(
        "warned",
        input.at,
        Some(&input.session),
        Some(records::by(input)),
        json!({ "what": what }),
    )
}
