//! A file of intents, read: what its entries say, or what is wrong with them and where.

use std::collections::HashMap;

use serde_json::Map;

use sprag_base::document::{At, Name, Node, What};
use sprag_base::text::{Text, one_line};
use sprag_intent::{Bad, Draft, DraftCriterion, Intent, Origin, Owned, Sharing, Status};

use crate::sys::yaml;

/// Entries of one file, and items of one list.
const MOST: usize = 2000;
const ITEMS: usize = 500;

/// The one key everything stands under.
const KEY: &str = "active_intents";

/// What a file says.
#[derive(Debug, Default)]
pub struct Entries {
    pub intents: Vec<Intent>,
    pub bad: Vec<Bad>,
    /// What is taken, and should not be there.
    pub warnings: Vec<Bad>,
    /// Where entries are written, by their ids.
    pub written: HashMap<String, Written>,
}

/// Where an entry is written, for whoever changes it in place. In characters from the start of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub id_end: usize,
    /// The column of the entry's keys, from 1.
    pub column: u32,
    pub status: Option<(usize, usize)>,
    pub owned: Option<Patterns>,
}

/// How a list of patterns is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patterns {
    /// A dash each, behind so many blanks; the last one ends here.
    Dashes { indent: usize, end: usize },
    /// In brackets, behind the last one.
    Brackets { end: usize },
    /// Nothing is in them.
    Empty { from: usize, to: usize },
}

pub fn read(text: &str, origin: Origin) -> Entries {
    let mut reading = Reading { origin, letters: text.chars().collect(), entries: Entries::default() };
    match yaml::parse(text) {
        Err(bad) => reading.bad(bad.at, &bad.what),
        Ok(None) => {}
        Ok(Some(root)) => reading.root(&root),
    }
    reading.entries
}

struct Reading {
    origin: Origin,
    /// The text: places are counted in characters.
    letters: Vec<char>,
    entries: Entries,
}

impl Reading {
    fn bad(&mut self, at: At, what: &str) {
        if self.entries.bad.len() < 100 {
            let bad = self.place(at, what);
            self.entries.bad.push(bad);
        }
    }

    fn warn(&mut self, at: At, what: &str) {
        if self.entries.warnings.len() < 100 {
            let warning = self.place(at, what);
            self.entries.warnings.push(warning);
        }
    }

    fn place(&self, at: At, what: &str) -> Bad {
        Bad { origin: self.origin, line: at.line, column: at.column, what: Text::new(one_line(what)) }
    }

    fn root(&mut self, root: &Node) {
        let What::Map(members) = &root.what else {
            return self.bad(root.at, &format!("a file of intents starts with `{KEY}:`"));
        };
        let Some((_, list)) = members.iter().find(|(name, _)| name.text == KEY) else {
            return self.bad(root.at, &format!("there is no `{KEY}`"));
        };
        if list.is_nothing() {
            return;
        }
        let What::List(items) = &list.what else {
            return self.bad(list.at, &format!("`{KEY}` is no list"));
        };
        if items.len() > MOST {
            return self.bad(list.at, &format!("more than {MOST} intents"));
        }
        let mut seen: HashMap<String, At> = HashMap::new();
        for item in items {
            let Some((draft, at)) = self.entry(item) else { continue };
            if let Some(first) = seen.insert(draft.id.clone(), at) {
                self.bad(at, &format!("intent `{}` stands in line {} already", draft.id, first.line));
                continue;
            }
            self.entries.intents.push(draft.intent(self.origin));
        }
    }

