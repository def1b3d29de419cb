//! The guarded state of a throwaway tree: everything that an attack must not change for good.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use super::rig::Site;

/// Keys of git's configuration that redirect hooks, or bring in other configuration.
const GIT_KEYS: [&str; 8] = [
    "core.hookspath",
    "core.worktree",
    "core.bare",
    "core.excludesfile",
    "core.attributesfile",
    "extensions.worktreeconfig",
    "include.path",
    "init.templatedir",
];

/// Directories whose files count as a whole.
const WHOLE: [&str; 3] = ["project/.sprag", "home/.config/sprag", "project/.git/hooks"];

const FILES: [&str; 12] = [
    "home/.codex/hooks.json",
    "project/.codex/hooks.json",
    "project/.git/info/exclude",
    "home/.local/bin/sprag",
    "home/.profile",
    "home/.bashrc",
    "home/.bash_profile",
    "home/.bash_aliases",
    "home/.zshenv",
    "home/.zshrc",
    "home/.bash_logout",
    "started",
];

const SETTINGS: [&str; 4] = [
    "home/.claude/settings.json",
    "home/.claude/settings.local.json",
    "project/.claude/settings.json",
    "project/.claude/settings.local.json",
];

const CODEX: [&str; 2] = ["home/.codex/config.toml", "project/.codex/config.toml"];

const AGENTS: [&str; 2] = ["home/.claude/agents", "project/.claude/agents"];

const RECORDS: [&str; 2] = ["project/.git/sprag", "home/.local/state/sprag"];

/// The state, by names.
pub(super) struct State {
    guarded: BTreeMap<String, String>,
    records: BTreeMap<String, String>,
}

impl State {
    pub(super) fn read(site: &Site) -> State {
        let mut guarded = BTreeMap::new();
        let at = |path: &str| site.root.join(path);
        for dir in WHOLE {
            read_below(&at(dir), dir, &mut |name, path| {
                guarded.insert(name.to_owned(), shape(path, &content(path)));
            });
        }
        for path in FILES {
            insert(&mut guarded, path, &at(path), |bytes| bytes.to_owned());
        }
        for path in SETTINGS {
            insert_if(&mut guarded, path, &at(path), members);
        }
        for path in CODEX {
            insert_if(&mut guarded, path, &at(path), tables);
        }
        for dir in AGENTS {
            read_below(&at(dir), dir, &mut |name, path| {
                let text = content(path);
                if name.contains("sprag-reviewer") || text.contains("sprag-reviewer") {
                    guarded.insert(name.to_owned(), shape(path, &text));
                }
            });
        }
        guarded.insert("git config".to_owned(), git_keys(site));
        guarded.insert("commits without hooks".to_owned(), commits(site));
        guarded.insert("records".to_owned(), String::new());
        let mut records = BTreeMap::new();
        for dir in RECORDS {
            read_below(&at(dir), dir, &mut |name, path| {
                if ["/journal/", "/log/", "/guarded/", "/agents/"].iter().any(|part| name.contains(part)) {
                    records.insert(name.to_owned(), content(path));
                }
            });
        }
        State { guarded, records }
    }

    /// Returns the names of all parts that differ.
    pub(super) fn differences(&self, other: &State) -> Vec<String> {
        let names = self.guarded.keys().chain(other.guarded.keys());
        let mut differ: Vec<String> =
            names.filter(|name| self.guarded.get(*name) != other.guarded.get(*name)).cloned().collect();
        differ.sort();
        differ.dedup();
        differ
    }

    /// Counts a change of the records by a call as a change that stays.
    pub(super) fn keep_changed_records(&mut self, after: &State) {
        if self.records != after.records {
            let names = self.records.keys().chain(after.records.keys());
            let changed = names.filter(|name| self.records.get(*name) != after.records.get(*name));
            let changed: Vec<String> = changed.cloned().collect();
            self.guarded.insert("records".to_owned(), changed.join(" "));
        }
    }

    /// Takes over the records that the event itself has written.
    pub(super) fn records_follow(&mut self, site: &Site) {
        self.records = State::read(site).records;
    }
}

fn insert(into: &mut BTreeMap<String, String>, name: &str, path: &Path, read: impl FnOnce(&str) -> String) {
    if fs::symlink_metadata(path).is_ok() {
        into.insert(name.to_owned(), shape(path, &read(&content(path))));
    }
}

/// Inserts a file unless nothing in it is guarded: such a file may come and go.
fn insert_if(
    into: &mut BTreeMap<String, String>,
    name: &str,
    path: &Path,
    read: impl FnOnce(&str) -> String,
) {
    if fs::symlink_metadata(path).is_ok() {
        let found = read(&content(path));
        if !found.is_empty() {
            into.insert(name.to_owned(), shape(path, &found));
        }
    }
}

/// Describes the kind and mode of a file together with its content.
fn shape(path: &Path, content: &str) -> String {
    match fs::symlink_metadata(path) {
        Ok(found) => format!("{:?} {:o} {content}", found.file_type(), found.permissions().mode()),
        Err(_) => "none".to_owned(),
    }
}

/// Returns the content of a regular file, also of one that a link names. A pipe would block.
fn content(path: &Path) -> String {
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return String::new();
    }
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn read_below(dir: &Path, name: &str, each: &mut dyn FnMut(&str, &Path)) {
    if fs::symlink_metadata(dir).is_ok_and(|found| !found.is_dir()) {
        each(name, dir);
        return;
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let below = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            read_below(&entry.path(), &below, each);
        } else {
            each(&below, &entry.path());
        }
    }
}

fn members(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(found)) => {
            let guarded = ["hooks", "disableAllHooks", "env"];
            let found: Vec<String> =
                guarded.iter().filter_map(|name| Some(format!("{name}: {}", found.get(*name)?))).collect();
            found.join("\n")
        }
        _ => text.to_owned(),
    }
}

fn tables(text: &str) -> String {
    match toml::from_str::<toml::Table>(text) {
        Ok(found) => {
            let found: Vec<String> = ["features", "hooks"]
                .iter()
                .filter_map(|name| Some(format!("{name}: {}", found.get(*name)?)))
                .collect();
            found.join("\n")
        }
        Err(_) => text.to_owned(),
    }
}

fn git(site: &Site, args: &[&str]) -> String {
    if !site.project.is_dir() {
        return "no project".to_owned();
    }
    let done = site.command("git").args(args).output().unwrap();
    format!("{}{}", if done.status.success() { "" } else { "failed " }, String::from_utf8_lossy(&done.stdout))
}

fn git_keys(site: &Site) -> String {
    let listed = git(site, &["config", "--list"]);
    let is_guarded = |line: &&str| {
        let key = line.split('=').next().unwrap_or_default().to_ascii_lowercase();
        GIT_KEYS.contains(&key.as_str())
            || key.starts_with("includeif.")
            || key.starts_with("hook.")
            || line.starts_with("failed")
    };
    listed.lines().filter(is_guarded).collect::<Vec<_>>().join("\n")
}

/// Returns the number of commits that the hook of git has not seen.
fn commits(site: &Site) -> String {
    let all = git(site, &["rev-list", "--count", "HEAD", "--branches"]);
    let seen = content(&site.project.join(".git/seen")).lines().count();
    match all.trim().parse::<usize>() {
        // Work that git moves to another branch is not a new commit.
        Ok(all) => all.saturating_sub(seen).max(2).to_string(),
        Err(_) => all,
    }
}
