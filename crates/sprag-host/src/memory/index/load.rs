//! Loads texts for search: each line of JSON becomes a record of the log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{io, thread};

use serde_json::Value;

use sprag_base::record::{self, Record};
use sprag_base::redact;
use sprag_base::time::Timestamp;
use sprag_memory::document::{self, LoadedText};
use sprag_memory::index::segment::build;
use sprag_memory::records::MemoryRecord;

use super::maintain::{self, IndexWork};
use super::pools;
use crate::store::{self, Store, new_record};
use crate::sys::disk::Disk;

/// Most bytes of an id.
const ID: usize = 512;
/// Most tags and files of one text.
const LABELS: usize = 64;
/// Most attempts to lock the log.
const TURNS: usize = 30;
/// Lines of one batch.
pub const BATCH: usize = 8192;

/// Loader that takes lines in batches.
pub struct Loader<'a> {
    dir: &'a Path,
    disk: &'a dyn Disk,
    now: Timestamp,
    /// Pools with new texts, in order.
    pools: Vec<Option<String>>,
    pub loaded: usize,
}

/// A line that cannot be loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct BadLine {
    pub id: Option<Value>,
    pub what: String,
}

struct LoadedLine {
    pool: Option<String>,
    record: Record,
}

impl<'a> Loader<'a> {
    pub fn new(dir: &'a Path, disk: &'a dyn Disk, now: Timestamp) -> Loader<'a> {
        Loader { dir, disk, now, pools: Vec::new(), loaded: 0 }
    }

    /// Writes the lines to disk and returns the bad ones.
    pub fn load_lines(&mut self, lines: &[Vec<u8>]) -> io::Result<Vec<BadLine>> {
        let now = self.now;
        let (first, second) = lines.split_at(lines.len() / 2);
        let half = |lines: &[Vec<u8>]| lines.iter().map(|line| read(line, now)).collect::<Vec<_>>();
        let all = thread::scope(|scope| {
            let other = scope.spawn(|| half(second));
            let mut all = half(first);
            all.extend(other.join().map_err(|_| io::ErrorKind::Other)?);
            Ok::<_, io::Error>(all)
        })?;
        let mut bad = Vec::new();
        let mut by_pool: HashMap<Option<String>, Vec<Record>> = HashMap::new();
        let mut order = Vec::new();
        for read in all {
            match read {
                Err(fault) => bad.push(fault),
                Ok(read) => {
                    let records = by_pool.entry(read.pool.clone()).or_default();
                    if records.is_empty() {
                        order.push(read.pool);
                    }
                    records.push(read.record);
                }
            }
        }
        for pool in order {
            let records = by_pool.remove(&pool).unwrap_or_default();
            append(&pools::store(self.dir, pool.as_deref()), self.disk, &records)?;
            self.loaded += records.len();
            if !self.pools.contains(&pool) {
                self.pools.push(pool);
            }
        }
        Ok(bad)
    }

    /// Updates the index of every pool with new texts.
    pub fn finish(&self) -> io::Result<Vec<PathBuf>> {
        // The directory must exist even without texts, so that a search does not fail.
        self.disk.make_dirs(self.dir)?;
        let mut dirs = Vec::new();
        for pool in &self.pools {
            let store = pools::store(self.dir, pool.as_deref());
            maintain::renew(&store, self.disk, &[], IndexWork::All)?;
            dirs.push(store.dir);
        }
        Ok(dirs)
    }
}

