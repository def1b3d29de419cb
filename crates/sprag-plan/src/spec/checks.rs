//! Checks that decide whether a stage is done. Sprag runs them itself; the report of an agent is only a
//! claim.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::text::Text;

use super::values::{FileGlob, RegexText, RelPath, Seconds, ShellLine, choices};

/// Limit of artifact patterns.
pub const ARTIFACTS: usize = 100;

/// All checks of a claim, in this order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageChecks {
    pub acceptance: Vec<StageCheck>,
    pub after_stage: Vec<StageCheck>,
    /// Each has to exist, must not be empty and must not be a stub.
    pub artifacts: Vec<FileGlob>,
    pub wiring: Vec<Wiring>,
    pub wiring_tests: Vec<StageCheck>,
    pub truths: Vec<StageCheck>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_code_check: Option<DeadCode>,
    /// Present if the stage fixes a bug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression_test: Option<Regression>,
}

/// A command and its expected result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageCheck {
    pub command: ShellLine,
    pub exit_code: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stdout_contains: Vec<Text<500>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stdout_not_contains: Vec<Text<500>>,
    pub stderr: StderrCheck,
    pub timeout: Seconds,
    pub cache: CheckCache,
    #[serde(default = "CheckSandbox::usual", skip_serializing_if = "CheckSandbox::are_up")]
    pub walls: CheckSandbox,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StderrCheck {
    #[default]
    Any,
    Empty,
    Contains(Vec<Text<500>>),
}

/// Whether a pass counts for every run on the same tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckCache {
    ByTree,
    Never,
}

choices! {
    /// Whether a check runs in the sandbox of the stage's agent, if there is one.
    CheckSandbox {
        Up "up",
        /// The check needs something that no agent may have, such as a container daemon. People see this
        /// before they trust the plan.
        Off "off",
    }
}

impl CheckSandbox {
    /// Returns the default.
    fn usual() -> CheckSandbox {
        CheckSandbox::Up
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
    fn are_up(&self) -> bool {
        *self == CheckSandbox::Up
    }
}

/// A text that a file has to contain, to show that something is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wiring {
    pub source: RelPath,
    pub pattern: RegexText,
    pub description: Text<300>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadCode {
    pub command: ShellLine,
    pub fail_patterns: Vec<RegexText>,
    pub ignore_patterns: Vec<RegexText>,
    pub timeout: Seconds,
}

/// A test that would have failed before the fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regression {
    pub file: RelPath,
    pub must_contain: Vec<Text<500>>,
}

impl StageChecks {
    /// Reports whether the stage has no checks.
    pub fn is_empty(&self) -> bool {
        *self == StageChecks::default()
    }

    /// Reports whether a check has this name, as reports use it.
    pub fn has(&self, name: &str) -> bool {
        let mut without = self.clone();
        without.give_up(name);
        without != *self
    }

    /// Removes the check with this name.
    pub fn give_up(&mut self, name: &str) {
        let is_it = |text: &str| name == text || name == Text::<300>::from(text).as_str();
        for checks in [&mut self.acceptance, &mut self.after_stage, &mut self.wiring_tests, &mut self.truths]
        {
            checks.retain(|check| !is_it(check.command.as_str()));
        }
        self.artifacts.retain(|glob| !is_it(glob.as_str()));
        self.wiring.retain(|wiring| !is_it(wiring.source.as_str()));
        self.dead_code_check = self.dead_code_check.take().filter(|check| !is_it(check.command.as_str()));
        self.regression_test = self.regression_test.take().filter(|test| !is_it(test.file.as_str()));
    }

    /// Returns the number of checks.
    pub fn count(&self) -> usize {
        self.acceptance.len()
            + self.after_stage.len()
            + self.artifacts.len()
            + self.wiring.len()
            + self.wiring_tests.len()
            + self.truths.len()
            + usize::from(self.dead_code_check.is_some())
            + usize::from(self.regression_test.is_some())
    }

    /// Returns the commands that start a process; people see them before they trust a plan.
    pub fn commands(&self) -> impl Iterator<Item = &ShellLine> {
        self.started().map(|(command, _)| command)
    }

    /// Returns the same commands, and whether each runs in the sandbox.
    pub fn started(&self) -> impl Iterator<Item = (&ShellLine, CheckSandbox)> {
        let checks = [&self.acceptance, &self.after_stage, &self.wiring_tests, &self.truths];
        let dead_code = self.dead_code_check.iter().map(|check| (&check.command, CheckSandbox::Up));
        checks.into_iter().flatten().map(|check| (&check.command, check.walls)).chain(dead_code)
    }
}

impl StageCheck {
    /// Makes a check of a command that has to succeed.
    pub fn plain(command: ShellLine, timeout: Seconds) -> StageCheck {
        StageCheck {
            command,
            exit_code: 0,
            stdout_contains: Vec::new(),
            stdout_not_contains: Vec::new(),
            stderr: StderrCheck::Any,
            timeout,
            cache: CheckCache::ByTree,
            walls: CheckSandbox::Up,
        }
    }

    /// Returns the digest that identifies a cached pass on the same tree.
    pub fn digest(&self) -> Digest {
        let json = serde_json::to_vec(self).expect("a check is plain data with text keys");
        Digest::hash_parts([json])
    }
}
