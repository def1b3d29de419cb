//! Importer for Claude Code: `permissions` of its `settings.json`, three lists of `Tool` or
//! `Tool(specifier)`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use sprag_base::text::quoted;

use crate::import::command::{self, PatternTail};
use crate::import::path::{self, ImportAccess};
use crate::import::{ImportedText, RuleDraft, RuleFiles, RuleImporter, RuleText, UnreadableText};
use crate::rule::Decision;

pub(super) const IMPORTER: RuleImporter = RuleImporter {
    name: "claude",
    title: "Claude Code",
    folder: ".claude",
    folder_variable: "CLAUDE_CONFIG_DIR",
    user_files: &[RuleFiles::One("settings.json")],
    project_files: &[RuleFiles::One("settings.json"), RuleFiles::One("settings.local.json")],
    read,
};

const LISTS: &[(&str, Decision)] =
    &[("deny", Decision::Deny), ("ask", Decision::Ask), ("allow", Decision::Allow)];

/// Tools that a rule about one of them also covers.
const FAMILIES: &[(&str, &str)] = &[
    ("Edit", "{Edit,MultiEdit,Write,NotebookEdit,apply_patch}"),
    ("Read", "{Read,NotebookRead,Glob,Grep,LS}"),
    ("Task", AGENT),
    ("Agent", AGENT),
];
/// Old and new name of the same tool.
const AGENT: &str = "{Task,Agent}";

fn read(source: &RuleText<'_>) -> Result<Vec<ImportedText>, UnreadableText> {
    let settings: Value =
        serde_json::from_str(source.text.trim_start_matches('\u{feff}')).map_err(|error| UnreadableText {
            line: error.line().max(1),
            what: without_place(&error.to_string()),
        })?;
    let broken = |what: &str| UnreadableText { line: 1, what: what.to_owned() };
    let settings = settings.as_object().ok_or_else(|| broken("the file is not a JSON object"))?;
    let permissions = match settings.get("permissions") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(permissions) => {
            permissions.as_object().ok_or_else(|| broken("`permissions` is not an object"))?
        }
    };
    let lines = LineNumbers::new(source.text);
    let mut found = Vec::new();
    for &(list, decision) in LISTS {
        match permissions.get(list) {
            None | Some(Value::Null) => {}
            Some(Value::Array(rules)) => {
                found.extend(rules.iter().map(|rule| one(rule, decision, source, &lines)))
            }
            Some(other) => {
                let (text, why) = (other.to_string(), format!("`{list}` is not a list"));
                found.push(ImportedText::Other { line: lines.find(list), text, why });
            }
        }
    }
    for (key, value) in permissions {
        if !LISTS.iter().any(|(list, _)| list == key) {
            let line = lines.find(key);
            let why = "a setting of the client, not a rule".to_owned();
            found.push(ImportedText::Other { line, text: format!("{key} = {value}"), why });
        }
    }
    Ok(found)
}

/// Removes the position from an error, because the message already starts with it.
fn without_place(error: &str) -> String {
    error.rsplit_once(" at line ").map_or(error, |(what, _)| what).to_owned()
}

/// The first line of each text in a file. The JSON parser does not report lines.
struct LineNumbers<'a>(BTreeMap<&'a str, usize>);

