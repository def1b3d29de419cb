//! Renders learnings as a Markdown document that users may edit: one block per learning, followed by a hash
//! of the block. A block whose hash differs was edited by hand. The text of learnings is not trusted: it is
//! escaped, in quotations and lists, and cannot start a block or a heading.

use serde_json::{Value, json};

use sprag_base::digest::Digest;
use sprag_base::text::{Text, one_line, quoted};

use crate::learning::{Candidate, Learning, LearningStatus};
use crate::learnings::LearningEntry;

/// The number of characters of an id in a heading.
const SHORT: usize = 13;
const HEADING: &str = "## ";
const END: &str = "<!-- sprag ";

const TITLE: &str = "# Learnings";
const INTRO: &str = "What was learned here, one block each.";
const STALE: &str = "# Stale";
const STALE_INTRO: &str = "What these rest on has changed:";
const NOTES: &str = "# Notes";
const NOTES_INTRO: &str = "Not written by `sprag`, and kept as it is.";

/// Renders all learnings in use by id, then the notes of users. Equal learnings and notes give equal text.
pub fn document<'a>(entries: impl IntoIterator<Item = &'a LearningEntry>, notes: &str) -> String {
    let (mut active, mut stale) = (String::new(), String::new());
    for entry in entries {
        match entry.status() {
            LearningStatus::Active => active.push_str(&block(&entry.learning)),
            LearningStatus::Stale => stale.push_str(&block(&entry.learning)),
            LearningStatus::Archived | LearningStatus::Superseded => {}
        }
    }
    let mut text = format!(
        "{TITLE}\n\n{INTRO} Written by `sprag`. Sprag reads your edits inside a block; do not change the \
         last line of a block. After a merge conflict, take either side and run `sprag memory render`.\n\n",
    );
    text.push_str(&active);
    if !stale.is_empty() {
        text.push_str(&format!(
            "{STALE}\n\n{STALE_INTRO} run `sprag memory verify ID` if they are still true.\n\n"
        ));
        text.push_str(&stale);
    }
    if !notes.is_empty() {
        text.push_str(&format!("{NOTES}\n\n{NOTES_INTRO}\n\n{notes}\n"));
    }
    text
}

/// Returns the text outside blocks, without Sprag's own lines, and blocks that Sprag neither wrote nor knows.
/// Returns nothing for a document with a merge conflict.
pub fn notes(text: &str, is_known: impl Fn(&str) -> bool) -> String {
    let text = text.replace("\r\n", "\n");
    if has_conflict(&text) {
        return String::new();
    }
    let mut kept: Vec<String> = Vec::new();
    let mut at = 0;
    for block in blocks(&text) {
        kept.push(beside(&text[at..block.from]));
        let is_written = Digest::hash_parts([block.body]).to_string() == block.hash;
        if !is_written && !is_known(block.id) {
            kept.push(text[block.from..block.to].to_owned());
        }
        at = block.to;
    }
    kept.push(beside(&text[at..]));
    let kept: Vec<&str> =
        kept.iter().map(|text| text.trim_matches('\n')).filter(|it| !it.is_empty()).collect();
    kept.join("\n\n")
}

/// Returns text between blocks, without Sprag's own lines.
fn beside(text: &str) -> String {
    let is_ours = |line: &str| {
        [TITLE, STALE, NOTES, NOTES_INTRO].contains(&line.trim_end())
            || line.starts_with(INTRO)
            || line.starts_with(STALE_INTRO)
    };
    text.split_inclusive('\n').filter(|line| !is_ours(line)).collect()
}

fn block(learning: &Learning) -> String {
    let body = body(learning);
    format!("{body}{END}{} {} -->\n\n", learning.id, Digest::hash_parts([&body]))
}

fn body(learning: &Learning) -> String {
    let it = &learning.candidate;
    let short: String = learning.id.as_str().chars().take(SHORT).collect();
    let mut text = format!("{HEADING}{} {}\n\n", word(&short), inline(it.summary.as_str()));
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("- {name}: {value}\n"));
        }
    };
    let list = |words: Vec<&str>| words.into_iter().map(word).collect::<Vec<_>>().join(", ");
    field("category", it.category.name().to_owned());
    field("kind", it.kind.name().to_owned());
    field("scope", it.scope.name().to_owned());
    field("confidence", it.confidence.name().to_owned());
    field("criteria", list(it.criteria_met.iter().map(|criterion| criterion.name()).collect()));
    field("tags", list(it.tags.iter().map(Text::as_str).collect()));
    field("files", list(it.context_files.iter().map(Text::as_str).collect()));
    field("evidence", list(it.evidence.iter().map(Text::as_str).collect()));
    field("when", inline(it.trigger.when.as_str()));
    field("when not", inline(it.trigger.when_not.as_str()));
    field(
        "ticket",
        learning.ticket.as_ref().map(|ticket| word(&one_line(ticket.as_str()))).unwrap_or_default(),
    );
    field("supersedes", list(learning.supersedes.iter().map(Text::as_str).collect()));
    field("learned", learning.at.to_string());
    text.push('\n');
    for line in it.detail.as_str().split('\n') {
        let line = inline(line);
        text.push_str(if line.is_empty() { ">" } else { "> " });
        text.push_str(&guarded(&line));
        text.push('\n');
    }
    text.push('\n');
    text
}

/// A block that was edited after Sprag wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub id: Text<64>,
    /// The new statement, or the reason why it cannot be read.
    pub said: Result<Candidate, Text<500>>,
}

