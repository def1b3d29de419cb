//! The words of a command, as another program has them, made a pattern of ours.
//!
//! There, a pattern is compared with text or with words in their order. Here options stand anywhere.
//! So what restricts finds at least as much, and what allows is taken only where it finds no more.

use std::collections::BTreeSet;

use crate::rule::Decision;

/// Patterns of commands with what they are tried on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Commands {
    pub any: Vec<String>,
    pub tries: Vec<String>,
    pub counter: Vec<String>,
    /// What was taken away from an allow rule.
    pub narrowed: Option<&'static str>,
}

/// What may follow the words of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternTail {
    Nothing,
    Anything,
}

type CommandWords<T> = Result<T, String>;

/// Patterns that one rule of another program may become.
const MOST: usize = 64;

const NARROWED: &str = "only as written, because behind an option anything could follow";

/// Words in order, each with its alternatives; nothing in them is a sign.
pub(crate) fn of_words(
    words: &[Vec<String>],
    rest: PatternTail,
    decision: Decision,
) -> CommandWords<Commands> {
    let mut tokens = Vec::new();
    for any in words {
        let literal = any.iter().map(|word| literal(word)).collect::<CommandWords<Vec<String>>>()?;
        tokens.push(literal);
    }
    let plain: Vec<String> = words.iter().filter_map(|any| any.first().cloned()).collect();
    let narrow = is_narrowed(words.iter().flatten().map(String::as_str), rest, decision);
    if decision == Decision::Allow {
        keeps_order(words.iter().map(|any| any.iter().any(|word| is_option(word))))?;
    }
    let end = if rest == PatternTail::Anything && !narrow { " *" } else { "" };
    let sequences = tokens.iter().map(|any| braced(any)).collect::<Vec<_>>();
    let any = product(&sequences)?.into_iter().map(|words| format!("Bash:{words}{end}")).collect();
    let line = shell_line(&plain);
    Ok(commands(any, &line, end, decision, narrow.then_some(NARROWED)))
}

/// A command line in which `*` is any text.
pub(crate) fn of_text(text: &str, rest: PatternTail, decision: Decision) -> CommandWords<Commands> {
    if let Some(sign) = text.chars().find(|c| "|&;<>()$`\"'\\#\n".contains(*c)) {
        return Err(format!("it is more than the plain words of one command: `{}`", sign.escape_debug()));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return Err("it names no command".to_owned());
    }
    let stars = text.matches('*').count();
    // Behind a single `*` at the end nothing has to follow.
    let (words, rest) = match words.split_last() {
        Some((&"*", before)) if stars == 1 && !before.is_empty() => (before, PatternTail::Anything),
        _ => (&words[..], rest),
    };
    let narrow = is_narrowed(words.iter().copied(), rest, decision);
    let sequences = match decision {
        Decision::Allow => allowing(words)?,
        Decision::Ask | Decision::Review | Decision::Deny => restricting(words, rest)?,
    };
    let end = if rest == PatternTail::Anything && !narrow { " *" } else { "" };
    let any = product(&sequences)?.into_iter().map(|words| format!("Bash:{words}{end}")).collect();
    let body = words.join(" ");
    let mut made = commands(any, &body.replace('*', "x"), end, decision, narrow.then_some(NARROWED));
    if body.contains('*') {
        let bare = body.replace('*', "");
        made.tries.push(bare.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    Ok(made)
}

fn commands(
    any: Vec<String>,
    line: &str,
    end: &str,
    decision: Decision,
    narrowed: Option<&'static str>,
) -> Commands {
    let mut tries = vec![line.to_owned()];
    if !end.is_empty() {
        tries.push(format!("{line} x"));
    }
    let counter = match decision {
        Decision::Allow => format!("{line} && other x"),
        _ => format!("echo {}", shell_word(line)),
    };
    Commands { any, tries, counter: vec![counter], narrowed }
}

/// Each word in all its forms, so that whatever the text finds is found: a `*` reaches over words.
fn restricting(words: &[&str], rest: PatternTail) -> CommandWords<Vec<Vec<String>>> {
    let mut sequences = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_last = at + 1 == words.len() && rest == PatternTail::Nothing;
        let parts: Vec<&str> = word.split('*').collect();
        let [first, .., last] = parts.as_slice() else {
            sequences.push(vec![literal(word)?]);
            continue;
        };
        let (first, last, whole) = (starred(first)?, starred(last)?, starred(word)?);
        let is_open = last.is_empty();
        let mut forms = Vec::new();
        match (first.is_empty(), is_open) {
            (true, true) if parts.iter().all(|part| part.is_empty()) => {
                forms.push(if is_last { "*" } else { "**" }.to_owned())
            }
            (_, true) if is_last => {
                forms.push(whole.clone());
                if parts.len() > 2 {
                    forms.push(format!("{first}* ** {}", &whole[first.len()..]));
                }
            }
            (_, true) => forms.push(format!("{whole} **")),
            (_, false) => {
                forms.push(whole.clone());
                forms.push(format!("{first}* ** *{last}"));
            }
        }
        // A word with a `*` in front may be an option, which no plain word is.
        if first.is_empty() && !forms.iter().any(|form| form == "*" || form == "**") {
            let tail = whole.trim_start_matches('*');
            let option = if tail.starts_with('-') { tail.to_owned() } else { format!("-*{tail}") };
            let end = if is_open && !is_last { " **" } else { "" };
            let lead = if at == 0 { "* ** " } else { "** " };
            forms.push(format!("{lead}*{tail}{end}"));
            forms.push(format!("{lead}{option}{end}"));
        }
        sequences.push(forms);
    }
    Ok(sequences)
}

/// Each word in the one form that finds nothing else.
fn allowing(words: &[&str]) -> CommandWords<Vec<Vec<String>>> {
    keeps_order(words.iter().map(|word| is_option(word)))?;
    let mut sequences = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_alone = word.chars().all(|c| c == '*');
        if word.contains('*') && words.iter().any(|word| is_option(word)) {
            return Err("an option and a `*` in one allow rule find more here than there".to_owned());
        }
        sequences.push(vec![match (is_alone, at) {
            (true, 0) => return Err("an allow rule has to name a program".to_owned()),
            (true, _) => "* **".to_owned(),
            (false, _) => starred(word)?,
        }]);
    }
    Ok(sequences)
}

