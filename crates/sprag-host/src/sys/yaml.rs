//! Parses YAML into a tree with positions. Aliases, deep nesting and large documents could turn a short text
//! into much work, so they are errors with a position.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use sprag_base::document::{DocumentNode, NodeName, NodeValue, Position};

/// Most nested levels.
const DEPTH: usize = 32;
/// Most parts of a document.
const PARTS: usize = 250_000;
/// Most keys of one map, because each is compared with all others.
const NAMES: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadYaml {
    pub at: Position,
    pub what: String,
}

/// A list or map that is not complete yet.
struct OpenNode {
    node: DocumentNode,
    /// In a map: the key whose value comes next.
    name: Option<NodeName>,
}

/// Parses the only document of a text. `None`: the text is empty.
pub fn parse(text: &str) -> Result<Option<DocumentNode>, BadYaml> {
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<OpenNode> = Vec::new();
    let mut root: Option<DocumentNode> = None;
    let mut parts = 0;
    let mut documents = 0;
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| {
            let mark = error.marker();
            BadYaml { at: at(mark.line(), mark.col()), what: error.info().to_owned() }
        })?;
        let here = at(span.start.line(), span.start.col());
        let bad = |what: &str| Err(BadYaml { at: here, what: what.to_owned() });
        parts += 1;
        if parts > PARTS {
            return bad("the document has too many parts");
        }
        let done = match event {
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => continue,
            Event::StreamEnd => break,
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return bad("a second document is not allowed");
                }
                continue;
            }
            Event::Alias(_) => return bad("aliases (`*name`) are not supported: repeat the value"),
            Event::Scalar(text, style, _, tag) => {
                if tag.is_some() {
                    return bad("tags are not supported: quote a value that starts with `!`");
                }
                let is_plain = style == ScalarStyle::Plain;
                node(here, &span, NodeValue::Text { text: text.into_owned(), is_plain })
            }
            Event::SequenceStart(_, tag) | Event::MappingStart(_, tag) if tag.is_some() => {
                return bad("tags are not supported: quote a value that starts with `!`");
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= DEPTH => {
                return bad("the nesting is too deep");
            }
            Event::SequenceStart(..) => {
                open.push(OpenNode { node: node(here, &span, NodeValue::List(Vec::new())), name: None });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(OpenNode { node: node(here, &span, NodeValue::Map(Vec::new())), name: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(mut ended) => {
                    ended.node.span.1 = span.end.index();
                    ended.node
                }
                None => continue,
            },
        };
        match open.last_mut() {
            None => root = Some(done),
            Some(around) => around.add_child(done)?,
        }
    }
    Ok(root.filter(|root| !root.is_nothing()))
}

impl OpenNode {
    fn add_child(&mut self, node: DocumentNode) -> Result<(), BadYaml> {
        match (&mut self.node.what, self.name.take()) {
            (NodeValue::List(items), _) => items.push(node),
            (NodeValue::Map(members), Some(name)) => members.push((name, node)),
            (NodeValue::Map(members), None) => {
                let NodeValue::Text { text, .. } = node.what else {
                    return Err(BadYaml { at: node.at, what: "a key is not text".to_owned() });
                };
                if members.len() >= NAMES {
                    return Err(BadYaml { at: node.at, what: format!("more than {NAMES} keys in one map") });
                }
                if members.iter().any(|(known, _)| known.text == text) {
                    return Err(BadYaml { at: node.at, what: format!("key `{text}` occurs twice") });
                }
                self.name = Some(NodeName { at: node.at, text });
            }
            (NodeValue::Text { .. }, _) => {}
        }
        Ok(())
    }
}

fn node(at: Position, span: &Span, what: NodeValue) -> DocumentNode {
    DocumentNode { at, span: (span.start.index(), span.end.index()), what }
}

/// Converts a position: the parser counts lines from 1 and columns from 0.
fn at(line: usize, column: usize) -> Position {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Position { line: number(line.max(1)), column: number(column).saturating_add(1) }
}
