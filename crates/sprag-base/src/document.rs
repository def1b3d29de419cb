//! A parsed document. Each part has its position, so that errors name line and column.

use serde_json::{Map, Value, json};

/// A position in a text; line and column start at 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DocumentNode {
    pub at: Position,
    /// Start and end of the node, in characters from the start of the file.
    pub span: (usize, usize),
    pub what: NodeValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    Text {
        text: String,
        is_plain: bool,
    },
    List(Vec<DocumentNode>),
    /// Members in the order of the file; no name occurs twice.
    Map(Vec<(NodeName, DocumentNode)>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct NodeName {
    pub at: Position,
    pub text: String,
}

impl DocumentNode {
    /// Reports whether the value is empty, `~` or `null`.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.what, NodeValue::Text { text, is_plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// Converts the node to JSON, for example to pass on the values of unknown keys.
    pub fn value(&self) -> Value {
        match &self.what {
            NodeValue::List(items) => Value::Array(items.iter().map(DocumentNode::value).collect()),
            NodeValue::Map(members) => {
                let members = members.iter().map(|(name, node)| (name.text.clone(), node.value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
            NodeValue::Text { text, is_plain: false } => json!(text),
            NodeValue::Text { text, is_plain: true } => match text.as_str() {
                "" | "~" | "null" => Value::Null,
                "true" => json!(true),
                "false" => json!(false),
                text => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
            },
        }
    }
}
