//! Adds the MCP server to the server list of a client, in the file and form of that client. Foreign entries
//! stay, even one named `sprag` that runs another program.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

use super::{InstallError, SettingsChange, input, kept, not_settings, object, read};
use crate::clients::{Client, ServerFileForm, is_our_program};
use crate::config::hash_of;
use crate::mcp::NAME;
use crate::sys::locations::UserLocations;

/// Argument that starts the server.
const MCP: &str = "mcp";

/// Returns the file with the servers of a client. `None`: the client has no such file.
pub fn path(settings: &Path, client: &Client, worktree: Option<&Path>) -> Option<PathBuf> {
    client.install.server.as_ref().and_then(|server| (server.file)(settings, worktree))
}

pub fn plan(path: &Path, form: ServerFileForm, program: &str) -> Result<SettingsChange, InstallError> {
    let before = read(path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = match form {
        ServerFileForm::Json => with_json(path, text, program)?,
        ServerFileForm::Toml => with_toml(path, text, program)?,
    };
    Ok(SettingsChange { path: path.to_owned(), before, after: Some(after) })
}

pub fn plan_removal(
    path: &Path,
    form: ServerFileForm,
    user: Option<&UserLocations>,
) -> Result<SettingsChange, InstallError> {
    let before = read(path)?;
    let Some(text) = &before else {
        return Ok(SettingsChange { path: path.to_owned(), before: None, after: None });
    };
    let without = |text: &str| match form {
        ServerFileForm::Json => without_json(path, text),
        ServerFileForm::Toml => without_toml(path, text),
    };
    let kept = user.and_then(|user| kept(user, path)).filter(|kept| kept.after_hash == hash_of(text));
    let after = match kept {
        Some(kept) => kept.before.as_deref().map(without).transpose()?,
        None => Some(without(text)?),
    };
    Ok(SettingsChange { path: path.to_owned(), before, after })
}

/// Returns the program that Sprag's entry runs.
pub fn installed(path: &Path, form: ServerFileForm) -> Option<String> {
    let text = read(path).ok()??;
    match form {
        ServerFileForm::Json => {
            let root = CstRootNode::parse(&text, &ParseOptions::default()).ok()?;
            let entry = root.object_value()?.object_value("mcpServers")?.object_value(NAME)?;
            program_of(&entry.to_serde_value()?)
        }
        ServerFileForm::Toml => program_of(&toml_entry(&text.parse().ok()?)?),
    }
}

fn entry(program: &str) -> Value {
    json!({"command": program, "args": [MCP]})
}

fn program_of(entry: &Value) -> Option<String> {
    let program = entry["command"].as_str().filter(|program| is_our_program(program))?;
    (entry["args"][0] == MCP).then(|| program.to_owned())
}

fn with_json(path: &Path, text: &str, program: &str) -> Result<String, InstallError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = super::parse(path, text)?;
    let settings = object(path, root.object_value_or_create())?;
    let servers = object(path, settings.object_value_or_create("mcpServers"))?;
    match servers.get(NAME) {
        Some(prop) => {
            let found = prop.value().and_then(|value| value.to_serde_value()).unwrap_or_default();
            let is_other = program_of(&found).is_some_and(|found| found != program);
            if is_other {
                prop.set_value(input(&entry(program)));
            }
        }
        None => {
            servers.append(NAME, input(&entry(program)));
        }
    }
    Ok(root.to_string())
}

fn without_json(path: &Path, text: &str) -> Result<String, InstallError> {
    let root = super::parse(path, text)?;
    let ours = |servers: &CstObject| {
        let prop = servers.get(NAME)?;
        program_of(&prop.value()?.to_serde_value()?).map(|_| prop)
    };
    let Some(servers) = root.object_value().and_then(|settings| settings.object_value("mcpServers")) else {
        return Ok(text.to_owned());
    };
    let Some(prop) = ours(&servers) else {
        return Ok(text.to_owned());
    };
    prop.remove();
    if servers.properties().is_empty()
        && let Some(prop) = root.object_value().and_then(|settings| settings.get("mcpServers"))
    {
        prop.remove();
    }
    Ok(root.to_string())
}

/// Key of the servers in Codex's configuration.
const SERVERS: &str = "mcp_servers";

fn document(path: &Path, text: &str) -> Result<DocumentMut, InstallError> {
    text.parse().map_err(|error: toml_edit::TomlError| not_settings(path, error.message()))
}

fn toml_entry(document: &DocumentMut) -> Option<Value> {
    let entry = document.get(SERVERS)?.get(NAME)?;
    let args: Vec<&str> = entry.get("args")?.as_array()?.iter().filter_map(|arg| arg.as_str()).collect();
    Some(json!({"command": entry.get("command")?.as_str()?, "args": args}))
}

