//! Reads parts of a draft: each value has its type, or a problem with its place is reported.

use sprag_base::document::{DocumentNode, NodeName, NodeValue, Position};
use sprag_base::text::{Text, quoted};

use super::fields::FieldTable;
use super::problem::{ProblemCode, Problems, ValueProblem, did_you_mean};
use super::values::Readable;

/// Default limit of items in a list.
const ITEMS: usize = 500;

/// Reads values and collects their problems.
#[derive(Debug, Default)]
pub(crate) struct PlanReader {
    pub problems: Problems,
    /// The owner of the fields, as the beginning of a sentence: "stage `a`: ", or nothing.
    pub whose: String,
}

/// The members of a map that its table knows and that have a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldReader<'a> {
    pub at: Position,
    members: &'a [(NodeName, DocumentNode)],
    table: &'static FieldTable,
}

impl<'a> FieldReader<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a DocumentNode> {
        debug_assert!(self.table.fields.iter().any(|field| field.name == name), "{name} is in the table");
        self.members
            .iter()
            .find(|(known, node)| known.text == name && !node.is_nothing())
            .map(|(_, node)| node)
    }
}

impl PlanReader {
    pub(super) fn say(
        &mut self,
        at: Position,
        code: ProblemCode,
        what: impl AsRef<str>,
        fix: impl AsRef<str>,
    ) {
        self.problems.say(at, code, format!("{}{}", self.whose, what.as_ref()), fix);
    }

    pub(super) fn wrong(&mut self, at: Position, name: &str, wrong: ValueProblem) {
        self.say(at, wrong.code, format!("`{name}`: {}", wrong.what), wrong.fix);
    }

