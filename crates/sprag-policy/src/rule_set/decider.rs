//! The subject of a verdict's sentence: the command or the path that decided.

use sprag_base::redact;
use sprag_shell::{Carrier, Word};

use crate::pattern::command::CommandLine;
use crate::pattern::subject::{MatchLevel, Subject};
use crate::pattern::{CommandPattern, OperandTrait, Pattern};
use crate::rule::LoadedRule;

/// The most characters of a command or a path that a message shows.
const SHOWN: usize = 60;

/// Returns the reason as a sentence about the command or path that decided.
pub(super) fn sentence(rule: &LoadedRule, subject: &Subject<'_>) -> String {
    let reason = &rule.reason;
    match decider(rule, subject) {
        // Reasons of built-in rules start with a verb. Users write other sentences as well.
        Some(decider) if starts_with_verb(reason) => format!("`{decider}` {reason}"),
        Some(decider) => format!("`{decider}`: {reason}"),
        None => reason.clone(),
    }
}

/// Reports whether a reason continues a sentence, such as `deletes a home`.
fn starts_with_verb(reason: &str) -> bool {
    let word = reason.split(' ').next().unwrap_or_default();
    word.ends_with('s') && word.chars().all(|letter| letter.is_ascii_lowercase())
}

/// Returns the command or path that matches a rule, as a message shows it.
fn decider(rule: &LoadedRule, subject: &Subject<'_>) -> Option<String> {
    let runs_other_code = |pattern: &&Pattern| matches!(pattern, Pattern::Shell(tokens) if tokens.traits.contains(&OperandTrait::Fed));
    let by_code = rule.with.iter().filter(runs_other_code);
    by_code.chain(&rule.any).find_map(|pattern| one(pattern, rule, subject))
}

fn one(pattern: &Pattern, rule: &LoadedRule, subject: &Subject<'_>) -> Option<String> {
    let among = |lines: &[CommandLine<'_>], tokens: &CommandPattern| {
        let line = lines
            .iter()
            .find(|line| MatchLevel::from(subject.line_fit(line, tokens, &rule.unless)) == MatchLevel::Match);
        line.map(|line| shown(line, subject))
    };
    match pattern {
        Pattern::Shell(tokens) => among(&subject.lines, tokens),
        Pattern::Via(tokens) => among(subject.wrappers(), tokens),
        Pattern::Path(pattern) => {
            let (line, path) = subject.touched_by(pattern, rule.exemptions())?;
            let path = short(&subject.ground.short(&path));
            Some(match line {
                None if subject.script.is_none() => format!("{} {path}", subject.tool()),
                None => path,
                Some(line) => {
                    let text = shown(line, subject);
                    let name = path.rsplit('/').next().unwrap_or(&path);
                    match line.command.program() {
                        // The path of a variable is not a path of the call.
                        Some(_) if path.starts_with("/proc/self/") => text,
                        Some(program) if !text.contains(name) => format!("{program} … {path}"),
                        _ => text,
                    }
                }
            })
        }
        Pattern::Tool(_) => Some(subject.tool().to_owned()),
    }
}

/// Returns a command as written, or its words if the text around it says something else.
pub(super) fn shown(line: &CommandLine<'_>, subject: &Subject<'_>) -> String {
    let argv = &line.command.argv;
    let words = argv.iter().map(written).collect::<Vec<String>>().join(" ");
    let is_known = argv.iter().all(|word| matches!(word, Word::Known(_)));
    let inside = |via: &Carrier| matches!(via, Carrier::Shell(_) | Carrier::Function(_) | Carrier::Alias(_));
    let text = subject.written(line.command).filter(|_| !is_known && !line.command.via.iter().any(inside));
    short(text.unwrap_or(&words))
}

fn written(word: &Word) -> String {
    let text = match word {
        Word::Known(text) => text.clone(),
        Word::Partly(parts) => parts.iter().map(|part| part.as_deref().unwrap_or("…")).collect(),
        Word::Many => "…".to_owned(),
    };
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || "\"$`;&|<>()".contains(c)) {
        format!("'{text}'")
    } else {
        text
    }
}

/// Returns the start of a text on one line, without secrets.
fn short(text: &str) -> String {
    let text = redact::short::<400>(text);
    let line: Vec<&str> = text.as_str().split_whitespace().collect();
    let line = line.join(" ").replace('`', "'");
    if line.chars().count() <= SHOWN {
        return line;
    }
    line.chars().take(SHOWN).collect::<String>().trim_end().to_owned() + "…"
}
