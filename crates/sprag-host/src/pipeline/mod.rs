//! One event, from state to verdict: the part of the walk that hooks and reports share.
//!
//! The journal is locked from reading the state to appending what came of it, so that no update of
//! a parallel process is lost. Facts that take long are gathered before the lock is taken again.

mod commit;
mod event_record;
mod inbox;

use std::io;
use std::time::Duration;

use sprag_base::record::Record;
use sprag_govern::decide::{self, Durability};
use sprag_govern::event::{Event, EventKind, Input, PromptAuthor};
use sprag_govern::gates::needs::{Answers, SharedNeeds};
use sprag_govern::session::Session;
use sprag_govern::session_facts::Process;
use sprag_govern::verdict::{Ruling, Verdict};

use crate::answers::{self, commit as staged};
use crate::pipeline::commit::{PendingRecords, commit, warned};
use crate::pipeline::inbox::take_in;
use crate::store::journal::{self, Journal};
use crate::store::{LOCK_WAIT, session_registry};
use crate::sys::env::Env;
use crate::sys::human;
use crate::worktree::{baseline, leases};
use crate::world::World;

/// What came of an event.
#[derive(Debug, Default)]
pub struct PipelineResult {
    pub verdict: Verdict,
    pub warnings: Vec<String>,
    /// What was written that outlives the event, wherever it went.
    pub written: Vec<Record>,
    /// The state was there to be changed. Without it nothing came of the event.
    pub is_kept: bool,
    pub(crate) chores: AfterReply,
}

#[derive(Debug, Default)]
pub(crate) struct AfterReply {
    /// What backends want to hear of.
    pub(crate) mirrors: Vec<Record>,
    pub(crate) moves_journal: bool,
    pub(crate) looks_around: bool,
    pub(crate) asks_tracker: bool,
    pub(crate) sweeps_claims: bool,
}

impl PipelineResult {
    /// What was logged that backends want to hear of.
    pub fn mirrors(&self) -> &[Record] {
        &self.chores.mirrors
    }

    pub fn has_chores(&self) -> bool {
        let AfterReply { mirrors, moves_journal, looks_around, asks_tracker, sweeps_claims } = &self.chores;
        !mirrors.is_empty() || *moves_journal || *looks_around || *asks_tracker || *sweeps_claims
    }
}

/// How long a report waits for others of its session.
const REPORT_WAIT: Duration = Duration::from_secs(30);

/// Judges one event and writes down what came of it before anyone is told.
pub fn process_event(world: &World<'_>, input: &Input) -> io::Result<PipelineResult> {
    let store = world.store_of(input);
    // Whoever runs a command can wait longer than a hook: what is reported must not be lost.
    let wait = if input.client == sprag_base::record::REPORTER { REPORT_WAIT } else { LOCK_WAIT };
    let mut journal = Journal::open(&store, world.disk, &input.session, wait)?;
    let mut gathered;
    let needs = decide::needs(&journal.loaded.session, input, &world.config.settings.govern);
    if needs.is_slow() {
        let session = journal.loaded.session.clone();
        journal.unlock()?;
        gathered = answers::gather(needs, world, input, &session);
        journal = Journal::open(&store, world.disk, &input.session, wait)?;
    } else {
        gathered = answers::gather(needs, world, input, &journal.loaded.session);
    }
    let mut walked = PipelineResult { warnings: warnings(&journal), ..PipelineResult::default() };
    walked.warnings.extend(answers::warning(needs, &gathered));
    walked.warnings.extend(staged::warning(needs, &gathered));
    if needs.has(SharedNeeds::CHECKS) && gathered.checks.is_none() {
        walked.warnings.push("the checks could not be run; what is done was not looked into".to_owned());
    }
    let mut steps = PendingRecords { records: Vec::new(), effects: Vec::new(), is_binding: false };
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
    gathered.lost = is_first && session_registry::has_begun(&world.places, &input.session);
    if let Some(client) = client
        && let Some(user) = &world.places.user
    {
        // Without it a person's command is still refused where there is no terminal.
        human::remember(user, world.disk, client).unwrap_or_default();
    }
    let step = decide::decide(session, input, &gathered, &world.config.settings.govern, client);
    if let Some(taken) =
        gathered.start.as_ref().filter(|taken| step.session.about.start.as_ref() != Some(taken))
    {
        // A parallel call was first. What cannot be removed is swept up later.
        baseline::drop_taken(&world.places, world.disk, taken.as_str()).unwrap_or_default();
    }
    walked.verdict = step.verdict;
    leases::release(world, input, &gathered, &walked.verdict.ruling);
    if !journal.keeps_state() {
        bound_without_count(world, input, &mut walked)?;
    }
    for warning in &walked.warnings {
        steps.records.push(warned(input, warning));
    }
    steps.records.push(event_record::record(input, &walked.verdict));
    steps.effects.extend(step.effects);
    steps.is_binding |= step.weight == Durability::Binding;
    journal.loaded.session = before;
    walked.chores = AfterReply {
        moves_journal: step.session.about.ended
            || journal.loaded.events >= u64::from(world.config.settings.retention.journal_events),
        asks_tracker: asks_tracker(input, &step.session, &gathered),
        looks_around: matches!(
            input.event,
            Event::SessionStarted { .. } | Event::StopRequested(_) | Event::SessionEnded { .. }
        ),
        sweeps_claims: leases::is_due(input, &gathered),
        mirrors: Vec::new(),
    };
    walked.is_kept = journal.is_locked();
    (walked.written, walked.chores.mirrors) = commit(world, &store, journal, steps, input, &step.session)?;
    if is_first {
        session_registry::note(&world.places, world.disk, &input.session);
    }
    for path in taken {
        // Its report is on record and its id known: one that cannot be removed does no harm.
        world.disk.remove(&path).unwrap_or_default();
    }
    Ok(walked)
}

/// The same, without writing anything.
pub fn dry_run(world: &World<'_>, input: &Input) -> PipelineResult {
    let path = journal::path(&world.store(), &input.session);
    let mut session = journal::read(&path).map(|(loaded, _)| loaded.session).unwrap_or_default();
    session.gates.forget_single_use();
    let needs = decide::needs(&session, input, &world.config.settings.govern);
    let gathered = answers::gather(needs, world, input, &session);
    let step = decide::decide(session, input, &gathered, &world.config.settings.govern, None);
    PipelineResult { verdict: step.verdict, ..PipelineResult::default() }
}

/// A prompt is when work starts; the answer is there for a later event.
fn asks_tracker(input: &Input, session: &Session, facts: &Answers) -> bool {
    matches!(input.event, Event::Prompted { author: PromptAuthor::User, .. })
        && session.gates.reflection.ticket().is_none()
        && facts.tracker.as_ref().is_some_and(|found| found.is_for_tickets)
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

/// The process of the client, if it is another one than before. Only a hook is called by it.
fn seen_client(world: &World<'_>, input: &Input, session: &Session) -> Option<Process> {
    let known = session.about.client.map(|client| client.pid);
    let is_hook = matches!(world.env, Env::Real) && input.client != sprag_base::record::REPORTER;
    if !is_hook || (known.is_some() && known == human::parent_id()) {
        return None;
    }
    human::client_process().filter(|client| session.about.client != Some(*client))
}

/// Where the state cannot be kept no hold is counted, so those the journal tells of are counted
/// instead: a lock that never comes free must not hold an agent for ever.
fn bound_without_count(world: &World<'_>, input: &Input, walked: &mut PipelineResult) -> io::Result<()> {
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
