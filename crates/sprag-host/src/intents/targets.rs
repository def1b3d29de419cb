//! Finds the paths that a call would change: follows links, expands patterns and reads patches.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use sprag_base::glob::{CaseFolding, Glob};
use sprag_base::path::absolute;
use sprag_base::text::Text;
use sprag_govern::event::{Event, Input};
use sprag_govern::gates::scope::{TargetKind, WriteTarget, wanted};
use sprag_intent::{ScopedPath, WILD, WriteReach};

use crate::sys::disk::read_small;
use crate::sys::links::LinkResolver;
use crate::world::World;

/// Maximum bytes of a patch.
const PATCH: u64 = 1024 * 1024;

/// Returns the paths that the call of this event would change, and the files whose effect is unknown.
pub(crate) fn targets(world: &World<'_>, input: &Input) -> (Vec<ScopedPath>, Vec<Text<120>>) {
    let Event::ToolRequested { call } = &input.event else { return Default::default() };
    let wanted = wanted(call, input, &world.config.settings.govern.gates.scope).unwrap_or_default();
    let (wanted, unknown) = with_patches(wanted, input);
    let mut followed = LinkResolver::default();
    let mut targets: Vec<ScopedPath> = Vec::new();
    for wanted in wanted {
        let WriteTarget::At { named, dir, by, kind } = wanted else { continue };
        let plain = absolute(&dir, &crate::sys::links::expanded(&named, &input.home));
        if let Some(walked) =
            crate::sys::links::walked(&dir, &crate::sys::links::expanded(&named, &input.home))
        {
            let reach = if Path::new(&walked).is_dir() { WriteReach::Tree } else { WriteReach::Path };
            let paths = [walked.clone(), walked];
            targets.push(ScopedPath { named: named.clone(), paths, reach, by: by.clone() });
        }
        let found = fs::metadata(&plain).ok();
        let is_dir = found.as_ref().is_some_and(fs::Metadata::is_dir);
        let reach = match (&kind, &found) {
            (_, Some(found)) if is_special(found) => WriteReach::Special,
            (TargetKind::IfThere, _) if fs::symlink_metadata(&plain).is_err() => continue,
            (TargetKind::Wild, _) => match expand(&plain) {
                Some(found) => {
                    for plain in found {
                        let reach =
                            if Path::new(&plain).is_dir() { WriteReach::Tree } else { WriteReach::Path };
                        let real = followed.path(&plain);
                        let target =
                            ScopedPath { named: named.clone(), paths: [plain, real], reach, by: by.clone() };
                        targets.push(target);
                    }
                    continue;
                }
                None => WriteReach::Wild,
            },
            (TargetKind::Directory, None) => WriteReach::Directory,
            // An existing directory stays unchanged.
            (TargetKind::Directory, Some(_)) => continue,
            (TargetKind::Into(children), _) if is_dir && !children.is_empty() => {
                for child in children {
                    let plain = absolute(&plain, child);
                    let reach = if Path::new(&plain).is_dir() { WriteReach::Tree } else { WriteReach::Path };
                    let real = followed.path(&plain);
                    targets.push(ScopedPath {
                        named: format!("{named}/{child}"),
                        paths: [plain, real],
                        reach,
                        by: by.clone(),
                    });
                }
                continue;
            }
            _ if is_dir => WriteReach::Tree,
            // An archive creates its own directory.
            (TargetKind::Tree, None) if UNPACKING.contains(&by.as_str()) => WriteReach::Tree,
            _ => WriteReach::Path,
        };
        // Deleting or replacing a link changes the link itself; writing through it changes its target.
        let real = followed.path(&plain);
        if !targets.iter().any(|known| known.paths[0] == plain && known.reach == reach) {
            targets.push(ScopedPath { named, paths: [plain, real], reach, by });
        }
    }
    (targets, unknown)
}

/// Replaces patches by the paths that they change.
fn with_patches(all: Vec<WriteTarget>, input: &Input) -> (Vec<WriteTarget>, Vec<Text<120>>) {
    let (mut wanted, mut unknown) = (Vec::new(), Vec::new());
    for one in all {
        let WriteTarget::Patch { file, dir, patch } = one else {
            wanted.push(one);
            continue;
        };
        let path = absolute(&dir, &crate::sys::links::expanded(&file, &input.home));
        let told =
            read_small(Path::new(&path), PATCH).map(|text| patch.wanted(&text, input)).unwrap_or_default();
        if told.is_empty() || told.iter().any(|wanted| matches!(wanted, WriteTarget::Unknown { .. })) {
            unknown.push(Text::new(file));
        } else {
            wanted.extend(told);
        }
    }
    (wanted, unknown)
}

/// Returns the paths that a shell pattern matches now. `None` if there are too many.
fn expand(pattern: &str) -> Option<Vec<String>> {
    let mut found = vec![String::new()];
    let mut entries = 0;
    for name in pattern.split('/').filter(|name| !name.is_empty()) {
        if !name.contains(WILD) {
            for dir in found.iter_mut() {
                dir.extend(["/", name]);
            }
            continue;
        }
        // A character set matches one character, like `?`.
        let glob = Glob::parse(&without_sets(name).replace("**", "*")).ok()?;
        let mut below = Vec::new();
        for dir in &found {
            let Ok(listed) = fs::read_dir(if dir.is_empty() { "/" } else { dir }) else { continue };
            for entry in listed.flatten() {
                entries += 1;
                if entries > LISTED {
                    return None;
                }
                let entry = entry.file_name().to_string_lossy().into_owned();
                let is_hidden = entry.starts_with('.') && !name.starts_with('.');
                if !is_hidden && glob.fits(&entry, CaseFolding::Folded) {
                    below.push(format!("{dir}/{entry}"));
                }
            }
        }
        found = below;
    }
    found.retain(|path| fs::symlink_metadata(path).is_ok());
    // The shell passes a pattern without matches unchanged.
    if found.is_empty() {
        found.push(pattern.to_owned());
    }
    (found.len() <= EXPANDED).then_some(found)
}

fn without_sets(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        out.push('?');
        rest = after.split_once(']').map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// Maximum number of directory entries read for a pattern, and of paths it may match.
const LISTED: usize = 5000;
const EXPANDED: usize = 500;

const UNPACKING: &[&str] = &["tar", "bsdtar", "gtar", "unzip", "7z", "7za", "7zr", "7zz", "rsync", "cpio"];

fn is_special(found: &fs::Metadata) -> bool {
    let kind = found.file_type();
    kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device()
}
