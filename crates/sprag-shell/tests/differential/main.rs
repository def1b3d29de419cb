//! Compares Sprag's parser with brush-parser: both trees must have the same simple commands, words and
//! redirections. Differences are allowed only in forms that brush reads wrongly; each is listed with its
//! reason.

mod brush;
mod generator;
mod own;
#[path = "../../src/parse/mod.rs"]
mod parse;

use std::path::{Path, PathBuf};

use generator::Random;

const GENERATED: u64 = 80_000;
const BROKEN: u64 = 20_000;

struct BrushError {
    reason: &'static str,
    applies: fn(&str) -> bool,
}

/// Forms that brush reads wrongly or not at all.
const BRUSH_ERRORS: &[BrushError] = &[
    BrushError { reason: "brush does not know `select`", applies: |text| text.contains("select ") },
    BrushError {
        reason: "brush counts parentheses in `$( )`, so a pattern of `case` ends it",
        applies: |text| text.contains("$(case"),
    },
    BrushError {
        reason: "brush tears expansions behind `<<` on the same line",
        applies: has_expansion_behind_heredoc,
    },
    BrushError {
        reason: "brush ends a word in front of `<(` and `>(`, bash does not",
        applies: has_process_within_word,
    },
    BrushError {
        reason: "brush takes `;` in `(( ))` for the end of a command or an arm",
        applies: has_semicolon_in_arithmetic,
    },
    BrushError {
        reason: "brush reads `esac)` behind `<(case` as a pattern",
        applies: |text| text.contains("<(case"),
    },
    BrushError {
        reason: "`x=1 ! command` is a word to bash and a fault to others",
        applies: |text| text.contains("=1 ! "),
    },
    BrushError {
        reason: "brush takes no `|&` behind `[[ ]]`",
        applies: |text| text.contains("[[ ") && text.contains("|&"),
    },
    BrushError {
        reason: "brush takes no `{name}>` behind a compound command",
        applies: has_named_descriptor_behind_compound,
    },
    BrushError {
        reason: "brush takes `{name}` in front of everything for a program",
        applies: has_leading_named_descriptor,
    },
    BrushError {
        reason: "brush takes `!(` for a pattern, which it is only with `extglob`",
        applies: |text| text.contains("!("),
    },
    BrushError {
        reason: "brush lets the body of `coproc` start on the next line",
        applies: |text| text.contains("coproc "),
    },
    BrushError {
        reason: "brush takes `time` behind `!` for a word",
        applies: |text| text.contains("! time"),
    },
    BrushError {
        reason: "brush drops blanks in `${ }` without a name or with an operator",
        applies: has_odd_parameter,
    },
    BrushError {
        reason: "brush ends a subscript at an operator",
        applies: |text| text.replace("J[1]", "").contains("J["),
    },
];

fn has_expansion_behind_heredoc(text: &str) -> bool {
    let joined = text.replace("\\\n", "");
    joined.lines().any(|line| {
        let behind = line.replace("<<<", "").split_once("<<").map(|(_, rest)| rest.to_owned());
        behind.is_some_and(|rest| rest.contains(['$', '`']))
    })
}

fn has_process_within_word(text: &str) -> bool {
    let joined = text.replace("\\\n", "");
    let starts = ["<(", ">("].iter().flat_map(|start| joined.match_indices(start));
    let mut starts = starts.map(|(at, _)| at).peekable();
    let ends = joined.match_indices(')').map(|(at, _)| joined.as_bytes().get(at + 1));
    let goes_on = starts.peek().is_some()
        && ends.flatten().any(|next| next.is_ascii_alphanumeric() || b"[]{}$\"'`!<>".contains(next));
    goes_on || starts.any(|at| at > 0 && !b" \t\n;&|(<>".contains(&joined.as_bytes()[at - 1]))
}

fn has_semicolon_in_arithmetic(text: &str) -> bool {
    text.match_indices("((").any(|(at, _)| {
        let inner = text[at..].split("))").next().unwrap_or_default();
        inner.contains(";;") || inner.contains(';') && !text[..at].ends_with("for ")
    })
}

