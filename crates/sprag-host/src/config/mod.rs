//! Configuration: layers, lowest first, and each value with its layer. Commands read and check the layers.
//! Hooks use a compiled copy until a layer changes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

use sprag_base::settings::SettingSection;
use sprag_base::text::quoted;
use sprag_govern::breaker::BreakerSettings;
use sprag_govern::gates::GateSettings;
use sprag_govern::gates::review::template::Template;
use sprag_govern::settings::GovernSettings;
use sprag_memory::lifecycle::decay;
use sprag_memory::{mirror, settings as memory_settings};
use sprag_plan::settings::{notify, terminal};

pub use self::settings::{Retention, Settings, sections};
use crate::config::rule_files::Sourced;
use crate::sys::disk::read_small;
use crate::sys::env::Env;
use crate::sys::locations::Locations;
pub use keys::nearest;
use keys::{guards, leaves, line_of, names, tighten_rule, tightens};

#[cfg(test)]
mod tests;

pub mod compiled;
pub mod edit;
mod keys;
mod rule_cache;
pub mod rule_files;
pub mod rule_import;
pub mod rule_layers;
pub mod settings;
pub mod switches;
pub mod templates;

/// The origin of a value, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Default,
    User,
    Project,
    Local,
    Environment,
}

sprag_base::names! {
    pub fn name(Layer):
    Default = "default", User = "user", Project = "project", Local = "local", Environment = "environment"
}

impl Layer {
    /// Reports whether the layer comes with a repository, so that the user must trust it first.
    fn needs_trust(self) -> bool {
        matches!(self, Layer::Project | Layer::Local)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedSetting {
    pub value: Value,
    pub layer: Layer,
}

/// All layers merged.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// By dotted key.
    pub settings: BTreeMap<String, ResolvedSetting>,
    pub typed: Settings,
    /// Mistakes in layers. Sprag ignores a layer with a mistake.
    pub problems: Vec<ConfigProblem>,
    /// Settings of an untrusted project that Sprag ignores.
    pub ignored: Vec<IgnoredSetting>,
    /// Rules in force, from packs and layers.
    pub rules: Vec<Sourced>,
    /// The last good texts of the files.
    pub good: Good,
}

/// Texts of configuration files without a mistake. If a user layer or a rule file gets a mistake, its last
/// good text stays in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Good {
    pub user: Option<String>,
    pub rules: BTreeMap<PathBuf, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    pub source: String,
    pub what: String,
    pub suggestion: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredSetting {
    pub key: String,
    pub path: PathBuf,
    pub may: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.what)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, ", did you mean `{suggestion}`?"),
            None => Ok(()),
        }
    }
}

/// Returns the commented reference with all sections.
pub fn defaults() -> String {
    sections().map(|section| section.defaults).collect::<Vec<_>>().join("\n")
}

/// Returns the paths of the layers; a file may be missing.
pub fn files(places: &Locations) -> Vec<(Layer, PathBuf)> {
    let user = places.user.iter().map(|user| (Layer::User, user.config.join("config.toml")));
    let project = places.project();
    let project = project.iter().flat_map(|project| {
        [(Layer::Project, project.join("config.toml")), (Layer::Local, project.join("local.toml"))]
    });
    user.chain(project).collect()
}

/// Far larger than any configuration.
const FILE_BYTES: u64 = 64 * 1024;
/// Maximum number of reported mistakes for one file.
const PROBLEMS: usize = 10;

pub fn load(places: &Locations, env: &Env) -> Resolved {
    load_with(places, env, &Good::default())
}

