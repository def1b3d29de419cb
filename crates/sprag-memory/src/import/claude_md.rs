//! Imports lessons from the instructions of a project. Only list items below a heading about lessons count:
//! instructions are not learnings.

use serde_json::json;

use sprag_base::digest::Digest;

use super::{
    ImportText, ImportedMemory, LearningDraft, MemoryImporter, bullets, category_of, first_sentence,
    sections, tag_of,
};

pub(super) const IMPORTER: MemoryImporter = MemoryImporter {
    name: "claude-md",
    title: "the project's instructions",
    files: &["CLAUDE.md", "AGENTS.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "GEMINI.md"],
    read,
};

const LESSONS: &[&str] = &[
    "lesson",
    "learned",
    "learning",
    "learnt",
    "gotcha",
    "pitfall",
    "mistake",
    "caveat",
    "remember",
    "convention",
    "known issue",
    "troubleshoot",
    "tips",
    "avoid",
    "watch out",
    "decision",
];

fn read(source: &ImportText<'_>) -> ImportedMemory {
    let mut read = ImportedMemory::default();
    // A heading below a heading about lessons belongs to it.
    let mut open: Option<usize> = None;
    let mut above = "";
    for section in sections(source.text) {
        let title = section.title.to_lowercase();
        let is_lesson = LESSONS.iter().any(|word| title.contains(word));
        match open {
            Some(level) if section.level > level => {}
            _ => open = is_lesson.then_some(section.level),
        }
        if is_lesson {
            above = section.title;
        }
        let points = bullets(&section.lines);
        if open.is_none() {
            if !points.is_empty() {
                let what = format!("{}: {} points", section.title, points.len());
                read.passed.push((what, "the heading is not about lessons".to_owned()));
            }
            continue;
        }
        for point in points {
            let category = category_of(section.title).or_else(|| category_of(above)).unwrap_or("domain");
            let detail = format!("{} in {}: {point}", section.title, source.name);
            let origin =
                Digest::hash_parts([point.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")]);
            let draft = LearningDraft::new(origin.to_string(), category, &first_sentence(&point), &detail);
            read.drafts.push(draft.with("tags", json!([tag_of(section.title)])));
        }
    }
    read
}
