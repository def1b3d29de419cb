//! Converts the words of a foreign command rule to patterns of Sprag.
//!
//! Other programs compare a pattern with text or with words in order. In patterns of Sprag, options match at
//! any position. So an imported rule that restricts finds at least as much as its original. An allow rule is
//! imported only where it finds nothing more.

use std::collections::BTreeSet;

use crate::rule::Decision;

/// Command patterns with the examples to try them on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Commands {
    pub any: Vec<String>,
    pub tries: Vec<String>,
    pub counter: Vec<String>,
    /// The restriction that the importer added to an allow rule.
    pub narrowed: Option<&'static str>,
}

/// Words that may follow the words of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternTail {
    Nothing,
    Anything,
}

type CommandWords<T> = Result<T, String>;

/// Maximum number of patterns that one foreign rule may become.
const MOST: usize = 64;

const NARROWED: &str = "only as written, because other words after an option could change the command";

/// Converts words in order, each with its alternatives. No character in them is special.
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

/// Converts a command line in which `*` matches any text.
pub(crate) fn of_text(text: &str, rest: PatternTail, decision: Decision) -> CommandWords<Commands> {
    if let Some(sign) = text.chars().find(|c| "|&;<>()$`\"'\\#\n".contains(*c)) {
        return Err(format!("only plain words of one command are supported: `{}`", sign.escape_debug()));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return Err("no command given".to_owned());
    }
    let stars = text.matches('*').count();
    // After a single `*` at the end nothing has to follow.
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

/// Returns all forms of each word, so that the patterns find everything that the text pattern finds. A `*`
/// may span several words.
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
        // A word that starts with `*` may be an option, which no pattern of a plain word matches.
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

/// Returns for each word the one form that finds nothing else.
fn allowing(words: &[&str]) -> CommandWords<Vec<Vec<String>>> {
    keeps_order(words.iter().map(|word| is_option(word)))?;
    let mut sequences = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_alone = word.chars().all(|c| c == '*');
        if word.contains('*') && words.iter().any(|word| is_option(word)) {
            return Err("an option and a `*` in one allow rule would allow more than before".to_owned());
        }
        sequences.push(vec![match (is_alone, at) {
            (true, 0) => return Err("an allow rule must name a program".to_owned()),
            (true, _) => "* **".to_owned(),
            (false, _) => starred(word)?,
        }]);
    }
    Ok(sequences)
}

/// Checks that all options come last: an option before a word could change the meaning of the word.
fn keeps_order(options: impl Iterator<Item = bool>) -> CommandWords<()> {
    let mut seen = false;
    for is_option in options {
        if seen && !is_option {
            return Err("options of an allow rule must come last: Sprag matches options anywhere".to_owned());
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

/// Converts a word that must match literally.
fn literal(word: &str) -> CommandWords<String> {
    if word.contains('*') {
        return Err(format!("`{word}` contains a literal `*`, which a pattern cannot express"));
    }
    starred(word).and_then(|word| {
        if word.is_empty() { Err("an empty word cannot be part of a pattern".to_owned()) } else { Ok(word) }
    })
}

/// Converts a word in which only `*` is special.
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

/// Joins the alternatives of one word in braces if the pattern language allows it; otherwise returns each
/// separately.
fn braced(any: &[String]) -> Vec<String> {
    let options = any.iter().filter(|word| is_option(word)).count();
    let is_plain = any.iter().all(|word| !word.contains(['{', '}', ',']));
    match any {
        [] | [_] => any.to_vec(),
        _ if is_plain && (options == 0 || options == any.len()) => vec![format!("{{{}}}", any.join(","))],
        _ => any.to_vec(),
    }
}

/// Returns every combination of the forms of the words.
fn product(sequences: &[Vec<String>]) -> CommandWords<Vec<String>> {
    let mut all = vec![String::new()];
    for forms in sequences {
        if all.len() * forms.len() > MOST {
            return Err(format!("the rule needs more than {MOST} patterns"));
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

/// Quotes words as a command line.
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
