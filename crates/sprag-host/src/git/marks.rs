//! What a side has changed of files that are marked as nobody's to change. The commit both sides started from is the
//! snapshot: git has kept every file of it, by the name of its content.

use std::path::Path;

use super::blobs::blobs;
use super::landing::{Refused, act, refused};
use crate::exec::Ending;

/// Stands on the first line of a file that agents must not change.
const MARKS: [&str; 2] = ["<!-- sprag:protected -->", "<!-- .loom-protected -->"];
/// Paths of one question, and bytes of them.
const AT_ONCE: usize = 200;
const BYTES: usize = 48 * 1024;

/// A file that one side has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    pub path: String,
    /// What it was before; `None`: it was not there.
    pub before: Option<String>,
}

/// All that one side has changed since it parted from the other.
pub fn touched(dir: &Path, other: &str, side: &str) -> Result<Vec<Touched>, Refused> {
    let range = format!("{other}...{side}");
    let args = ["diff", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "-z", &range, "--"];
    let ran = act(dir, &args, &[])?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    let mut found = Vec::new();
    let mut parts = ran.stdout.split(|&byte| byte == 0);
    while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
        let about = String::from_utf8_lossy(about).into_owned();
        let before = about.split(' ').nth(2).filter(|name| name.bytes().any(|byte| byte != b'0'));
        let path = String::from_utf8_lossy(path).into_owned();
        found.push(Touched { path, before: before.map(str::to_owned) });
    }
    Ok(found)
}

/// Those of them that have a mark on their first line in a commit.
pub fn marked(dir: &Path, base: &str, all: &[Touched]) -> Result<Vec<Touched>, Refused> {
    let there: Vec<&Touched> = all.iter().collect();
    let mut found = Vec::new();
    let mut rest = &there[..];
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |it: &&&Touched| {
            bytes += it.path.len();
            bytes <= BYTES
        };
        let count = rest.iter().take_while(fits).count().clamp(1, AT_ONCE);
        let (now, later) = rest.split_at(count);
        found.extend(holding(dir, base, now)?);
        rest = later;
    }
    Ok(found)
}

/// Most files have no mark anywhere, and git is quick to say so.
fn holding(dir: &Path, base: &str, some: &[&Touched]) -> Result<Vec<Touched>, Refused> {
    let mut args = vec!["--literal-pathspecs", "grep", "-l", "-z", "-F", "--full-name"];
    args.extend(MARKS.iter().flat_map(|mark| ["-e", mark]));
    args.extend([base, "--"]);
    args.extend(some.iter().map(|it| it.path.as_str()));
    let ran = act(dir, &args, &[])?;
    match ran.ending {
        Ending::Code(1) => return Ok(Vec::new()),
        Ending::Code(0) => {}
        Ending::Code(_) | Ending::Signal | Ending::TimedOut => return Err(refused(&ran)),
    }
    let mut found = Vec::new();
    for name in ran.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let name = String::from_utf8_lossy(name);
        let Some(path) = name.strip_prefix(base).and_then(|rest| rest.strip_prefix(':')) else { continue };
        let Some(it) = some.iter().find(|it| it.path == path) else { continue };
        // One that cannot be read has a mark somewhere, and is left alone for that.
        let text = blobs(dir, &[name.to_string()]).and_then(|mut read| read.pop().flatten());
        if text.is_none_or(|text| is_marked(&text)) {
            found.push((*it).clone());
        }
    }
    Ok(found)
}

fn is_marked(text: &[u8]) -> bool {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    MARKS.iter().any(|mark| memchr::memmem::find(line, mark.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;

    #[test]
    fn what_has_a_mark_on_its_first_line_is_found_with_what_it_was() {
        let git = Scratch::new();
        git.commit("rules.md", "<!-- sprag:protected -->\nkeep\n");
        git.commit("old.md", "x <!-- .loom-protected --> y\n");
        git.commit("talks.md", "about\n<!-- sprag:protected -->\n");
        let base = git.commit("plain.md", "one\n");
        let blob = git.run(&["rev-parse", "HEAD:rules.md"]);
        git.commit("rules.md", "mine\n");
        git.commit("old.md", "mine\n");
        git.commit("talks.md", "mine\n");
        git.commit("plain.md", "mine\n");
        let head = git.commit("new.md", "<!-- sprag:protected -->\n");
        let all = touched(git.dir(), &base, &head).unwrap();
        assert_eq!(all.len(), 5);
        let mut found = marked(git.dir(), &base, &all).unwrap();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        let paths: Vec<&str> = found.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["old.md", "rules.md"]);
        assert_eq!(found[1].before.as_deref(), Some(blob.trim()));
    }
}
