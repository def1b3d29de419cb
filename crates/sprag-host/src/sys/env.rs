//! The environment and the clock, read in one place so that tests can replace them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

use sprag_base::time::Timestamp;

#[derive(Clone, Debug)]
pub enum Env {
    Real,
    Given(BTreeMap<String, OsString>),
}

impl Env {
    /// Returns a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<OsString> {
        let value = match self {
            Env::Real => std::env::var_os(name),
            Env::Given(vars) => vars.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.into_string().ok()
    }

    /// Returns the variables whose name starts with `prefix`, by name.
    pub fn starting_with(&self, prefix: &str) -> Vec<(String, String)> {
        let is_wanted = |name: &OsString| name.as_encoded_bytes().starts_with(prefix.as_bytes());
        let all: Vec<(OsString, OsString)> = match self {
            Env::Real => std::env::vars_os().filter(|(name, _)| is_wanted(name)).collect(),
            Env::Given(vars) => vars.iter().map(|(name, value)| (name.into(), value.clone())).collect(),
        };
        let mut found: Vec<(String, String)> = all
            .into_iter()
            .filter(|(name, _)| is_wanted(name))
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        found.sort();
        found
    }
}

pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