impl<'a> LineNumbers<'a> {
    fn new(text: &'a str) -> LineNumbers<'a> {
        let mut lines = BTreeMap::new();
        let (mut line, mut start) = (1, None);
        let mut is_escaped = false;
        for (at, byte) in text.bytes().enumerate() {
            match (byte, start) {
                (b'"', None) => start = Some(at),
                (b'"', Some(from)) if !is_escaped => {
                    lines.entry(&text[from..=at]).or_insert(line);
                    start = None;
                }
                (b'\n', _) => line += 1,
                _ => {}
            }
            is_escaped = byte == b'\\' && start.is_some() && !is_escaped;
        }
        LineNumbers(lines)
    }

    fn find(&self, text: &str) -> Option<usize> {
        self.0.get(json!(text).to_string().as_str()).copied()
    }
}

fn one(rule: &Value, decision: Decision, source: &RuleText<'_>, lines: &LineNumbers<'_>) -> ImportedText {
    let Some(text) = rule.as_str() else {
        return ImportedText::Other { line: None, text: rule.to_string(), why: "not a text".to_owned() };
    };
    let line = lines.find(text);
    match draft(text.trim(), decision, source) {
        Ok(draft) => ImportedText::Rule(RuleDraft { line, ..draft }),
        Err(why) => ImportedText::Other { line, text: text.to_owned(), why },
    }
}

fn draft(text: &str, decision: Decision, source: &RuleText<'_>) -> Result<RuleDraft, String> {
    let (tool, specifier) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or("the `)` is missing")?)),
    };
    let done = match decision {
        Decision::Allow => "allowed",
        Decision::Ask => "approval required",
        Decision::Review => "reviewed",
        Decision::Deny => "denied",
    };
    let mut draft = RuleDraft {
        line: None,
        text: text.to_owned(),
        about: text.to_owned(),
        decision,
        any: Vec::new(),
        reason: format!("{done} by `{}` of `{}`", quoted(text), quoted(source.name)),
        matching: Vec::new(),
        not_match: Vec::new(),
        tries: Vec::new(),
        counter: Vec::new(),
    };
    match (tool, specifier.map(str::trim)) {
        ("Bash", None | Some("*" | ":*")) => {
            draft.any = match decision {
                Decision::Allow => vec!["Bash:*".to_owned(), "Via:*".to_owned()],
                Decision::Ask | Decision::Review | Decision::Deny => vec!["Bash".to_owned()],
            };
            draft.tries = vec!["other x".to_owned()];
        }
        ("Bash", Some(line)) => {
            let (line, rest) = match line.strip_suffix(":*") {
                Some(line) => (line, PatternTail::Anything),
                None => (line, PatternTail::Nothing),
            };
            let made = command::of_text(line, rest, decision)?;
            if let Some(narrowed) = made.narrowed {
                draft.reason = format!("{}; {narrowed}", draft.reason);
            }
            (draft.any, draft.tries, draft.counter) = (made.any, made.tries, made.counter);
        }
        (name, None | Some("*")) => {
            draft.any = vec![bare(name, decision)?];
            draft.tries = vec![format!("@{} {{}}", example_name(name))];
        }
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "Read", Some(path)) => {
            let access = if tool == "Read" { ImportAccess::Read } else { ImportAccess::Write };
            let made = path::of_path(path, access, decision, source)?;
            (draft.any, draft.tries, draft.counter) = (made.any, made.tries, made.counter);
        }
        ("WebFetch", Some(what)) => {
            let domain = what.strip_prefix("domain:").ok_or("WebFetch supports only `domain:`")?;
            (draft.any, draft.tries, draft.counter) = fetched(domain.trim(), decision)?;
        }
        ("Task" | "Agent", Some(name)) => {
            if !name.chars().all(|c| c.is_alphanumeric() || "-_.:*".contains(c)) {
                return Err("not a valid agent name".to_owned());
            }
            draft.any = vec![format!("{AGENT}(subagent_type={name})")];
            let call = |name: &str| format!("@Task {}", json!({ "subagent_type": name }));
            draft.tries = vec![call(&name.replace('*', "x"))];
            draft.counter = vec![call("other")];
        }
        (name, Some(_)) => return Err(format!("Sprag has no rule for arguments of `{}`", quoted(name))),
    }
    Ok(draft)
}

/// Returns the pattern for a tool without arguments. A name of an MCP tool may have a `*`; the name of a
/// server alone means all its tools.
fn bare(name: &str, decision: Decision) -> Result<String, String> {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    if let Some((_, family)) = FAMILIES.iter().find(|(tool, _)| *tool == name) {
        return Ok((*family).to_owned());
    }
    match name.strip_prefix("mcp__") {
        Some(server) if is_name(server) && !server.contains("__") => Ok(format!("{name}__*")),
        Some(tool) if is_name(&tool.replace('*', "x")) => Ok(name.to_owned()),
        None if is_name(name) => Ok(name.to_owned()),
        None if name == "*" && decision != Decision::Allow => Ok(name.to_owned()),
        _ => Err("not a valid tool name".to_owned()),
    }
}

fn example_name(name: &str) -> String {
    match name.strip_prefix("mcp__") {
        Some(server) if !server.contains("__") && !server.contains('*') => format!("{name}__x"),
        _ => name.replace('*', "x"),
    }
}

type MadeRule = (Vec<String>, Vec<String>, Vec<String>);

/// Makes a rule for a host, in every place where an address can name it.
fn fetched(domain: &str, decision: Decision) -> Result<MadeRule, String> {
    if domain == "*" {
        return Ok((vec!["WebFetch".to_owned()], Vec::new(), Vec::new()));
    }
    if domain.is_empty() || !domain.chars().all(|c| c.is_ascii_alphanumeric() || ".-*".contains(c)) {
        return Err("not a valid host name".to_owned());
    }
    let urls = match decision {
        Decision::Allow if domain.contains('*') => {
            return Err("a `*` in the host of an allow rule would allow more than before".to_owned());
        }
        Decision::Allow => format!("{{https,http}}://{domain}{{,/*}}"),
        Decision::Ask | Decision::Review | Decision::Deny => {
            format!("*://{{,*@}}{domain}{{,/*,:*,?*,#*}}")
        }
    };
    let call = |host: &str| format!("@WebFetch {}", json!({ "url": format!("https://{host}/") }));
    let host = domain.replace('*', "x");
    Ok((
        vec![format!("WebFetch(url={urls})")],
        vec![call(&host)],
        vec![call(&format!("{host}.invalid")), call(&format!("not{host}"))],
    ))
}
