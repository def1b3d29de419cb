//! `.intentignore`: intents whose every change wants a person's word. One id a line, `#` starts a comment.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

const MOST: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ignored(Vec<Text<64>>);

impl Ignored {
    pub fn parse(text: &str) -> Ignored {
        let ids = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        Ignored(ids.filter(|id| !id.is_empty()).take(MOST).map(Text::from).collect())
    }

    pub fn join(&mut self, other: Ignored) {
        self.0.extend(other.0);
    }

    pub fn names(&self, id: &str) -> bool {
        self.0.iter().any(|named| named.as_str() == id)
    }
}
