//! Imports the permission rules of a client: finds its files and writes the converted rules as a rule file of
//! Sprag.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::Value;

use sprag_policy::import::{self, Import, RuleFiles, RuleImporter, RuleOwner, RuleText, Skipped};
use sprag_policy::{Decision, Rule, RuleFile};

use crate::sys::disk::{self, Disk, read_small};
use crate::sys::env::Env;
use crate::sys::locations::{self, Locations, UserLocations, tidy};

/// Larger than any settings file.
const FILE_BYTES: u64 = 1024 * 1024;
/// Maximum number of rule files in one directory.
const MOST_FILES: usize = 200;

/// A file with rules of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    pub path: PathBuf,
    pub owner: RuleOwner,
    /// The directory that its paths are relative to.
    pub base: PathBuf,
    pub named: RuleSourceName,
}

/// How Sprag found the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleSourceName {
    /// The user named the file on the command line.
    ByUser,
    /// The file is where the client keeps its rules.
    ByPlace,
}

#[derive(Debug)]
pub enum ImportError {
    /// Neither the user nor the project has rule files.
    NoFiles {
        title: &'static str,
    },
    Unreadable {
        path: PathBuf,
        error: io::Error,
    },
    Broken {
        path: PathBuf,
        line: usize,
        what: String,
    },
}

/// Differences between a written import and the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportChanges {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
}

/// Returns the files to read: the named ones, or else all that exist.
pub fn origins(
    importer: &RuleImporter,
    named: &[PathBuf],
    cwd: &Path,
    places: &Locations,
    env: &Env,
) -> Vec<RuleSource> {
    let folder = user_folder(importer, env);
    let origin = |path: PathBuf, named: RuleSourceName| {
        let inside = path.ancestors().skip(1).find(|dir| dir.ends_with(importer.folder));
        let (owner, base) = match (inside, &folder) {
            (_, Some(folder)) if path.starts_with(folder) => (RuleOwner::User, folder.clone()),
            (Some(dir), _) => (RuleOwner::Project, dir.parent().unwrap_or(dir).to_path_buf()),
            (None, _) => (RuleOwner::User, path.parent().unwrap_or(&path).to_path_buf()),
        };
        RuleSource { path, owner, base, named }
    };
    if !named.is_empty() {
        return named.iter().map(|path| origin(tidy(&cwd.join(path)), RuleSourceName::ByUser)).collect();
    }
    // Files of the user come first, because the first of two equal rules counts.
    let user = folder.iter().flat_map(|folder| files(folder, importer.user_files));
    let project = places.worktree.as_deref().unwrap_or(cwd).join(importer.folder);
    let mut found: Vec<PathBuf> = user.chain(files(&project, importer.project_files)).collect();
    found.dedup();
    found.into_iter().map(|path| origin(path, RuleSourceName::ByPlace)).collect()
}

