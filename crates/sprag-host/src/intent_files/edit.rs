//! Changes an intent file in place and keeps comments, order and unknown keys. Sprag parses the changed text
//! again and rejects any other difference.

use sprag_intent::{Intent, IntentOrigin, IntentStatus, Ownership};

use super::file::{self, Entries, EntryPosition, PatternList};

/// Returns the text with a new status of one intent; `None` if Sprag cannot change this form of YAML safely.
pub fn with_status(text: &str, origin: IntentOrigin, id: &str, status: IntentStatus) -> Option<String> {
    let before = file::read(text, origin);
    let written = before.written.get(id)?;
    let new = match written.status {
        Some((from, to)) => replaced(text, from, to, status.name()),
        None => with_key(text, written, &format!("status: {}", status.name())),
    };
    let is_wanted = |intent: &Intent| Intent { status, ..intent.clone() };
    checked(new, origin, &before, id, is_wanted)
}

/// Returns the text with a further pattern in the scope of one intent.
pub fn with_pattern(text: &str, origin: IntentOrigin, id: &str, pattern: &str) -> Option<String> {
    let before = file::read(text, origin);
    let written = before.written.get(id)?;
    // A JSON string is also a quoted YAML string.
    let word = serde_json::Value::from(pattern).to_string();
    let new = match &written.owned {
        None => with_key(text, written, &format!("owned_scope: [{word}]")),
        Some(PatternList::Empty { from, to }) => replaced(text, *from, *to, &format!("[{word}]")),
        Some(PatternList::Brackets { end }) => replaced(text, *end, *end, &format!(", {word}")),
        Some(PatternList::Dashes { indent, end }) => {
            let indent = " ".repeat(*indent);
            let at = end_of_line(text, *end);
            replaced(text, at, at, &format!("\n{indent}- {word}"))
        }
    };
    let add = |intent: &Intent| {
        let mut globs = intent.owned.globs().to_vec();
        globs.push(pattern.to_owned());
        Intent { owned: Ownership::Globs(globs), ..intent.clone() }
    };
    checked(new, origin, &before, id, add)
}

/// Returns the text with a further intent at the end.
pub fn with_intent(text: &str, id: &str, name: &str, patterns: &[String]) -> Option<String> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let before = file::read(text, IntentOrigin::Sprag);
    let column = before.written.values().map(|written| written.column).max().unwrap_or(5);
    let (dash, keys) =
        (" ".repeat(column.saturating_sub(3) as usize), " ".repeat(column.saturating_sub(1) as usize));
    let mut entry = format!("{dash}- id: {id}\n{keys}name: {}\n{keys}status: NOT_STARTED\n", quoted(name));
    entry.push_str(&format!("{keys}constraints: []\n"));
    match patterns {
        [] => entry.push_str(&format!("{keys}owned_scope: []\n")),
        patterns => {
            entry.push_str(&format!("{keys}owned_scope:\n"));
            for pattern in patterns.iter() {
                entry.push_str(&format!("{keys}  - {}\n", quoted(pattern)));
            }
        }
    }
    entry.push_str(&format!("{keys}acceptance_criteria: []\n"));
    let mut new = if text.trim().is_empty() { "active_intents:\n".to_owned() } else { text.to_owned() };
    if !new.ends_with('\n') {
        new.push('\n');
    }
    new.push_str(&entry);
    let after = file::read(&new, IntentOrigin::Sprag);
    let is_there = after.bad.is_empty() && after.intents.len() == before.intents.len() + 1;
    let is_last = after
        .intents
        .last()
        .is_some_and(|intent| intent.id.as_str() == id && intent.owned.globs() == patterns);
    (before.bad.is_empty() && is_there && is_last).then_some(new)
}

/// Inserts a key on a separate line after the id.
fn with_key(text: &str, written: &EntryPosition, line: &str) -> String {
    let at = end_of_line(text, written.id_end);
    let indent = " ".repeat(written.column.saturating_sub(1) as usize);
    replaced(text, at, at, &format!("\n{indent}{line}"))
}

/// Returns the end of the line, counted in characters.
fn end_of_line(text: &str, from: usize) -> usize {
    from + text.chars().skip(from).take_while(|&c| c != '\n' && c != '\r').count()
}

fn replaced(text: &str, from: usize, to: usize, with: &str) -> String {
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
    format!("{}{with}{}", &text[..byte(from)], &text[byte(to)..])
}

/// Returns the new text if nothing but the wanted change differs.
fn checked(
    new: String,
    origin: IntentOrigin,
    before: &Entries,
    id: &str,
    wanted: impl Fn(&Intent) -> Intent,
) -> Option<String> {
    let after = file::read(&new, origin);
    let says = |intent: &Intent| {
        let Intent { name, constraints, status, owned, criteria, sharing, rest, .. } = intent.clone();
        (intent.id.clone(), name, constraints, status, owned, criteria, sharing, rest)
    };
    let is_same = |(was, is): (&Intent, &Intent)| {
        if was.id.as_str() == id { says(&wanted(was)) == says(is) } else { says(was) == says(is) }
    };
    let is_whole = after.bad.len() == before.bad.len() && after.intents.len() == before.intents.len();
    (is_whole && before.intents.iter().zip(&after.intents).all(is_same)).then_some(new)
}
