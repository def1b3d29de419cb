//! Keys of the configuration: lists them, suggests the nearest, and decides what a project may change before
//! it is trusted.

use std::collections::BTreeMap;

use toml::{Table, Value};

use sprag_base::settings::Tighten;

use super::ResolvedSetting;
use crate::config::sections;

/// Returns the known key that is most similar, if it is similar enough.
pub fn nearest(settings: &BTreeMap<String, ResolvedSetting>, key: &str) -> Option<String> {
    let scored = settings.keys().map(|known| (strsim::jaro_winkler(known, key), known));
    let (score, known) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score > 0.8).then(|| known.clone())
}

pub(crate) fn leaves(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(inner) if !inner.is_empty() => {
                found.extend(leaves(inner).into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            value => found.push((name.clone(), value.clone())),
        }
    }
    found
}

pub(crate) fn tighten_rule(key: &str) -> Tighten {
    let found = sections().find_map(|section| {
        let member = key.strip_prefix(section.name)?.strip_prefix('.')?;
        section.keys.iter().find(|known| known.name == member)
    });
    found.map_or(Tighten::Never, |key| key.tighten)
}

/// Reports whether the environment may only tighten this key. The project settings of a client may set
/// variables for hooks.
pub(crate) fn guards(key: &str) -> bool {
    ["policy.", "protection.", "completion.", "review.", "backends."]
        .iter()
        .any(|section| key.starts_with(section))
}

pub(crate) fn tightens(rule: Tighten, now: &Value, new: &Value) -> bool {
    match rule {
        Tighten::Never => now == new,
        Tighten::More => match (now, new) {
            (Value::Array(now), Value::Array(new)) => now.iter().all(|item| new.contains(item)),
            _ => false,
        },
        Tighten::Higher => matches!((now, new), (Value::Integer(now), Value::Integer(new)) if new >= now),
        Tighten::Lower => matches!((now, new), (Value::Integer(now), Value::Integer(new)) if new <= now),
        Tighten::Ranked(names) => {
            let rank = |value: &Value| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                names.iter().position(|name| *name == text)
            };
            matches!((rank(now), rank(new)), (Some(now), Some(new)) if new >= now)
        }
    }
}

pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Reports whether a line assigns this key, by the last part of the key.
pub(crate) fn names(line: &str, key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    line.trim_start().strip_prefix(last).is_some_and(|rest| rest.trim_start().starts_with('='))
}
