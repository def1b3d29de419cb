//! Renders learnings as files for people, only where the worktree has a `.sprag` directory. All files come
//! from the log. Sprag replaces a file as a whole, and only if it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use sprag_base::digest::Digest;
use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_memory::destination::is_for_all;
use sprag_memory::learning::{Candidate, Category, Learning, LearningKind, LearningStatus};
use sprag_memory::learnings::{LearningEntry, Learnings};
use sprag_memory::markdown::{self, Edited};
use sprag_memory::records::MemoryRecord;

use crate::memory::evidence;
use crate::store::new_record;
use crate::sys::disk::{self, Disk, read_small};

/// Most lines of the summary of a category.
const SUMMARY_LINES: usize = 250;
/// Most lines of a topic.
const TOPIC_LINES: usize = 500;
/// Learnings with the same tag that make it a topic.
const TOPIC_LEAST: usize = 3;
/// Most topics.
const TOPICS: usize = 100;
const DOCUMENT_BYTES: u64 = 64 * 1024 * 1024;
const OURS: &str = "<!-- written by sprag; changes are lost -->\n";

/// Writes all files from the learnings of a project.
pub fn project(dir: &Path, learnings: &Learnings, disk: &dyn Disk) -> io::Result<()> {
    let shown: Vec<&LearningEntry> = learnings.in_use().filter(|entry| is_for_all(&entry.learning)).collect();
    if shown.is_empty() && !dir.join("learnings.md").exists() {
        return Ok(());
    }
    let path = dir.join("learnings.md");
    let before = read_small(&path, DOCUMENT_BYTES).unwrap_or_default();
    let notes = markdown::notes(&before, |id| learnings.get(id).is_some());
    replace(disk, dir, &path, &markdown::document(shown.iter().copied(), &notes))?;
    let files = knowledge(&shown);
    let knowledge = dir.join("knowledge");
    for (name, text) in &files {
        replace(disk, dir, &knowledge.join(name), text)?;
    }
    // Remove old topics. Foreign files stay.
    for dir in [knowledge.clone(), knowledge.join("topics")] {
        for path in crate::store::files_with_ending(&dir, "md") {
            let name = path.strip_prefix(&knowledge).unwrap_or(&path).to_string_lossy().into_owned();
            let is_ours = || read_small(&path, DOCUMENT_BYTES).is_ok_and(|text| text.starts_with(OURS));
            if !files.contains_key(&name) && is_ours() {
                disk.remove(&path)?;
            }
        }
    }
    Ok(())
}

/// Writes the preferences of the user to a personal file.
pub fn profile(state: &Path, learnings: &Learnings, disk: &dyn Disk) -> io::Result<()> {
    let preferences =
        learnings.in_use().filter(|entry| entry.learning.candidate.kind == LearningKind::Preference);
    let sections: String = preferences.map(|entry| markdown::section(&entry.learning)).collect();
    let path = state.join("profile.md");
    if sections.is_empty() && !path.exists() {
        return Ok(());
    }
    replace(disk, state, &path, &format!("{OURS}# Preferences\n\n{sections}"))
}

/// Returns records of edits made by hand, and messages about unreadable edits.
pub fn edits(
    dir: &Path,
    worktree: &Path,
    learnings: &Learnings,
    now: Timestamp,
) -> (Vec<Record>, Vec<String>) {
    let (mut corrected, mut problems) = (Vec::new(), Vec::new());
    let Ok(text) = read_small(&dir.join("learnings.md"), DOCUMENT_BYTES) else {
        return (corrected, problems);
    };
    for Edited { id, said } in markdown::edited(&text) {
        let Some(entry) = learnings.get(id.as_str()) else { continue };
        match said {
            Ok(said) => corrected.extend(correction(entry, said, worktree).map(|learning| {
                let by =
                    sprag_base::record::RecordAuthor { client: Text::from("hand"), agent: None, role: None };
                new_record::record(&MemoryRecord::Corrected(Box::new(learning)), now, None, Some(by))
            })),
            Err(what) => problems.push(format!("`{id}` in `{}`: {what}", dir.join("learnings.md").display())),
        }
    }
    (corrected, problems)
}

