//! Total Recall: memory in Markdown files of the project. Sprag writes to the file of the day, between marks
//! with the id. It also reads the registers, into which Total Recall promotes entries.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sprag_base::text::{one_line, plain};
use sprag_base::time::Timestamp;
use sprag_memory::learning::Learning;

use super::{Backend, BackendHit, Mirror, MirrorContext};
use crate::store::files_with_ending;
use crate::sys::disk::{self, Disk, RealDisk, read_small};

pub const BACKEND: Backend =
    Backend { name: "total-recall", about: "the files of the day in `memory/daily`", probe, open };

/// Most bytes of one file that are read.
const FILE: u64 = 1024 * 1024;
/// Newest daily files that are searched.
const DAYS: usize = 14;
const REGISTERS: usize = 50;

fn probe(site: &MirrorContext<'_>) -> bool {
    let Some(worktree) = &site.worktree else {
        return false;
    };
    let has_rules = ["rules/total-recall.md", ".claude/rules/total-recall.md"]
        .iter()
        .any(|path| worktree.join(path).is_file());
    has_rules && worktree.join("memory").is_dir()
}

fn open(site: &MirrorContext<'_>) -> io::Result<Box<dyn Mirror>> {
    let worktree = site.worktree.clone().ok_or(io::ErrorKind::NotFound)?;
    Ok(Box::new(TotalRecall { worktree }))
}

struct TotalRecall {
    worktree: PathBuf,
}

const START: &str = "<!-- sprag:learning ";
const END: &str = "<!-- sprag:end -->";
const ARCHIVED: &str = "<!-- sprag:archived ";
const RESTORED: &str = "<!-- sprag:restored ";
const CLOSE: &str = " -->";

impl TotalRecall {
    /// Returns a folder of the memory. Refuses a folder outside the project: a repository must not redirect
    /// reads or writes.
    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.worktree.join("memory").join(name);
        RealDisk.make_dirs(&folder)?;
        let real = fs::canonicalize(&folder)?;
        if real.starts_with(fs::canonicalize(&self.worktree)?) {
            Ok(real)
        } else {
            Err(io::Error::other(format!("`{}` is outside the project", folder.display())))
        }
    }

    fn append(&self, day: &str, text: &str) -> io::Result<()> {
        let path = self.folder("daily")?.join(format!("{day}.md"));
        let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        let file = File::options().read(true).append(true).create(true).custom_flags(flags).open(&path)?;
        file.lock()?;
        let is_new = file.metadata()?.len() == 0;
        let head = if is_new { format!("# {day}\n") } else { String::new() };
        RealDisk.append(&file, format!("{head}\n{text}").as_bytes())?;
        RealDisk.sync(&file)
    }

    /// Returns the newest daily files with their texts, oldest first.
    fn days(&self) -> io::Result<Vec<(String, String)>> {
        let mut files = files_with_ending(&self.folder("daily")?, "md");
        files.reverse();
        let read = |path: &PathBuf| {
            let day = path.file_stem()?.to_string_lossy().into_owned();
            Some((day, text_of(path)?))
        };
        let mut days: Vec<(String, String)> = files.iter().take(DAYS).filter_map(read).collect();
        days.reverse();
        Ok(days)
    }

    fn day_of(&self, id: &str) -> io::Result<Option<(String, String)>> {
        let mark = format!("{START}{id}{CLOSE}");
        // Search all days, because a change may concern an old learning.
        let files = files_with_ending(&self.folder("daily")?, "md");
        Ok(files.iter().rev().find_map(|path| {
            let text = text_of(path).filter(|text| text.contains(&mark))?;
            Some((path.file_stem()?.to_string_lossy().into_owned(), text))
        }))
    }

    /// Marks a learning, unless it already has this state.
    fn mark(&self, id: &str, mark: &str) -> io::Result<()> {
        let Some((day, text)) = self.day_of(id)? else {
            return Ok(());
        };
        if is_archived(&text, id) == (mark == ARCHIVED) {
            return Ok(());
        }
        self.append(&day, &format!("{mark}{id}{CLOSE}\n"))
    }
}

impl Mirror for TotalRecall {
    fn ping(&mut self) -> io::Result<()> {
        self.folder("daily").map(drop)
    }

