//! Follows links that a command makes itself. A write through a link changes another path, and a second name
//! of a file is the same file.

use sprag_base::glob::CaseFolding;
use sprag_base::path::{absolute, relative};
use sprag_shell::{Command, PathUse, Script, Word, WorkingDir};

use super::targets::{TargetKind, WriteTarget, place_of, unknown};
use crate::event::Input;

const LINKING: &[&str] = &["ln", "gln"];
const COPYING: &[&str] = &["cp", "gcp"];
/// Maximum depth of links that lead to other links of the same command.
const DEPTH: usize = 8;

/// A link: its future path, and its target.
struct MadeLink {
    at: String,
    to: String,
}

/// Adds the paths that are changed through links.
pub(crate) fn follow(script: &Script, input: &Input, wanted: &mut Vec<WriteTarget>) {
    let mut links = Vec::new();
    for (index, command) in script.commands.iter().enumerate() {
        let of_this = |uses: &[PathUse]| -> Vec<PathUse> {
            uses.iter().filter(|used| used.command == Some(index)).cloned().collect()
        };
        match made(command) {
            Some(LinkKind::Names) => {
                let second = of_this(&script.reads).into_iter().map(|used| match &used.path {
                    Word::Known(named) => place_of(named, &used.cwd, "ln", TargetKind::Path, input),
                    Word::Partly(_) | Word::Many => unknown("ln"),
                });
                wanted.extend(second);
            }
            Some(LinkKind::Links) => match pairs(&of_this(&script.reads), &of_this(&script.writes), input) {
                Some(made) => links.extend(made),
                None if script.writes.iter().any(|used| used.command != Some(index)) => {
                    wanted.push(unknown("ln"));
                }
                None => {}
            },
            None => {}
        }
    }
    let through = |wanted: &WriteTarget| match wanted {
        WriteTarget::At { named, dir, by, kind } if !LINKING.contains(&by.as_str()) => {
            let path = absolute(dir, named);
            let inside = |link: &MadeLink| relative(&path, &link.at, CaseFolding::Exact).map(str::to_owned);
            let (link, rest) = links.iter().find_map(|link| Some((link, inside(link)?)))?;
            let named = if rest.is_empty() { link.to.clone() } else { format!("{}/{rest}", link.to) };
            Some(WriteTarget::At { named, dir: dir.clone(), by: by.clone(), kind: kind.clone() })
        }
        _ => None,
    };
    // A link may lead to another link.
    let mut from = 0;
    for _ in 0..DEPTH {
        let more: Vec<WriteTarget> = wanted[from..].iter().filter_map(through).collect();
        from = wanted.len();
        wanted.extend(more);
    }
}

enum LinkKind {
    /// Symbolic links.
    Links,
    /// Hard links: second names of a file.
    Names,
}

fn made(command: &Command) -> Option<LinkKind> {
    let program = command.program()?;
    let words: Vec<String> = command.argv.iter().skip(1).map(|word| word.text('…')).collect();
    let has = |letter: char, long: &str| {
        words.iter().any(|word| match word.strip_prefix("--") {
            Some(name) => name.len() > 1 && long.starts_with(name),
            None => word.starts_with('-') && word.contains(letter),
        })
    };
    match program {
        name if LINKING.contains(&name) => {
            Some(if has('s', "symbolic") { LinkKind::Links } else { LinkKind::Names })
        }
        name if COPYING.contains(&name) && has('l', "link") => Some(LinkKind::Names),
        name if COPYING.contains(&name) && has('s', "symbolic-link") => Some(LinkKind::Links),
        _ => None,
    }
}

/// Returns every link that a command may make. The last word is the name of the link or its directory.
/// Returns `None` if a word is unknown.
fn pairs(sources: &[PathUse], places: &[PathUse], input: &Input) -> Option<Vec<MadeLink>> {
    let mut links = Vec::new();
    for place in places {
        let (Word::Known(named), WorkingDir::At(dir)) = (&place.path, &place.cwd) else { return None };
        let place = absolute(&absolute(&input.cwd, dir), named);
        for source in sources {
            let Word::Known(source) = &source.path else { return None };
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let parent = place.rsplit_once('/').map_or("/", |(parent, _)| parent);
            links.push(MadeLink { at: place.clone(), to: absolute(parent, source) });
            links.push(MadeLink { at: absolute(&place, name), to: absolute(&place, source) });
        }
    }
    Some(links)
}
