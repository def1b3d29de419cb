//! Rules in the layers: `[[rule]]` in a configuration file, and rule files in `policy/` next to it. Sprag
//! ignores a file with an invalid rule or a failed example.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use sprag_base::settings::SettingName;
use sprag_govern::gates::review::settings::GatePattern;
use sprag_policy::packs::PACKS;
use sprag_policy::{Rule, RuleFile, RuleSet, Strictness};

use super::{ConfigProblem, FileTrust, IgnoredSetting, Layer, line_of};
use crate::config::rule_files::{self, Sourced};
use crate::sys::locations::Locations;

/// Maximum number of rule files in one directory.
const FILES: usize = 50;
pub const FILE_BYTES: u64 = 256 * 1024;
/// Limits on the examples of a file: number, and bytes of each. A hook parses them after each change of the
/// file, while the agent waits.
const EXAMPLES: usize = 1000;
const EXAMPLE_BYTES: usize = 4096;
/// Stricter limits for an untrusted project.
const FOREIGN_BYTES: usize = 16 * 1024;
const FOREIGN_FILES: usize = 8;

/// Returns the directories of rule files; a directory may be missing.
pub fn dirs(places: &Locations) -> Vec<(Layer, PathBuf)> {
    let user = places.user.iter().map(|user| (Layer::User, user.config.join("policy")));
    let project = places.project().map(|project| (Layer::Project, project.join("policy")));
    user.chain(project).collect()
}

/// Returns the rule files of all layers, sorted by name.
pub fn files(places: &Locations) -> Vec<(Layer, PathBuf)> {
    let mut found = Vec::new();
    for (layer, dir) in dirs(places) {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
        files.sort();
        let most = if layer.needs_trust() { FOREIGN_FILES } else { FILES };
        found.extend(files.into_iter().take(most).map(|path| (layer, path)));
    }
    found
}

/// The usable rules and the ignored rules of a file.
pub struct RuleFileResult {
    pub rules: Vec<Sourced>,
    pub ignored: Vec<IgnoredSetting>,
}

/// The rules of a configuration file; other code reads its settings.
#[derive(Deserialize)]
struct Among {
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
}

pub(super) fn of_config(
    layer: Layer,
    path: &Path,
    text: &str,
    trust: FileTrust,
) -> Result<RuleFileResult, ConfigProblem> {
    let among: Among = toml::from_str(text).map_err(|error| unreadable(path, text, &error))?;
    checked(layer, path, text, among.rules, trust)
}

pub(super) fn of_file(
    layer: Layer,
    path: &Path,
    text: &str,
    trust: FileTrust,
) -> Result<RuleFileResult, ConfigProblem> {
    let file: RuleFile = toml::from_str(text).map_err(|error| unreadable(path, text, &error))?;
    checked(layer, path, text, file.rules, trust)
}

fn unreadable(path: &Path, text: &str, error: &toml::de::Error) -> ConfigProblem {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    let source = format!("{}:{line}", path.display());
    ConfigProblem { source, what: error.message().to_owned(), suggestion: None }
}

fn checked(
    layer: Layer,
    path: &Path,
    text: &str,
    rules: Vec<Rule>,
    trust: FileTrust,
) -> Result<RuleFileResult, ConfigProblem> {
    let source = path.display().to_string();
    let problem = |id: &str, what: String| {
        let line = text.lines().position(|line| is_id(line, id)).map_or(1, |at| at + 1);
        ConfigProblem { source: format!("{source}:{line}"), what, suggestion: None }
    };
    let examples: usize = rules.iter().map(|rule| rule.matching.len() + rule.not_match.len()).sum();
    if examples > EXAMPLES {
        return Err(problem("", format!("{examples} examples, at most {EXAMPLES} are allowed")));
    }
    let is_foreign = layer.needs_trust() && trust == FileTrust::Untrusted;
    let lengths =
        || rules.iter().flat_map(|rule| rule.matching.iter().chain(&rule.not_match)).map(String::len);
    let (longest, all): (usize, usize) = (lengths().max().unwrap_or(0), lengths().sum());
    if longest > EXAMPLE_BYTES || (is_foreign && all > FOREIGN_BYTES) {
        return Err(problem("", "the examples are too long".to_owned()));
    }
    let mut read = RuleFileResult { rules: Vec::new(), ignored: Vec::new() };
    for mut rule in rules {
        RuleSet::new([&rule], Strictness::Usual).map_err(|bad| problem(&rule.id, bad.to_string()))?;
        if is_foreign {
            // The id names the project as the origin, and the rule may not suggest a command.
            rule.id = format!("project/{}", rule.id);
            rule.next.clear();
        }
        let sourced = Sourced { source: source.clone(), rule };
        let failed = rule_files::failed_examples(std::slice::from_ref(&sourced));
        let failed = failed.map_err(|error| problem(&sourced.rule.id, error.to_string()))?;
        if let Some(failed) = failed.first() {
            let what = format!("rule `{}`: example `{}`: {}", failed.rule, failed.example, failed.why);
            return Err(problem(&sourced.rule.id, what));
        }
        match sourced.rule.loosens() {
            Some(what) if is_foreign => read.ignored.push(IgnoredSetting {
                key: format!("{what} of rule {}", sourced.rule.id),
                path: path.to_owned(),
                may: "only once it is trusted".to_owned(),
            }),
            _ => read.rules.push(sourced),
        }
    }
    Ok(read)
}

/// Reports whether a line assigns this id to a rule.
fn is_id(line: &str, id: &str) -> bool {
    let value =
        line.trim_start().strip_prefix("id").map(str::trim_start).and_then(|rest| rest.strip_prefix('='));
    value.is_some_and(|value| value.trim().trim_matches(['"', '\'']) == id)
}

/// Returns the rules for the patterns of `review.gates.tools`.
pub fn gated(tools: &[GatePattern]) -> impl Iterator<Item = Sourced> {
    tools.iter().enumerate().map(|(at, pattern)| Sourced {
        source: "review.gates.tools".to_owned(),
        rule: Rule { id: format!("review.gate-{}", at + 1), ..Rule::gate(pattern.as_str()) },
    })
}

/// Returns the rules in force: rules of enabled packs and of layers, without the rules that the user turned
/// off.
pub fn in_force(
    packs: &[SettingName],
    off: &[String],
    layers: impl Iterator<Item = Sourced>,
) -> Vec<Sourced> {
    let is_on = |name: &str| packs.iter().any(|on| on == name);
    let built_in = PACKS.iter().filter(|pack| is_on(pack.name)).flat_map(rule_files::of_pack);
    built_in.chain(layers).filter(|sourced| !off.contains(&sourced.rule.id)).collect()
}
