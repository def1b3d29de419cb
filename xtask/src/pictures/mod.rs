//! `cargo xtask pictures`: the pictures of the README, from real runs of the program. No picture is drawn by hand.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;

use crate::failure::{Told, Usage};
use crate::{program, workspace};
use scenes::SCENES;

mod ansi;
mod fixed;
mod folded;
mod graph;
mod scenes;
mod svg;
mod terminal;

const FOLDER: &str = "docs/pictures";

const HELP: &str = "\
usage: cargo xtask pictures [--check] [--sprag PATH]
  writes `docs/pictures/*.svg` from real runs of the program in empty homes; needs `git` and `tmux`
  --check       write nothing, and fail if a picture differs from a new run
  --sprag PATH  run this program; otherwise build the workspace
";

enum Mode {
    Write,
    Check,
}

pub fn run(args: &[String]) -> anyhow::Result<()> {
    let (mut mode, mut given) = (Mode::Write, None);
    let mut args = args.iter();
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--check" => mode = Mode::Check,
            "--sprag" => {
                let path = args.next().ok_or_else(|| Usage(format!("`--sprag` needs a path\n{HELP}")))?;
                given = Some(PathBuf::from(path));
            }
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(());
            }
            _ => return Err(Usage(format!("no flag `{flag}`\n{HELP}")).into()),
        }
    }
    let program = match given {
        Some(path) => program::given_or_built(Some(&path))?,
        // The pictures are the same from every build, and this one is the quickest.
        None => program::build(&mut workspace::cargo("build"))?,
    };
    let mut stale = 0;
    for scene in SCENES {
        let started = Instant::now();
        for picture in scene.pictures(&program)? {
            let path = workspace::root().join(FOLDER).join(picture.name);
            let before = fs::read_to_string(&path).unwrap_or_default();
            let is_same = before == picture.text;
            let result = match (&mode, is_same) {
                (_, true) => "unchanged",
                (Mode::Write, false) => {
                    fs::create_dir_all(workspace::root().join(FOLDER))?;
                    fs::write(&path, &picture.text)
                        .with_context(|| format!("cannot write `{}`", path.display()))?;
                    "written"
                }
                (Mode::Check, false) => {
                    stale += 1;
                    "differs from a new run"
                }
            };
            println!("{FOLDER}/{}: {result}", picture.name);
        }
        println!("pictures of {}: {:.1} s", scene.name, started.elapsed().as_secs_f64());
    }
    if stale > 0 {
        println!("  next: cargo xtask pictures");
        return Err(Told.into());
    }
    Ok(())
}
