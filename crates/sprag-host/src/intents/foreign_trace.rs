//! Reads a trace of another tool, in the format Agent Trace or in an older one with `relative_path` and
//! `value`. Ignores lines that cannot be read.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::Deserialize;

use sprag_base::text::Text;
use sprag_intent::Earlier;

use crate::sys::disk::open_regular;

/// Maximum bytes read from the end of the file.
const BYTES: u64 = 256 * 1024;
/// Maximum number of named files of one record.
const NAMED: usize = 5;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire {
    timestamp: String,
    intent_id: Option<String>,
    mutation_class: Option<String>,
    files: Vec<ForeignFile>,
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ForeignFile {
    #[serde(alias = "relative_path")]
    path: String,
    conversations: Vec<ForeignConversation>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ForeignConversation {
    related: Vec<Related>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Related {
    url: Option<String>,
    value: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(rename = "dev.sprag")]
    ours: Ours,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Ours {
    intent_id: Option<String>,
    mutation_class: Option<String>,
}

/// Returns the latest records of an intent, newest first.
pub(crate) fn earlier(path: &Path, id: &str, most: usize) -> Vec<Earlier> {
    let bytes = end_of(path).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').rev();
    let records = lines.filter_map(|line| serde_json::from_slice::<Wire>(line).ok());
    records.filter(|record| record.is_about(id)).map(|record| record.to_earlier()).take(most).collect()
}

fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Wire {
    fn is_about(&self, id: &str) -> bool {
        let uri = format!("intent:{id}");
        let related = self.files.iter().flat_map(|file| &file.conversations).flat_map(|talk| &talk.related);
        let mut named = related.map(|it| (it.value.as_deref(), it.url.as_deref()));
        self.intent_id.as_deref() == Some(id)
            || self.metadata.ours.intent_id.as_deref() == Some(id)
            || named.any(|(value, url)| value == Some(id) || url == Some(uri.as_str()))
    }

    fn to_earlier(&self) -> Earlier {
        let paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).take(NAMED).collect();
        let class = self.metadata.ours.mutation_class.as_deref().or(self.mutation_class.as_deref());
        let what = format!("{} {}", paths.join(" "), class.unwrap_or_default());
        Earlier { at: Text::<32>::from(self.timestamp.as_str()).to_string(), what: what.trim().to_owned() }
    }
}