/// Returns the blocks that were edited by hand. Returns none for a document with a merge conflict.
pub fn edited(text: &str) -> Vec<Edited> {
    let text = text.replace("\r\n", "\n");
    if has_conflict(&text) {
        return Vec::new();
    }
    blocks(&text)
        .filter(|block| Digest::hash_parts([block.body]).to_string() != block.hash)
        .map(|block| Edited { id: Text::from(block.id), said: read(block.body) })
        .collect()
}

/// Returns all statements of a document by id.
pub fn statements(text: &str) -> Vec<(String, Result<Candidate, Text<500>>)> {
    blocks(text).map(|block| (block.id.to_owned(), read(block.body))).collect()
}

pub fn has_conflict(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
}

struct MarkdownBlock<'a> {
    /// The start of the block, and of the text after it.
    from: usize,
    to: usize,
    body: &'a str,
    id: &'a str,
    hash: &'a str,
}

/// Finds blocks, from a heading to the line that ends it. Escaping keeps both out of statements.
fn blocks(text: &str) -> impl Iterator<Item = MarkdownBlock<'_>> {
    let mut start = None;
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let from = at;
        at += line.len();
        if line.starts_with(HEADING) {
            start = Some(from);
        }
        let (id, hash) = line.strip_prefix(END)?.trim_end().strip_suffix(" -->")?.split_once(' ')?;
        let start = start.take()?;
        Some(MarkdownBlock { from: start, to: at, body: &text[start..from], id, hash })
    })
}

fn read(body: &str) -> Result<Candidate, Text<500>> {
    let mut lines = body.lines();
    let heading = lines.next().unwrap_or_default().trim_start_matches(HEADING);
    // The short id in the heading is for readers; its absence changes nothing.
    let summary =
        heading.split_once(' ').filter(|(name, _)| name.len() == SHORT).map_or(heading, |(_, rest)| rest);
    let mut members = json!({ "summary": plain(summary) });
    let mut detail: Vec<String> = Vec::new();
    for line in lines {
        let field =
            line.strip_prefix("- ").filter(|_| detail.is_empty()).and_then(|field| field.split_once(':'));
        match field {
            Some((name, value)) => set(&mut members, name, value.trim()),
            None if line.trim().is_empty() && detail.is_empty() => {}
            None => {
                detail.push(plain(line.strip_prefix("> ").or_else(|| line.strip_prefix('>')).unwrap_or(line)))
            }
        }
    }
    members["detail"] = json!(detail.join("\n"));
    Candidate::read(&members).map_err(|faults| Text::new(faults.to_string()))
}

fn set(members: &mut Value, name: &str, value: &str) {
    match name.trim() {
        name @ ("category" | "kind" | "scope" | "confidence") => members[name] = json!(value),
        "criteria" => members["criteria_met"] = json!(words(value)),
        "tags" => members["tags"] = json!(words(value)),
        "files" => members["context_files"] = json!(words(value)),
        "evidence" => members["evidence"] = json!(words(value)),
        "when" => members["trigger"]["when"] = json!(plain(value)),
        "when not" => members["trigger"]["when_not"] = json!(plain(value)),
        // Fields that are not part of the statement cannot be edited.
        _ => {}
    }
}

/// Characters that start markup: a tag, a link, an entity.
const MARKS: &[char] = &['\\', '<', '[', ']', '&', '*', '_', '!'];

/// Escapes markup in a line of text. Inline code stays.
pub fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '`' {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            match closing(&rest[ticks..], ticks) {
                Some(end) => {
                    out.push_str(&rest[..ticks + end]);
                    rest = &rest[ticks + end..];
                }
                None => {
                    out.push_str(&"\\`".repeat(ticks));
                    rest = &rest[ticks..];
                }
            }
            continue;
        }
        if MARKS.contains(&c) {
            out.push('\\');
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Returns the end of the inline code that `ticks` backticks opened. Three and more backticks are a fence,
/// not inline code.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    if ticks > 2 {
        return None;
    }
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let from = at + found;
        let run = text[from..].len() - text[from..].trim_start_matches('`').len();
        if run == ticks {
            return Some(from + run);
        }
        at = from + run;
    }
    None
}

/// Reverses [`inline`].
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '`' {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            let end = ticks + closing(&rest[ticks..], ticks).unwrap_or(0);
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match (c, rest.chars().next()) {
            ('\\', Some(next)) if next.is_ascii_punctuation() => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
            _ => out.push(c),
        }
    }
    out
}

/// Escapes the start of a quoted line that would be a heading, a rule, a list or a fence.
fn guarded(line: &str) -> String {
    let first = line.trim_start_matches([' ', '\t']);
    let is_rule = !first.is_empty() && first.chars().all(|c| c == '-' || c == ' ');
    if first.starts_with(['#', '>', '=', '~', '|', '+']) || is_rule {
        format!("{}\\{first}", &line[..line.len() - first.len()])
    } else {
        line.to_owned()
    }
}

/// Escapes a word of a list.
fn word(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() && !"-./:@".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Splits a list at its commas.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let last = words.last_mut().expect("there is always one");
        match c {
            '\\' => last.extend(chars.next()),
            ',' => words.push(String::new()),
            c => last.push(c),
        }
    }
    words.into_iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// Renders a learning as one line, for summaries.
pub fn line(learning: &Learning) -> String {
    let short: String = learning.id.as_str().chars().take(SHORT).collect();
    format!("- `{}` {}", quoted(&short), inline(learning.candidate.summary.as_str()))
}

/// Renders a learning with its detail, for topics.
pub fn section(learning: &Learning) -> String {
    let mut text = format!("{}\n\n", line(learning));
    for part in learning.candidate.detail.as_str().split('\n') {
        text.push_str(&format!("  > {}\n", guarded(&inline(part))));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
