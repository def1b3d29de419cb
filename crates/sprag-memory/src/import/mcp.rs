//! Imports the reference memory server of the Model Context Protocol: a graph as JSON lines, with entities,
//! observations and relations.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    DRAFTS, ImportText, ImportedFate, ImportedMemory, LearningDraft, MemoryImporter, category_of,
    first_sentence,
};
use crate::learning::Category;

pub(super) const IMPORTER: MemoryImporter =
    MemoryImporter { name: "mcp", title: "a memory server", files: &["memory.jsonl", "memory.json"], read };

fn read(source: &ImportText<'_>) -> ImportedMemory {
    let mut read = ImportedMemory::default();
    let mut relations: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut entities: Vec<Value> = Vec::new();
    for line in source.text.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(item) = serde_json::from_str::<Value>(line) else {
            read.passed.push((line.chars().take(60).collect(), "not JSON".to_owned()));
            continue;
        };
        match item["type"].as_str() {
            Some("relation") => {
                let (from, to) = (item["from"].as_str(), item["to"].as_str());
                if let (Some(from), Some(to)) = (from, to) {
                    let how = item["relationType"].as_str().unwrap_or("relates to");
                    relations.entry(from.to_owned()).or_default().push(format!("{how} {to}"));
                }
            }
            Some("entity") if entities.len() < DRAFTS => entities.push(item),
            _ => read.passed.push((line.chars().take(60).collect(), "not an entity".to_owned())),
        }
    }
    for entity in &entities {
        let Some(name) = entity["name"].as_str() else {
            continue;
        };
        read.drafts.push(draft(name, entity, relations.get(name).map(Vec::as_slice).unwrap_or_default()));
    }
    read
}

fn draft(name: &str, entity: &Value, relations: &[String]) -> LearningDraft {
    let sort = entity["entityType"].as_str().unwrap_or_default();
    let observations: Vec<&str> =
        entity["observations"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let field = |field: &str| {
        let mark = format!("{field}: ");
        observations.iter().find_map(|text| text.strip_prefix(&mark)).map(str::to_owned)
    };
    // A learning that Sprag mirrored to that server.
    if let (Some(summary), Some(detail)) = (field("summary"), field("detail")) {
        let tags: Vec<&str> = observations.iter().filter_map(|text| text.strip_prefix("tag: ")).collect();
        let files: Vec<&str> = observations.iter().filter_map(|text| text.strip_prefix("file: ")).collect();
        let category = field("category").filter(|it| Category::read(it).is_some());
        let is_active = field("status").is_none_or(|status| status == "active");
        let draft = LearningDraft::new(name, category.as_deref().unwrap_or("domain"), &summary, &detail)
            .with("tags", json!(tags))
            .with("context_files", json!(files))
            .with("confidence", field("confidence").unwrap_or_else(|| "low".to_owned()));
        return LearningDraft {
            fate: if is_active { ImportedFate::Active } else { ImportedFate::Archived },
            ..draft
        };
    }
    let first = observations.first().copied().unwrap_or_default();
    let summary = first_sentence(&format!("{name}: {first}"));
    let lines = observations.iter().map(|text| format!("- {text}"));
    let detail: Vec<String> = lines.chain(relations.iter().map(|relation| format!("- {relation}"))).collect();
    let category = Category::read(sort).map(Category::name).or_else(|| category_of(sort)).unwrap_or("domain");
    LearningDraft::new(name, category, &summary, &format!("{name} ({sort})\n{}", detail.join("\n")))
        .with("tags", json!([sort]))
}