fn with_toml(path: &Path, text: &str, program: &str) -> Result<String, InstallError> {
    let mut document = document(path, text)?;
    match toml_entry(&document).as_ref().and_then(program_of) {
        Some(found) if found == program => {}
        Some(_) => document[SERVERS][NAME]["command"] = value(program),
        None if document.get(SERVERS).and_then(|servers| servers.get(NAME)).is_some() => {}
        None => {
            let servers = document.entry(SERVERS).or_insert_with(|| {
                let mut table = Table::new();
                // Only the members of the table are written.
                table.set_implicit(true);
                Item::Table(table)
            });
            let servers =
                servers.as_table_like_mut().ok_or_else(|| not_settings(path, "expected a table"))?;
            let mut entry = Table::new();
            entry["command"] = value(program);
            entry["args"] = value(toml_edit::Array::from_iter([MCP]));
            servers.insert(NAME, Item::Table(entry));
        }
    }
    Ok(document.to_string())
}

fn without_toml(path: &Path, text: &str) -> Result<String, InstallError> {
    let mut document = document(path, text)?;
    if toml_entry(&document).as_ref().and_then(program_of).is_none() {
        return Ok(text.to_owned());
    }
    if let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) {
        servers.remove(NAME);
        if servers.is_empty() {
            document.remove(SERVERS);
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::setup::install::{apply, forget};
    use crate::sys::disk::RealDisk;

    const FOREIGN: &[(ServerFileForm, &str)] = &[
        (ServerFileForm::Json, ""),
        (ServerFileForm::Json, "{}"),
        (
            ServerFileForm::Json,
            "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  },\n  \"z\": 1\n}\n",
        ),
        (ServerFileForm::Toml, ""),
        (ServerFileForm::Toml, "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"x\" # y\n"),
        (ServerFileForm::Toml, "mcp_servers = { other = { command = \"x\" } }\n"),
    ];

    #[test]
    fn told_once_and_taken_back_to_the_byte() {
        for (form, text) in FOREIGN {
            let temp = tempfile::tempdir().unwrap();
            let user = UserLocations { config: temp.path().join("c"), state: temp.path().join("s") };
            let path = temp.path().join("servers");
            if !text.is_empty() {
                fs::write(&path, text).unwrap();
            }
            let first = plan(&path, *form, "sprag").unwrap();
            assert!(!first.is_nothing());
            apply(&RealDisk, Some(&user), &first).unwrap();
            assert_eq!(installed(&path, *form).as_deref(), Some("sprag"), "{text}");
            assert!(plan(&path, *form, "sprag").unwrap().is_nothing(), "{text}");
            let moved = plan(&path, *form, "/opt/sprag").unwrap();
            apply(&RealDisk, Some(&user), &moved).unwrap();
            assert_eq!(installed(&path, *form).as_deref(), Some("/opt/sprag"), "{text}");
            let removal = plan_removal(&path, *form, Some(&user)).unwrap();
            assert_eq!(removal.after.as_deref(), Some(*text).filter(|text| !text.is_empty()));
            apply(&RealDisk, Some(&user), &removal).unwrap();
            forget(&RealDisk, Some(&user), &path).unwrap();
            assert!(plan_removal(&path, *form, Some(&user)).unwrap().is_nothing());
        }
    }

    #[test]
    fn what_was_changed_since_keeps_the_change() {
        for (form, text) in FOREIGN {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("servers");
            fs::write(&path, text).unwrap();
            apply(&RealDisk, None, &plan(&path, *form, "sprag").unwrap()).unwrap();
            let removal = plan_removal(&path, *form, None).unwrap().after.unwrap();
            fs::write(&path, &removal).unwrap();
            assert_eq!(installed(&path, *form), None);
            assert_eq!(removal.contains("other"), text.contains("other"), "{removal}");
            assert_eq!(removal.contains("mine"), text.contains("mine"), "{removal}");
        }
    }

    #[test]
    fn somebody_elses_server_of_our_name_stays() {
        for (form, text) in [
            (ServerFileForm::Json, r#"{"mcpServers": {"sprag": {"command": "node", "args": ["mcp"]}}}"#),
            (ServerFileForm::Json, r#"{"mcpServers": {"sprag": {"url": "https://example.com"}}}"#),
            (ServerFileForm::Toml, "[mcp_servers.sprag]\nurl = \"https://example.com\"\n"),
            (ServerFileForm::Toml, "[mcp_servers.sprag]\ncommand = \"sprag\"\nargs = [\"other\"]\n"),
        ] {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("servers");
            fs::write(&path, text).unwrap();
            assert_eq!(installed(&path, form), None);
            assert!(plan(&path, form, "sprag").unwrap().is_nothing(), "{text}");
            assert!(plan_removal(&path, form, None).unwrap().is_nothing(), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_servers_is_told() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("servers");
        for (form, text) in [
            (ServerFileForm::Json, "{\"mcpServers\": []}"),
            (ServerFileForm::Json, "[1"),
            (ServerFileForm::Toml, "mcp_servers = 1"),
            (ServerFileForm::Toml, "= ="),
        ] {
            fs::write(&path, text).unwrap();
            assert!(matches!(plan(&path, form, "sprag"), Err(InstallError::NotSettings { .. })), "{text}");
        }
    }
}
