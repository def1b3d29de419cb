//! Finds the prompt that an agent at a terminal waits for. The hooks write prompts to the session journal.
//! The supervisor reads them, because an agent in a sandbox can reach no other process. Journals from before
//! the start are ignored.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_govern::session::open_prompt;
use sprag_host::store::{files_with_ending, journal};

use super::transcript;
use crate::session_dir::SessionDir;
use crate::session_dir::limits::{AgentLimits, AgentTerminal};

/// Bytes read from the end of a journal: more than the records between two tool calls.
const TAIL: u64 = 256 * 1024;

pub(crate) struct OpenPrompts {
    folder: PathBuf,
    began: SystemTime,
    /// The journal that was read last, and its length then.
    read: Option<(PathBuf, u64)>,
    asks: Option<Text<1000>>,
}

impl OpenPrompts {
    /// Returns `None` if the agent has no terminal, because then no one can answer it.
    pub(super) fn new(watch: &AgentLimits, site: &SessionDir) -> Option<OpenPrompts> {
        let stage = watch.stage.as_ref().filter(|_| watch.screen == AgentTerminal::Terminal)?;
        // The session directory is `run/s/SESSION` below the store.
        let store = site.dir().ancestors().nth(3)?;
        let folder = journal::folder(store, stage.as_str());
        Some(OpenPrompts { folder, began: SystemTime::now(), read: None, asks: None })
    }

    /// Reports whether the open prompt changed since the last call.
    pub(super) fn has_changed(&mut self) -> bool {
        let Some((path, length)) = self.youngest() else { return false };
        let read = Some((path, length));
        if read == self.read {
            return false;
        }
        self.read = read;
        let asks = self.read.as_ref().and_then(|(path, length)| asked(path, *length));
        let has_changed = asks != self.asks;
        self.asks = asks;
        has_changed
    }

    pub(super) fn asks(&self) -> Option<&Text<1000>> {
        self.asks.as_ref()
    }

    fn youngest(&self) -> Option<(PathBuf, u64)> {
        let files = files_with_ending(&self.folder, "jsonl").into_iter();
        let dated = files.filter_map(|path| {
            let about = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
            Some((about.modified().ok()?, path, about.len()))
        });
        let (_, path, length) = dated.filter(|(at, _, _)| *at >= self.began).max()?;
        Some((path, length))
    }
}

/// Returns the open prompt by the last records of a journal; skips incomplete lines.
fn asked(path: &Path, length: u64) -> Option<Text<1000>> {
    let bytes = transcript::since(path, length.saturating_sub(TAIL));
    let lines = bytes.rsplit(|byte| *byte == b'\n');
    let records: Vec<Record> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    open_prompt::asked(&records)
}
