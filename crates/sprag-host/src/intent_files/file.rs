//! Parses an intent file: its entries, and mistakes with their positions.

use std::collections::HashMap;

use serde_json::Map;

use sprag_base::document::{DocumentNode, NodeName, NodeValue, Position};
use sprag_base::text::{Text, one_line};
use sprag_intent::{
    DraftCriterion, Intent, IntentDraft, IntentFileError, IntentOrigin, IntentSharing, IntentStatus,
    Ownership,
};

use crate::sys::yaml;

/// Maximum number of entries in a file, and of items in a list.
const MOST: usize = 2000;
const ITEMS: usize = 500;

/// The only top-level key.
const KEY: &str = "active_intents";

/// The content of an intent file.
#[derive(Debug, Default)]
pub struct Entries {
    pub intents: Vec<Intent>,
    pub bad: Vec<IntentFileError>,
    /// Mistakes in entries that are still accepted.
    pub warnings: Vec<IntentFileError>,
    /// Positions of entries, by id.
    pub written: HashMap<String, EntryPosition>,
}

/// The position of an entry for a change in place, in characters from the start of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryPosition {
    pub id_end: usize,
    /// The column of the keys of the entry, from 1.
    pub column: u32,
    pub status: Option<(usize, usize)>,
    pub owned: Option<PatternList>,
}

/// The notation of a list of patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternList {
    /// One dash for each pattern, after `indent` blanks. `end` is the end of the last pattern.
    Dashes { indent: usize, end: usize },
    /// In brackets. `end` is the end of the last pattern.
    Brackets { end: usize },
    /// An empty list.
    Empty { from: usize, to: usize },
}

pub fn read(text: &str, origin: IntentOrigin) -> Entries {
    let mut reading =
        IntentFileReader { origin, letters: text.chars().collect(), entries: Entries::default() };
    match yaml::parse(text) {
        Err(bad) => reading.bad(bad.at, &bad.what),
        Ok(None) => {}
        Ok(Some(root)) => reading.root(&root),
    }
    reading.entries
}

struct IntentFileReader {
    origin: IntentOrigin,
    /// The text, because positions count characters.
    letters: Vec<char>,
    entries: Entries,
}

impl IntentFileReader {
    fn bad(&mut self, at: Position, what: &str) {
        if self.entries.bad.len() < 100 {
            let bad = self.place(at, what);
            self.entries.bad.push(bad);
        }
    }

    fn warn(&mut self, at: Position, what: &str) {
        if self.entries.warnings.len() < 100 {
            let warning = self.place(at, what);
            self.entries.warnings.push(warning);
        }
    }

    fn place(&self, at: Position, what: &str) -> IntentFileError {
        IntentFileError {
            origin: self.origin,
            line: at.line,
            column: at.column,
            what: Text::new(one_line(what)),
        }
    }

    fn root(&mut self, root: &DocumentNode) {
        let NodeValue::Map(members) = &root.what else {
            return self.bad(root.at, &format!("an intent file starts with `{KEY}:`"));
        };
        let Some((_, list)) = members.iter().find(|(name, _)| name.text == KEY) else {
            return self.bad(root.at, &format!("`{KEY}` is missing"));
        };
        if list.is_nothing() {
            return;
        }
        let NodeValue::List(items) = &list.what else {
            return self.bad(list.at, &format!("`{KEY}` must be a list"));
        };
        if items.len() > MOST {
            return self.bad(list.at, &format!("more than {MOST} intents"));
        }
        let mut seen: HashMap<String, Position> = HashMap::new();
        for item in items {
            let Some((draft, at)) = self.entry(item) else { continue };
            if let Some(first) = seen.insert(draft.id.clone(), at) {
                self.bad(at, &format!("intent `{}` is already in line {}", draft.id, first.line));
                continue;
            }
            self.entries.intents.push(draft.intent(self.origin));
        }
    }

    fn entry(&mut self, item: &DocumentNode) -> Option<(IntentDraft, Position)> {
        let NodeValue::Map(members) = &item.what else {
            self.bad(item.at, "an intent must be a map with an `id`");
            return None;
        };
        let mut draft = IntentDraft { line: item.at.line, ..IntentDraft::default() };
        let mut id: Option<&DocumentNode> = None;
        let mut written = EntryPosition::default();
        for (name, node) in members {
            match name.text.as_str() {
                "id" => id = Some(node),
                "name" => draft.name = self.text(name, node).unwrap_or_default(),
                "constraints" => draft.constraints = self.texts(name, node),
                "status" => {
                    written.status = Some(node.span).filter(|(from, to)| from < to);
                    draft.status = self.status(name, node);
                }
                "owned_scope" => {
                    draft.owned = self.globs(name, node);
                    written.owned = patterns(node, &self.letters);
                }
                "acceptance_criteria" => draft.criteria = self.criteria(name, node),
                "exclusive" => draft.sharing = self.sharing(name, node),
                _ => {
                    draft.rest.insert(name.text.clone(), node.value());
                }
            }
        }
        let Some(id) = id else {
            self.bad(item.at, "intent without an `id`");
            return None;
        };
        let NodeValue::Text { text, .. } = &id.what else {
            self.bad(id.at, "an `id` must be a text");
            return None;
        };
        if !Intent::is_id(text) {
            self.bad(id.at, &format!("`{text}` is not an id: use 1 to 64 letters, digits, `.`, `_` or `-`"));
            return None;
        }
        draft.id.clone_from(text);
        if draft.owned.is_none() {
            match self.origin {
                IntentOrigin::Sprag => {
                    self.warn(id.at, &format!("intent `{text}` has no `owned_scope`: it may change nothing"))
                }
                IntentOrigin::Orchestration => {
                    self.warn(
                        id.at,
                        &format!("intent `{text}` has no `owned_scope`: it may change everything"),
                    );
                }
            }
        }
        written.id_end = id.span.1;
        written.column = members.first().map_or(1, |(name, _)| name.at.column);
        self.entries.written.insert(text.clone(), written);
        Some((draft, id.at))
    }

