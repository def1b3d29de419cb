//! Puts back the guarded members of a settings file and keeps all other members. The client, git and the user
//! change those at any time.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use serde_json::{Map, Value};
use toml_edit::DocumentMut;

use super::guarded::GuardedPart;
use crate::git::ELSEWHERE;
use crate::sys::exec::{self, ProcessSpec};

/// Members that start Sprag, prevent its start, or change what it reads.
const MEMBERS: &[&str] = &["hooks", "disableAllHooks", "env"];

/// Tables of Codex that start hooks or switch them off.
const TABLES: &[&str] = &["features", "hooks"];

const GIT_DEADLINE: Duration = Duration::from_secs(2);

/// Returns the present content with the guarded members of the earlier content.
pub(crate) fn restored(guard: GuardedPart, before: &[u8], now: &[u8]) -> Vec<u8> {
    match guard {
        GuardedPart::Members => json(before, now),
        GuardedPart::Tables => toml(before, now),
        GuardedPart::GitKeys => git_keys(before, now),
        GuardedPart::Whole | GuardedPart::GitHook | GuardedPart::Agent | GuardedPart::Intents => {
            before.to_vec()
        }
    }
}

fn json(before: &[u8], now: &[u8]) -> Vec<u8> {
    let (Some(earlier), Some(mut members)) = (object(before), object(now)) else {
        // A client does not start with such a file, so nothing of it can be kept.
        return before.to_vec();
    };
    if MEMBERS.iter().all(|name| earlier.get(*name) == members.get(*name)) {
        return now.to_vec();
    }
    for name in MEMBERS {
        match earlier.get(*name) {
            Some(member) => members.insert((*name).to_owned(), member.clone()),
            None => members.remove(*name),
        };
    }
    if members == earlier {
        // The bytes of the user, with their own layout.
        return before.to_vec();
    }
    serde_json::to_vec_pretty(&Value::Object(members)).unwrap_or_else(|_| before.to_vec())
}

/// Returns the members of an object. An empty file has none.
fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    if bytes.trim_ascii().is_empty() {
        return Some(Map::new());
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

fn toml(before: &[u8], now: &[u8]) -> Vec<u8> {
    let parse = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<DocumentMut>().ok();
    let (Some(earlier), Some(mut document)) = (parse(before), parse(now)) else {
        return before.to_vec();
    };
    let text = |document: &DocumentMut, name: &str| document.get(name).map(ToString::to_string);
    if TABLES.iter().all(|name| text(&earlier, name) == text(&document, name)) {
        return now.to_vec();
    }
    for name in TABLES {
        match earlier.get(name) {
            Some(table) => document.insert(name, table.clone()),
            None => document.remove(name),
        };
    }
    document.to_string().into_bytes()
}

/// One key of git's configuration with its value.
type GitEntry = (String, String);

/// Replaces the guarded keys by means of git, which knows all spellings of its files.
fn git_keys(before: &[u8], now: &[u8]) -> Vec<u8> {
    let replaced = || -> io::Result<Vec<u8>> {
        let dir = scratch_dir()?;
        let (old, new) = (dir.path.join("before"), dir.path.join("now"));
        fs::write(&old, before)?;
        fs::write(&new, now)?;
        let (earlier, present) = (guarded_keys(&old)?, guarded_keys(&new)?);
        if earlier == present {
            return Ok(now.to_vec());
        }
        for (key, _) in &present {
            // The second of two equal keys is gone already.
            git(&["config", "--file", &new.to_string_lossy(), "--unset-all", key])?;
        }
        for (key, value) in &earlier {
            git(&["config", "--file", &new.to_string_lossy(), "--add", key, value])?;
        }
        fs::read(&new)
    };
    // Git does not use a file that it cannot read.
    replaced().unwrap_or_else(|_| before.to_vec())
}

fn guarded_keys(file: &Path) -> io::Result<Vec<GitEntry>> {
    let listed = git(&["config", "--file", &file.to_string_lossy(), "--no-includes", "--null", "--list"])?;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let entries = text.split('\0').filter_map(|entry| {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        (is_guarded_key(key) || skips_hooks(key, value)).then(|| (key.to_owned(), value.to_owned()))
    });
    Ok(entries.collect())
}

/// Reports whether a key of git's configuration redirects hooks or brings in other configuration.
fn is_guarded_key(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    lower == "core.hookspath"
        || lower == "core.worktree"
        || lower == "core.bare"
        || lower == "init.templatedir"
        || lower.starts_with("hook.")
        || lower == "core.excludesfile"
        || lower == "core.attributesfile"
        || lower == "core.repositoryformatversion"
        || lower.starts_with("extensions.")
        || (lower.starts_with("include") && lower.ends_with(".path"))
}

/// Reports whether an alias starts a git command without its hooks.
fn skips_hooks(key: &str, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let skips = value.split_whitespace().any(|word| {
        word.starts_with("--no-v")
            || word.contains("core.hookspath")
            || (word.starts_with("-") && !word.starts_with("--") && word.contains('n'))
    });
    let hooked = ["commit", "push", "merge", "rebase", "am", "pull"];
    key.to_ascii_lowercase().starts_with("alias.")
        && skips
        && value.split_whitespace().any(|word| hooked.contains(&word))
}

fn git(args: &[&str]) -> io::Result<Vec<u8>> {
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    let ran = exec::run(&ProcessSpec {
        unset: ELSEWHERE,
        ..ProcessSpec::new(OsStr::new("git"), &args, GIT_DEADLINE)
    })?;
    // Code 5: the key to remove does not exist.
    match ran.ending {
        exec::ProcessEnd::Code(0 | 5) => Ok(ran.stdout),
        _ => Err(io::Error::other("git cannot read the configuration")),
    }
}

/// A directory that is removed with the value.
struct ScratchDir {
    path: std::path::PathBuf,
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        use sprag_base::result::Discard as _;
        fs::remove_dir_all(&self.path).discard("a remaining scratch directory only costs its bytes");
    }
}

