//! Handoff file of a stage: one agent leaves it for the next. If the agent wrote none, Sprag writes it from
//! git and the journal. Unknown keys are kept.

mod yaml;

use serde_json::{Map, Value, json};

use sprag_base::document::{DocumentNode, NodeValue, Position};
use sprag_base::redact;
use sprag_base::text::{Text, one_line, plain};

pub use yaml::yaml;

/// The version of the form that Sprag writes.
pub const VERSION: u64 = 2;
/// Bytes of one file.
pub const BYTES: usize = 256 * 1024;
/// Items of one list.
const ITEMS: usize = 200;
/// Unknown keys.
const OTHERS: usize = 50;
/// Bytes of an unknown key.
const KEY: usize = 100;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handoff {
    pub session_id: Text<200>,
    pub stage_id: Text<64>,
    /// `None` if it is not known, which differs from 0.
    pub context_percent: Option<u8>,
    pub completed_tasks: Vec<Completed>,
    pub key_decisions: Vec<HandoffDecision>,
    pub discovered_facts: Vec<Text<500>>,
    pub open_questions: Vec<Text<500>>,
    pub next_actions: Vec<Text<500>>,
    pub branch: Text<200>,
    pub commits: Vec<Text<500>>,
    pub uncommitted_files: Vec<Text<500>>,
    pub files_read: Vec<Text<500>>,
    pub files_modified: Vec<Text<500>>,
    /// Free text: the whole file in the first form, and the text after the keys in the second.
    pub prose: Text<20_000>,
    /// Unknown keys with their values.
    pub others: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    pub description: Text<500>,
    pub files: Vec<Text<500>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffDecision {
    pub decision: Text<500>,
    pub rationale: Text<500>,
}

/// Mistake in a handoff file, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffError {
    pub at: Position,
    pub what: String,
}

/// Splits a file into its YAML and its prose.
pub fn parts(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches('\u{feff}');
    if let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) {
        let end = rest.match_indices("\n---").find(|(at, _)| {
            let after = &rest[at + 4..];
            after.is_empty() || after.starts_with(['\n', '\r'])
        });
        return match end {
            Some((at, _)) => (&rest[..=at], rest[at + 4..].trim_start()),
            None => (rest, ""),
        };
    }
    // The first form was prose only: a line `version:` marks the second form.
    if text.lines().any(|line| line.starts_with("version:")) { (text, "") } else { ("", text) }
}

impl Handoff {
    /// Makes a handoff of the first form, which is prose only.
    pub fn prose(text: &str) -> Handoff {
        Handoff { prose: redact::short(&plain(text.trim())), ..Handoff::default() }
    }

    /// Reports whether the handoff has nothing besides its origin.
    pub fn is_empty(&self) -> bool {
        let bare = Handoff {
            session_id: self.session_id.clone(),
            stage_id: self.stage_id.clone(),
            context_percent: self.context_percent,
            branch: self.branch.clone(),
            ..Handoff::default()
        };
        *self == bare
    }

    /// Takes the values of another handoff for the parts that are empty here.
    #[must_use]
    pub fn filled(self, from: Handoff) -> Handoff {
        fn list<T>(own: Vec<T>, other: Vec<T>) -> Vec<T> {
            if own.is_empty() { other } else { own }
        }
        fn text<const N: usize>(own: Text<N>, other: Text<N>) -> Text<N> {
            if own.is_empty() { other } else { own }
        }
        Handoff {
            session_id: text(self.session_id, from.session_id),
            stage_id: text(self.stage_id, from.stage_id),
            context_percent: self.context_percent.or(from.context_percent),
            completed_tasks: list(self.completed_tasks, from.completed_tasks),
            key_decisions: list(self.key_decisions, from.key_decisions),
            discovered_facts: list(self.discovered_facts, from.discovered_facts),
            open_questions: list(self.open_questions, from.open_questions),
            next_actions: list(self.next_actions, from.next_actions),
            branch: text(self.branch, from.branch),
            commits: list(self.commits, from.commits),
            uncommitted_files: list(self.uncommitted_files, from.uncommitted_files),
            files_read: list(self.files_read, from.files_read),
            files_modified: list(self.files_modified, from.files_modified),
            prose: text(self.prose, from.prose),
            others: if self.others.is_empty() { from.others } else { self.others },
        }
    }

