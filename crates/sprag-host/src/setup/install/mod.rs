//! Writes Sprag's hooks into the settings of a client, and removes them. Comments, order and foreign hooks
//! stay unchanged. Sprag keeps the earlier content, so a removal restores the file byte for byte if no other
//! program changed it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use sprag_base::digest::Digest;

use crate::clients::Client;
use crate::config::hash_of;
use crate::sys::disk::{self, Disk};
use crate::sys::locations::UserLocations;

pub mod git_hook;
pub mod mcp_entry;
pub mod reviewer_agent;

/// Commands that an agent may run without a permission prompt: its reports and its queries. None of them
/// approves anything or changes Sprag's behaviour; a review decision needs a token.
#[rustfmt::skip]
pub const AGENT_COMMANDS: &[&str] = &[
    "reflect", "skip", "observe", "ref", "memory show", "search", "lesson", "decide", "review context", "intent select",
];

/// Permission rule for all tools of the MCP server.
const TOOLS_RULE: &str = "mcp__sprag";

/// Required content of a settings file.
pub struct WantedSettings<'a> {
    pub client: &'a Client,
    pub program: &'a str,
    pub permissions: Permissions,
    pub on_failure: OnFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions {
    Leave,
    Offer,
    /// Also allows the tools of the MCP server.
    OfferWithTools,
}

/// Reaction of the client when Sprag is missing or too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    Pass,
    Block,
}

/// A settings file before and after a change. `None`: no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsChange {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl SettingsChange {
    pub fn is_nothing(&self) -> bool {
        self.before == self.after
    }

    /// Returns the change as a unified diff.
    pub fn diff(&self) -> String {
        let name = self.path.display().to_string();
        let (before, after) = (self.before.as_deref().unwrap_or(""), self.after.as_deref().unwrap_or(""));
        similar::TextDiff::from_lines(before, after)
            .unified_diff()
            .context_radius(3)
            .header(&name, &name)
            .to_string()
    }
}

#[derive(Debug)]
pub enum InstallError {
    /// The settings are not a JSON object.
    NotSettings {
        path: PathBuf,
        what: String,
    },
    /// Another program changed the file after Sprag read it.
    Changed {
        path: PathBuf,
    },
    /// The file is write-protected.
    Protected {
        path: PathBuf,
    },
    Io(io::Error),
}

impl From<io::Error> for InstallError {
    fn from(error: io::Error) -> Self {
        InstallError::Io(error)
    }
}

/// Record of a change, for its undo.
#[derive(Serialize, Deserialize)]
struct InstallUndo {
    path: PathBuf,
    before: Option<String>,
    after_hash: String,
}

pub fn plan(path: &Path, wanted: &WantedSettings<'_>) -> Result<SettingsChange, InstallError> {
    let before = read(path)?;
    let text = before.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    let after = with_hooks(path, text, wanted)?;
    Ok(SettingsChange { path: path.to_owned(), before, after: Some(after) })
}

pub fn plan_removal(
    path: &Path,
    client: &Client,
    user: Option<&UserLocations>,
) -> Result<SettingsChange, InstallError> {
    let before = read(path)?;
    let Some(text) = &before else {
        return Ok(SettingsChange { path: path.to_owned(), before: None, after: None });
    };
    let kept = user.and_then(|user| kept(user, path)).filter(|kept| kept.after_hash == hash_of(text));
    let after = match kept {
        // The earlier content may itself have Sprag entries.
        Some(kept) => match &kept.before {
            Some(before) => Some(without_hooks_if_any(path, before, client)?),
            None => None,
        },
        None => Some(without_hooks(path, text, client)?),
    };
    Ok(SettingsChange { path: path.to_owned(), before, after })
}

/// Writes a change and keeps the earlier content.
pub fn apply(
    disk: &dyn Disk,
    user: Option<&UserLocations>,
    change: &SettingsChange,
) -> Result<(), InstallError> {
    if read(&change.path)? != change.before {
        return Err(InstallError::Changed { path: change.path.clone() });
    }
    // A settings file that is a link stays a link, even if its target does not exist yet.
    let target = followed(&change.path);
    let mode = fs::metadata(&target).map(|found| found.permissions()).ok();
    if mode.as_ref().is_some_and(|mode| mode.mode() & 0o200 == 0) {
        return Err(InstallError::Protected { path: change.path.clone() });
    }
    let Some(after) = &change.after else {
        disk.remove(&target)?;
        return Ok(forget(disk, user, &change.path)?);
    };
    if let Some(user) = user {
        keep(disk, user, change, after)?;
    }
    disk::make_parent(disk, &target)?;
    disk::replace(disk, &target, after.as_bytes())?;
    if let Some(mode) = mode {
        fs::set_permissions(&target, mode)?;
    }
    Ok(())
}