fn has_named_descriptor_behind_compound(text: &str) -> bool {
    text.match_indices(" {fd}").any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\\', '\n']);
        ["}", ")", "done", "fi", "esac", "]]"].iter().any(|end| before.ends_with(end))
    })
}

fn has_leading_named_descriptor(text: &str) -> bool {
    text.match_indices("{fd}").any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\t', '\\', '\n']);
        before.is_empty() || before.ends_with([';', '&', '|', '(', '{', '!']) || text[..at].ends_with('\n')
    })
}

fn has_odd_parameter(text: &str) -> bool {
    let usual = ["x:-y}", "x:-y z}", "#x}", "x#y}", "x/'}'/y}"];
    text.match_indices("${").any(|(at, _)| !usual.iter().any(|rest| text[at + 2..].starts_with(rest)))
}

/// Returns the reason why the two readings of a text may differ.
fn reason(text: &str) -> Option<&'static str> {
    BRUSH_ERRORS.iter().find(|error| (error.applies)(text)).map(|error| error.reason)
}

/// Whether both parsers must agree on texts that are not valid shell code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rejection {
    Compared,
    /// Broken texts are compared only if both parsers accept them; the other cases were checked with bash by
    /// hand.
    Ignored,
}

/// Returns the difference between the two readings, if there is one.
fn difference(text: &str, rejection: Rejection) -> Option<String> {
    let (mut ours, mut theirs) = (own::flat(text), brush::flat(text));
    // brush writes `|&` as `2>&1 |`.
    for lines in [&mut ours, &mut theirs].into_iter().flatten().filter(|_| text.contains("|&")) {
        lines.retain(|line| line != "2>& 1");
    }
    let is_ignored = rejection == Rejection::Ignored && (ours.is_none() || theirs.is_none());
    if ours == theirs || is_ignored {
        return None;
    }
    Some(format!("{text:?}\n   own: {ours:?}\n brush: {theirs:?}"))
}

fn check(rejection: Rejection, texts: impl Iterator<Item = String>) {
    let texts: Vec<String> = texts.collect();
    let found = on_a_large_stack(move || {
        let texts = texts.iter().filter(|text| reason(text).is_none());
        texts.filter_map(|text| difference(text, rejection)).collect::<Vec<_>>()
    });
    assert!(
        found.is_empty(),
        "{} texts differ, such as\n{}",
        found.len(),
        found[..found.len().min(5)].join("\n")
    );
}

/// Runs work on a large stack, because brush recurses into nested forms.
fn on_a_large_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(work)
        .expect("a thread starts")
        .join()
        .expect("no parser panics")
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[expect(clippy::disallowed_methods, reason = "the texts to compare lie in files")]
fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

#[test]
fn generated_texts_are_read_alike() {
    check(Rejection::Compared, (0..GENERATED).map(|seed| generator::text(&mut Random::new(seed))));
}

#[test]
fn broken_texts_are_read_alike() {
    check(Rejection::Ignored, (0..BROKEN).map(|seed| generator::broken_text(&mut Random::new(seed))));
}

#[test]
fn fuzz_seeds_are_read_alike() {
    check(Rejection::Compared, files(&workspace().join("fuzz/seeds")).into_iter());
}

#[test]
fn stories_are_read_alike() {
    let stories = files(&workspace().join("crates/sprag/tests/it/stories"));
    let lines = stories.iter().flat_map(|story| story.lines());
    let commands = lines.filter_map(|line| line.split_once("bash ")).map(|(_, command)| command.to_owned());
    check(Rejection::Compared, commands);
}

/// The labelled commands are not part of this repository.
#[test]
fn labelled_commands_are_read_alike() {
    let lines = files(&workspace().join("../shared/data/policy"));
    let lines = lines.iter().flat_map(|file| file.lines()).filter(|line| line.starts_with('{'));
    check(Rejection::Compared, lines.filter_map(command));
}

fn command(line: &str) -> Option<String> {
    let row: serde_json::Value = serde_json::from_str(line).ok()?;
    row["cmd"].as_str().map(str::to_owned)
}
