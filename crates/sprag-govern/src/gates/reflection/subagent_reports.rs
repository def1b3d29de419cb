//! Limits the commands of sub-agents: they may leave notes, but only the session's own agent may reflect.

use sprag_shell::{Script, Word};

use crate::reason::Reason;

pub(crate) fn observes(script: &Script) -> bool {
    verbs(script).any(|words| words.first().is_some_and(|verb| verb == "observe"))
}

/// Returns the refusal of a command that changes the memory.
pub(crate) fn refusal(script: &Script) -> Option<Reason> {
    verbs(script).any(|words| changes_memory(&words)).then(|| {
        Reason::new(
            "not_yours",
            "only the session's own agent may reflect; leave a note for it",
            "sprag observe NOTE",
        )
    })
}

/// Subcommands of `sprag memory` that change no learning.
const READS: &[&str] =
    &["list", "show", "stats", "maintain", "backends", "export", "load", "similar", "eval", "--help"];

fn changes_memory(words: &[String]) -> bool {
    let has = |option: &str| words.iter().any(|word| word == option);
    match words.first().map(String::as_str) {
        Some("reflect") => !has("--schema") && !has("--help"),
        // A broker that a sub-agent starts would act for the session.
        Some("mcp" | "answer" | "skip") => !has("--help"),
        Some("memory") => words.get(1).is_some_and(|verb| !has("--help") && !READS.contains(&verb.as_str())),
        _ => false,
    }
}

/// Returns the words after `sprag` of each command.
fn verbs(script: &Script) -> impl Iterator<Item = Vec<String>> {
    let ours = script.commands.iter().filter(|command| command.program() == Some("sprag"));
    ours.map(|command| {
        let words = command.argv.iter().skip(1);
        words
            .filter_map(|word| if let Word::Known(word) = word { Some(word.clone()) } else { None })
            .collect()
    })
}
