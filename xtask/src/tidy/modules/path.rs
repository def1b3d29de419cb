//! The path of a module in the workspace.

use std::collections::BTreeSet;
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

    /// Returns the first module below the root of the crate.
    pub fn room(&self) -> Option<&str> {
        self.0.get(1).map(String::as_str)
    }
}

impl fmt::Display for ModulePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.join("::"))
    }
}

/// Returns the module of a file, from its path.
pub fn module_of_file(path: &str, all: &BTreeSet<&str>) -> Option<ModulePath> {
    let parts: Vec<&str> = path.strip_suffix(".rs")?.split('/').collect();
    let (root, rest): (String, &[&str]) = match &parts[..] {
        ["crates", name, "src", rest @ ..] => (name.replace('-', "_"), rest),
        ["xtask", "src", rest @ ..] => ("xtask".to_owned(), rest),
        ["crates", name, "tests", target, rest @ ..] => (format!("{name}/tests/{target}"), rest),
        ["fuzz", "targets", target] => (format!("fuzz/{target}"), &[]),
        _ => return None,
    };
    let mut segments = vec![root];
    for (at, part) in rest.iter().enumerate() {
        let is_last = at + 1 == rest.len();
        match *part {
            "mod" | "lib" | "main" if is_last => {}
            _ => segments.push((*part).to_owned()),
        }
        if is_last && let Some(stem) = part.strip_suffix("_tests") {
            let beside = format!("{}/{stem}.rs", path.rsplit_once('/')?.0);
            if all.contains(beside.as_str()) {
                segments.pop();
                segments.extend([stem.to_owned(), "tests".to_owned()]);
            }
        }
    }
    Some(ModulePath(segments))
}
