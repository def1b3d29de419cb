//! How sessions ended, by what is in their folders: for whoever runs the plan, and for whoever speaks or looks while
//! nobody does.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use sprag_host::git::{refs, worktree_guard};
use sprag_host::sys::env;
use sprag_plan::ids::EffectKey;
use sprag_plan::reconcile::observed::{AgentSession, AgentSign};
use sprag_plan::reconcile::settle;
use sprag_plan::run::Run;
use sprag_plan::run::record::{CommitProgress, RunRecord, SessionOutcome};
use sprag_plan::stage::StageFailure;

use crate::agent;
use crate::layout::worktree_of;
use crate::run_log::RunLog;
use crate::session_dir::{SessionProbe, site_of};

/// An end, what follows from it, and what follows from that.
const ROUNDS: usize = 8;

/// How a session ended; `None` while it lives, or where nobody has taken it on.
pub fn ended(root: &Path, run: &Run, key: &EffectKey, probe: &SessionProbe) -> Option<SessionOutcome> {
    match probe {
        SessionProbe::Running | SessionProbe::Nothing => None,
        SessionProbe::Died => {
            Some(SessionOutcome::Failed { failure: StageFailure::Crash, progress: progress(root, run, key) })
        }
        SessionProbe::Ended(exit) => {
            Some(SessionOutcome::from_exit(exit, run.killed(key), progress(root, run, key)))
        }
    }
}

/// Whether a session has committed anything since its worktree was made.
fn progress(root: &Path, run: &Run, session: &EffectKey) -> CommitProgress {
    let Some(stage) = run.stage_of(session) else { return CommitProgress::Nothing };
    let base = run.entry(stage).and_then(|entry| entry.worktree.base().cloned());
    let worktree = worktree_of(root, stage);
    // Its agent may have pointed git elsewhere.
    let proved = worktree_guard::prove_placed(root, &worktree);
    let head = proved.and_then(|()| refs::resolve(&worktree, "HEAD")).ok().flatten();
    match (head, base) {
        (Some(head), Some(base)) if head != base.0.as_str() => CommitProgress::Committed,
        _ => CommitProgress::Nothing,
    }
}

/// Writes down how agents ended that nobody was there to see, and what that comes to. For who holds the reign.
pub fn settle(log: &mut RunLog<'_>, root: &Path, folder: &Path) -> io::Result<()> {
    let (sessions, died) = sessions(log.run(), root, folder)?;
    for session in &died {
        agent::sweep(session);
    }
    for _ in 0..ROUNDS {
        let records = settle::settle(log.run(), &sessions, env::now());
        if records.is_empty() {
            break;
        }
        records.iter().try_for_each(|record| log.append(record))?;
    }
    Ok(())
}

/// The same in mind alone, for who only looks.
pub fn settled(mut run: Run, root: &Path, folder: &Path) -> io::Result<Run> {
    let (sessions, _) = sessions(&run, root, folder)?;
    for _ in 0..ROUNDS {
        let records: Vec<RunRecord> = settle::settle(&run, &sessions, env::now());
        if records.is_empty() {
            break;
        }
        for record in records.iter() {
            run.apply(record);
        }
    }
    Ok(run)
}

type OpenSessions = BTreeMap<EffectKey, AgentSession>;

/// Returns the sessions of which no end is written down, and those whose supervisor is gone without a word.
fn sessions(run: &Run, root: &Path, folder: &Path) -> io::Result<(OpenSessions, Vec<String>)> {
    let (mut found, mut died) = (BTreeMap::new(), Vec::new());
    for (key, _) in run.live_sessions() {
        let site = site_of(folder, key);
        let probe = site.probe()?;
        if probe == SessionProbe::Died {
            died.push(site.id());
        }
        match (ended(root, run, key, &probe), probe) {
            (Some(ended), _) => drop(found.insert(key.clone(), AgentSession::Over(ended))),
            (None, SessionProbe::Running) => {
                drop(found.insert(key.clone(), AgentSession::Alive(AgentSign::Working)))
            }
            (None, _) => {}
        }
    }
    Ok((found, died))
}
