//! Installs the reviewer as an agent file of a client, for users without the plugin. A foreign or changed
//! file is left alone.

use std::path::{Path, PathBuf};

use super::{InstallError, SettingsChange, kept, read};
use crate::clients::Client;
use crate::config::hash_of;
use crate::sys::locations::UserLocations;

/// The file of the plugin, so that the text exists only once.
const REVIEWER: &str = include_str!("../../../../../plugin/agents/sprag-reviewer.md");

/// Returns the path of the agent file, next to these settings. `None`: the client reads no agent files.
fn path(settings: &Path, client: &Client) -> Option<PathBuf> {
    Some(settings.parent()?.join(client.install.agent_file?))
}

/// Plans to write the file, unless a foreign file of that name exists.
pub fn plan(
    settings: &Path,
    client: &Client,
    user: Option<&UserLocations>,
) -> Result<Option<SettingsChange>, InstallError> {
    changed(settings, client, |path, before| match before {
        Some(text) if !is_ours(path, text, user) => before.map(str::to_owned),
        _ => Some(REVIEWER.to_owned()),
    })
}

pub fn plan_removal(
    settings: &Path,
    client: &Client,
    user: Option<&UserLocations>,
) -> Result<Option<SettingsChange>, InstallError> {
    changed(settings, client, |path, before| {
        before.filter(|text| !is_ours(path, text, user)).map(str::to_owned)
    })
}

fn changed(
    settings: &Path,
    client: &Client,
    after: impl FnOnce(&Path, Option<&str>) -> Option<String>,
) -> Result<Option<SettingsChange>, InstallError> {
    let Some(path) = path(settings, client) else {
        return Ok(None);
    };
    let before = read(&path)?;
    let after = after(&path, before.as_deref());
    Ok(Some(SettingsChange { path, before, after }))
}

/// Reports whether this or an earlier version of Sprag wrote the file.
fn is_ours(path: &Path, text: &str, user: Option<&UserLocations>) -> bool {
    let is_kept =
        || user.and_then(|user| kept(user, path)).is_some_and(|kept| kept.after_hash == hash_of(text));
    text == REVIEWER || is_kept()
}
