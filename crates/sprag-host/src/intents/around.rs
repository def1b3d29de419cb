//! What an agent is told of an intent it has chosen: the intent, what was done for it, who else is at it.

use std::io;
use std::path::Path;

use serde_json::Value;
use sprag_core::event::{Event, Input, SessionId};
use sprag_core::intent::{Around, Context, Earlier, Intent, Reach, Read, context};
use sprag_core::text::Text;
use sprag_core::time::Timestamp;

use super::{fact, standings};
use crate::disk::open_regular;
use crate::projections::each_line;
use crate::walk::World;

/// Bytes of a foreign trace that are read, from its end.
const FOREIGN: u64 = 256 * 1024;
const FOREIGN_TRACE: &str = ".orchestration/agent_trace.jsonl";
const RECENT: usize = 5;

/// The block an agent is given for an intent; `None` if there is no such intent.
pub fn context_of(
    world: &World<'_>,
    id: &str,
    session: &SessionId,
    now: Timestamp,
) -> io::Result<Option<Context>> {
    let Some(worktree) = world.places.worktree.as_deref() else { return Ok(None) };
    let Some(loaded) = super::load(worktree) else { return Ok(None) };
    let Read::Good(set) = &loaded.read else { return Ok(None) };
    let Some(intent) = set.find(id) else { return Ok(None) };
    let standings = standings(world)?;
    let input = Input::new(now, session.clone(), Event::Tick);
    let others = fact::holders(world, &input).into_iter().filter(|holder| {
        let theirs = set.find(holder.intent.as_str());
        holder.intent == intent.id || theirs.is_some_and(|theirs| overlap(intent, theirs))
    });
    let around = Around {
        status: standings.status(intent),
        recent: recent(world, worktree, id)?,
        others: others
            .map(|holder| format!("{} on {} in {}", holder.session.as_str(), holder.intent, holder.root))
            .collect(),
    };
    Ok(Some(context(intent, &around)))
}

/// Whether two intents may want the same file, by what their patterns name without a star.
fn overlap(one: &Intent, other: &Intent) -> bool {
    let start =
        |glob: &str| glob.split(['*', '?', '{']).next().unwrap_or_default().trim_end_matches('/').to_owned();
    let adds = |intent: &Intent| -> Vec<String> {
        intent.owned.globs().iter().filter(|glob| !glob.starts_with('!')).map(|glob| start(glob)).collect()
    };
    let (ones, others) = (adds(one), adds(other));
    let owns = |intent: &Intent, dir: &str| intent.owned.holds(dir, Reach::Directory, Default::default());
    ones.iter().any(|dir| owns(other, dir)) || others.iter().any(|dir| owns(one, dir))
}

/// The newest first.
fn recent(world: &World<'_>, worktree: &Path, id: &str) -> io::Result<Vec<Earlier>> {
    let mut found: Vec<Earlier> = Vec::new();
    for path in world.store().log_files().iter().rev() {
        let mut of_file = Vec::new();
        each_line(path, 0, |line| {
            let is_trace = line.starts_with(br#"{"v":1,"kind":"trace."#);
            if is_trace && let Ok(record) = serde_json::from_slice::<Value>(line) {
                of_file.extend(earlier(&record["body"], id));
            }
        })?;
        of_file.reverse();
        found.extend(of_file);
        if found.len() >= RECENT {
            break;
        }
    }
    found.extend(foreign(&worktree.join(FOREIGN_TRACE), id));
    found.sort_by(|one, other| other.at.cmp(&one.at));
    found.truncate(RECENT);
    Ok(found)
}

/// A trace that another tool has kept; whatever cannot be read of it is not there.
fn foreign(path: &Path, id: &str) -> Vec<Earlier> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let read = || -> io::Result<Vec<u8>> {
        let mut file = open_regular(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(FOREIGN)))?;
        let mut bytes = Vec::new();
        file.take(FOREIGN).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').rev();
    let records = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    records.filter_map(|record| earlier(&record, id)).take(RECENT).collect()
}

/// One record in a line, if it is about this intent: ours, or of the older shape with `relative_path` and
/// `value`.
fn earlier(record: &Value, id: &str) -> Option<Earlier> {
    let record = record.get("record").unwrap_or(record);
    let ours = &record["metadata"]["dev.sprag"];
    let uri = format!("intent:{id}");
    let files = record["files"].as_array()?;
    let related = files.iter().flat_map(|file| file["conversations"].as_array().into_iter().flatten());
    let mut related = related.flat_map(|talk| talk["related"].as_array().into_iter().flatten());
    let is_named = |it: &Value| it["value"] == id || it["url"] == uri.as_str();
    if ours["intent_id"] != id && record["intent_id"] != id && !related.any(is_named) {
        return None;
    }
    let path = |file: &Value| file["path"].as_str().or(file["relative_path"].as_str()).map(str::to_owned);
    let paths: Vec<String> = files.iter().filter_map(path).take(5).collect();
    let class = ours["mutation_class"].as_str().or(record["mutation_class"].as_str()).unwrap_or_default();
    let at: Text<32> = Text::from(record["timestamp"].as_str().unwrap_or_default());
    Some(Earlier { at: at.to_string(), what: format!("{} {class}", paths.join(" ")).trim().to_owned() })
}