/// Returns the edited learning, or `None` if nothing changed. An edit cannot change the scope.
pub fn correction(entry: &LearningEntry, said: Candidate, worktree: &Path) -> Option<Learning> {
    let old = &entry.learning;
    let mut said = said;
    said.scope = old.candidate.scope;
    if said == old.candidate {
        return None;
    }
    let seen = if said.evidence == old.candidate.evidence {
        old.seen.clone()
    } else {
        evidence::see(worktree, &said)
    };
    Some(Learning { candidate: said, seen, ..old.clone() })
}

/// Returns the files of `knowledge/`, by name.
fn knowledge(shown: &[&LearningEntry]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut index = format!("{OURS}# Knowledge\n\n");
    for category in Category::ALL {
        let own: Vec<&LearningEntry> =
            shown.iter().copied().filter(|entry| entry.learning.candidate.category == *category).collect();
        if own.is_empty() {
            continue;
        }
        index.push_str(&format!("- [{0}]({0}.md): {1}\n", category.name(), own.len()));
        files.insert(format!("{}.md", category.name()), summary(category.name(), &own));
    }
    let mut topics: BTreeMap<String, Vec<&LearningEntry>> = BTreeMap::new();
    for entry in shown {
        let tags: BTreeSet<String> =
            entry.learning.candidate.tags.iter().map(|tag| tag.as_str().to_lowercase()).collect();
        for tag in tags {
            topics.entry(tag).or_default().push(entry);
        }
    }
    let mut topics: Vec<(String, Vec<&LearningEntry>)> =
        topics.into_iter().filter(|(_, entries)| entries.len() >= TOPIC_LEAST).collect();
    // Largest first, then by name.
    topics.sort_by_key(|(tag, entries)| (std::cmp::Reverse(entries.len()), tag.clone()));
    topics.truncate(TOPICS);
    if !topics.is_empty() {
        index.push_str("\n## Topics\n\n");
    }
    for (tag, entries) in topics {
        let name = format!("topics/{}.md", file_name(&tag));
        index.push_str(&format!("- [{}]({name}): {}\n", markdown::inline(&tag), entries.len()));
        files.insert(name, topic(&tag, &entries));
    }
    files.insert("INDEX.md".to_owned(), index);
    files
}

fn summary(title: &str, entries: &[&LearningEntry]) -> String {
    let head = format!("{OURS}# {title}\n\n");
    let line = |entry: &LearningEntry| format!("{}\n", markdown::line(&entry.learning));
    cut(head, entries, SUMMARY_LINES, line)
}

fn topic(tag: &str, entries: &[&LearningEntry]) -> String {
    let head = format!("{OURS}# {}\n\n", markdown::inline(tag));
    cut(head, entries, TOPIC_LINES, |entry| markdown::section(&entry.learning))
}

/// Lists entries up to the limit of lines, newest first, with stale ones in a separate section.
fn cut(
    head: String,
    entries: &[&LearningEntry],
    most: usize,
    part: impl Fn(&LearningEntry) -> String,
) -> String {
    const FOOT: usize = 3;
    let mut text = head;
    let mut left = entries.len();
    let mut room = most - FOOT - text.lines().count();
    for status in [LearningStatus::Active, LearningStatus::Stale] {
        let mut of_status = entries.iter().rev().filter(|entry| entry.status() == status).peekable();
        if status == LearningStatus::Stale && of_status.peek().is_some() && room > 4 {
            text.push_str("\n## Stale\n\n");
            room -= 3;
        }
        for entry in of_status {
            let part = part(entry);
            let lines = part.lines().count();
            if lines > room {
                break;
            }
            room -= lines;
            left -= 1;
            text.push_str(&part);
        }
    }
    if left > 0 {
        text.push_str(&format!("\n{left} more: `sprag memory list`\n"));
    }
    text
}

/// Returns a safe file name for a tag.
fn file_name(tag: &str) -> String {
    let plain: String =
        tag.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let is_whole = plain == tag && !plain.starts_with('-');
    if is_whole {
        plain
    } else {
        format!("{}-{}", plain.trim_matches('-'), Digest::hash_parts([tag]).short())
    }
}

/// Writes a file if its text changed. Refuses a link, which could point anywhere.
fn replace(disk: &dyn Disk, root: &Path, path: &Path, text: &str) -> io::Result<()> {
    disk::make_dirs_within(disk, root, path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
        Ok(_) if disk::read_regular(path, DOCUMENT_BYTES).is_ok_and(|there| there == text.as_bytes()) => {
            return Ok(());
        }
        _ => {}
    }
    disk::replace_derived(disk, path, text.as_bytes())
}