fn user_folder(importer: &RuleImporter, env: &Env) -> Option<PathBuf> {
    let given = env.get(importer.folder_variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
    given.or_else(|| locations::home(env).map(|home| home.join(importer.folder)))
}

fn files(folder: &Path, kinds: &[RuleFiles]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for kind in kinds {
        match kind {
            RuleFiles::One(name) => found.extend(Some(folder.join(name)).filter(|path| path.exists())),
            RuleFiles::Each { dir, ending } => {
                let entries = fs::read_dir(folder.join(dir)).into_iter().flatten().flatten();
                let fits = |path: &PathBuf| path.to_string_lossy().ends_with(ending);
                let mut each: Vec<PathBuf> =
                    entries.take(MOST_FILES).map(|entry| entry.path()).filter(fits).collect();
                each.sort();
                found.extend(each);
            }
        }
    }
    found
}

/// Reads and converts all rules of these files.
pub fn read(importer: &'static RuleImporter, origins: &[RuleSource]) -> Result<Import, ImportError> {
    if origins.is_empty() {
        return Err(ImportError::NoFiles { title: importer.title });
    }
    let mut texts = Vec::new();
    for origin in origins {
        let text = read_small(&origin.path, FILE_BYTES)
            .map_err(|error| ImportError::Unreadable { path: origin.path.clone(), error })?;
        texts.push((
            origin.path.to_string_lossy().into_owned(),
            text,
            origin.base.to_string_lossy().into_owned(),
        ));
    }
    let sources: Vec<RuleText<'_>> = texts
        .iter()
        .zip(origins)
        .map(|((name, text, base), origin)| RuleText { name, text, owner: origin.owner, base })
        .collect();
    import::import(importer, &sources).map_err(|(at, broken)| ImportError::Broken {
        path: origins[at].path.clone(),
        line: broken.line,
        what: broken.what,
    })
}

/// Removes allow rules of a project's own files. The import is valid in every project, and a cloned
/// repository must not grant permissions on the user's machine. A file that the user names keeps its allow
/// rules.
pub fn without_foreign_allows(import: Import, origins: &[RuleSource]) -> Import {
    let is_foreign =
        |at: usize| origins[at].owner == RuleOwner::Project && origins[at].named == RuleSourceName::ByPlace;
    let mut kept = Import { rules: Vec::new(), skipped: import.skipped };
    for imported in import.rules {
        if imported.rule.decision == Decision::Allow && is_foreign(imported.source) {
            kept.skipped.push(Skipped {
                source: origins[imported.source].path.display().to_string(),
                line: imported.line,
                text: imported.text,
                why:
                    "an allow rule of a project is not imported for all projects; name the file to import it"
                        .to_owned(),
            });
        } else {
            kept.rules.push(imported);
        }
    }
    kept
}

/// Renders the rules as a file that `sprag policy test --config FILE` reads.
pub fn to_toml(importer: &RuleImporter, rules: &[&Rule]) -> String {
    let mut text = format!(
        "# Rules of {}, made by `sprag policy import {}`. The next import overwrites this file.\n",
        importer.title, importer.name
    );
    for rule in rules {
        text.push_str("\n[[rule]]\n");
        let mut put = |key: &str, value: Value| text.push_str(&format!("{key} = {value}\n"));
        let list = |items: &[String]| Value::Array(items.iter().cloned().map(Value::String).collect());
        put("id", Value::String(rule.id.clone()));
        put("any", list(&rule.any));
        put("decision", Value::String(rule.decision.name().to_owned()));
        put("reason", Value::String(rule.reason.clone()));
        for (key, examples) in [("match", &rule.matching), ("not_match", &rule.not_match)] {
            if !examples.is_empty() {
                put(key, list(examples));
            }
        }
    }
    text
}

/// Returns the path of an import.
pub fn path(importer: &RuleImporter, user: &UserLocations) -> PathBuf {
    user.config.join("policy").join(format!("imported-{}.toml", importer.name))
}

/// Replaces the last import and returns the differences.
pub fn write(
    importer: &RuleImporter,
    rules: &[&Rule],
    user: &UserLocations,
    disk: &dyn Disk,
) -> io::Result<ImportChanges> {
    let path = path(importer, user);
    if path.parent().is_some_and(|dir| fs::symlink_metadata(dir).is_ok_and(|found| found.is_symlink())) {
        return Err(io::Error::other(format!("the directory of `{}` is a symbolic link", path.display())));
    }
    let before = match read_small(&path, FILE_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let after = to_toml(importer, rules);
    if after != before {
        disk::make_parent(disk, &path)?;
        disk::replace(disk, &path, after.as_bytes())?;
    }
    // A broken file is replaced as well and counts as empty.
    let old: RuleFile = toml::from_str(&before).unwrap_or_default();
    Ok(changes(&old.rules, rules))
}

fn changes(old: &[Rule], new: &[&Rule]) -> ImportChanges {
    let mut left: BTreeMap<&str, &Rule> = old.iter().map(|rule| (rule.id.as_str(), rule)).collect();
    let mut changes = ImportChanges::default();
    for rule in new {
        match left.remove(rule.id.as_str()) {
            None => changes.added.push(rule.id.clone()),
            Some(before) if before != *rule => changes.changed.push(rule.id.clone()),
            Some(_) => {}
        }
    }
    changes.removed = left.into_keys().map(str::to_owned).collect();
    changes
}

#[cfg(test)]
mod tests {
    use sprag_policy::import;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let source = RuleText {
            name: "a \"b\"\u{1b}",
            text: r#"{"permissions":{"deny":["Bash(a '\n' b)","Read(a\"b)","Edit(x/**)","Bash(git push:*)"]}}"#,
            owner: RuleOwner::User,
            base: "/p",
        };
        let importer = import::find("claude").unwrap();
        let import = import::import(importer, &[source]).unwrap();
        let rules: Vec<&Rule> = import.rules.iter().map(|imported| &imported.rule).collect();
        assert_eq!(rules.len(), 3, "{:?}", import.skipped);
        let read: RuleFile = toml::from_str(&to_toml(importer, &rules)).unwrap();
        assert_eq!(read.rules.iter().collect::<Vec<_>>(), rules);
    }

    #[test]
    fn changes_are_told_by_id() {
        let rule = |id: &str, reason: &str| Rule {
            id: id.to_owned(),
            reason: reason.to_owned(),
            ..Rule::gate("Bash:x")
        };
        let old = [rule("a", "1"), rule("b", "1"), rule("c", "1")];
        let (a, b, d) = (rule("a", "1"), rule("b", "2"), rule("d", "1"));
        let told = changes(&old, &[&a, &b, &d]);
        assert_eq!(
            (told.added, told.changed, told.removed),
            (vec!["d".to_owned()], vec!["b".to_owned()], vec!["c".to_owned()],)
        );
    }
}
