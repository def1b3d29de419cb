//! Builds the text that an agent gets for its selected intent: the intent, its recent changes, and other
//! sessions that work on it.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input};
use sprag_intent::{Earlier, Intent, IntentContext, IntentFiles, IntentSurroundings, WriteReach, context};
use sprag_trace::{KIND, TraceRecord};

use super::{foreign_trace, standings};
use crate::intents;
use crate::store::projections::each_line;
use crate::world::World;

const FOREIGN_TRACE: &str = ".orchestration/agent_trace.jsonl";
const RECENT: usize = 5;
/// Maximum number of named files of one record.
const NAMED: usize = 5;

/// Returns the context of an intent; `None` if the intent does not exist.
pub fn context_of(
    world: &World<'_>,
    id: &str,
    session: &SessionId,
    now: Timestamp,
) -> io::Result<Option<IntentContext>> {
    let Some(worktree) = world.places.worktree.as_deref() else { return Ok(None) };
    let Some(loaded) = crate::intent_files::load(worktree) else { return Ok(None) };
    let IntentFiles::Good(set) = &loaded.read else { return Ok(None) };
    let Some(intent) = set.find(id) else { return Ok(None) };
    let standings = standings(world)?;
    let input = Input::new(now, session.clone(), Event::Tick);
    let others = intents::holders(world, &input).into_iter().filter(|holder| {
        let theirs = set.find(holder.intent.as_str());
        holder.intent == intent.id || theirs.is_some_and(|theirs| overlap(intent, theirs))
    });
    let around = IntentSurroundings {
        status: standings.status(intent),
        recent: recent(world, worktree, id)?,
        others: others
            .map(|holder| format!("{} on {} in {}", holder.session.as_str(), holder.intent, holder.root))
            .collect(),
    };
    Ok(Some(context(intent, &around)))
}

/// Reports whether two intents may own the same file, by the parts of their patterns before the first
/// wildcard.
fn overlap(one: &Intent, other: &Intent) -> bool {
    let start =
        |glob: &str| glob.split(['*', '?', '{']).next().unwrap_or_default().trim_end_matches('/').to_owned();
    let adds = |intent: &Intent| -> Vec<String> {
        intent.owned.globs().iter().filter(|glob| !glob.starts_with('!')).map(|glob| start(glob)).collect()
    };
    let (ones, others) = (adds(one), adds(other));
    let owns =
        |intent: &Intent, dir: &str| intent.owned.holds(dir, WriteReach::Directory, Default::default());
    ones.iter().any(|dir| owns(other, dir)) || others.iter().any(|dir| owns(one, dir))
}

/// Returns recent changes, newest first, without superseded records.
fn recent(world: &World<'_>, worktree: &Path, id: &str) -> io::Result<Vec<Earlier>> {
    let mut found: Vec<(String, Earlier)> = Vec::new();
    let mut replaced: HashSet<String> = HashSet::new();
    for path in world.store().log_files().iter().rev() {
        let mut of_file = Vec::new();
        each_line(path, 0, |line| {
            if memchr::memmem::find(line, KIND.as_bytes()).is_none() {
                return;
            }
            let Ok(record) = Record::parse(line) else { return };
            let Some(trace) = TraceRecord::from_record(&record) else { return };
            if trace.intent.as_ref().is_some_and(|served| served.id.as_str() == id) {
                replaced.extend(trace.files.iter().flat_map(|file| &file.supersedes).map(Text::to_string));
                of_file.push((record.id.clone(), earlier(&record, &trace)));
            }
        })?;
        of_file.reverse();
        found.extend(of_file);
        found.retain(|(record, _)| !replaced.contains(record));
        if found.len() >= RECENT {
            break;
        }
    }
    let mut found: Vec<Earlier> = found.into_iter().map(|(_, earlier)| earlier).take(RECENT).collect();
    found.extend(foreign_trace::earlier(&worktree.join(FOREIGN_TRACE), id, RECENT));
    found.sort_by(|one, other| other.at.cmp(&one.at));
    found.truncate(RECENT);
    Ok(found)
}

fn earlier(record: &Record, trace: &TraceRecord) -> Earlier {
    let paths: Vec<&str> = trace.files.iter().map(|file| file.path.as_str()).take(NAMED).collect();
    let class = trace.verdict.class().name();
    Earlier { at: record.at.to_string(), what: format!("{} {class}", paths.join(" ")) }
}
