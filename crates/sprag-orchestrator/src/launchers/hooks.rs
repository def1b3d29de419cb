//! Sprag's hooks in a worktree. Uncommitted settings of the checkout are missing in its worktrees. Sprag
//! therefore passes the hooks as an argument, unless they are installed already: installed twice, they would
//! run twice.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use sprag_host::clients::Client;
use sprag_host::setup::{doctor, install};
use sprag_host::sys::disk;
use sprag_host::sys::env::Env;

/// Maximum size of a settings file.
const BYTES: u64 = 1024 * 1024;

/// Returns the settings to pass; `None` if the client already finds Sprag's hooks. The error says why it
/// would run none.
pub fn settings(client: &Client, env: &Env, worktree: &Path) -> Result<Option<Value>, String> {
    let project = worktree.join(client.install.project_file);
    let local = project.with_file_name("settings.local.json");
    let files: Vec<PathBuf> = (client.install.user_file)(env).into_iter().chain([project, local]).collect();
    if let Some(file) = files.iter().find(|file| install::disables_hooks(file)) {
        return Err(format!("`disableAllHooks` in `{}` turns Sprag's hooks off", file.display()));
    }
    if files.iter().any(|file| install::installed(file, client).is_some() || has_plugin(file)) {
        return Ok(None);
    }
    let (program, _) = doctor::program_name(env);
    let events: Map<String, Value> = client
        .install
        .events
        .iter()
        .map(|(event, timeout)| ((*event).to_owned(), json!([(client.install.entry)(&program, *timeout)])))
        .collect();
    Ok(Some(json!({ "hooks": events })))
}

fn has_plugin(file: &Path) -> bool {
    let settings = disk::read_small(file, BYTES).ok();
    let settings = settings.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
    let plugins = settings["enabledPlugins"].as_object();
    plugins.is_some_and(|all| all.iter().any(|(name, on)| name.starts_with("sprag@") && *on != false))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use sprag_host::clients;
    use sprag_host::setup::doctor;

    use super::*;

    #[test]
    fn a_client_is_told_of_our_hooks_once_or_not_started_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::Given(BTreeMap::from([("CLAUDE_CONFIG_DIR".to_owned(), dir.path().into())]));
        let claude = clients::find("claude").unwrap();
        let with = |text: &str| {
            fs::write(dir.path().join("settings.json"), text).unwrap();
            settings(claude, &env, dir.path())
        };
        let told = with("{}").unwrap().unwrap();
        assert_eq!(told["hooks"].as_object().unwrap().len(), claude.install.events.len());
        let installed = told.to_string().replace(&doctor::program_name(&env).0, "sprag");
        assert_eq!(with(&installed), Ok(None), "the hooks are installed");
        assert_eq!(with(r#"{"enabledPlugins": {"sprag@here": true}}"#), Ok(None));
        assert!(with(r#"{"enabledPlugins": {"sprag@here": false}}"#).unwrap().is_some());
        assert!(with(r#"{"disableAllHooks": true}"#).unwrap_err().starts_with("`disableAllHooks` in"));
    }
}
