//! A document as it was written: its parts, each with the place where it stands, so that whatever is wrong with
//! one can be told by line and column. What the parts mean is for others to say.

use serde_json::{Map, Value, json};

/// Where something stands, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DocumentNode {
    pub at: Position,
    /// Where it ends, as a number of characters from the start of the file.
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
    /// In the order of the file; no name twice.
    Map(Vec<(NodeName, DocumentNode)>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct NodeName {
    pub at: Position,
    pub text: String,
}

impl DocumentNode {
    /// Nothing is written there, or that it is nothing.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.what, NodeValue::Text { text, is_plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// What keys that we do not know hold, for those who do.
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