    fn write(&mut self, learning: &Learning) -> io::Result<()> {
        let block = block(learning);
        match self.day_of(learning.id.as_str())? {
            Some((day, text)) if text.contains(&block) => {
                if is_archived(&text, learning.id.as_str()) {
                    self.append(&day, &format!("{RESTORED}{}{CLOSE}\n", learning.id))
                } else {
                    Ok(())
                }
            }
            // The last block of an id counts, so a correction is appended.
            Some((day, _)) => self.append(&day, &block),
            None => self.append(&day(learning.at), &block),
        }
    }

    fn archive(&mut self, id: &str) -> io::Result<()> {
        self.mark(id, ARCHIVED)
    }

    fn restore(&mut self, id: &str) -> io::Result<()> {
        self.mark(id, RESTORED)
    }

    fn search(&mut self, query: &str, limit: usize) -> io::Result<Vec<BackendHit>> {
        let mut hits: Vec<BackendHit> = Vec::new();
        for (_, text) in self.days()? {
            for hit in blocks(&text) {
                hits.retain(|other| other.id != hit.id);
                if !is_archived(&text, &hit.id) {
                    hits.push(hit);
                }
            }
        }
        hits.extend(registers(&self.folder("registers")?));
        let words = super::in_words(query);
        hits.retain(|hit| super::is_about(hit, &words));
        hits.truncate(limit);
        Ok(hits)
    }
}

/// Returns the bullets of the registers as hits with a generated id.
pub fn registers(folder: &Path) -> Vec<BackendHit> {
    let mut hits = Vec::new();
    for path in files_with_ending(folder, "md").iter().take(REGISTERS) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(text) = text_of(path).filter(|_| name != "_index") else {
            continue;
        };
        for line in text.lines() {
            let Some(said) = line.trim().strip_prefix("- ").map(str::trim) else {
                continue;
            };
            if said.len() < 10 || said.contains("[superseded") {
                continue;
            }
            hits.push(BackendHit {
                id: format!("{name}:{}", sprag_base::digest::Digest::hash_parts([said]).short()),
                summary: one_line(said).chars().take(200).collect(),
                detail: String::new(),
                tags: vec![name.clone()],
            });
        }
    }
    hits
}

fn text_of(path: &Path) -> Option<String> {
    disk::open_regular(path).ok()?;
    read_small(path, FILE).ok()
}

fn day(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

/// Formats a learning for the daily file. Escapes text that could be a mark.
fn block(learning: &Learning) -> String {
    let harmless = |text: &str| text.replace("<!--", "<! --").replace("-->", "-- >");
    let candidate = &learning.candidate;
    let tags: Vec<String> = candidate.tags.iter().map(|tag| harmless(&one_line(tag.as_str()))).collect();
    let mut text = format!("{START}{}{CLOSE}\n", learning.id);
    text.push_str(&format!("- [{}] {}\n", candidate.category.name(), harmless(candidate.summary.as_str())));
    for line in harmless(&plain(candidate.detail.as_str())).lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str(&format!("  tags: {}\n{END}\n", tags.join(", ")));
    text
}

fn blocks(text: &str) -> Vec<BackendHit> {
    let mut hits = Vec::new();
    for part in text.split(START).skip(1) {
        let Some((id, rest)) = part.split_once(CLOSE) else {
            continue;
        };
        let Some((body, _)) = rest.split_once(END) else {
            continue;
        };
        let mut lines = body.trim().lines();
        let first = lines.next().unwrap_or_default().trim_start_matches("- ");
        let summary = first.split_once("] ").map_or(first, |(_, summary)| summary);
        let (tags, detail): (Vec<&str>, Vec<&str>) =
            lines.map(str::trim).partition(|line| line.starts_with("tags: "));
        let tags = tags.last().and_then(|line| line.strip_prefix("tags: ")).unwrap_or_default();
        hits.push(BackendHit {
            id: id.to_owned(),
            summary: summary.to_owned(),
            detail: detail.join("\n"),
            tags: tags.split(", ").map(str::to_owned).collect(),
        });
    }
    hits
}

/// Reports whether the last mark of a learning archives it.
fn is_archived(text: &str, id: &str) -> bool {
    let last = |mark: &str| text.rfind(&format!("{mark}{id}{CLOSE}"));
    last(ARCHIVED).is_some_and(|at| {
        last(RESTORED).is_none_or(|restored| restored < at) && last(START).is_none_or(|start| start < at)
    })
}
