//! `.intentignore`: intents for which a person must approve every change. One id per line; `#` starts a
//! comment.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

const MOST: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IgnoredIntents(Vec<Text<64>>);

impl IgnoredIntents {
    pub fn parse(text: &str) -> IgnoredIntents {
        let ids = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        IgnoredIntents(ids.filter(|id| !id.is_empty()).take(MOST).map(Text::from).collect())
    }

    pub fn join(&mut self, other: IgnoredIntents) {
        self.0.extend(other.0);
    }

    pub fn names(&self, id: &str) -> bool {
        self.0.iter().any(|named| named.as_str() == id)
    }
}
