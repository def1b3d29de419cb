//! Names that several domains share.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// The session id exactly as the client wrote it. It may not be a valid file name, so the store derives one.
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