/// Removes the kept earlier content; it may hold secrets of the user.
pub fn forget(disk: &dyn Disk, user: Option<&UserLocations>, path: &Path) -> io::Result<()> {
    user.map_or(Ok(()), |user| disk.remove(&kept_path(user, path)))
}

fn keep(disk: &dyn Disk, user: &UserLocations, change: &SettingsChange, after: &str) -> io::Result<()> {
    let is_ours =
        |kept: &InstallUndo| change.before.as_deref().is_some_and(|now| hash_of(now) == kept.after_hash);
    let before = match kept(user, &change.path) {
        Some(kept) if is_ours(&kept) => kept.before,
        _ => change.before.clone(),
    };
    let record = InstallUndo { path: change.path.clone(), before, after_hash: hash_of(after) };
    let path = kept_path(user, &change.path);
    disk::make_parent(disk, &path)?;
    disk::replace(disk, &path, &serde_json::to_vec(&record).map_err(io::Error::other)?)
}

fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..16 {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path = path.parent().map(|parent| parent.join(&target)).unwrap_or(target);
    }
    path
}

/// Returns the program that Sprag's entries in a settings file run.
pub fn installed(path: &Path, client: &Client) -> Option<String> {
    let root = parse(path, &read(path).ok()??).ok()?;
    let hooks = root.object_value()?.object_value("hooks")?;
    client.install.events.iter().find_map(|(event, _)| {
        let entries = hooks.array_value(event)?.elements();
        entries.iter().find_map(|entry| (client.install.program_of)(&entry.to_serde_value()?))
    })
}

/// Reports whether the settings turn off all hooks.
pub fn disables_hooks(path: &Path) -> bool {
    let Ok(Some(text)) = read(path) else {
        return false;
    };
    let root = parse(path, &text).ok().and_then(|root| root.object_value()?.to_serde_value());
    root.is_some_and(|settings| settings["disableAllHooks"] == true)
}

fn with_hooks(path: &Path, text: &str, wanted: &WantedSettings<'_>) -> Result<String, InstallError> {
    let root = parse(path, text)?;
    let settings = object(path, root.object_value_or_create())?;
    let hooks = object(path, settings.object_value_or_create("hooks"))?;
    let install = &wanted.client.install;
    for (event, timeout) in install.events {
        let mut entry = (install.entry)(wanted.program, *timeout);
        if wanted.on_failure == OnFailure::Block && matches!(*event, "PreToolUse" | "PermissionRequest") {
            entry["hooks"][0]["onFailure"] = json!("block");
        }
        let entries = array(path, hooks.array_value_or_create(event))?;
        put_entry(&entries, &entry, wanted.client);
    }
    for prop in hooks.properties() {
        let is_wanted =
            prop.decoded_name().is_some_and(|name| install.events.iter().any(|(event, _)| *event == name));
        if !is_wanted && let Some(entries) = prop.array_value() {
            remove_entries(&entries, wanted.client);
        }
    }
    if wanted.permissions != Permissions::Leave
        && let Some(rule) = install.permission
    {
        let permissions = object(path, settings.object_value_or_create("permissions"))?;
        let allow = array(path, permissions.array_value_or_create("allow"))?;
        let mut rules: Vec<Value> = AGENT_COMMANDS.iter().map(|command| json!(rule(command))).collect();
        if wanted.permissions == Permissions::OfferWithTools {
            rules.push(json!(TOOLS_RULE));
        }
        for rule in rules {
            if !allow.elements().iter().any(|element| element.to_serde_value().as_ref() == Some(&rule)) {
                allow.append(input(&rule));
            }
        }
    }
    Ok(root.to_string())
}

fn put_entry(entries: &CstArray, wanted: &Value, client: &Client) {
    let ours: Vec<_> =
        entries.elements().into_iter().filter(|entry| is_ours(client, &entry.to_serde_value())).collect();
    if let [only] = ours.as_slice()
        && only.to_serde_value().as_ref() == Some(wanted)
    {
        return;
    }
    for entry in ours {
        entry.remove();
    }
    entries.append(input(wanted));
}