    fn text(&mut self, name: &NodeName, node: &DocumentNode) -> Option<String> {
        match &node.what {
            _ if node.is_nothing() => None,
            NodeValue::Text { text, .. } => Some(text.clone()),
            NodeValue::List(_) | NodeValue::Map(_) => {
                self.bad(node.at, &format!("`{}` must be a text", name.text));
                None
            }
        }
    }

    fn items<'a>(&mut self, name: &NodeName, node: &'a DocumentNode) -> Option<&'a [DocumentNode]> {
        match &node.what {
            _ if node.is_nothing() => None,
            NodeValue::List(items) if items.len() <= ITEMS => Some(items),
            NodeValue::List(_) => {
                self.bad(node.at, &format!("`{}` has more than {ITEMS} items", name.text));
                None
            }
            NodeValue::Text { .. } | NodeValue::Map(_) => {
                self.bad(node.at, &format!("`{}` must be a list", name.text));
                None
            }
        }
    }

    fn texts(&mut self, name: &NodeName, node: &DocumentNode) -> Vec<String> {
        let items = self.items(name, node).unwrap_or_default();
        items.iter().filter_map(|item| self.text(name, item)).collect()
    }

    fn status(&mut self, name: &NodeName, node: &DocumentNode) -> IntentStatus {
        let Some(text) = self.text(name, node) else { return IntentStatus::default() };
        match (IntentStatus::read(&text), self.origin) {
            (Some(status), _) => status,
            (None, IntentOrigin::Sprag) => {
                let known: Vec<&str> = IntentStatus::ALL.iter().map(|status| status.name()).collect();
                self.bad(node.at, &format!("unknown status `{text}`; known: {}", known.join(", ")));
                IntentStatus::default()
            }
            // Other tools may have more statuses.
            (None, IntentOrigin::Orchestration) => {
                self.warn(node.at, &format!("unknown status `{text}` counts as `NOT_STARTED`"));
                IntentStatus::default()
            }
        }
    }

    fn globs(&mut self, name: &NodeName, node: &DocumentNode) -> Option<Vec<String>> {
        let items = self.items(name, node)?;
        let mut globs = Vec::new();
        for item in items {
            let Some(glob) = self.text(name, item) else {
                self.bad(item.at, "empty pattern");
                continue;
            };
            match Ownership::check(&glob) {
                Ok(()) => globs.push(glob),
                Err(bad) => self.bad(item.at, &format!("`{glob}`: {bad}")),
            }
        }
        Some(globs)
    }

    fn criteria(&mut self, name: &NodeName, node: &DocumentNode) -> Vec<DraftCriterion> {
        let items = self.items(name, node).unwrap_or_default();
        let mut criteria = Vec::new();
        for item in items {
            match &item.what {
                NodeValue::Text { text, .. } => {
                    criteria.push(DraftCriterion { text: text.clone(), ..DraftCriterion::default() });
                }
                NodeValue::Map(members) => criteria.push(self.criterion(members, item.at)),
                NodeValue::List(_) => self.bad(item.at, "a criterion must be a text or a map with `text`"),
            }
        }
        criteria
    }

    fn criterion(&mut self, members: &[(NodeName, DocumentNode)], at: Position) -> DraftCriterion {
        let mut criterion = DraftCriterion::default();
        for (name, node) in members {
            match name.text.as_str() {
                "id" => criterion.id = self.text(name, node),
                "text" => criterion.text = self.text(name, node).unwrap_or_default(),
                "check" => criterion.check = self.text(name, node),
                _ => {}
            }
        }
        if criterion.text.is_empty() && criterion.check.is_none() {
            self.bad(at, "criterion without `text`");
        }
        criterion
    }

    fn sharing(&mut self, name: &NodeName, node: &DocumentNode) -> IntentSharing {
        match &node.what {
            NodeValue::Text { text, .. } if text == "true" => IntentSharing::Exclusive,
            NodeValue::Text { text, .. } if text == "false" || text.is_empty() => IntentSharing::Shared,
            _ => {
                self.bad(node.at, &format!("`{}` must be true or false", name.text));
                IntentSharing::Shared
            }
        }
    }
}

fn patterns(node: &DocumentNode, letters: &[char]) -> Option<PatternList> {
    let NodeValue::List(items) = &node.what else { return None };
    let Some(last) = items.last() else {
        return Some(PatternList::Empty { from: node.span.0, to: node.span.1 });
    };
    let end = last.span.1;
    if letters.get(node.span.0) == Some(&'[') {
        return Some(PatternList::Brackets { end });
    }
    let line: Vec<char> = letters[..last.span.0].iter().rev().take_while(|c| **c != '\n').copied().collect();
    let dash = line.iter().position(|c| *c == '-')?;
    Some(PatternList::Dashes { indent: line.len() - dash - 1, end })
}

/// Returns the unknown keys of an intent.
pub fn rest(intent: &Intent) -> Map<String, serde_json::Value> {
    serde_json::from_str(&intent.rest).unwrap_or_default()
}