    /// Reads the members of a map, and reports those that the table does not know.
    pub(super) fn fields<'a>(
        &mut self,
        node: &'a DocumentNode,
        table: &'static FieldTable,
    ) -> Option<FieldReader<'a>> {
        let NodeValue::Map(members) = &node.what else {
            let names = table.names().join("`, `");
            self.say(
                node.at,
                ProblemCode::WrongType,
                format!("a {} must be a map", table.name),
                format!("its fields are `{names}`"),
            );
            return None;
        };
        for (name, _) in members {
            if !table.fields.iter().any(|field| field.name == name.text) {
                let what = format!("a {} has no field `{}`", table.name, shown(&name.text));
                self.say(name.at, ProblemCode::UnknownField, what, did_you_mean(&name.text, &table.names()));
            }
        }
        Some(FieldReader { at: node.at, members, table })
    }

    /// Returns a required field, or reports that it is missing.
    pub(super) fn required<'a>(&mut self, fields: &FieldReader<'a>, name: &str) -> Option<&'a DocumentNode> {
        let found = fields.get(name);
        if found.is_none() {
            let field = fields.table.fields.iter().find(|field| field.name == name);
            let takes = field.map_or("a value", |field| field.takes);
            let what = format!("a {} needs `{name}`", fields.table.name);
            self.say(
                fields.at,
                ProblemCode::MissingField,
                what,
                format!("write `{name}:` with a value ({takes})"),
            );
        }
        found
    }

    pub(super) fn text<'a>(&mut self, node: &'a DocumentNode, name: &str) -> Option<&'a str> {
        match &node.what {
            NodeValue::Text { text, .. } => Some(text),
            NodeValue::List(_) | NodeValue::Map(_) => {
                self.say(
                    node.at,
                    ProblemCode::WrongType,
                    format!("`{name}` must be a text"),
                    "write it on one line or after `|`",
                );
                None
            }
        }
    }

    /// Reads a text of limited length. A longer text is reported, not cut.
    pub(super) fn capped<const N: usize>(&mut self, node: &DocumentNode, name: &str) -> Option<Text<N>> {
        let text = self.text(node, name)?;
        let count = text.chars().count();
        if count > N {
            let what = format!("`{name}` has {count} characters");
            self.say(node.at, ProblemCode::TooLong, what, format!("shorten it to {N}"));
            return None;
        }
        if text.trim().is_empty() {
            self.say(
                node.at,
                ProblemCode::BadValue,
                format!("`{name}` is empty"),
                "write a text, or remove the field",
            );
            return None;
        }
        Some(Text::from(text))
    }

    pub(super) fn value<T: Readable>(&mut self, node: &DocumentNode, name: &str) -> Option<T> {
        let text = self.text(node, name)?;
        match T::read(text) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.wrong(node.at, name, wrong);
                None
            }
        }
    }

    pub(super) fn optional<T: Readable>(&mut self, fields: &FieldReader<'_>, name: &str) -> Option<T> {
        fields.get(name).and_then(|node| self.value(node, name))
    }

    /// Reads a number within its bounds, or returns the default.
    pub(super) fn number(
        &mut self,
        fields: &FieldReader<'_>,
        name: &str,
        bounds: (u16, u16),
        usual: u16,
    ) -> u16 {
        let Some(node) = fields.get(name) else { return usual };
        let Some(text) = self.text(node, name) else { return usual };
        match text.trim().parse::<u16>() {
            Ok(number) if (bounds.0..=bounds.1).contains(&number) => number,
            _ => {
                let what = format!("`{name}`: `{}` is out of range", shown(text));
                self.say(
                    node.at,
                    ProblemCode::BadValue,
                    what,
                    format!("write a number from {} to {}", bounds.0, bounds.1),
                );
                usual
            }
        }
    }

    pub(super) fn flag(&mut self, fields: &FieldReader<'_>, name: &str) -> Option<bool> {
        let node = fields.get(name)?;
        match &node.what {
            NodeValue::Text { text, is_plain: true } if text == "true" => Some(true),
            NodeValue::Text { text, is_plain: true } if text == "false" => Some(false),
            NodeValue::Text { .. } | NodeValue::List(_) | NodeValue::Map(_) => {
                self.say(
                    node.at,
                    ProblemCode::WrongType,
                    format!("`{name}` must be `true` or `false`"),
                    "write it without quotes",
                );
                None
            }
        }
    }

    /// Returns the items of a list; a single text counts as a list of one.
    pub(super) fn items<'a>(&mut self, fields: &FieldReader<'a>, name: &str) -> &'a [DocumentNode] {
        self.items_up_to(fields, name, ITEMS)
    }

    pub(super) fn items_up_to<'a>(
        &mut self,
        fields: &FieldReader<'a>,
        name: &str,
        most: usize,
    ) -> &'a [DocumentNode] {
        let Some(node) = fields.get(name) else { return &[] };
        match &node.what {
            NodeValue::List(items) if items.len() <= most => items,
            NodeValue::List(items) => {
                let what = format!("`{name}` has {} items", items.len());
                self.say(node.at, ProblemCode::TooLong, what, format!("write at most {most}"));
                &items[..most]
            }
            NodeValue::Text { .. } => std::slice::from_ref(node),
            NodeValue::Map(_) => {
                self.say(
                    node.at,
                    ProblemCode::WrongType,
                    format!("`{name}` must be a list"),
                    "put `- ` before each item",
                );
                &[]
            }
        }
    }

    /// Reads the values of a list, each with its place.
    pub(super) fn values<T: Readable>(&mut self, fields: &FieldReader<'_>, name: &str) -> Vec<(Position, T)> {
        let items = self.items(fields, name);
        items.iter().filter_map(|item| Some((item.at, self.value(item, name)?))).collect()
    }

    pub(super) fn texts<const N: usize>(&mut self, fields: &FieldReader<'_>, name: &str) -> Vec<Text<N>> {
        let items = self.items(fields, name);
        items.iter().filter_map(|item| self.capped(item, name)).collect()
    }

    /// Reports duplicate values.
    pub(super) fn once<T: PartialOrd + Ord + AsRef<str>>(&mut self, found: &[(Position, T)], name: &str) {
        let mut seen = std::collections::BTreeMap::new();
        for (at, value) in found {
            if let Some(first) = seen.insert(value.as_ref(), *at) {
                let what =
                    format!("`{}` is in `{name}` twice, first in line {}", shown(value.as_ref()), first.line);
                self.say(*at, ProblemCode::Twice, what, "remove one of them");
            }
        }
    }
}

/// Quotes text of others for a sentence of Sprag.
pub(crate) fn shown(text: &str) -> String {
    quoted(Text::<80>::from(text).as_str())
}
