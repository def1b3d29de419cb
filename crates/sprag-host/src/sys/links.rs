//! Resolves symbolic links in paths.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sprag_base::path::absolute;

/// Most links in a row, as in the kernel.
const LINKS: usize = 40;

/// Resolver of links. It caches directories, because the paths of one call share few of them.
#[derive(Default)]
pub(crate) struct LinkResolver {
    dirs: BTreeMap<String, PathBuf>,
}

impl LinkResolver {
    pub(crate) fn path(&mut self, path: &str) -> String {
        // The kernel accepts no longer path.
        let (Some((dir, name)), true) = (path.rsplit_once('/'), path.len() <= LONGEST) else {
            return path.to_owned();
        };
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            return real(Path::new(path)).to_string_lossy().into_owned();
        }
        if self.dirs.len() > DIRS && !self.dirs.contains_key(dir) {
            return path.to_owned();
        }
        let dir = self
            .dirs
            .entry(dir.to_owned())
            .or_insert_with_key(|dir| real(Path::new(if dir.is_empty() { "/" } else { dir })));
        dir.join(name).to_string_lossy().into_owned()
    }
}

pub(crate) fn expanded(path: &str, home: &str) -> String {
    match path.strip_prefix("~/") {
        Some(rest) if !home.is_empty() => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

/// Returns the path that the kernel reaches, if it differs from the text: `..` after a link is the parent of
/// the link's target.
pub(crate) fn walked(dir: &str, named: &str) -> Option<String> {
    if named.len() > LONGEST || !named.split('/').any(|part| part == "..") {
        return None;
    }
    let mut at = real(Path::new(if named.starts_with('/') { "/" } else { dir }));
    for part in named.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(at.pop()),
            part => {
                at.push(part);
                if fs::symlink_metadata(&at).is_ok_and(|found| found.is_symlink()) {
                    at = real(&at);
                }
            }
        }
    }
    let walked = at.to_string_lossy().into_owned();
    (walked != real(Path::new(&absolute(dir, named))).to_string_lossy()).then_some(walked)
}

/// Returns a path with its links resolved, as far as it exists. Follows a link to a missing target too,
/// because a write through it creates the target.
pub(crate) fn real(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match follow(&path) {
            LinkStep::Here(found) => return found,
            LinkStep::Through(next) => path = next,
        }
    }
    path
}

enum LinkStep {
    Here(PathBuf),
    Through(PathBuf),
}

fn follow(path: &Path) -> LinkStep {
    for at in path.ancestors() {
        let rest = path.strip_prefix(at).ok().filter(|rest| !rest.as_os_str().is_empty());
        let whole = |found: PathBuf| rest.map_or(found.clone(), |rest| found.join(rest));
        if let Ok(found) = fs::canonicalize(at) {
            return LinkStep::Here(whole(found));
        }
        if let (Ok(target), Some(parent)) = (fs::read_link(at), at.parent()) {
            let target = absolute(&parent.to_string_lossy(), &target.to_string_lossy());
            return LinkStep::Through(whole(PathBuf::from(target)));
        }
    }
    LinkStep::Here(path.to_path_buf())
}

/// Most bytes of a path.
pub(crate) const LONGEST: usize = 4096;

/// Most directories that are resolved for one call.
pub(crate) const DIRS: usize = 500;
