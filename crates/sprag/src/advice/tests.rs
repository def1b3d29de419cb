use std::path::{Path, PathBuf};
use std::{fs, io};

use super::*;
use crate::failure::Failure;

/// Value that replaces the placeholders of format strings.
const VALUE: &str = "x1";
/// Words after `sprag` in sentences that name no command.
const PROSE: &[&str] = &["is", "was", "cannot", "warned:", "crashed;"];

#[test]
fn every_command_that_a_text_of_ours_names_is_one() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = Vec::new();
    find(&crates, &mut sources);
    let (mut told, mut bad) = (0, Vec::new());
    for path in sources {
        for text in literals(&fs::read_to_string(&path).unwrap()) {
            for (command, whole) in commands_of(&text) {
                told += 1;
                // An argument with fixed values rejects the placeholder value.
                if let Some(wrong) = wrong(&command, whole).filter(|wrong| !wrong.contains("value 'x1'")) {
                    bad.push(format!("{}: `{command}`: {}", path.display(), wrong.lines().next().unwrap()));
                }
            }
        }
    }
    assert!(told > 200, "only {told} commands were found: the search is wrong");
    assert_eq!(bad, [""; 0], "{bad:#?}");
}

/// Collects the sources of the program, without tests.
fn find(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !matches!(name, "tests" | "target" | "benches") {
            find(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// Returns the string literals of a source, without those of a test module at its end.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = Vec::new();
    for line in joined(source).lines().filter(|line| !line.trim_start().starts_with("//")) {
        let mut parts = line.replace("\\\"", "'").replace("'\"'", "").replace("\\n", "\u{b}");
        parts = parts.replace("{{", "").replace("}}", "");
        let parts: Vec<String> = parts.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        found.extend(parts.iter().flat_map(|part| part.split('\u{b}')).map(str::to_owned));
    }
    found
}

/// Joins string literals that continue on the next line.
fn joined(source: &str) -> String {
    let mut whole = String::new();
    for line in source.lines() {
        match line.strip_suffix('\\') {
            Some(line) => whole.push_str(if whole.ends_with('\n') { line } else { line.trim_start() }),
            None => {
                whole.push_str(if whole.ends_with('\n') { line } else { line.trim_start() });
                whole.push('\n');
            }
        }
    }
    whole
}

/// Returns the commands that a line advises: after `next:`, as the whole line, or between backticks.
fn commands_of(text: &str) -> Vec<(String, AdviceForm)> {
    let mut found = Vec::new();
    let line = text.split("next: ").last().unwrap().trim();
    let line =
        [" > ", " >> ", " < ", " | ", " && "].iter().fold(line, |line, end| line.split(end).next().unwrap());
    if line.starts_with("sprag ") {
        found.push((filled(line), AdviceForm::Yes));
    }
    let quoted = text.split('`').skip(1).step_by(2).filter(|part| part.starts_with("sprag "));
    found.extend(quoted.map(|part| (filled(part), AdviceForm::Named)));
    found.retain(|(command, _)| {
        let word = command.split_whitespace().nth(1).unwrap_or_default();
        !PROSE.contains(&word) && !word.contains(VALUE) && !command.contains("help x1")
    });
    found
}

/// Replaces the placeholders of a text with values.
fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        filled.push_str(VALUE);
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    filled.push_str(rest);
    let either = |word: &str| word.split('|').next().unwrap().to_owned();
    filled.split(' ').map(either).collect::<Vec<_>>().join(" ")
}

#[test]
fn lines_are_parted_as_a_shell_does() {
    assert_eq!(words("sprag a  'b c' \"d\\\" e\" f\\ g ''"), ["sprag", "a", "b c", "d\" e", "f g", ""]);
    let odd = "a 'b' `c` $(d) \"e\" \\";
    assert_eq!(words(&sprag_base::text::shell_word(odd)), [odd]);
}

#[test]
fn whatever_things_are_called_what_is_advised_is_understood() {
    let names = ["a", "a b", "it's", "$(x)", "-x", "--", "`y`", "\u{1b}[2J", "a\nb", "漢 \"字\""];
    for name in names {
        let path = Path::new(name);
        let failures = [
            Failure::told_no("no".to_owned(), String::new(), Some(name)),
            Failure::no_stage_of_run(name, Some("a")),
            Failure::no_run(Some(name)),
            Failure::no_run_of_stage(name),
            Failure::no_agent_yet(name),
            Failure::not_trusted(path),
            Failure::not_amended("no".to_owned(), String::new(), path),
            Failure::not_amended_untrusted(path),
            Failure::no_plan(path, &io::ErrorKind::NotFound.into()),
            Failure::plan_exists(path),
            Failure::no_stage(name, path, Some("a")),
            Failure::no_handoff(name),
            Failure::stage_not_run(name, &[]),
            Failure::stage_not_run(name, &[name.to_owned()]),
            Failure::no_handoff_numbered("a", 7, Some(1)),
            Failure::which_run(&["a".to_owned(), "b".to_owned()]),
            Failure::which_plan_to_land(&["a".to_owned(), "b".to_owned()]),
        ];
        for failure in failures {
            assert!(!failure.next.is_empty(), "{failure:?}");
            assert!(failure.next.iter().all(|next| !next.chars().any(char::is_control)), "{failure:?}");
        }
    }
}