    /// Reads the second form. A text may stand for a list with one item, and for a task or decision without
    /// further fields.
    pub fn read(root: &DocumentNode, prose: &str) -> Result<Handoff, HandoffError> {
        let NodeValue::Map(members) = &root.what else { return Err(fault(root, "a handoff must be a map")) };
        let mut read = Handoff::prose(prose);
        for (name, node) in members {
            match name.text.as_str() {
                "version" => {}
                "session_id" => read.session_id = text(node)?,
                "stage_id" => read.stage_id = text(node)?,
                "branch" => read.branch = text(node)?,
                "context_percent" => read.context_percent = percent(node)?,
                "completed_tasks" => read.completed_tasks = list(node, completed)?,
                "key_decisions" => read.key_decisions = list(node, decided)?,
                "discovered_facts" => read.discovered_facts = list(node, text)?,
                "open_questions" => read.open_questions = list(node, text)?,
                "next_actions" => read.next_actions = list(node, text)?,
                "commits" => read.commits = list(node, text)?,
                "uncommitted_files" => read.uncommitted_files = list(node, text)?,
                "files_read" => read.files_read = list(node, text)?,
                "files_modified" => read.files_modified = list(node, text)?,
                _ if read.others.len() >= OTHERS => {
                    return Err(fault(node, "too many unknown keys"));
                }
                other if other.len() > KEY => return Err(fault(node, "the key is too long")),
                other => {
                    let value = redact::value(node.value()).into_inner();
                    read.others.insert(other.to_owned(), value);
                }
            }
        }
        Ok(read)
    }

    /// Writes the handoff as the text of its file.
    pub fn text(&self) -> String {
        if self.prose.is_empty() {
            yaml(&self.keys())
        } else {
            format!("---\n{}---\n\n{}\n", yaml(&self.keys()), self.prose)
        }
    }

    /// Returns the keys that have a value, in the order of the file.
    pub fn keys(&self) -> Vec<(String, Value)> {
        let mut keys = Vec::new();
        let mut put = |name: &str, value: Value| {
            let is_nothing = match &value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                _ => false,
            };
            if !is_nothing {
                keys.push((name.to_owned(), value));
            }
        };
        let completed = |it: &Completed| json!({"description": it.description, "files": it.files});
        let decided = |it: &HandoffDecision| json!({"decision": it.decision, "rationale": it.rationale});
        put("version", json!(VERSION));
        put("session_id", json!(self.session_id));
        put("stage_id", json!(self.stage_id));
        put("context_percent", json!(self.context_percent));
        put("completed_tasks", self.completed_tasks.iter().map(completed).collect());
        put("key_decisions", self.key_decisions.iter().map(decided).collect());
        put("discovered_facts", json!(self.discovered_facts));
        put("open_questions", json!(self.open_questions));
        put("next_actions", json!(self.next_actions));
        put("branch", json!(self.branch));
        put("commits", json!(self.commits));
        put("uncommitted_files", json!(self.uncommitted_files));
        put("files_read", json!(self.files_read));
        put("files_modified", json!(self.files_modified));
        self.others.iter().for_each(|(name, value)| put(name, value.clone()));
        keys
    }

    /// Writes lines for the next agent: a heading and items for each part that is not empty.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut part = |name: &str, items: Vec<String>| {
            if items.is_empty() {
                return;
            }
            lines.push(format!("{name}:"));
            lines.extend(items.iter().take(SHOWN).map(|item| format!("- {item}")));
            if items.len() > SHOWN {
                lines.push(format!("- and {} more", items.len() - SHOWN));
            }
        };
        let plain_items = |items: &[Text<500>]| items.iter().map(|item| one_line(item.as_str())).collect();
        part("next", plain_items(&self.next_actions));
        part("done", self.completed_tasks.iter().map(Completed::line).collect());
        part("decided", self.key_decisions.iter().map(HandoffDecision::line).collect());
        part("facts", plain_items(&self.discovered_facts));
        part("open", plain_items(&self.open_questions));
        part("not committed", plain_items(&self.uncommitted_files));
        part("commits", plain_items(&self.commits));
        part("changed", plain_items(&self.files_modified));
        part("read", plain_items(&self.files_read));
        if !self.prose.is_empty() {
            lines.push("notes:".to_owned());
            lines.extend(self.prose.as_str().lines().map(str::to_owned));
        }
        lines
    }
}

