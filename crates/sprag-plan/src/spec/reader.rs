//! Reading parts of a draft: every value of the type it should have, and a problem with its place where it has not.

use sprag_base::document::{At, Name, Node, What};
use sprag_base::text::{Text, quoted};

use super::fields::Table;
use super::problem::{Code, Problems, Wrong, did_you_mean};
use super::values::Readable;

/// Items of one list at most, where nothing else is said.
const ITEMS: usize = 500;

/// Reads values, and keeps what is wrong with them.
#[derive(Debug, Default)]
pub struct Reader {
    pub problems: Problems,
    /// Whose fields are read, as the beginning of a sentence: "stage `a`: ", or nothing.
    pub whose: String,
}

/// The members of a map that its table knows and that say something.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    pub at: At,
    members: &'a [(Name, Node)],
    table: &'static Table,
}

impl<'a> Fields<'a> {
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        debug_assert!(self.table.fields.iter().any(|field| field.name == name), "{name} is in the table");
        self.members
            .iter()
            .find(|(known, node)| known.text == name && !node.is_nothing())
            .map(|(_, node)| node)
    }
}

impl Reader {
    pub fn say(&mut self, at: At, code: Code, what: impl AsRef<str>, fix: impl AsRef<str>) {
        self.problems.say(at, code, format!("{}{}", self.whose, what.as_ref()), fix);
    }

    pub fn wrong(&mut self, at: At, name: &str, wrong: Wrong) {
        self.say(at, wrong.code, format!("`{name}`: {}", wrong.what), wrong.fix);
    }

    /// The members of a map; what the table does not know is told.
    pub fn fields<'a>(&mut self, node: &'a Node, table: &'static Table) -> Option<Fields<'a>> {
        let What::Map(members) = &node.what else {
            let names = table.names().join("`, `");
            self.say(
                node.at,
                Code::WrongType,
                format!("a {} is a map", table.name),
                format!("it has `{names}`"),
            );
            return None;
        };
        for (name, _) in members {
            if !table.fields.iter().any(|field| field.name == name.text) {
                let what = format!("a {} has no field `{}`", table.name, shown(&name.text));
                self.say(name.at, Code::UnknownField, what, did_you_mean(&name.text, &table.names()));
            }
        }
        Some(Fields { at: node.at, members, table })
    }

    /// A field that has to be there.
    pub fn required<'a>(&mut self, fields: &Fields<'a>, name: &str) -> Option<&'a Node> {
        let found = fields.get(name);
        if found.is_none() {
            let field = fields.table.fields.iter().find(|field| field.name == name);
            let takes = field.map_or("a value", |field| field.takes);
            let what = format!("a {} without `{name}`", fields.table.name);
            self.say(
                fields.at,
                Code::MissingField,
                what,
                format!("write `{name}:` and what it takes ({takes})"),
            );
        }
        found
    }

    pub fn text<'a>(&mut self, node: &'a Node, name: &str) -> Option<&'a str> {
        match &node.what {
            What::Text { text, .. } => Some(text),
            What::List(_) | What::Map(_) => {
                self.say(
                    node.at,
                    Code::WrongType,
                    format!("`{name}` is a text"),
                    "write it in one line or after `|`",
                );
                None
            }
        }
    }

    /// A text that is not cut: too long is told.
    pub fn capped<const N: usize>(&mut self, node: &Node, name: &str) -> Option<Text<N>> {
        let text = self.text(node, name)?;
        let count = text.chars().count();
        if count > N {
            let what = format!("`{name}` has {count} characters");
            self.say(node.at, Code::TooLong, what, format!("shorten it to {N}"));
            return None;
        }
        if text.trim().is_empty() {
            self.say(node.at, Code::BadValue, format!("`{name}` is empty"), "say something, or leave it out");
            return None;
        }
        Some(Text::from(text))
    }

    pub fn value<T: Readable>(&mut self, node: &Node, name: &str) -> Option<T> {
        let text = self.text(node, name)?;
        match T::read(text) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.wrong(node.at, name, wrong);
                None
            }
        }
    }

    pub fn optional<T: Readable>(&mut self, fields: &Fields<'_>, name: &str) -> Option<T> {
        fields.get(name).and_then(|node| self.value(node, name))
    }

    /// A number within its bounds, or what holds without it.
    pub fn number(&mut self, fields: &Fields<'_>, name: &str, bounds: (u16, u16), usual: u16) -> u16 {
        let Some(node) = fields.get(name) else { return usual };
        let Some(text) = self.text(node, name) else { return usual };
        match text.trim().parse::<u16>() {
            Ok(number) if (bounds.0..=bounds.1).contains(&number) => number,
            _ => {
                let what = format!("`{name}`: `{}` is out of its bounds", shown(text));
                self.say(
                    node.at,
                    Code::BadValue,
                    what,
                    format!("write a number from {} to {}", bounds.0, bounds.1),
                );
                usual
            }
        }
    }

    pub fn flag(&mut self, fields: &Fields<'_>, name: &str) -> Option<bool> {
        let node = fields.get(name)?;
        match &node.what {
            What::Text { text, is_plain: true } if text == "true" => Some(true),
            What::Text { text, is_plain: true } if text == "false" => Some(false),
            What::Text { .. } | What::List(_) | What::Map(_) => {
                self.say(
                    node.at,
                    Code::WrongType,
                    format!("`{name}` is true or false"),
                    "write it without quotes",
                );
                None
            }
        }
    }

    /// The items of a list; one text alone counts as a list of one.
    pub fn items<'a>(&mut self, fields: &Fields<'a>, name: &str) -> &'a [Node] {
        self.items_up_to(fields, name, ITEMS)
    }

    pub fn items_up_to<'a>(&mut self, fields: &Fields<'a>, name: &str, most: usize) -> &'a [Node] {
        let Some(node) = fields.get(name) else { return &[] };
        match &node.what {
            What::List(items) if items.len() <= most => items,
            What::List(items) => {
                let what = format!("`{name}` has {} items", items.len());
                self.say(node.at, Code::TooLong, what, format!("{most} at most"));
                &items[..most]
            }
            What::Text { .. } => std::slice::from_ref(node),
            What::Map(_) => {
                self.say(
                    node.at,
                    Code::WrongType,
                    format!("`{name}` is a list"),
                    "put `- ` before each item",
                );
                &[]
            }
        }
    }

    /// Values of a list, each with its place.
    pub fn values<T: Readable>(&mut self, fields: &Fields<'_>, name: &str) -> Vec<(At, T)> {
        let items = self.items(fields, name);
        items.iter().filter_map(|item| Some((item.at, self.value(item, name)?))).collect()
    }

    pub fn texts<const N: usize>(&mut self, fields: &Fields<'_>, name: &str) -> Vec<Text<N>> {
        let items = self.items(fields, name);
        items.iter().filter_map(|item| self.capped(item, name)).collect()
    }

    /// Tells what stands twice.
    pub fn once<T: PartialOrd + Ord + AsRef<str>>(&mut self, found: &[(At, T)], name: &str) {
        let mut seen = std::collections::BTreeMap::new();
        for (at, value) in found {
            if let Some(first) = seen.insert(value.as_ref(), *at) {
                let what = format!(
                    "`{}` stands in `{name}` twice, first in line {}",
                    shown(value.as_ref()),
                    first.line
                );
                self.say(*at, Code::Twice, what, "take one away");
            }
        }
    }
}

/// Foreign text in a sentence of ours.
pub fn shown(text: &str) -> String {
    quoted(Text::<80>::from(text).as_str())
}