fn without_hooks_if_any(path: &Path, text: &str, client: &Client) -> Result<String, InstallError> {
    if has_hooks(path, text, client) { without_hooks(path, text, client) } else { Ok(text.to_owned()) }
}

fn has_hooks(path: &Path, text: &str, client: &Client) -> bool {
    let hooks = parse(path, text).ok().and_then(|root| root.object_value()?.object_value("hooks"));
    let entries = hooks.iter().flat_map(CstObject::properties).filter_map(|prop| prop.array_value());
    entries.flat_map(|entries| entries.elements()).any(|entry| is_ours(client, &entry.to_serde_value()))
}

fn without_hooks(path: &Path, text: &str, client: &Client) -> Result<String, InstallError> {
    let root = parse(path, text)?;
    let Some(settings) = root.object_value() else {
        return Ok(text.to_owned());
    };
    if let Some(hooks) = settings.object_value("hooks") {
        for prop in hooks.properties() {
            let Some(entries) = prop.array_value() else {
                continue;
            };
            let had = entries.elements().len();
            remove_entries(&entries, client);
            if had > 0 && entries.elements().is_empty() {
                prop.remove();
            }
        }
        if hooks.properties().is_empty()
            && let Some(prop) = settings.get("hooks")
        {
            prop.remove();
        }
    }
    if let Some(rule) = client.install.permission {
        let mut rules: Vec<Value> = AGENT_COMMANDS.iter().map(|command| json!(rule(command))).collect();
        rules.push(json!(TOOLS_RULE));
        let allow =
            settings.object_value("permissions").and_then(|permissions| permissions.array_value("allow"));
        for element in allow.iter().flat_map(CstArray::elements) {
            if element.to_serde_value().is_some_and(|value| rules.contains(&value)) {
                element.remove();
            }
        }
    }
    Ok(root.to_string())
}

fn remove_entries(entries: &CstArray, client: &Client) {
    for entry in entries.elements() {
        if is_ours(client, &entry.to_serde_value()) {
            entry.remove();
        }
    }
}

fn is_ours(client: &Client, entry: &Option<Value>) -> bool {
    entry.as_ref().is_some_and(|entry| (client.install.program_of)(entry).is_some())
}

fn parse(path: &Path, text: &str) -> Result<CstRootNode, InstallError> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| InstallError::NotSettings { path: path.to_owned(), what: error.to_string() })
}

fn object(path: &Path, found: Option<CstObject>) -> Result<CstObject, InstallError> {
    found.ok_or_else(|| not_settings(path, "expected an object"))
}

fn array(path: &Path, found: Option<CstArray>) -> Result<CstArray, InstallError> {
    found.ok_or_else(|| not_settings(path, "expected a list"))
}

