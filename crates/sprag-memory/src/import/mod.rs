//! Imports memories of other programs as candidates. Each source has one file with one [`MemoryImporter`] and
//! one line in the list below. Drafts keep their origin, so that a second import adds nothing twice. Drafts
//! that do not fit are reported with the reason.

use serde_json::{Map, Value, json};

use sprag_base::digest::Digest;
use sprag_base::text::{Text, one_line, plain};
use sprag_base::time::Timestamp;

use crate::learning::{Candidate, DETAIL_LEAST, DETAIL_MOST, SUMMARY_LEAST, SUMMARY_MOST};

importers! {
    grove,
    loom,
    mcp,
    claude_md,
    total_recall,
}

#[cfg(test)]
mod tests;

/// A program whose memory Sprag can import.
pub struct MemoryImporter {
    /// The name in `sprag memory import NAME`.
    pub name: &'static str,
    pub title: &'static str,
    /// The files below a given directory; `*` matches any name.
    pub files: &'static [&'static str],
    pub read: fn(&ImportText<'_>) -> ImportedMemory,
}

/// One file of the source.
pub struct ImportText<'a> {
    /// The file name without directories.
    pub name: &'a str,
    pub text: &'a str,
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedMemory {
    pub drafts: Vec<LearningDraft>,
    pub uses: Vec<ImportedUse>,
    /// Parts that are not imported, with the reason.
    pub passed: Vec<(String, String)>,
}

/// A text that may become a learning.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningDraft {
    /// The name in the source. Equal names mean equal learnings.
    pub origin: String,
    /// The fields of a submission.
    pub fields: Map<String, Value>,
    pub at: Option<Timestamp>,
    pub fate: ImportedFate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportedFate {
    Active,
    Archived,
}

/// One use of a learning, as the source recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedUse {
    pub origin: String,
    pub at: Option<Timestamp>,
    pub what: ImportedUseKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportedUseKind {
    Surfaced,
    Referred,
    Dismissed,
    Archived,
    Restored,
}

/// The limit on drafts of one text. A larger text is a dump, not a memory.
pub const DRAFTS: usize = 5000;

impl LearningDraft {
    /// Builds a draft with the weakest values for fields that the source lacks.
    pub fn new(origin: impl Into<String>, category: &str, summary: &str, detail: &str) -> LearningDraft {
        let fields = json!({
            "category": category,
            "summary": summary,
            "detail": detail,
            "tags": [],
            "criteria_met": ["stable_fact"],
            "confidence": "low",
        });
        let Value::Object(fields) = fields else {
            unreachable!("the value above is an object");
        };
        LearningDraft { origin: origin.into(), fields, at: None, fate: ImportedFate::Active }
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> LearningDraft {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the key that makes a second import a no-op.
    pub fn idem(&self, importer: &MemoryImporter) -> String {
        format!("import:{}:{}", importer.name, Digest::hash_parts([self.origin.as_str()]))
    }

    /// Returns the candidate, or the faults of the draft. First it fits texts that are too short or too long,
    /// because no author can rewrite them.
    pub fn candidate(&self, importer: &MemoryImporter) -> Result<Candidate, String> {
        let mut fields = self.fields.clone();
        let text =
            |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        let (summary, mut detail) = (one_line(&text("summary")), plain(&text("detail")));
        if detail.chars().count() < DETAIL_LEAST || detail == summary {
            let more = if detail == summary { String::new() } else { detail };
            detail = format!("From {}: {summary} {more}", importer.title).trim_end().to_owned();
        }
        if summary.chars().count() < SUMMARY_LEAST {
            return Err(format!("`{summary}` is too short"));
        }
        fields.insert("summary".to_owned(), json!(Text::<SUMMARY_MOST>::new(summary)));
        fields.insert("detail".to_owned(), json!(Text::<DETAIL_MOST>::new(detail)));
        let tags = fields.get("tags").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut tags: Vec<Value> = tags.into_iter().filter(|tag| tag.as_str().is_some_and(is_tag)).collect();
        tags.truncate(crate::learning::TAGS_MOST);
        if tags.is_empty() {
            tags.push(json!(importer.name));
        }
        fields.insert("tags".to_owned(), Value::Array(tags));
        Candidate::read(&Value::Object(fields)).map_err(|faults| faults.to_string())
    }
}

fn is_tag(tag: &str) -> bool {
    (1..=crate::learning::TAG_MOST).contains(&tag.trim().chars().count())
}

pub fn find(name: &str) -> Option<&'static MemoryImporter> {
    IMPORTERS.iter().find(|importer| importer.name == name).copied()
}

/// A heading and its text, up to the next heading.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MarkdownSection<'a> {
    /// The number of `#` marks; 0 for the text before the first heading.
    level: usize,
    title: &'a str,
    lines: Vec<&'a str>,
}