/// Here options stand anywhere: before a word they could change what the word means.
fn keeps_order(options: impl Iterator<Item = bool>) -> CommandWords<()> {
    let mut seen = false;
    for is_option in options {
        if seen && !is_option {
            return Err("options of an allow rule have to come last: here they may stand anywhere".to_owned());
        }
        seen |= is_option;
    }
    Ok(())
}

fn is_narrowed<'a>(mut words: impl Iterator<Item = &'a str>, rest: PatternTail, decision: Decision) -> bool {
    decision == Decision::Allow && rest == PatternTail::Anything && words.any(is_option)
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

/// A word that stands for itself.
fn literal(word: &str) -> CommandWords<String> {
    if word.contains('*') {
        return Err(format!("the `*` in `{word}` is meant as such, and a pattern has no way to say so"));
    }
    starred(word).and_then(|word| {
        if word.is_empty() { Err("an empty word cannot be part of a pattern".to_owned()) } else { Ok(word) }
    })
}

/// A word in which only `*` is a sign.
fn starred(word: &str) -> CommandWords<String> {
    let is_sign = word.len() > 1 && word.starts_with('!')
        || word.starts_with('<') && word.ends_with('>')
        || word.starts_with("?-")
        || word.starts_with("?{");
    let is_foreign =
        |c: char| c == '\\' || c != ' ' && (c.is_whitespace() || c.is_control()) || c >= '\u{F0000}';
    if is_sign || word.contains(is_foreign) {
        return Err(format!("`{}` cannot be a word of a pattern", word.escape_debug()));
    }
    Ok(word.replace('{', "\\{").replace('}', "\\}").replace(' ', "\\ "))
}

/// Alternatives of one word: in braces where the pattern can say it so, else each for itself.
fn braced(any: &[String]) -> Vec<String> {
    let options = any.iter().filter(|word| is_option(word)).count();
    let is_plain = any.iter().all(|word| !word.contains(['{', '}', ',']));
    match any {
        [] | [_] => any.to_vec(),
        _ if is_plain && (options == 0 || options == any.len()) => vec![format!("{{{}}}", any.join(","))],
        _ => any.to_vec(),
    }
}

/// Every way through the forms of the words.
fn product(sequences: &[Vec<String>]) -> CommandWords<Vec<String>> {
    let mut all = vec![String::new()];
    for forms in sequences {
        if all.len() * forms.len() > MOST {
            return Err(format!("it would take more than {MOST} patterns"));
        }
        let joined = |start: &String, form: &String| {
            if start.is_empty() { form.clone() } else { format!("{start} {form}") }
        };
        all = all.iter().flat_map(|start| forms.iter().map(move |form| joined(start, form))).collect();
    }
    let mut seen = BTreeSet::new();
    all.retain(|pattern| seen.insert(pattern.clone()));
    Ok(all)
}

/// Words as a command line.
pub(crate) fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
