//! Labelled commands on disk: `*gates*.jsonl`, and all other `*.jsonl`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// One command with its label. A row of a gate has a pattern, a tier and the expected result. Other rows have
/// an axis and a verdict.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Row {
    pub id: String,
    pub cmd: String,
    pub source: String,
    pub pattern: Option<String>,
    pub expect: String,
    pub tier: String,
    pub template: String,
    pub axis: String,
    pub verdict: String,
    pub strength: String,
    pub category: String,
    pub dialect: String,
    pub core: bool,
    pub disputed: bool,
    pub contested: bool,
    /// The label of each source.
    pub labels: BTreeMap<String, String>,
}

impl Row {
    pub fn is_destructive(&self) -> bool {
        self.axis == "destructive"
    }

    /// Reports whether the label counts.
    pub fn is_scored(&self) -> bool {
        self.strength == "strong" && self.verdict != "disputed" && !self.disputed && self.dialect == "posix"
    }

    /// Returns the start of the command on one line.
    pub fn shown(&self) -> String {
        let start: String = self.cmd.chars().take(110).collect();
        format!("{start:?}")
    }
}

pub struct Rows {
    pub gates: Vec<Row>,
    pub commands: Vec<Row>,
}

pub fn read(data: &Path) -> anyhow::Result<Rows> {
    let entries = fs::read_dir(data).with_context(|| format!("cannot list `{}`", data.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    let mut rows = Rows { gates: Vec::new(), commands: Vec::new() };
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let read = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str::<Row>);
        let read: Vec<Row> =
            read.collect::<Result<_, _>>().with_context(|| format!("a bad line in `{}`", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.contains("gates") {
            rows.gates.extend(read);
        } else {
            rows.commands.extend(read);
        }
    }
    Ok(rows)
}
