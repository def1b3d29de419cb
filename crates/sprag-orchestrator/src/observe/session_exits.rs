//! Finds how sessions ended, from their directories: for the daemon, and for commands while no daemon runs.

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

/// Maximum rounds: each record may lead to further records.
const ROUNDS: usize = 8;

/// Returns how a session ended; `None` while it runs, or if no supervisor claimed it.
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

/// Reports whether a session has committed anything since its worktree was created.
fn progress(root: &Path, run: &Run, session: &EffectKey) -> CommitProgress {
    let Some(stage) = run.stage_of(session) else { return CommitProgress::Nothing };
    let base = run.entry(stage).and_then(|entry| entry.worktree.base().cloned());
    let worktree = worktree_of(root, stage);
    // The agent may have changed where git looks.
    let proved = worktree_guard::prove_placed(root, &worktree);
    let head = proved.and_then(|()| refs::resolve(&worktree, "HEAD")).ok().flatten();
    match (head, base) {
        (Some(head), Some(base)) if head != base.0.as_str() => CommitProgress::Committed,
        _ => CommitProgress::Nothing,
    }
}

/// Records how agents ended while no daemon ran, and the changes that follow. The caller holds the daemon
/// lock.
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

/// Returns the run after the same changes, without writing them.
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

/// Returns the sessions without a recorded end, and those whose supervisor died without an exit record.
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
