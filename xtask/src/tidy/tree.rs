//! The input of the checks: the files of the repository and the packages that cargo lists. It is read once,
//! and checks read nothing else. A test makes a tree from a few lines of text.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::commits::{self, Commit};
use super::modules::Modules;
use super::source::Source;
use crate::workspace;

#[derive(Default)]
pub struct Tree {
    /// Paths relative to the root, as all paths here.
    pub paths: BTreeSet<String>,
    /// Rust files.
    pub rust: Vec<Source>,
    /// Documents, configuration and the lists of checks.
    pub texts: BTreeMap<String, String>,
    pub packages: Vec<Package>,
    pub commits: Vec<Commit>,
    modules: OnceCell<Modules>,
}

/// A package of the dependency graph, including the crates of the workspace.
pub struct Package {
    pub name: String,
    pub version: String,
    pub licence: Option<String>,
    /// The manifest, if the package is a crate of the workspace.
    pub ours: Option<String>,
    pub dependencies: Vec<Dependency>,
}

pub struct Dependency {
    pub name: String,
    /// Whether only tests need it.
    pub is_dev: bool,
}

impl Tree {
    pub fn load() -> anyhow::Result<Tree> {
        let root = workspace::root();
        let mut tree = Tree::default();
        for path in workspace::files()? {
            let bytes = fs::read(root.join(&path)).with_context(|| format!("cannot read `{path}`"))?;
            tree.add(&path, &String::from_utf8_lossy(&bytes));
        }
        tree.packages = packages(&root)?;
        tree.commits = commits::read(commits::BASE)?;
        Ok(tree)
    }

    fn add(&mut self, path: &str, text: &str) {
        if path.ends_with(".rs") {
            self.rust.push(Source::parse(path, text));
        } else if [".md", ".toml", ".lock", ".allow", ".baseline", ".json", "/run", ".gitignore"]
            .iter()
            .any(|ending| path.ends_with(ending))
        {
            self.texts.insert(path.to_owned(), text.to_owned());
        }
        self.paths.insert(path.to_owned());
    }

    /// Returns the modules of all Rust files. The first call computes them.
    pub fn modules(&self) -> &Modules {
        self.modules.get_or_init(|| Modules::new(&self.rust))
    }

    /// Reports whether a file or folder of this name exists.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.paths.contains(path)
            || self.paths.range(folder.clone()..).next().is_some_and(|next| next.starts_with(&folder))
    }

    /// Returns the first line of a text file that matches, or line 1.
    pub fn line(&self, path: &str, fits: impl Fn(&str) -> bool) -> usize {
        let text = self.texts.get(path).map(String::as_str).unwrap_or_default();
        text.lines().position(fits).map_or(1, |at| at + 1)
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: String,
    dependencies: Vec<MetadataDependency>,
}

#[derive(Deserialize)]
struct MetadataDependency {
    name: String,
    kind: Option<String>,
}

/// Reads the packages with all features, because a release may enable a feature that is off today.
fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let output = workspace::cargo("metadata")
        .args(["--format-version", "1", "--all-features"])
        .output()
        .context("cannot start `cargo`")?;
    ensure!(output.status.success(), "`cargo metadata`: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).context("cannot read the output of `cargo metadata`")?;
    Ok(metadata.packages.into_iter().map(|package| package.read(root)).collect())
}

impl MetadataPackage {
    fn read(self, root: &Path) -> Package {
        let manifest = Path::new(&self.manifest_path).strip_prefix(root).ok();
        Package {
            name: self.name,
            version: self.version,
            licence: self.license,
            ours: manifest.filter(|_| self.source.is_none()).map(|path| path.display().to_string()),
            dependencies: self
                .dependencies
                .into_iter()
                .map(|dependency| Dependency {
                    name: dependency.name,
                    is_dev: dependency.kind.as_deref() == Some("dev"),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
impl Tree {
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files.iter() {
            tree.add(path, text);
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_there_too() {
        let tree = Tree::of(&[("docs/states.md", ""), ("docs-old/x.md", ""), ("README.md", "")]);
        for there in ["docs", "docs/states.md", "README.md", ""] {
            assert!(tree.has(there), "{there}");
        }
        for missing in ["doc", "docs/states", "states.md"] {
            assert!(!tree.has(missing), "{missing}");
        }
    }
}