fn not_settings(path: &Path, what: &str) -> InstallError {
    InstallError::NotSettings { path: path.to_owned(), what: what.to_owned() }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(bool) => CstInputValue::Bool(*bool),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn kept_path(user: &UserLocations, path: &Path) -> PathBuf {
    user.state
        .join("installed")
        .join(format!("{}.json", Digest::hash_parts([path.as_os_str().as_encoded_bytes()])))
}

fn kept(user: &UserLocations, path: &Path) -> Option<InstallUndo> {
    serde_json::from_slice(&fs::read(kept_path(user, path)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::CLIENTS;
    use crate::sys::disk::RealDisk;

    fn wanted(client: &Client) -> WantedSettings<'_> {
        WantedSettings {
            client,
            program: "sprag",
            permissions: Permissions::Offer,
            on_failure: OnFailure::Pass,
        }
    }

    const FOREIGN: &[&str] = &[
        "{}",
        "{\n  \"model\": \"x\"\n}\n",
        "{\n\t// mine\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{ \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n\t\t]\n\t},\n\t\"z\": [1,2]\n}",
        "{\"hooks\":{},\"permissions\":{\"allow\":[\"Bash(ls:*)\"],\"deny\":[]}}",
        "",
    ];

    #[test]
    fn installing_twice_is_installing_once() {
        for client in CLIENTS {
            for text in FOREIGN {
                let temp = tempfile::tempdir().unwrap();
                let path = temp.path().join("deep/settings.json");
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
                let change = plan(&path, &wanted(client)).unwrap();
                apply(&RealDisk, None, &change).unwrap();
                assert!(plan(&path, &wanted(client)).unwrap().is_nothing(), "{text}");
                assert_eq!(installed(&path, client).as_deref(), Some("sprag"));
            }
        }
    }

    #[test]
    fn a_removal_gives_the_file_back_byte_for_byte() {
        for client in CLIENTS {
            for text in FOREIGN.iter().map(|text| Some(*text)).chain([None]) {
                let temp = tempfile::tempdir().unwrap();
                let user = UserLocations { config: temp.path().join("c"), state: temp.path().join("s") };
                let path = temp.path().join("settings.json");
                if let Some(text) = text {
                    fs::write(&path, text).unwrap();
                }
                for _ in 0..2 {
                    let change = plan(&path, &wanted(client)).unwrap();
                    apply(&RealDisk, Some(&user), &change).unwrap();
                }
                let change = plan_removal(&path, client, Some(&user)).unwrap();
                apply(&RealDisk, Some(&user), &change).unwrap();
                assert_eq!(fs::read_to_string(&path).ok().as_deref(), text);
            }
        }
    }

    #[test]
    fn a_file_changed_since_loses_our_entries_and_nothing_else() {
        for client in CLIENTS {
            for text in FOREIGN.iter().filter(|text| !text.is_empty()) {
                let path = Path::new("settings.json");
                let installed = with_hooks(path, text, &wanted(client)).unwrap();
                let value = |text: &str| {
                    let mut value = parse(path, text).unwrap().to_serde_value().unwrap();
                    // Sections that Sprag added for its entries may remain, empty.
                    let settings = value.as_object_mut().unwrap();
                    settings.retain(|_, member| *member != json!({}) && *member != json!({"allow": []}));
                    value
                };
                let removed = without_hooks(path, &installed, client).unwrap();
                assert_eq!(value(&removed), value(text), "{text}");
            }
        }
    }

    #[test]
    fn a_removal_removes_whatever_happened_in_between() {
        let client = CLIENTS[0];
        let temp = tempfile::tempdir().unwrap();
        let user = UserLocations { config: temp.path().join("c"), state: temp.path().join("s") };
        let path = temp.path().join("settings.json");
        let install = |permissions| {
            let wanted = WantedSettings { permissions, ..wanted(client) };
            apply(&RealDisk, Some(&user), &plan(&path, &wanted).unwrap()).unwrap();
        };
        install(Permissions::Leave);
        let edited = fs::read_to_string(&path).unwrap().replacen('{', "{\"mine\": 1,", 1);
        fs::write(&path, edited).unwrap();
        install(Permissions::Offer);
        apply(&RealDisk, Some(&user), &plan_removal(&path, client, Some(&user)).unwrap()).unwrap();
        assert_eq!(installed(&path, client), None);
        assert!(fs::read_to_string(&path).unwrap().contains("mine"));
    }

    #[test]
    fn a_file_keeps_its_mode_its_link_and_what_others_wrote_meanwhile() {
        let client = CLIENTS[0];
        let temp = tempfile::tempdir().unwrap();
        let (real, link) = (temp.path().join("real.json"), temp.path().join("settings.json"));
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        let change = plan(&link, &wanted(client)).unwrap();
        apply(&RealDisk, None, &change).unwrap();
        assert!(real.is_file() && fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(matches!(apply(&RealDisk, None, &change), Err(InstallError::Changed { .. })));
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        apply(&RealDisk, None, &plan(&link, &wanted(client)).unwrap()).unwrap();
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o444)).unwrap();
        let refused = apply(&RealDisk, None, &plan(&link, &wanted(client)).unwrap());
        assert!(matches!(refused, Err(InstallError::Protected { .. })));
    }

    #[test]
    fn what_is_no_settings_file_is_left_alone() {
        for (client, text) in CLIENTS.iter().zip(["[1]", "{\"hooks\": [}"]) {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("settings.json");
            fs::write(&path, text).unwrap();
            assert!(matches!(plan(&path, &wanted(client)), Err(InstallError::NotSettings { .. })), "{text}");
        }
        let client = CLIENTS[0];
        assert!(with_hooks(Path::new("x"), "{\"hooks\": {\"Stop\": 3}}", &wanted(client)).is_err());
    }
}
