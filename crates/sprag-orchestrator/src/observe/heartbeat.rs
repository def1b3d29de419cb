//! Collects signs of life of agents: CPU time, changed files and output. The core decides what follows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sprag_base::time::Timestamp;
use sprag_host::sys::processes;
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::agent::liveness::{LifeSigns, Liveness, LivenessWatch, SILENCE, Tells};
use sprag_plan::ids::EffectKey;

use crate::session_dir::SessionDir;
use crate::session_dir::limits::AgentTerminal;

/// Seconds between two checks of one agent.
const PACE: i64 = 10;
/// Maximum number of files in the search for changes.
const FILES: usize = 20_000;

/// All watched agents.
#[derive(Default)]
pub(crate) struct HeartbeatMonitor {
    watches: BTreeMap<EffectKey, Watched>,
}

struct Watched {
    watch: LivenessWatch,
    at: Timestamp,
    is_streaming: bool,
}

impl HeartbeatMonitor {
    /// Returns the liveness of a session whose supervisor runs.
    pub(crate) fn check(
        &mut self,
        key: &EffectKey,
        site: &SessionDir,
        seen: Option<&AgentActivity>,
        worktree: &Path,
        now: Timestamp,
    ) -> Liveness {
        let watched = match self.watches.entry(key.clone()) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                // At a terminal the agent may wait for a person without reporting it.
                let tells = |watch: crate::session_dir::limits::AgentLimits| {
                    watch.stream.is_some() && watch.screen == AgentTerminal::Pipes
                };
                let is_streaming = site.spawn().is_ok_and(|spawn| tells(spawn.watch));
                vacant.insert(Watched { watch: LivenessWatch::new(now), at: now, is_streaming })
            }
            std::collections::btree_map::Entry::Occupied(there) => {
                let watched = there.into_mut();
                if now.seconds_since(watched.at) < PACE {
                    return Liveness::Working;
                }
                watched
            }
        };
        watched.at = now;
        let signs = LifeSigns {
            heard: seen.and_then(|seen| seen.at),
            cpu: site.keeper().map_or(0, |keeper| processes::cpu_below(keeper.pid)),
            // Read only after a long silence, because a worktree may be large.
            changed: (watched.watch.silence(now) >= SILENCE).then(|| youngest(worktree)).flatten(),
            tells: if watched.is_streaming {
                Tells::Waits(seen.and_then(|seen| seen.wait))
            } else {
                Tells::Nothing
            },
        };
        watched.watch.update(&signs, now)
    }

    pub(crate) fn forget(&mut self, key: &EffectKey) {
        self.watches.remove(key);
    }
}

/// Returns the time of the last change below a folder.
fn youngest(dir: &Path) -> Option<Timestamp> {
    let mut open = vec![dir.to_owned()];
    let mut left = FILES;
    let mut found = None;
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else { return found };
            left = rest;
            let Ok(about) = entry.metadata() else { continue };
            let changed = about.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
            let changed = changed.and_then(|since| i64::try_from(since.as_millis()).ok());
            found = found.max(changed.map(Timestamp::from_millis));
            if about.is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the results for a silent session, every 30 s for 10 min.
    fn silent(watch: crate::session_dir::limits::AgentLimits, seen: AgentActivity) -> Vec<Liveness> {
        let (dir, worktree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let site = SessionDir::at(dir.path());
        let spawn = crate::session_dir::SpawnRequest {
            v: 1,
            epoch: 1,
            argv: Vec::new(),
            env: Vec::new(),
            worktree: worktree.path().to_owned(),
            dir: worktree.path().to_owned(),
            branch: String::new(),
            seconds: 0,
            grace: 0,
            stdin: None,
            confined: None,
            watch,
        };
        site.ask(&sprag_host::sys::disk::RealDisk, &spawn).unwrap();
        // Everything in the worktree is older than the first check.
        let start = sprag_host::sys::env::now().plus_seconds(5);
        let mut vitals = HeartbeatMonitor::default();
        let key = EffectKey(sprag_base::text::Text::new("r/a/1/spawn.0"));
        let looks = (0..20).map(|look| start.plus_seconds(look * 30));
        looks.map(|now| vitals.check(&key, &site, Some(&seen), worktree.path(), now)).collect()
    }

    #[test]
    fn who_prints_what_it_waits_for_can_be_wedged_and_nobody_else() {
        use sprag_plan::agent::activity::AgentWait;
        use sprag_plan::agent::activity::WaitTarget;
        use sprag_plan::spec::client::StreamFormat;
        let watch =
            |stream, screen| crate::session_dir::limits::AgentLimits { stream, screen, ..Default::default() };
        let claude = Some(StreamFormat::Claude);
        let found = silent(watch(claude, AgentTerminal::Pipes), AgentActivity::default());
        let first = found.iter().position(|found| *found == Liveness::Wedged);
        assert_eq!(first, Some(3), "after 90 s: {found:?}");
        let until = sprag_host::sys::env::now().plus_seconds(3600);
        let waits = AgentActivity {
            wait: Some(AgentWait { on: WaitTarget::Tool, until }),
            ..AgentActivity::default()
        };
        for found in [
            silent(watch(claude, AgentTerminal::Pipes), waits),
            silent(watch(claude, AgentTerminal::Terminal), AgentActivity::default()),
            silent(watch(None, AgentTerminal::Pipes), AgentActivity::default()),
        ] {
            assert!(!found.contains(&Liveness::Wedged) && found.contains(&Liveness::Suspect), "{found:?}");
        }
    }

    #[test]
    fn the_youngest_file_is_found_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        let path = dir.path().join("a/b/c");
        fs::write(&path, "x").unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5000);
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        let since = later.duration_since(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(youngest(dir.path()).unwrap().millis(), i64::try_from(since.as_millis()).unwrap());
        assert_eq!(youngest(&dir.path().join("none")), None);
    }
}
