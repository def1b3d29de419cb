//! The reviewer as a file of a client's agents, for those who do not use the plugin. One that somebody
//! else wrote, or has changed, is left alone.

use std::path::{Path, PathBuf};

use super::{Change, InstallError, kept, read};
use crate::clients::Client;
use crate::config::hash_of;
use crate::places::UserPlaces;

/// The plugin's own file: there is one text.
const REVIEWER: &str = include_str!("../../../../plugin/agents/sprag-reviewer.md");

/// Where it is to be, beside these settings. `None`: the client reads no such files.
fn path(settings: &Path, client: &Client) -> Option<PathBuf> {
    Some(settings.parent()?.join(client.install.agent_file?))
}

pub fn plan(
    settings: &Path,
    client: &Client,
    user: Option<&UserPlaces>,
) -> Result<Option<Change>, InstallError> {
    let Some(path) = path(settings, client) else {
        return Ok(None);
    };
    let before = read(&path)?;
    let is_free = before.as_deref().is_none_or(|text| is_ours(&path, text, user));
    let after = if is_free { Some(REVIEWER.to_owned()) } else { before.clone() };
    Ok(Some(Change { path, before, after }))
}

pub fn plan_removal(
    settings: &Path,
    client: &Client,
    user: Option<&UserPlaces>,
) -> Result<Option<Change>, InstallError> {
    let Some(path) = path(settings, client) else {
        return Ok(None);
    };
    let before = read(&path)?;
    let is_ours = before.as_deref().is_some_and(|text| is_ours(&path, text, user));
    let after = if is_ours { None } else { before.clone() };
    Ok(Some(Change { path, before, after }))
}

/// As it is now, or as an earlier version of ours wrote it.
fn is_ours(path: &Path, text: &str, user: Option<&UserPlaces>) -> bool {
    let is_kept =
        || user.and_then(|user| kept(user, path)).is_some_and(|kept| kept.after_hash == hash_of(text));
    text == REVIEWER || is_kept()
}
