//! One event, from state to verdict: the part of the walk that hooks and reports share.
//!
//! The journal is locked from reading the state to appending what came of it, so that no update of
//! a parallel process is lost. Facts that take long are gathered before the lock is taken again.

mod commit;
mod event_record;
mod inbox;
mod prepare;
mod session_handle;

use std::io;

use sprag_base::record::Record;
use sprag_base::result::Discard as _;
use sprag_govern::breaker::Breaker;
use sprag_govern::decide::{self, DecisionFacts, Durability};
use sprag_govern::event::{Event, Input, PromptAuthor};
use sprag_govern::gates::Answers;
use sprag_govern::gates::before::Before;
use sprag_govern::report::ReportOutcome;
use sprag_govern::session::Session;
use sprag_govern::session_facts::Process;
use sprag_govern::settings::GovernSettings;
use sprag_govern::verdict::{Ruling, Verdict};

use crate::answers::{self, AnswerCx};
use crate::pipeline::commit::{PendingRecords, commit, warned};
use crate::pipeline::inbox::take_in;
use crate::pipeline::session_handle::SessionHandle;
use crate::store::session_registry;
use crate::sys::env::Env;
use crate::sys::human;
use crate::worktree::leases;
use crate::world::World;

/// What came of an event.
#[derive(Debug, Default)]
pub struct PipelineResult {
    pub verdict: Verdict,
    pub warnings: Vec<String>,
    /// The state was there to be changed. Without it nothing came of the event.
    pub is_kept: bool,
    /// What came of a report, where its gate says so.
    pub outcome: Option<ReportOutcome>,
    /// Nothing could be written. The verdict stands as far as it needs no memory.
    pub unwritten: Option<io::Error>,
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
    /// Returns the error if nothing could be written, for callers to whom a verdict alone is no result.
    pub fn require_written(self) -> io::Result<PipelineResult> {
        match self.unwritten {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// What was logged that backends want to hear of.
    pub fn mirrors(&self) -> &[Record] {
        &self.chores.mirrors
    }

    pub fn has_chores(&self) -> bool {
        let AfterReply { mirrors, moves_journal, looks_around, asks_tracker, sweeps_claims } = &self.chores;
        !mirrors.is_empty() || *moves_journal || *looks_around || *asks_tracker || *sweeps_claims
    }
}

/// Whether an event is decided for good, or only to show the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineMode {
    Real,
    /// The same verdict as a real call would have, and nothing is written.
    DryRun,
}

/// Judges one event and writes down what came of it before anyone is told.
pub fn process_event(world: &World<'_>, input: &Input, mode: PipelineMode) -> PipelineResult {
    let settings = &world.config.settings.govern;
    let mut handle = SessionHandle::open(world, input, mode);
    let mut facts = find_facts(world, input, &mut handle, mode);
    let mut warnings = journal_warnings(&handle);
    warnings.extend(facts.answers.warnings());
    let mut pending = PendingRecords::default();
    let mut session = handle.session().clone();
    let taken = take_in(world, &handle, input, &mut session, &mut pending).unwrap_or_else(|error| {
        handle.fail(error);
        Vec::new()
    });
    if !handle.is_locked() {
        session.forget_single_use();
    }
    // A report may be the first that is heard of a session; what counts is what its client says.
    let is_first = handle.session().about.started.is_none()
        && handle.keeps_state()
        && input.client != sprag_base::record::REPORTER;
    facts.answers.shared.lost = is_first && session_registry::has_begun(&world.places, &input.session);
    if mode == PipelineMode::Real {
        facts.client = seen_client(world, input, &session);
    }
    if let Some(client) = facts.client
        && let Some(user) = &world.places.user
    {
        human::remember(user, world.disk, client)
            .discard("the commands of a person are still refused without a terminal");
    }
    let mut step = decide::decide(session, input, &facts, settings);
    if !handle.keeps_state() {
        warnings.extend(bound_without_count(&handle, settings, input, &mut step.verdict));
    }
    if mode == PipelineMode::DryRun {
        return PipelineResult { verdict: step.verdict, warnings, ..PipelineResult::default() };
    }
    prepare::undo(&facts.prepared, &step, world, input);
    pending.records.extend(warnings.iter().map(|warning| warned(input, warning)));
    pending.records.push(event_record::record(input, &step.verdict));
    pending.effects.append(&mut step.effects);
    pending.is_binding |= step.weight == Durability::Binding;
    let mut result = PipelineResult {
        verdict: step.verdict,
        outcome: step.outcome,
        warnings,
        is_kept: handle.is_locked(),
        chores: chores(world, input, &handle, &step.session, &facts),
        ..PipelineResult::default()
    };
    let before = handle.session().clone();
    match commit(world, handle, pending, input, &step.session) {
        Ok(mirrors) => result.chores.mirrors = mirrors,
        Err(error) => {
            // A use that is not written down could be repeated: the event is decided without it.
            let mut session = before;
            session.forget_single_use();
            result.verdict = decide::decide(session, input, &facts, settings).verdict;
            result.unwritten = Some(error);
            return result;
        }
    }
    if is_first {
        session_registry::note(&world.places, world.disk, &input.session);
    }
    for path in taken {
        world.disk.remove(&path).discard("its report is on record and its id is known");
    }
    result
}

/// Finds all facts of an event and performs the actions before its decision. Others get at the journal while
/// that takes long.
fn find_facts(
    world: &World<'_>,
    input: &Input,
    handle: &mut SessionHandle<'_>,
    mode: PipelineMode,
) -> DecisionFacts {
    let settings = &world.config.settings.govern;
    let needs = decide::shared(handle.session(), input, settings);
    let actions = decide::before(handle.session(), input, settings);
    if needs.is_slow() || actions.iter().any(Before::is_slow) {
        handle.release();
    }
    let cx = AnswerCx::new(world, input, &handle.session().about);
    let shared = answers::shared::find(needs, &cx);
    let questions = decide::ask(handle.session(), input, settings, &shared);
    let about = handle.session().about.clone();
    if questions.is_slow() {
        handle.release();
    }
    let cx = AnswerCx::new(world, input, &about);
    let mut answers = Answers { shared, ..Answers::default() };
    answers::answer(&questions, &cx, &mut answers);
    let prepared = prepare::prepare(&actions, &cx, mode);
    handle.reclaim();
    DecisionFacts { answers, prepared, client: None }
}

fn chores(
    world: &World<'_>,
    input: &Input,
    handle: &SessionHandle<'_>,
    after: &Session,
    facts: &DecisionFacts,
) -> AfterReply {
    AfterReply {
        moves_journal: after.about.ended
            || handle.state().events >= u64::from(world.config.settings.retention.journal_events),
        asks_tracker: asks_tracker(input, after, facts),
        looks_around: matches!(
            input.event,
            Event::SessionStarted { .. } | Event::StopRequested(_) | Event::SessionEnded { .. }
        ),
        sweeps_claims: leases::is_due(input, facts),
        mirrors: Vec::new(),
    }
}

/// A prompt is when work starts; the answer is there for a later event.
fn asks_tracker(input: &Input, session: &Session, facts: &DecisionFacts) -> bool {
    matches!(input.event, Event::Prompted { author: PromptAuthor::User, .. })
        && session.ticket().is_none()
        && facts.answers.reflection.tracker.as_ref().is_some_and(|found| found.is_for_tickets)
}

fn journal_warnings(handle: &SessionHandle<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if !handle.state().damage.is_empty() {
        let mut damage = handle.state().damage.clone();
        damage.dedup();
        warnings.push(format!("the session's journal is damaged: {} could not be read", damage.join(", ")));
    }
    if handle.state().is_newer {
        warnings
            .push("the session's journal was written by a newer sprag; its state is left alone".to_owned());
    }
    if handle.is_busy() {
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
/// instead: a lock that never comes free must not hold an agent for ever. Returns a warning if the stop is let go.
fn bound_without_count(
    handle: &SessionHandle<'_>,
    settings: &GovernSettings,
    input: &Input,
    verdict: &mut Verdict,
) -> Option<String> {
    let is_stop = matches!(
        input.event,
        Event::StopRequested(_) | Event::SubagentStopped(_) | Event::TaskCompleting { .. }
    );
    let is_spent = || match handle.records() {
        Ok(records) => Breaker::from_records(&records).is_turn_spent(&settings.circuit_breaker),
        // Holds that Sprag cannot read have no bound.
        Err(_) => true,
    };
    if !is_stop || verdict.ruling == Ruling::Pass || !is_spent() {
        return None;
    }
    verdict.ruling = Ruling::Pass;
    Some("the stop was let go: its holds cannot be counted".to_owned())
}