/// Items of one list that the next agent gets.
const SHOWN: usize = 20;

impl Completed {
    fn line(&self) -> String {
        let files: Vec<String> = self.files.iter().take(SHOWN).map(|file| one_line(file.as_str())).collect();
        let files = if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
        format!("{}{files}", one_line(self.description.as_str()))
    }
}

impl HandoffDecision {
    fn line(&self) -> String {
        let why = one_line(self.rationale.as_str());
        let why = if why.is_empty() { String::new() } else { format!(", because {why}") };
        format!("{}{why}", one_line(self.decision.as_str()))
    }
}

fn fault(node: &DocumentNode, what: &str) -> HandoffError {
    HandoffError { at: node.at, what: what.to_owned() }
}

fn text<const N: usize>(node: &DocumentNode) -> Result<Text<N>, HandoffError> {
    match &node.what {
        _ if node.is_nothing() => Ok(Text::default()),
        NodeValue::Text { text, .. } => Ok(redact::short(&plain(text.trim()))),
        NodeValue::List(_) | NodeValue::Map(_) => Err(fault(node, "expected a text")),
    }
}

/// Reads a percentage, rounded to a whole number.
fn percent(node: &DocumentNode) -> Result<Option<u8>, HandoffError> {
    let said: Text<32> = text(node)?;
    if said.is_empty() || said.as_str() == "?" {
        return Ok(None);
    }
    match said.as_str().trim_end_matches('%').trim().parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(Some(number.round() as u8)),
        Ok(_) | Err(_) => Err(fault(node, "expected a percentage from 0 to 100")),
    }
}

fn list<T>(
    node: &DocumentNode,
    item: impl Fn(&DocumentNode) -> Result<T, HandoffError>,
) -> Result<Vec<T>, HandoffError> {
    match &node.what {
        _ if node.is_nothing() => Ok(Vec::new()),
        NodeValue::List(items) if items.len() > ITEMS => {
            Err(fault(node, &format!("more than {ITEMS} items")))
        }
        NodeValue::List(items) => items.iter().map(item).collect(),
        NodeValue::Text { .. } | NodeValue::Map(_) => Ok(vec![item(node)?]),
    }
}

fn completed(node: &DocumentNode) -> Result<Completed, HandoffError> {
    let NodeValue::Map(members) = &node.what else {
        return Ok(Completed { description: text(node)?, files: Vec::new() });
    };
    let mut read = Completed::default();
    for (name, node) in members {
        match name.text.as_str() {
            "description" => read.description = text(node)?,
            "files" => read.files = list(node, text)?,
            _ => return Err(fault(node, "a task has `description` and `files`")),
        }
    }
    Ok(read)
}

fn decided(node: &DocumentNode) -> Result<HandoffDecision, HandoffError> {
    let NodeValue::Map(members) = &node.what else {
        return Ok(HandoffDecision { decision: text(node)?, rationale: Text::default() });
    };
    let mut read = HandoffDecision::default();
    for (name, node) in members {
        match name.text.as_str() {
            "decision" => read.decision = text(node)?,
            "rationale" => read.rationale = text(node)?,
            _ => return Err(fault(node, "a decision has `decision` and `rationale`")),
        }
    }
    Ok(read)
}