fn scratch_dir() -> io::Result<ScratchDir> {
    use std::os::unix::fs::DirBuilderExt as _;
    let path = std::env::temp_dir().join(format!("sprag-{:016x}", crate::sys::disk::random()?));
    fs::DirBuilder::new().mode(0o700).create(&path)?;
    Ok(ScratchDir { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_guarded_members_come_back() {
        let before = br#"{"hooks": {"Stop": []}, "model": "x"}"#;
        let now = br#"{"disableAllHooks": true, "env": {"A": "1"}, "model": "y"}"#;
        let wanted: Value = serde_json::from_slice(&json(before, now)).unwrap();
        assert_eq!(wanted, serde_json::json!({"hooks": {"Stop": []}, "model": "y"}));
        let fine = br#"{"hooks": {"Stop": []}, "model": "z"}"#;
        assert_eq!(json(before, fine), fine);
        assert_eq!(json(b"", br#"{"env": {}, "a": 1}"#), b"{\n  \"a\": 1\n}");
        assert_eq!(json(before, b"not json"), before);
        let same_but_for_hooks = br#"{"model": "x"}"#;
        assert_eq!(json(before, same_but_for_hooks), before);
    }

    #[test]
    fn tables_that_switch_hooks_off_come_back() {
        let before = b"model = \"x\"\n[features]\nhooks = true\n";
        let now = b"model = \"y\"\n[features]\nhooks = false\n[projects.\"/a\"]\ntrust_level = \"trusted\"\n";
        let wanted = String::from_utf8(toml(before, now)).unwrap();
        assert!(wanted.contains("hooks = true") && wanted.contains("model = \"y\""), "{wanted}");
        assert!(wanted.contains("trust_level"), "{wanted}");
    }

    #[test]
    fn keys_that_redirect_hooks_come_back() {
        let before = b"[core]\n\tbare = false\n";
        let now = b"[core]\n\tbare = false\n\thooksPath = /tmp/x\n[remote \"o\"]\n\turl = u\n[include]\n\tpath = x\n";
        let wanted = String::from_utf8(git_keys(before, now)).unwrap();
        assert!(!wanted.contains("hooksPath") && !wanted.contains("path = x"), "{wanted}");
        assert!(wanted.contains("url = u"), "{wanted}");
        let removed = git_keys(b"[core]\n\thooksPath = .husky\n", b"[core]\n");
        assert!(String::from_utf8(removed).unwrap().to_ascii_lowercase().contains("hookspath = .husky"));
    }
}
