//! Follows the tutorials command by command, as a reader does: an empty home, a scratch folder, `sprag` on PATH.

use std::fs;
use std::path::PathBuf;

use crate::support::{SPRAG, Sandbox};

#[test]
fn the_tutorial_of_the_first_session_works_as_it_says() {
    follow("docs/tutorial/first-session.md");
}

#[test]
fn the_tutorial_of_the_first_plan_works_as_it_says() {
    follow("docs/tutorial/first-plan.md");
}

/// One step of a tutorial.
enum Step {
    /// A file that the reader writes.
    File { name: String, text: String },
    /// A command, and the lines that it prints.
    Run { command: String, lines: Vec<String> },
}

fn follow(document: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let steps = steps(&fs::read_to_string(path).unwrap());
    assert!(steps.len() > 6, "{document}: only {} steps", steps.len());
    let sandbox = Sandbox::without_git();
    let bin = sandbox.home.join("bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(SPRAG, bin.join("sprag")).unwrap();
    let mut folder = sandbox.project.clone();
    for step in steps {
        let (command, lines) = match step {
            Step::File { name, text } => {
                fs::write(folder.join(name), text).unwrap();
                continue;
            }
            Step::Run { command, lines } => (command, lines),
        };
        let mut bash = sandbox.command("bash");
        bash.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())).current_dir(&folder);
        let ran = bash.arg("-c").arg(format!("set -e\n{command}\necho \"in $PWD\"")).output().unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{document}: {command}\n{printed}{errors}");
        let (printed, place) = printed.rsplit_once("in ").unwrap();
        folder = PathBuf::from(place.trim_end());
        check(document, &command, printed, &lines);
    }
}

/// Compares an output with the lines of a tutorial. `...` stands for any lines, or for any part of a line.
fn check(document: &str, command: &str, printed: &str, lines: &[String]) {
    let mut rest = printed.lines().peekable();
    let mut is_open = lines.is_empty();
    for line in lines {
        if line == "..." {
            is_open = true;
            continue;
        }
        let fits = |printed: &str| {
            let mut rest = printed;
            line.split("...").map(str::trim).all(|part| match rest.find(part) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
        };
        let found = if is_open { rest.by_ref().any(fits) } else { rest.next().is_some_and(fits) };
        assert!(found, "{document}: `{command}` does not print `{line}`:\n{printed}");
        is_open = false;
    }
    assert!(is_open || rest.all(str::is_empty), "{document}: `{command}` prints more:\n{printed}");
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let fence: String = line.chars().take_while(|c| *c == '`').collect();
        if fence.len() < 3 {
            continue;
        }
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != fence).collect();
        match line.trim_start_matches('`').split_once(' ') {
            Some(("file", name)) => {
                steps.push(Step::File { name: name.to_owned(), text: block.join("\n") + "\n" });
            }
            None if line.ends_with("console") => {
                for line in block {
                    match (line.strip_prefix("$ "), steps.last_mut()) {
                        (Some(command), _) => {
                            steps.push(Step::Run { command: command.to_owned(), lines: Vec::new() });
                        }
                        (None, Some(Step::Run { lines, .. })) => lines.push(line.to_owned()),
                        (None, _) => panic!("output before a command: {line}"),
                    }
                }
            }
            _ => {}
        }
    }
    steps
}
