//! What an agent at a terminal waits for, as its hooks have written it down. A supervisor looks, since whoever is behind
//! walls can tell nobody else; and only at journals that were written since it began.

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

/// Of a journal, from its end: more than the lines between two calls.
const TAIL: u64 = 256 * 1024;

pub(crate) struct OpenPrompts {
    folder: PathBuf,
    began: SystemTime,
    /// Which journal it was, and how long.
    read: Option<(PathBuf, u64)>,
    asks: Option<Text<1000>>,
}

impl OpenPrompts {
    /// `None`: it has no terminal, and so nobody answers it.
    pub(super) fn new(watch: &AgentLimits, site: &SessionDir) -> Option<OpenPrompts> {
        let stage = watch.stage.as_ref().filter(|_| watch.screen == AgentTerminal::Terminal)?;
        // `run/s/SESSION` is in the folder of records.
        let store = site.dir().ancestors().nth(3)?;
        let folder = journal::folder(store, stage.as_str());
        Some(OpenPrompts { folder, began: SystemTime::now(), read: None, asks: None })
    }

    /// Whether it asks something else than at the last look.
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

/// What the last lines of a journal say; half a line says nothing.
fn asked(path: &Path, length: u64) -> Option<Text<1000>> {
    let bytes = transcript::since(path, length.saturating_sub(TAIL));
    let lines = bytes.rsplit(|byte| *byte == b'\n');
    let records: Vec<Record> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    open_prompt::asked(&records)
}
