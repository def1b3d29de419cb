//! Imports Grove: blocks under a heading with an id in `learnings.md`, and their use as JSON lines in
//! `stats.log`.

use serde_json::{Value, json};

use sprag_base::time::Timestamp;

use super::{
    DRAFTS, ImportText, ImportedFate, ImportedMemory, ImportedUse, ImportedUseKind, LearningDraft,
    MarkdownSection, MemoryImporter, sections,
};

pub(super) const IMPORTER: MemoryImporter = MemoryImporter {
    name: "grove",
    title: "Grove",
    files: &[
        ".grove/learnings.md",
        ".grove/personal-learnings.md",
        ".grove/stats.log",
        "learnings.md",
        "personal-learnings.md",
        "stats.log",
    ],
    read,
};

fn read(source: &ImportText<'_>) -> ImportedMemory {
    if source.text.trim_start().starts_with('{') { stats(source.text) } else { learnings(source) }
}

fn learnings(source: &ImportText<'_>) -> ImportedMemory {
    let mut read = ImportedMemory::default();
    for section in sections(source.text).into_iter().filter(|section| section.level > 0).take(DRAFTS) {
        match block(&section, source) {
            Some(draft) => read.drafts.push(draft),
            // A title, or a heading inside a detail.
            None if section.level > 1 => {
                read.passed.push((section.title.to_owned(), "the heading has no id".to_owned()));
            }
            None => {}
        }
    }
    read
}

fn block(section: &MarkdownSection<'_>, source: &ImportText<'_>) -> Option<LearningDraft> {
    let (id, summary) = section.title.strip_prefix('[')?.split_once(']')?;
    let mut draft = LearningDraft::new(id.trim(), "domain", summary.trim(), "");
    let mut detail: Vec<&str> = Vec::new();
    if source.name.starts_with("personal") {
        draft = draft.with("scope", "personal");
    }
    for line in &section.lines {
        let Some((name, value)) = field(line) else {
            detail.push(line);
            continue;
        };
        let word = value.split([' ', '(']).next().unwrap_or_default().to_lowercase();
        draft = match name.as_str() {
            "category" => draft.with("category", word),
            "scope" => draft.with("scope", word),
            "confidence" => draft.with("confidence", word),
            "tags" => draft.with("tags", list(value)),
            "files" | "context files" | "context" => draft.with("context_files", list(value)),
            "criteria" | "criteria met" | "write gate" => {
                let criteria: Vec<Value> = list(value)
                    .into_iter()
                    .map(|it| json!(it.as_str().unwrap_or_default().replace([' ', '-'], "_")))
                    .collect();
                draft.with("criteria_met", criteria)
            }
            "status" => LearningDraft {
                fate: if word == "active" { ImportedFate::Active } else { ImportedFate::Archived },
                ..draft
            },
            "created" | "date" | "timestamp" => LearningDraft { at: moment(value), ..draft },
            "session" | "ticket" | "id" | "supersedes" | "superseded by" | "schema" => draft,
            "detail" | "details" | "summary" => {
                detail.push(value);
                draft
            }
            _ => {
                detail.push(line);
                draft
            }
        };
    }
    let lines =
        detail.iter().map(|line| line.trim_end()).filter(|line| *line != "---" && !line.starts_with("<!--"));
    let detail = lines.collect::<Vec<_>>().join("\n");
    Some(draft.with("detail", detail.trim()))
}

/// Parses `**Name:** value`, with or without a list mark.
fn field(line: &str) -> Option<(String, &str)> {
    let text = line.trim().trim_start_matches("- ").strip_prefix("**")?;
    let (name, value) = text.split_once(":**").or_else(|| text.split_once("**:"))?;
    let is_name = name.len() < 24 && !name.contains("**");
    is_name.then(|| (name.trim().to_lowercase(), value.trim()))
}

fn list(value: &str) -> Vec<Value> {
    let items = value.split([',', '|']).map(|item| item.trim().trim_start_matches('#').trim_matches('`'));
    items.filter(|item| !item.is_empty()).map(|item| json!(item)).collect()
}

fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let whole = if text.len() == 10 { format!("{text}T00:00:00.000Z") } else { text.to_owned() };
    Timestamp::parse(&whole)
}

/// Reads the log of uses. Skips torn lines and unknown events, because several processes append to the log.
fn stats(text: &str) -> ImportedMemory {
    let mut read = ImportedMemory::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            read.passed.push((line.chars().take(60).collect(), "not JSON".to_owned()));
            continue;
        };
        let what = match event["event"].as_str().unwrap_or_default() {
            "surfaced" => ImportedUseKind::Surfaced,
            "referenced" => ImportedUseKind::Referred,
            "dismissed" => ImportedUseKind::Dismissed,
            "archived" | "corrected" => ImportedUseKind::Archived,
            "restored" => ImportedUseKind::Restored,
            _ => continue,
        };
        let at = event["ts"].as_str().and_then(moment);
        if let Some(id) = event["learning_id"].as_str() {
            read.uses.push(ImportedUse { origin: id.to_owned(), at, what });
        }
    }
    read
}
