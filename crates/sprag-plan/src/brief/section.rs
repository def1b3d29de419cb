//! Sections of limited size. A section says what was cut, so that its reader knows that there was more.

use sprag_base::text::{plain, strip_tags};

/// A part of a section.
pub(crate) struct SectionPart {
    /// Priority for space, the lowest first; the text keeps the order of the list.
    pub rank: u8,
    /// Limit in bytes, even if there is more space.
    pub most: usize,
    pub head: &'static str,
    pub body: String,
}

/// A part is dropped if fewer bytes than this are left for it.
const LEAST: usize = 200;
/// Bytes for the note about dropped parts.
const RESERVED: usize = 300;

/// Writes parts below a title, in at most `cap` bytes. Parts without a body are left out.
pub(crate) fn fit(title: &str, parts: Vec<SectionPart>, cap: usize) -> String {
    let mut parts: Vec<SectionPart> = parts.into_iter().filter(|part| !part.body.trim().is_empty()).collect();
    let mut room = cap.saturating_sub(title.len() + RESERVED);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| parts[*at].rank);
    let mut dropped = Vec::new();
    for at in order {
        let part = &mut parts[at];
        let around = part.head.len() + 4;
        let most = room.saturating_sub(around).min(part.most);
        if part.body.len() > most && most < LEAST {
            dropped.push(part.head.trim_start_matches('#').trim());
            part.body.clear();
            continue;
        }
        part.body = cut(&part.body, most);
        room -= around + part.body.len();
    }
    let mut text = title.to_owned();
    for part in parts.iter().filter(|part| !part.body.is_empty()) {
        text.push_str(&format!("\n{}\n\n{}\n", part.head, part.body.trim_end_matches('\n')));
    }
    if !dropped.is_empty() {
        text.push_str(&format!("\n(Left out for space: {}.)\n", dropped.join(", ")));
    }
    text
}

/// Cuts a text to at most `most` bytes, at a line end where possible, and adds a note about the rest.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let said = |left: usize| format!("\n(The last {left} bytes are left out.)");
    let room = most.saturating_sub(said(text.len()).len());
    let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let line = text[..end].rfind('\n').filter(|at| *at * 2 > end).unwrap_or(end);
    format!("{}{}", &text[..line], said(text.len() - line))
}

/// Quotes text of others line by line, so that no line starts a section or ends the quotation.
pub(crate) fn quote(text: &str) -> String {
    let text = plain(text);
    let lines = text.trim_end().lines().map(|line| match line.trim_end() {
        "" => ">".to_owned(),
        line => format!("> {line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Quotes text of agents and removes tags that could mean something to a model.
pub(crate) fn quote_agent(text: &str) -> String {
    quote(&strip_tags(text))
}

/// Lists at most `most` items.
pub(crate) fn items(all: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let count = all.len();
    let mut lines: Vec<String> = all.take(most).map(|item| format!("- {item}")).collect();
    if count > most {
        lines.push(format!("- and {} more", count - most));
    }
    lines.join("\n")
}
