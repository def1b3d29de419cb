//! Total Recall: registers, each a list of points about one thing. What was only noted on a day has not been
//! promoted by anybody and stays where it is.

use serde_json::json;

use sprag_base::digest::Digest;

use super::{
    ImportText, ImportedMemory, LearningDraft, MemoryImporter, bullets, category_of, first_sentence,
    sections, stem, tag_of,
};

pub(super) const IMPORTER: MemoryImporter = MemoryImporter {
    name: "total-recall",
    title: "Total Recall",
    files: &["memory/registers/*.md", "registers/*.md", "*.md"],
    read,
};

/// Registers of the moment, and their table of contents.
const PASSED: &[&str] = &["_index", "open-loops", "SCHEMA"];

fn read(source: &ImportText<'_>) -> ImportedMemory {
    let mut read = ImportedMemory::default();
    let register = stem(source.name);
    if PASSED.contains(&register) {
        read.passed.push((register.to_owned(), "it is about the moment".to_owned()));
        return read;
    }
    let kind = match register {
        "decisions" => "decision",
        "preferences" => "preference",
        _ => "fact",
    };
    for section in sections(source.text) {
        for point in bullets(&section.lines) {
            if point.contains("[superseded") || point.contains("~~") {
                read.passed.push((first_sentence(&point), "it is superseded".to_owned()));
                continue;
            }
            // Ids of its own are marks at the end.
            let point = point
                .split("<!--")
                .next()
                .unwrap_or_default()
                .split(" ^")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned();
            let origin =
                Digest::hash_parts([point.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")]);
            let category = category_of(register).unwrap_or("domain");
            let detail = format!("{register}, {}: {point}", section.title);
            let draft = LearningDraft::new(origin.to_string(), category, &first_sentence(&point), &detail);
            read.drafts.push(draft.with("kind", kind).with("tags", json!([register, tag_of(section.title)])));
        }
    }
    read
}
