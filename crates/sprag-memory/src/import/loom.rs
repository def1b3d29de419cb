//! Imports Loom: knowledge in Markdown files, as headings with text. The file name gives the category.

use serde_json::json;

use super::{
    DRAFTS, ImportText, ImportedMemory, LearningDraft, MemoryImporter, category_of, sections, stem, tag_of,
};
use crate::learning::DETAIL_MOST;

pub(super) const IMPORTER: MemoryImporter = MemoryImporter {
    name: "loom",
    title: "Loom",
    files: &["doc/loom/knowledge/*.md", "doc/loom/knowledge/*/*.md", "knowledge/*.md", "*.md"],
    read,
};

fn read(source: &ImportText<'_>) -> ImportedMemory {
    let mut read = ImportedMemory::default();
    let stem = stem(source.name);
    if matches!(stem, "INDEX" | "README") {
        return read;
    }
    let mut above = "";
    for section in sections(source.text).into_iter().take(DRAFTS) {
        if section.level <= 2 {
            above = if section.level == 2 { section.title } else { "" };
        }
        let text = section.lines.join("\n");
        let text = text.trim();
        if section.level < 2 || text.chars().count() < 20 {
            continue;
        }
        if text.chars().count() > 2 * DETAIL_MOST {
            read.passed.push((section.title.to_owned(), "the section is too long for a learning".to_owned()));
            continue;
        }
        let title = if section.level > 2 && !above.is_empty() {
            format!("{above}: {}", section.title)
        } else {
            section.title.to_owned()
        };
        let title = if title.chars().count() < 10 { format!("{stem}: {title}") } else { title };
        let category = category_of(stem).or_else(|| category_of(&title)).unwrap_or("domain");
        // The same heading may occur in another file.
        let draft = LearningDraft::new(format!("{stem}#{title}"), category, &title, text);
        read.drafts.push(draft.with("tags", json!([tag_of(stem), tag_of(section.title)])));
    }
    read
}