/// Appends records, with many attempts to lock the log: no later hook would append them.
fn append(store: &Store, disk: &dyn Disk, records: &[Record]) -> io::Result<()> {
    let Some(first) = records.first() else { return Ok(()) };
    for _ in 0..TURNS {
        let mut log = store::open_log(store, disk, &first.at.month())?;
        if log.is_locked {
            log.append_sealed(disk, &record::lines(records))?;
            return log.unlock_and_sync(disk);
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn read(line: &[u8], now: Timestamp) -> Result<LoadedLine, BadLine> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| BadLine { id: None, what: format!("not JSON: {error}") })?;
    let bad = |what: &str| BadLine { id: value.get("id").cloned(), what: what.to_owned() };
    let members = value.as_object().ok_or_else(|| bad("not an object"))?;
    let text = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(bad(&format!("`{name}` is not a string"))),
    };
    let list = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let texts: Option<Vec<String>> = items
                .iter()
                .take(LABELS)
                .map(|item| item.as_str().map(|text| build::cut(text, 1000).to_owned()))
                .collect();
            texts.ok_or_else(|| bad(&format!("`{name}` has an item that is not a string")))
        }
        Some(_) => Err(bad(&format!("`{name}` is not a list"))),
    };
    let id = match members.get("id") {
        Some(Value::String(id)) if !id.is_empty() && id.len() <= ID => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        Some(_) => return Err(bad(&format!("`id` is not a string of 1 to {ID} bytes"))),
        None => return Err(bad("`id` is missing")),
    };
    // Redaction would give several ids the same name.
    if let Some(kind) = redact::kind(&id) {
        return Err(bad(&format!("`id` looks like a secret ({kind})")));
    }
    let (whole, summary, detail) = (text("text")?, text("summary")?, text("detail")?);
    if whole.trim().is_empty() && summary.trim().is_empty() && detail.trim().is_empty() {
        return Err(bad("`text`, `summary` and `detail` are missing"));
    }
    let detail = match (whole.is_empty(), detail.is_empty()) {
        (true, _) => detail.to_owned(),
        (false, true) => whole.to_owned(),
        (false, false) => format!("{detail}\n{whole}"),
    };
    let (summary, detail) =
        if summary.trim().is_empty() { document::split(&detail) } else { (summary, detail.as_str()) };
    let loaded = LoadedText {
        id,
        summary: build::cut(summary, build::FIELD).to_owned(),
        detail: build::cut(detail, build::FIELD).to_owned(),
        tags: list("tags")?,
        files: list("files")?,
        created: members
            .get("created")
            .filter(|value| !value.is_null())
            .map(|value| moment(value).ok_or_else(|| bad("`created` is not a time")))
            .transpose()?,
    };
    let pool = match members.get("pool") {
        None | Some(Value::Null) => None,
        Some(Value::String(pool)) => Some(pool.clone()),
        Some(Value::Number(pool)) => Some(pool.to_string()),
        Some(_) => return Err(bad("`pool` is not a string")),
    };
    Ok(LoadedLine { pool, record: new_record::record(&MemoryRecord::Loaded(loaded), now, None, None) })
}

/// Parses a time, a day, or seconds since 1970.
fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) if text.len() == 10 => Timestamp::parse(&format!("{text}T00:00:00Z")),
        Value::String(text) => Timestamp::parse(text).or_else(|| with_offset(text)),
        Value::Number(seconds) => Some(Timestamp::from_millis((seconds.as_f64()? * 1000.0) as i64)),
        _ => None,
    }
}

/// Parses a time with an offset, such as `2026-11-15T09:01:01+02:00` from git.
fn with_offset(text: &str) -> Option<Timestamp> {
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let number = |from: usize| offset.get(from..from + 2)?.parse::<i64>().ok();
    let sign = match offset.as_bytes() {
        [b'+', _, _, b':', _, _] => -1,
        [b'-', _, _, b':', _, _] => 1,
        _ => return None,
    };
    let seconds = number(1)? * 3600 + number(4)? * 60;
    Some(Timestamp::parse(&format!("{local}Z"))?.plus_seconds(sign * seconds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tried(line: &str) -> Result<LoadedLine, BadLine> {
        read(line.as_bytes(), Timestamp::from_millis(0))
    }

    #[test]
    fn a_line_is_a_record_without_secrets() {
        let line = r#"{"id":7,"pool":"p","text":"login ghp_0123456789abcdefghij0123456789abcdef","created":"2026-11-15T11:01:01+02:00"}"#;
        let read = tried(line).ok().unwrap();
        assert_eq!(read.pool.as_deref(), Some("p"));
        assert_eq!(
            read.record.body,
            json!({"id": "7", "summary": "login [redacted:github_token]", "created": "2026-11-15T09:01:01.000Z"})
        );
    }

    #[test]
    fn what_cannot_be_kept_is_told_with_its_id() {
        for (line, what) in [
            ("{", "not JSON: EOF while parsing an object at line 1 column 1"),
            ("[]", "not an object"),
            (r#"{"text":"x"}"#, "`id` is missing"),
            (r#"{"id":"","text":"x"}"#, "`id` is not a string of 1 to 512 bytes"),
            (r#"{"id":"a"}"#, "`text`, `summary` and `detail` are missing"),
            (r#"{"id":"a","text":3}"#, "`text` is not a string"),
            (r#"{"id":"a","text":"x","tags":"t"}"#, "`tags` is not a list"),
            (r#"{"id":"a","text":"x","created":"soon"}"#, "`created` is not a time"),
        ] {
            assert_eq!(tried(line).err().map(|bad| bad.what).as_deref(), Some(what), "{line}");
        }
        assert_eq!(tried(r#"{"id":"a","text":3}"#).err().unwrap().id, Some(json!("a")));
    }
}
