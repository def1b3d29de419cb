//! Changes one value in a configuration file and keeps its comments and order.

use std::path::Path;
use std::{fs, io};

use toml_edit::{DocumentMut, Item, Value};

use crate::config::{self, ConfigProblem, Layer};
use crate::sys::disk::{self, Disk};

#[derive(Debug)]
pub enum EditError {
    /// The changed file would not be a valid configuration.
    Wrong(Vec<ConfigProblem>),
    Io(io::Error),
}

impl From<io::Error> for EditError {
    fn from(error: io::Error) -> Self {
        EditError::Io(error)
    }
}

/// Sets a dotted key to a TOML value. A bare word becomes a string.
pub fn set(disk: &dyn Disk, layer: Layer, path: &Path, key: &str, value: &str) -> Result<(), EditError> {
    if path.parent().is_some_and(|dir| fs::symlink_metadata(dir).is_ok_and(|found| found.is_symlink())) {
        return Err(EditError::Io(io::Error::other("the parent directory is a symbolic link")));
    }
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let after = with_value(&before, key, value).map_err(|what| {
        EditError::Wrong(vec![ConfigProblem { source: path.display().to_string(), what, suggestion: None }])
    })?;
    let problems = config::check_text(layer, path, &after);
    if !problems.is_empty() {
        return Err(EditError::Wrong(problems));
    }
    disk::make_parent(disk, path)?;
    Ok(disk::replace(disk, path, after.as_bytes())?)
}

fn with_value(text: &str, key: &str, value: &str) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let parsed: Value = value.parse().unwrap_or_else(|_| Value::from(value));
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop().filter(|last| !last.is_empty()).ok_or("the key is empty")?;
    let mut table = document.as_table_mut();
    for part in parts {
        let entry = table.entry(part).or_insert_with(toml_edit::table);
        table = entry.as_table_mut().ok_or_else(|| format!("`{part}` is not a section"))?;
    }
    // Assignment keeps the comments above the value; `insert` drops them.
    match table.get_mut(last) {
        Some(item) => *item = Item::Value(parsed),
        None => {
            table.insert(last, Item::Value(parsed));
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_order_stay() {
        let before = "# mine\n[notes]\n# quiet\ndebts = true\n";
        assert_eq!(
            with_value(before, "notes.debts", "false").unwrap(),
            "# mine\n[notes]\n# quiet\ndebts = false\n"
        );
        assert_eq!(
            with_value(before, "circuit_breaker.max_blocks", "2").unwrap(),
            format!("{before}\n[circuit_breaker]\nmax_blocks = 2\n")
        );
        assert_eq!(with_value("", "a.b", "word").unwrap(), "[a]\nb = \"word\"\n");
    }
}
