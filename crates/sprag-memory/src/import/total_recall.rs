//! Imports Total Recall: registers, each a list of statements about one subject. Daily notes stay out,
//! because no user has promoted them.

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

/// Registers about the current work, and the index of all registers.
const PASSED: &[&str] = &["_index", "open-loops", "SCHEMA"];

fn read(source: &ImportText<'_>) -> ImportedMemory {
    let mut read = ImportedMemory::default();
    let register = stem(source.name);
    if PASSED.contains(&register) {
        read.passed.push((register.to_owned(), "the register holds only current work".to_owned()));
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
                read.passed.push((first_sentence(&point), "superseded".to_owned()));
                continue;
            }
            // Total Recall puts ids at the end of an item.
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
