//! What agents that work for the session's own may say through the program: they note what they find, and
//! what is made of it is for the one who sees all of it.

use sprag_shell::{Script, Word};

use crate::reason::Reason;

pub(crate) fn observes(script: &Script) -> bool {
    verbs(script).any(|words| words.first().is_some_and(|verb| verb == "observe"))
}

/// Why this is not for such an agent.
pub(crate) fn refusal(script: &Script) -> Option<Reason> {
    verbs(script).any(|words| changes_memory(&words)).then(|| {
        Reason::new(
            "not_yours",
            "only the session's own agent says what is learned; note what you found, and it will see it",
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
        // Whoever starts the broker by hand speaks for the session.
        Some("mcp" | "answer" | "skip") => !has("--help"),
        Some("memory") => words.get(1).is_some_and(|verb| !has("--help") && !READS.contains(&verb.as_str())),
        _ => false,
    }
}

/// The words behind each call of ours.
fn verbs(script: &Script) -> impl Iterator<Item = Vec<String>> {
    let ours = script.commands.iter().filter(|command| command.program() == Some("sprag"));
    ours.map(|command| {
        let words = command.argv.iter().skip(1);
        words
            .filter_map(|word| if let Word::Known(word) = word { Some(word.clone()) } else { None })
            .collect()
    })
}
