//! Tests of the commands that a text runs, and of properties that hold for any text.

mod arithmetic;
mod bounds;
mod carriers;
mod forms;
mod hidden;
mod laws;
mod reach;
mod words;

use super::{Command, DoubtKind, Script, ShellStart, Word};

/// Shows a hole as `?` and unknown words as `?*`.
fn shown(word: &Word) -> String {
    match word {
        Word::Known(text) => text.clone(),
        Word::Partly(parts) => parts.iter().map(|part| part.as_deref().unwrap_or("?")).collect(),
        Word::Many => "?*".to_owned(),
    }
}

/// Shows a command; words with blanks are quoted.
fn line(command: &Command) -> String {
    let words = command.argv.iter().map(|word| {
        let text = shown(word);
        if text.is_empty() || text.contains([' ', '\n']) { format!("'{text}'") } else { text }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn parse(text: &str) -> Script {
    Script::parse(text, &ShellStart::default())
}

fn lines(text: &str) -> Vec<String> {
    parse(text).commands.iter().map(line).collect()
}

fn kinds(text: &str) -> Vec<DoubtKind> {
    let mut kinds: Vec<DoubtKind> = parse(text).doubts.iter().map(|doubt| doubt.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Checks for each text the commands that it runs, separated by ` | `.
fn check(cases: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found = lines(text).join(" | ");
        if found != *expected {
            wrong.push_str(&format!("\n   text: {text}\n  found: {found}\nexpected: {expected}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