    fn entry(&mut self, item: &Node) -> Option<(Draft, At)> {
        let What::Map(members) = &item.what else {
            self.bad(item.at, "an intent is a map with an `id`");
            return None;
        };
        let mut draft = Draft { line: item.at.line, ..Draft::default() };
        let mut id: Option<&Node> = None;
        let mut written = Written::default();
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
            self.bad(item.at, "an intent without an `id`");
            return None;
        };
        let What::Text { text, .. } = &id.what else {
            self.bad(id.at, "an `id` is a text");
            return None;
        };
        if !Intent::is_id(text) {
            self.bad(id.at, &format!("`{text}` is no id: 1 to 64 of letters, digits, `.`, `_` and `-`"));
            return None;
        }
        draft.id.clone_from(text);
        if draft.owned.is_none() {
            match self.origin {
                Origin::Sprag => {
                    self.warn(id.at, &format!("intent `{text}` has no `owned_scope`: it may change nothing"))
                }
                Origin::Orchestration => {
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

    fn text(&mut self, name: &Name, node: &Node) -> Option<String> {
        match &node.what {
            _ if node.is_nothing() => None,
            What::Text { text, .. } => Some(text.clone()),
            What::List(_) | What::Map(_) => {
                self.bad(node.at, &format!("`{}` is a text", name.text));
                None
            }
        }
    }

    fn items<'a>(&mut self, name: &Name, node: &'a Node) -> Option<&'a [Node]> {
        match &node.what {
            _ if node.is_nothing() => None,
            What::List(items) if items.len() <= ITEMS => Some(items),
            What::List(_) => {
                self.bad(node.at, &format!("`{}` has more than {ITEMS} items", name.text));
                None
            }
            What::Text { .. } | What::Map(_) => {
                self.bad(node.at, &format!("`{}` is a list", name.text));
                None
            }
        }
    }

    fn texts(&mut self, name: &Name, node: &Node) -> Vec<String> {
        let items = self.items(name, node).unwrap_or_default();
        items.iter().filter_map(|item| self.text(name, item)).collect()
    }

    fn status(&mut self, name: &Name, node: &Node) -> Status {
        let Some(text) = self.text(name, node) else { return Status::default() };
        match (Status::read(&text), self.origin) {
            (Some(status), _) => status,
            (None, Origin::Sprag) => {
                let known: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
                self.bad(node.at, &format!("`{text}` is no status; there are {}", known.join(", ")));
                Status::default()
            }
            // Other tools may know more of them.
            (None, Origin::Orchestration) => {
                self.warn(node.at, &format!("`{text}` is no status; it counts as not started"));
                Status::default()
            }
        }
    }

    fn globs(&mut self, name: &Name, node: &Node) -> Option<Vec<String>> {
        let items = self.items(name, node)?;
        let mut globs = Vec::new();
        for item in items {
            let Some(glob) = self.text(name, item) else {
                self.bad(item.at, "an empty pattern");
                continue;
            };
            match Owned::check(&glob) {
                Ok(()) => globs.push(glob),
                Err(bad) => self.bad(item.at, &format!("`{glob}`: {bad}")),
            }
        }
        Some(globs)
    }

    fn criteria(&mut self, name: &Name, node: &Node) -> Vec<DraftCriterion> {
        let items = self.items(name, node).unwrap_or_default();
        let mut criteria = Vec::new();
        for item in items {
            match &item.what {
                What::Text { text, .. } => {
                    criteria.push(DraftCriterion { text: text.clone(), ..DraftCriterion::default() });
                }
                What::Map(members) => criteria.push(self.criterion(members, item.at)),
                What::List(_) => self.bad(item.at, "a criterion is a text, or a map with `text`"),
            }
        }
        criteria
    }

    fn criterion(&mut self, members: &[(Name, Node)], at: At) -> DraftCriterion {
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
            self.bad(at, "a criterion without `text`");
        }
        criterion
    }

    fn sharing(&mut self, name: &Name, node: &Node) -> Sharing {
        match &node.what {
            What::Text { text, .. } if text == "true" => Sharing::Exclusive,
            What::Text { text, .. } if text == "false" || text.is_empty() => Sharing::Shared,
            _ => {
                self.bad(node.at, &format!("`{}` is true or false", name.text));
                Sharing::Shared
            }
        }
    }
}

fn patterns(node: &Node, letters: &[char]) -> Option<Patterns> {
    let What::List(items) = &node.what else { return None };
    let Some(last) = items.last() else {
        return Some(Patterns::Empty { from: node.span.0, to: node.span.1 });
    };
    let end = last.span.1;
    if letters.get(node.span.0) == Some(&'[') {
        return Some(Patterns::Brackets { end });
    }
    let line: Vec<char> = letters[..last.span.0].iter().rev().take_while(|c| **c != '\n').copied().collect();
    let dash = line.iter().position(|c| *c == '-')?;
    Some(Patterns::Dashes { indent: line.len() - dash - 1, end })
}

/// Unknown keys, as they are kept.
pub fn rest(intent: &Intent) -> Map<String, serde_json::Value> {
    serde_json::from_str(&intent.rest).unwrap_or_default()
}
