//! A section with a bound. What does not fit is cut and said to be: whoever reads it knows that there was more.

use sprag_base::text::{plain, strip_tags};

/// A part of a section.
pub(crate) struct SectionPart {
    /// Who gets room first; the order on paper is that of the list.
    pub rank: u8,
    /// Bytes of it at most, whatever room there is.
    pub most: usize,
    pub head: &'static str,
    pub body: String,
}

/// Less than this of a part says nothing.
const LEAST: usize = 200;
/// For saying what was left out.
const RESERVED: usize = 300;

/// Parts below a title, in at most so many bytes. Those without a body are not mentioned.
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
        text.push_str(&format!("\n(There was no room for: {}.)\n", dropped.join(", ")));
    }
    text
}

/// At most so many bytes, whole lines where that is possible, with a word on what is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let said = |left: usize| format!("\n(The last {left} bytes of this are left out.)");
    let room = most.saturating_sub(said(text.len()).len());
    let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let line = text[..end].rfind('\n').filter(|at| *at * 2 > end).unwrap_or(end);
    format!("{}{}", &text[..line], said(text.len() - line))
}

/// Words of others, line by line: none of them starts a section or ends the quotation.
pub(crate) fn quote(text: &str) -> String {
    let text = plain(text);
    let lines = text.trim_end().lines().map(|line| match line.trim_end() {
        "" => ">".to_owned(),
        line => format!("> {line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The same for what agents wrote: no tag in it means anything to a model.
pub(crate) fn quote_agent(text: &str) -> String {
    quote(&strip_tags(text))
}

/// A list, as long as it may be.
pub(crate) fn items(all: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let count = all.len();
    let mut lines: Vec<String> = all.take(most).map(|item| format!("- {item}")).collect();
    if count > most {
        lines.push(format!("- and {} more", count - most));
    }
    lines.join("\n")
}