/// Loads the layers, and uses the last good text of a broken one.
pub fn load_with(places: &Locations, env: &Env, last_good: &Good) -> Resolved {
    let mut merge = Merge::new();
    for (layer, path) in files(places) {
        match read_small(&path, FILE_BYTES) {
            Ok(text) => {
                let before = merge.problems.len();
                merge.text(layer, &path, &text, trust(places, &path, &text));
                let is_broken = merge.problems.len() > before;
                if layer == Layer::User {
                    merge.good.user = if is_broken { last_good.user.clone() } else { Some(text) };
                    if let Some(text) = last_good.user.as_ref().filter(|_| is_broken) {
                        merge.text(layer, &path, text, FileTrust::Trusted);
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                merge.problem(&path.display().to_string(), format!("cannot be read: {error}"), None)
            }
        }
    }
    for (layer, path) in rule_layers::files(places) {
        let read = read_small(&path, rule_layers::FILE_BYTES);
        let is_used =
            read.as_ref().is_ok_and(|text| merge.rules_file(layer, &path, text, trust(places, &path, text)));
        match (read, last_good.rules.get(&path)) {
            (Ok(text), _) if is_used => {
                merge.good.rules.insert(path, text);
            }
            (read, good) => {
                if let Err(error) = read {
                    let what = format!("cannot be read: {error}");
                    merge.problem(&path.display().to_string(), what, None);
                }
                if let Some(text) = good {
                    merge.rules_file(layer, &path, text, trust(places, &path, text));
                    merge.good.rules.insert(path, text.clone());
                }
            }
        }
    }
    let texts = merge.templates(places);
    merge.environment(env);
    let mut resolved = merge.finish();
    resolved.typed.govern.gates.review.texts = texts;
    resolved.problems.extend(templates::unknown(&resolved.typed.govern.gates.review));
    resolved
}

/// Checks the text of a layer before it is written. Returns its mistakes.
pub fn check_text(layer: Layer, path: &Path, text: &str) -> Vec<ConfigProblem> {
    let mut merge = Merge::new();
    merge.text(layer, path, text, FileTrust::Trusted);
    merge.finish().problems
}

/// Whether the user trusts the present text of a project file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileTrust {
    Trusted,
    Untrusted,
}

fn trust(places: &Locations, path: &Path, text: &str) -> FileTrust {
    let trusted = places.user.as_ref().and_then(|user| switches::trusted(user, path));
    if trusted.is_some_and(|hash| hash == hash_of(text)) { FileTrust::Trusted } else { FileTrust::Untrusted }
}

pub fn hash_of(content: impl AsRef<[u8]>) -> String {
    Sha256::digest(content.as_ref()).iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Merge {
    settings: BTreeMap<String, ResolvedSetting>,
    problems: Vec<ConfigProblem>,
    ignored: Vec<IgnoredSetting>,
    rules: Vec<Sourced>,
    good: Good,
}

impl Merge {
    fn new() -> Merge {
        let table: Table = defaults().parse().expect("the built-in defaults are TOML: a test reads them");
        let settings = leaves(&table)
            .into_iter()
            .map(|(key, value)| (key, ResolvedSetting { value, layer: Layer::Default }))
            .collect();
        Merge {
            settings,
            problems: Vec::new(),
            ignored: Vec::new(),
            rules: Vec::new(),
            good: Good::default(),
        }
    }

    fn problem(&mut self, source: &str, what: String, suggestion: Option<String>) {
        self.problems.push(ConfigProblem { source: source.to_owned(), what, suggestion });
    }

    fn text(&mut self, layer: Layer, path: &Path, text: &str, trust: FileTrust) {
        let source = path.display().to_string();
        let mut table: Table = match text.parse() {
            Ok(table) => table,
            Err(error) => {
                let error: toml::de::Error = error;
                let line = error.span().map_or(1, |span| line_of(text, span.start));
                return self.problem(&format!("{source}:{line}"), error.message().to_owned(), None);
            }
        };
        let rules = match table.remove("rule").map(|_| rule_layers::of_config(layer, path, text, trust)) {
            None => None,
            Some(Ok(read)) => Some(read),
            Some(Err(problem)) => return self.problems.push(problem),
        };
        // Use the whole file or none of it, because half a policy is not what its author meant.
        let mut taken = Vec::new();
        let before = self.problems.len();
        for (key, value) in leaves(&table) {
            if self.problems.len() >= before + PROBLEMS {
                break;
            }
            match self.check(&key, &value) {
                Ok(()) => taken.push((key, value)),
                Err((what, suggestion)) => {
                    let line = text.lines().position(|line| names(line, &key)).map_or(1, |at| at + 1);
                    self.problem(&format!("{source}:{line}"), what, suggestion);
                }
            }
        }
        if self.problems.len() > before {
            return;
        }
        if let Some(read) = rules {
            self.take_rules(read);
        }
        for (key, value) in taken {
            let now = &self.settings[&key].value;
            let rule = tighten_rule(&key);
            if !layer.needs_trust() || trust == FileTrust::Trusted || tightens(rule, now, &value) {
                self.settings.insert(key, ResolvedSetting { value, layer });
            } else if *now != value {
                self.ignored.push(IgnoredSetting { key, path: path.to_owned(), may: rule.sentence() });
            }
        }
    }

    /// Reads a rule file and reports whether its rules are used.
    fn rules_file(&mut self, layer: Layer, path: &Path, text: &str, trust: FileTrust) -> bool {
        match rule_layers::of_file(layer, path, text, trust) {
            Ok(read) => self.take_rules(read),
            Err(problem) => {
                self.problems.push(problem);
                return false;
            }
        }
        true
    }

    /// Returns the templates of all files that are valid and trusted.
    fn templates(&mut self, places: &Locations) -> Vec<Template> {
        let mut found: Vec<Template> = Vec::new();
        for (layer, path) in templates::files(places) {
            let read = templates::read(&path);
            let is_trusted =
                |text: &str| !layer.needs_trust() || trust(places, &path, text) == FileTrust::Trusted;
            match read {
                Ok((text, _)) if !is_trusted(&text) => self.ignored.push(IgnoredSetting {
                    key: "templates".to_owned(),
                    path,
                    may: "only once it is trusted".to_owned(),
                }),
                // The later layer wins.
                Ok((_, template)) => {
                    found.retain(|other| other.id() != template.id());
                    found.push(template);
                }
                Err(what) => self.problem(&path.display().to_string(), what, None),
            }
        }
        found
    }

    fn take_rules(&mut self, read: rule_layers::RuleFileResult) {
        self.rules.extend(read.rules);
        self.ignored.extend(read.ignored);
    }

    fn environment(&mut self, env: &Env) {
        for (name, text) in settings_in(env) {
            let key = name["SPRAG_".len()..].to_ascii_lowercase().replace("__", ".");
            let value = match self.settings.get(&key).map(|setting| &setting.value) {
                Some(Value::Integer(_)) => text.parse().map(Value::Integer).ok(),
                Some(Value::Boolean(_)) => text.parse().map(Value::Boolean).ok(),
                Some(Value::Float(_)) => text.parse().map(Value::Float).ok(),
                Some(Value::Array(_)) => {
                    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                    Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
                }
                _ => Some(Value::String(text.clone())),
            };
            let value = value.unwrap_or(Value::String(text));
            match self.check(&key, &value) {
                Ok(())
                    if guards(&key) && !tightens(tighten_rule(&key), &self.settings[&key].value, &value) =>
                {
                    let may = tighten_rule(&key).sentence();
                    self.ignored.push(IgnoredSetting { key, path: PathBuf::from(name), may });
                }
                Ok(()) => {
                    self.settings.insert(key, ResolvedSetting { value, layer: Layer::Environment });
                }
                Err((what, suggestion)) => self.problem(&name, what, suggestion),
            }
        }
    }

    fn check(&self, key: &str, value: &Value) -> Result<(), (String, Option<String>)> {
        let Some(known) = self.settings.get(key) else {
            let suggestion = nearest(&self.settings, key);
            return Err((format!("unknown key `{}`", quoted(key)), suggestion));
        };
        if known.value.type_str() != value.type_str() {
            return Err((
                format!("`{key}` is of type {}, not {}", known.value.type_str(), value.type_str()),
                None,
            ));
        }
        // The typed settings decide whether the value is a known name or in range.
        let mut settings = self.settings.clone();
        settings.insert(key.to_owned(), ResolvedSetting { value: value.clone(), layer: Layer::Default });
        match typed(&settings) {
            Ok(_) => Ok(()),
            Err(error) => Err((format!("`{key}`: {}", error.message().trim()), None)),
        }
    }

    fn finish(self) -> Resolved {
        let typed = typed(&self.settings).expect("every value was checked when it came in");
        let permission = &typed.govern.gates.permission;
        let gated = rule_layers::gated(&typed.govern.gates.review.gates.tools);
        let rules = rule_layers::in_force(&permission.packs, &permission.off, gated.chain(self.rules));
        Resolved {
            settings: self.settings,
            typed,
            problems: self.problems,
            ignored: self.ignored,
            rules,
            good: self.good,
        }
    }
}

/// Returns the settings in the environment. Their names have the form `SPRAG_SECTION__KEY`; other variables
/// of Sprag have no double underscore.
pub fn settings_in(env: &Env) -> Vec<(String, String)> {
    env.starting_with("SPRAG_").into_iter().filter(|(name, _)| name.contains("__")).collect()
}

fn typed(settings: &BTreeMap<String, ResolvedSetting>) -> Result<Settings, toml::de::Error> {
    let members = |name: &str| -> Table {
        let members = settings.iter().filter_map(|(key, setting)| {
            let (section, member) = key.rsplit_once('.')?;
            (section == name).then(|| (member.to_owned(), setting.value.clone()))
        });
        members.collect()
    };
    let section = |own: &'static SettingSection, more: &'static [SettingSection]| -> Value {
        let mut table = members(own.name);
        for section in more {
            let member = section.name.rsplit('.').next().unwrap_or(section.name);
            table.insert(member.to_owned(), Value::Table(members(section.name)));
        }
        Value::Table(table)
    };
    Ok(Settings {
        govern: GovernSettings {
            circuit_breaker: BreakerSettings::deserialize(Value::Table(members("circuit_breaker")))?,
            gates: GateSettings::read(section)?,
        },
        retention: Retention::deserialize(Value::Table(members("retention")))?,
        backends: mirror::MirrorSettings::deserialize(section(&mirror::SECTION, mirror::MORE))?,
        memory: memory_settings::MemorySettings::deserialize(section(&memory_settings::SECTION, &[]))?,
        decay: decay::DecaySettings::deserialize(section(&decay::SECTION, decay::MORE))?,
        terminal: terminal::TerminalSettings::deserialize(section(&terminal::SECTION, &[]))?,
        notify: notify::NotifySettings::deserialize(section(&notify::SECTION, &[]))?,
    })
}
