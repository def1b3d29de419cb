//! Processes one event, from state to verdict, for hooks and reports.
//!
//! The journal stays locked from reading the state to appending the records, so that no update of a parallel
//! process is lost. Sprag releases the lock while it finds slow facts.

mod commit;
mod event_record;
mod foreign;
mod inbox;
mod prepare;
mod repeated;
mod session_handle;

use std::io;

use sprag_base::record::Record;
use sprag_base::result::Discard as _;
use sprag_govern::breaker::Breaker;
use sprag_govern::decide::{self, DecisionFacts, Durability};
use sprag_govern::event::{Event, Input, PromptAuthor};
use sprag_govern::gates::before::Before;
use sprag_govern::gates::{Answers, protection};
use sprag_govern::report::ReportOutcome;
use sprag_govern::session::Session;
use sprag_govern::settings::GovernSettings;
use sprag_govern::verdict::{Ruling, Verdict};

use crate::answers::{self, AnswerCx};
use crate::pipeline::commit::{PendingRecords, commit, warned};
use crate::pipeline::inbox::take_in;
use crate::pipeline::session_handle::SessionHandle;
use crate::store::session_registry;
use crate::sys::env::Env;
use crate::sys::hook_caller::{self, HookCaller};
use crate::sys::human;
use crate::worktree::leases;
use crate::world::World;

/// Result of an event.
#[derive(Debug, Default)]
pub struct PipelineResult {
    pub verdict: Verdict,
    pub warnings: Vec<String>,
    /// Whether the state could be changed. If not, the event had no effect.
    pub is_kept: bool,
    /// Result of a report, if its gate gives one.
    pub outcome: Option<ReportOutcome>,
    /// Set if nothing could be written. The verdict is then valid only where it needs no state.
    pub unwritten: Option<io::Error>,
    pub(crate) chores: AfterReply,
}

#[derive(Debug, Default)]
pub(crate) struct AfterReply {
    /// Records that backends mirror.
    pub(crate) mirrors: Vec<Record>,
    pub(crate) moves_journal: bool,
    pub(crate) looks_around: bool,
    pub(crate) asks_tracker: bool,
    pub(crate) sweeps_claims: bool,
}

impl PipelineResult {
    /// Returns the error if nothing could be written, for callers that need more than a verdict.
    pub fn require_written(self) -> io::Result<PipelineResult> {
        match self.unwritten {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// Returns the logged records that backends mirror.
    pub fn mirrors(&self) -> &[Record] {
        &self.chores.mirrors
    }

    pub fn has_chores(&self) -> bool {
        let AfterReply { mirrors, moves_journal, looks_around, asks_tracker, sweeps_claims } = &self.chores;
        !mirrors.is_empty() || *moves_journal || *looks_around || *asks_tracker || *sweeps_claims
    }
}

/// Mode of a decision: with effects, or only to show the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineMode {
    Real,
    /// Gives the verdict of a real call, and writes nothing.
    DryRun,
}

/// Decides one event and writes its records before the caller answers.
pub fn process_event(world: &World<'_>, input: &Input, mode: PipelineMode) -> PipelineResult {
    let settings = &world.config.settings.govern;
    let mut handle = SessionHandle::open(world, input, mode);
    let caller = caller(world, input, &handle, mode);
    if let HookCaller::Foreign(pid) = caller {
        return foreign::reply(world, handle, input, pid);
    }
    if let Some(answer) = repeated::answer(&handle, input, mode) {
        return repeated::reply(world, handle, input, answer);
    }
    let mut facts = find_facts(world, input, &mut handle, mode);
    // The other call of this event may have ended while the journal was released.
    if let Some(answer) = repeated::answer(&handle, input, mode) {
        return repeated::reply(world, handle, input, answer);
    }
    let mut warnings = journal_warnings(&handle);
    warnings.extend(facts.answers.warnings());
    if !facts.prepared.restored.is_empty() {
        warnings.push(protection::describe(&facts.prepared.restored));
    }
    let mut pending = PendingRecords::default();
    let mut session = handle.session().clone();
    let taken = take_in(world, &handle, input, &mut session, &mut pending).unwrap_or_else(|error| {
        handle.fail(error);
        Vec::new()
    });
    if !handle.is_locked() {
        session.forget_single_use();
    }
    // A report may be the first event of a session; only an event of the client counts.
    let is_first = handle.session().about.started.is_none()
        && handle.keeps_state()
        && input.client != sprag_base::record::REPORTER;
    facts.answers.shared.lost = is_first && session_registry::has_begun(&world.places, &input.session);
    if let HookCaller::Client(seen) = caller {
        facts.client = seen;
    }
    if let Some(client) = facts.client
        && let Some(user) = &world.places.user
    {
        human::remember(user, world.disk, client.process)
            .discard("people-only commands still need a terminal");
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
            // A single use that is not written could be repeated, so Sprag decides the event without it.
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
        world.disk.remove(&path).discard("the report is recorded and its id is known");
    }
    result
}

/// Finds all facts of an event and performs the actions before its decision. Releases the journal while that
/// is slow.
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

/// Reports whether to ask the tracker. Work starts with a prompt; a later event uses the answer.
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
        warnings.push(format!("the session's journal is damaged: cannot read {}", damage.join(", ")));
    }
    if handle.state().is_newer {
        warnings.push("a newer sprag wrote the session's journal; its state stays unchanged".to_owned());
    }
    if handle.is_busy() {
        warnings.push("another process locks the session's journal; nothing changed".to_owned());
    }
    warnings
}

/// Identifies the sender of an event. A report names its session itself, and a dry run may come from anywhere.
fn caller(world: &World<'_>, input: &Input, handle: &SessionHandle<'_>, mode: PipelineMode) -> HookCaller {
    let is_hook = matches!(world.env, Env::Real) && input.client != sprag_base::record::REPORTER;
    if !is_hook || mode == PipelineMode::DryRun {
        return HookCaller::Client(None);
    }
    hook_caller::identify(input, &handle.session().about, world.places.user.as_ref())
}

/// Limits holds where Sprag cannot keep the state and so counts no holds: it counts the holds in the journal
/// instead. A lock that never becomes free must not hold an agent forever. Returns a warning if it releases
/// the stop.
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
        // Unreadable holds would have no limit.
        Err(_) => true,
    };
    if !is_stop || verdict.ruling == Ruling::Pass || !is_spent() {
        return None;
    }
    verdict.ruling = Ruling::Pass;
    Some("the stop is released: its holds cannot be counted".to_owned())
}
