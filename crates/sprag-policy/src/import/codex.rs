//! Importer for Codex: `.rules` files, each a list of `prefix_rule(…)` calls. Computed rules are not
//! supported.

use sprag_base::text::{one_line, quoted};

use crate::import::command::{self, PatternTail, shell_line};
use crate::import::starlark::{self, StarlarkCall, StarlarkStatement, Value};
use crate::import::{ImportedText, RuleDraft, RuleFiles, RuleImporter, RuleText, UnreadableText};
use crate::rule::Decision;

pub(super) const IMPORTER: RuleImporter = RuleImporter {
    name: "codex",
    title: "Codex",
    folder: ".codex",
    folder_variable: "CODEX_HOME",
    user_files: RULES,
    project_files: RULES,
    read,
};

const RULES: &[RuleFiles] = &[RuleFiles::Each { dir: "rules", ending: ".rules" }];

fn read(source: &RuleText<'_>) -> Result<Vec<ImportedText>, UnreadableText> {
    let statements = starlark::statements(source.text)?;
    Ok(statements
        .into_iter()
        .filter(|statement| !is_comment(&statement.text))
        .map(|s| one(s, source))
        .collect())
}

/// Reports whether a statement is a bare string, which Starlark uses for long comments.
fn is_comment(text: &str) -> bool {
    text.starts_with("\"\"\"") || text.starts_with("'''")
}

fn one(StarlarkStatement { line, text, call }: StarlarkStatement, source: &RuleText<'_>) -> ImportedText {
    let draft = match call {
        Some(call) if call.name == "prefix_rule" => prefix_rule(call, line, source),
        Some(call) => Err(format!("`{}` is not a supported rule", quoted(&call.name))),
        None => Err("only `prefix_rule` calls with literal arguments are supported".to_owned()),
    };
    match draft {
        Ok(draft) => ImportedText::Rule(RuleDraft { line: Some(line), text, ..draft }),
        Err(why) => ImportedText::Other { line: Some(line), text, why },
    }
}

fn prefix_rule(call: StarlarkCall, line: usize, source: &RuleText<'_>) -> Result<RuleDraft, String> {
    let mut words = None;
    let mut decision = Decision::Allow;
    let mut justification = None;
    let (mut matching, mut not_match) = (Vec::new(), Vec::new());
    for (at, (name, value)) in call.arguments.into_iter().enumerate() {
        match (name.as_deref().unwrap_or(if at == 0 { "pattern" } else { "" }), value) {
            ("pattern", Value::List(items)) => words = Some(pattern(items)?),
            ("decision", Value::Text(text)) => {
                decision = match text.as_str() {
                    "allow" => Decision::Allow,
                    "prompt" => Decision::Ask,
                    "forbidden" => Decision::Deny,
                    _ => return Err(format!("unknown decision `{}`", quoted(&text))),
                }
            }
            ("justification", Value::Text(text)) => justification = Some(text),
            ("match", Value::List(items)) => matching = examples(items)?,
            ("not_match", Value::List(items)) => not_match = examples(items)?,
            ("", _) => return Err("only `pattern` may be a positional argument".to_owned()),
            (name, _) => return Err(format!("unknown or invalid argument `{}`", quoted(name))),
        }
    }
    let words = words.ok_or("no pattern given")?;
    let made = command::of_words(&words, PatternTail::Anything, decision)?;
    let place = format!("`{}:{line}`", quoted(source.name));
    let mut reason = match (justification, decision) {
        (Some(why), _) => format!("{} ({place})", one_line(&why)),
        (None, Decision::Allow) => format!("allowed by {place}"),
        (None, Decision::Ask | Decision::Review) => format!("approval required by {place}"),
        (None, Decision::Deny) => format!("denied by {place}"),
    };
    if let Some(narrowed) = made.narrowed {
        reason = format!("{reason}; {narrowed}");
    }
    let about: Vec<String> = words.iter().map(|any| any.join(" ")).collect();
    Ok(RuleDraft {
        line: None,
        text: String::new(),
        about: about.join(" "),
        decision,
        any: made.any,
        reason,
        matching,
        not_match,
        tries: made.tries,
        counter: made.counter,
    })
}

/// Reads the words of a pattern in order; a list is a choice of words.
fn pattern(items: Vec<Value>) -> Result<Vec<Vec<String>>, String> {
    if items.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    let text = |value: Value| match value {
        Value::Text(text) => Ok(text),
        Value::List(_) => Err("a choice in the pattern contains a list".to_owned()),
    };
    let word = |item: Value| match item {
        Value::Text(word) => Ok(vec![word]),
        Value::List(any) if any.is_empty() => Err("a choice in the pattern is empty".to_owned()),
        Value::List(any) => any.into_iter().map(text).collect(),
    };
    items.into_iter().map(word).collect()
}

/// Reads examples as command lines; a list holds the words of one command.
fn examples(items: Vec<Value>) -> Result<Vec<String>, String> {
    let word = |value: Value| match value {
        Value::Text(word) => Ok(word),
        Value::List(_) => Err("an example must be a text or a list of words".to_owned()),
    };
    let line = |item: Value| match item {
        Value::Text(line) => Ok(line),
        Value::List(words) => {
            Ok(shell_line(&words.into_iter().map(word).collect::<Result<Vec<_>, String>>()?))
        }
    };
    items.into_iter().map(line).collect()
}
