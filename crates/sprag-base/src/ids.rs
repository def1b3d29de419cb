//! Names that several domains share.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// A client's session id, as the client wrote it. It is no file name: see the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub Text<256>);

impl SessionId {
    pub fn new(id: impl Into<String>) -> Self {
        SessionId(Text::new(id))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}
