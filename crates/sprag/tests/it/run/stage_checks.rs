//! Checks in stories: `check NAME passes|fails [PROFILE] [optional]`. The first mention of a check configures
//! it. Its result for a tree never changes, because the program keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::json;

use sprag_base::text::Text;
use sprag_check::{CheckOutcome, CheckRan, CompletionCheck, Profile, Results};

use crate::support::Sandbox;

#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub name: String,
    pub passes: bool,
    pub profile: Profile,
    pub mandatory: bool,
}

impl Told {
    pub(crate) fn read(text: &str) -> Told {
        let mut words = text.split_whitespace();
        let (name, how) = (words.next().unwrap(), words.next().unwrap());
        let more: Vec<&str> = words.collect();
        let profile = [Profile::Quick, Profile::Deep].into_iter().find(|it| more.contains(&it.name()));
        Told {
            name: name.to_owned(),
            passes: how == "passes",
            profile: profile.unwrap_or_default(),
            mandatory: !more.contains(&"optional"),
        }
    }

    fn command(&self) -> String {
        format!("echo run >> ../runs-{0}; cat ../says-{0}; test ! -s ../says-{0}", self.name)
    }

    fn check(&self) -> CompletionCheck {
        let Told { name, profile, mandatory, .. } = self;
        let command = self.command();
        serde_json::from_value(
            json!({"name": name, "command": command, "profile": profile, "mandatory": mandatory}),
        )
        .unwrap()
    }

    /// Writes the check into the user's configuration, because an untrusted project cannot add checks.
    pub(crate) fn configure(&self, sandbox: &Sandbox) {
        sandbox.write(
            &format!("../says-{}", self.name),
            if self.passes { "" } else { "it broke\nline 7: bad\n" },
        );
        let Told { name, profile, mandatory, .. } = self;
        let (profile, command) = (profile.name(), self.command());
        add(
            sandbox,
            &format!(
                "[[completion.check]]\nname = \"{name}\"\ncommand = \"{command}\"\nprofile = \"{profile}\"\nmandatory = {mandatory}\n"
            ),
        );
    }
}

/// Appends to the user's configuration, once.
pub(crate) fn add(sandbox: &Sandbox, text: &str) {
    let file = sandbox.home.join(".config/sprag/config.toml");
    let set = fs::read_to_string(&file).unwrap_or_default();
    if !set.contains(text) {
        sandbox.write_config(&format!("{}\n{text}", set.trim_end()));
    }
}

/// Returns the number of runs of a check.
pub(crate) fn runs(sandbox: &Sandbox, name: &str) -> usize {
    let path = sandbox.project.join(format!("../runs-{name}"));
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// The checks of the core player, which runs no commands.
#[derive(Default)]
pub(crate) struct Checks {
    known: Vec<Told>,
    /// Results by tree and check.
    found: BTreeMap<(usize, String), bool>,
    /// The number of all writes.
    pub writes: usize,
    /// Files that are in no commit.
    pub uncommitted: BTreeSet<String>,
    /// Changed paths by session.
    pub paths: BTreeMap<String, BTreeSet<String>>,
}

impl Checks {
    pub(crate) fn tell(&mut self, told: &Told) -> Vec<CompletionCheck> {
        match self.known.iter_mut().find(|known| known.name == told.name) {
            Some(known) => known.passes = told.passes,
            None => self.known.push(told.clone()),
        }
        self.known.iter().map(Told::check).collect()
    }

    pub(crate) fn wrote(&mut self, session: &str, path: &str) {
        self.writes += 1;
        self.uncommitted.insert(path.to_owned());
        self.paths.entry(session.to_owned()).or_default().insert(path.to_owned());
    }

    pub(crate) fn paths(&self, session: &str) -> Vec<String> {
        self.paths.get(session).into_iter().flatten().cloned().collect()
    }

    pub(crate) fn results(&mut self, profile: Profile) -> Results {
        let mut ran = Vec::new();
        for told in self.known.iter().filter(|told| told.profile <= profile) {
            let passes = *self.found.entry((self.writes, told.name.clone())).or_insert(told.passes);
            let failed = CheckOutcome::Failed { code: Some(1), tail: Text::from("it broke\nline 7: bad") };
            ran.push(CheckRan {
                check: Text::from(told.name.as_str()),
                mandatory: told.mandatory,
                outcome: if passes { CheckOutcome::Passed } else { failed },
            });
        }
        Results { profile, tree: Some(Text::new(self.writes.to_string())), ran }
    }
}