/// Splits a Markdown text into sections. Ignores `#` inside code blocks.
fn sections(text: &str) -> Vec<MarkdownSection<'_>> {
    let mut sections = vec![MarkdownSection { level: 0, title: "", lines: Vec::new() }];
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        let level = line.bytes().take_while(|&byte| byte == b'#').count();
        let title = line.get(level..).and_then(|rest| rest.strip_prefix(' '));
        match title.filter(|_| fence.is_none() && (1..=6).contains(&level)) {
            Some(title) => {
                sections.push(MarkdownSection {
                    level,
                    title: title.trim().trim_end_matches('#').trim(),
                    lines: Vec::new(),
                });
            }
            None => {
                if let Some(section) = sections.last_mut() {
                    section.lines.push(line);
                }
            }
        }
    }
    sections
}

/// Returns the items of a list, each with its continuation lines.
fn bullets(lines: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in lines {
        let text = line.trim();
        let point =
            ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)).or_else(|| numbered(text));
        match point {
            Some(point) => {
                found.push(point.trim().to_owned());
                is_open = true;
            }
            None if text.is_empty() => is_open = false,
            None if is_open && line.starts_with([' ', '\t']) => {
                if let Some(last) = found.last_mut() {
                    last.push(' ');
                    last.push_str(text);
                }
            }
            None => is_open = false,
        }
    }
    found
}

fn numbered(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..).filter(|_| (1..=3).contains(&digits))?;
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
}

/// Returns the first sentence of a text, cut to the size of a summary.
fn first_sentence(text: &str) -> String {
    let text = one_line(text).replace("**", "");
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    let sentence = text[..end].trim();
    let sentence = if sentence.chars().count() < SUMMARY_LEAST { text.trim() } else { sentence };
    Text::<SUMMARY_MOST>::new(sentence).to_string()
}

/// Returns the category that a word in a heading or file name suggests.
fn category_of(words: &str) -> Option<&'static str> {
    const WORDS: &[(&str, &str)] = &[
        ("mistake", "pitfall"),
        ("pitfall", "pitfall"),
        ("gotcha", "pitfall"),
        ("avoid", "pitfall"),
        ("lesson", "pitfall"),
        ("debug", "debugging"),
        ("troubleshoot", "debugging"),
        ("convention", "convention"),
        ("style", "convention"),
        ("rule", "convention"),
        ("preference", "convention"),
        ("stack", "dependency"),
        ("depend", "dependency"),
        ("process", "process"),
        ("workflow", "process"),
        ("decision", "process"),
        ("pattern", "pattern"),
        ("architecture", "domain"),
        ("entry", "domain"),
        ("concern", "pitfall"),
    ];
    let words = words.to_lowercase();
    WORDS.iter().find(|(word, _)| words.contains(word)).map(|(_, category)| *category)
}

/// Turns a heading into a tag.
fn tag_of(heading: &str) -> String {
    let words: Vec<String> = heading
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(4)
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

/// Returns a file name without its extension.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Registers all sources.
macro_rules! importers {
    ($($name:ident),+ $(,)?) => {
        $(mod $name;)+

        /// Every source, in display order.
        pub const IMPORTERS: &[&MemoryImporter] = &[$(&$name::IMPORTER),+];
    };
}
use importers;
