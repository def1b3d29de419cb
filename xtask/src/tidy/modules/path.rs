//! The path of a module in the workspace.

use std::fmt;

/// The path of a module. Its first part names the crate: `sprag_base`, or the folder of an
/// integration test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModulePath(pub Vec<String>);

impl ModulePath {
    pub fn root(&self) -> ModulePath {
        ModulePath(self.0[..1].to_vec())
    }

    pub fn parent(&self) -> Option<ModulePath> {
        (self.0.len() > 1).then(|| ModulePath(self.0[..self.0.len() - 1].to_vec()))
    }

    pub fn child(&self, name: &str) -> ModulePath {
        let mut parts = self.0.clone();
        parts.push(name.to_owned());
        ModulePath(parts)
    }

    pub fn is_below(&self, other: &ModulePath) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The last part.
    pub fn name(&self) -> &str {
        self.0.last().map(String::as_str).unwrap_or_default()
    }

    /// The first module below the root of the crate.
    pub fn room(&self) -> Option<&str> {
        self.0.get(1).map(String::as_str)
    }
}

impl fmt::Display for ModulePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.join("::"))
    }
}
