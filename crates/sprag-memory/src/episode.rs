//! Episodes: a command that failed and its next success, as one record. Three similar episodes are worth a
//! learning; the agent writes it at reflection.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::redact;
use sprag_base::text::{Text, one_line, quoted};
use sprag_base::time::Timestamp;

use crate::records::MemoryRecord;

/// This many similar episodes are worth a learning.
pub const ALIKE: u32 = 3;
/// The limit on patterns. The oldest pattern is dropped first.
const PATTERNS: usize = 500;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The task, if known.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub task: Text<128>,
    pub tool: Text<128>,
    /// The command without its arguments: `cargo test`.
    pub command: Text<80>,
    /// A digest of the whole command line.
    pub input: Digest,
    pub outcome: EpisodeOutcome,
    pub class: ErrorClass,
    /// The line that names the error, without numbers and paths.
    pub error: Text<200>,
    pub fix: Text<300>,
    /// The number of runs until success.
    pub tries: u32,
    pub confidence: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeOutcome {
    /// The command works after a change.
    Fixed,
    /// The command works without a change.
    Passed,
}

/// The kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    NoProgram,
    NoFile,
    Permission,
    Timeout,
    Network,
    Usage,
    Compile,
    Test,
    Conflict,
    Other,
}

sprag_base::names! {
    pub fn name(ErrorClass):
    NoProgram = "no program", NoFile = "no file", Permission = "permission", Timeout = "timeout",
    Network = "network", Usage = "usage", Compile = "compile", Test = "test", Conflict = "conflict",
    Other = "other"
}

impl ErrorClass {
    pub fn classify(error: &str) -> ErrorClass {
        let error = error.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| error.contains(word));
        match () {
            () if says(&["command not found", "not recognized as", "no such command"]) => {
                ErrorClass::NoProgram
            }
            () if says(&["timed out", "timeout", "deadline exceeded"]) => ErrorClass::Timeout,
            () if says(&[
                "could not resolve host",
                "connection refused",
                "network is unreachable",
                "econnrefused",
            ]) =>
            {
                ErrorClass::Network
            }
            () if says(&["permission denied", "access denied", "eacces", "operation not permitted"]) => {
                ErrorClass::Permission
            }
            () if says(&["merge conflict", "conflict (", "needs merge"]) => ErrorClass::Conflict,
            () if says(&["no such file", "enoent", "cannot find the path", "file not found"]) => {
                ErrorClass::NoFile
            }
            () if says(&[
                "usage:",
                "unexpected argument",
                "unrecognized option",
                "unknown option",
                "invalid option",
            ]) =>
            {
                ErrorClass::Usage
            }
            () if says(&["test result: failed", "tests failed", "assertion", "--- fail", "failures:"]) => {
                ErrorClass::Test
            }
            () if says(&[
                "error[e",
                "syntaxerror",
                "cannot find ",
                "undefined reference",
                "does not compile",
                "error ts",
                "could not compile",
            ]) =>
            {
                ErrorClass::Compile
            }
            () => ErrorClass::Other,
        }
    }
}

/// Returns a command without its arguments: the first real program and its subcommand. `None`: the line has
/// no such program.
pub fn command_of(line: &str) -> Option<Text<80>> {
    let steps = line.split(['\n', ';', '|', '&']).map(str::trim).filter(|step| !step.is_empty());
    for step in steps {
        let mut words = step.split_whitespace().skip_while(|word| is_assignment(word) || is_prefix(word));
        let Some(program) = words.next() else { continue };
        let name = program.rsplit('/').next().unwrap_or(program);
        if ["cd", "export", "set", "source", ".", "echo", "pushd", "mkdir", "umask", "true"].contains(&name) {
            continue;
        }
        let is_name = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_lowercase()) && !word.contains(['/', '.', '='])
        };
        let sub =
            words.find(|word| !word.starts_with(['-', '+'])).filter(is_name).filter(|_| MANY.contains(&name));
        return Some(Text::new(match sub {
            Some(sub) => format!("{name} {sub}"),
            None => name.to_owned(),
        }));
    }
    None
}

/// Programs with subcommands.
const MANY: &[&str] = &[
    "apt",
    "apt-get",
    "aws",
    "az",
    "bazel",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "gcloud",
    "gh",
    "git",
    "go",
    "gradle",
    "gradlew",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rails",
    "rake",
    "rustup",
    "systemctl",
    "task",
    "terraform",
    "uv",
    "yarn",
];

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn is_prefix(word: &str) -> bool {
    ["sudo", "env", "time", "nice", "command", "exec", "nohup", "("].contains(&word)
}

/// Returns the line that names the error. Numbers and paths are removed, so that similar errors become equal.
pub fn gist(error: &str) -> Text<200> {
    let says = |line: &&str| {
        let line = line.to_lowercase();
        ["error", "fail", "panic", "denied", "not found", "cannot", "no such", "unexpected", "conflict"]
            .iter()
            .any(|word| line.contains(word))
    };
    let lines =
        || error.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("Exit code"));
    let line = lines().find(says).or_else(|| lines().next()).unwrap_or("no message");
    let words = line.split_whitespace().filter(|word| !word.contains('/') || word.len() < 2);
    let words: Vec<String> =
        words.map(|word| word.chars().filter(|c| !c.is_ascii_digit()).collect()).collect();
    redact::short(&one_line(&words.join(" ")))
}

/// Failures of one kind, with their fix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailurePattern {
    pub command: Text<80>,
    pub class: ErrorClass,
    pub error: Text<200>,
    pub count: u32,
    pub last: Timestamp,
    /// The latest fix.
    pub fix: Text<300>,
}

/// All patterns by their key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailurePatterns {
    patterns: BTreeMap<Digest, FailurePattern>,
}

/// Returns the key that similar episodes share.
pub fn key(command: &str, class: ErrorClass, error: &str) -> Digest {
    Digest::hash_parts([command, class.name(), error])
}

impl FailurePatterns {
    pub fn get(&self, key: Digest) -> Option<&FailurePattern> {
        self.patterns.get(&key)
    }

    /// Returns patterns that are worth a learning, the most frequent first.
    pub fn candidates(&self) -> Vec<&FailurePattern> {
        let mut found: Vec<&FailurePattern> =
            self.patterns.values().filter(|pattern| pattern.count >= ALIKE).collect();
        found.sort_by_key(|pattern| (std::cmp::Reverse(pattern.count), std::cmp::Reverse(pattern.last)));
        found
    }
}

impl FailurePattern {
    /// Describes the pattern in one sentence, for reflection.
    pub fn describe(&self) -> String {
        format!(
            "`{}` failed {} times with `{}` ({}); fix: {}",
            quoted(self.command.as_str()),
            self.count,
            quoted(self.error.as_str()),
            self.class.name(),
            one_line(self.fix.as_str())
        )
    }
}

impl Projection for FailurePatterns {
    const NAME: &'static str = "episodes";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["episode"];

    fn apply(&mut self, record: &Record) {
        let Some(MemoryRecord::Episode(episode)) = MemoryRecord::read(record) else { return };
        // A command that passed without a change teaches nothing.
        if episode.outcome == EpisodeOutcome::Passed {
            return;
        }
        let key = key(episode.command.as_str(), episode.class, episode.error.as_str());
        if !self.patterns.contains_key(&key) && self.patterns.len() >= PATTERNS {
            let oldest = self.patterns.iter().min_by_key(|(_, pattern)| pattern.last).map(|(key, _)| *key);
            oldest.map(|key| self.patterns.remove(&key));
        }
        let pattern = self.patterns.entry(key).or_insert_with(|| FailurePattern {
            command: episode.command,
            class: episode.class,
            error: episode.error,
            count: 0,
            last: record.at,
            fix: Text::default(),
        });
        pattern.count = pattern.count.saturating_add(1);
        pattern.last = pattern.last.max(record.at);
        pattern.fix = episode.fix;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_command_is_known_without_its_arguments() {
        for (line, command) in [
            ("cargo test -p core memory::", "cargo test"),
            ("cd crates/core && RUST_LOG=debug cargo test 2>&1 | tail", "cargo test"),
            ("sudo /usr/bin/systemctl --user restart unit", "systemctl restart"),
            ("python3 tools/gen.py --all", "python3"),
            ("make", "make"),
            ("npm run build", "npm run"),
            ("echo hi; ls -la src", "ls"),
            ("cargo +nightly test", "cargo test"),
        ] {
            assert_eq!(command_of(line).unwrap().as_str(), command, "{line}");
        }
        assert_eq!(command_of("cd x && export A=1"), None);
        assert_eq!(command_of(""), None);
    }

    #[test]
    fn an_error_is_known_without_its_numbers_and_places() {
        let one = "Exit code 101\n   Compiling x v0.1.0\nerror[E0433]: failed to resolve `serde` --> /home/a/src/lib.rs:10:5";
        let two = "Exit code 101\nerror[E0433]: failed to resolve `serde` --> src/main.rs:99:1\nmore";
        assert_eq!(gist(one), gist(two));
        assert_eq!(gist(one).as_str(), "error[E]: failed to resolve `serde` -->");
        assert_eq!(gist("").as_str(), "no message");
        for (error, class) in [
            (one, ErrorClass::Compile),
            ("bash: frobnicate: command not found", ErrorClass::NoProgram),
            ("cat: x: No such file or directory", ErrorClass::NoFile),
            ("test result: FAILED. 3 passed; 1 failed", ErrorClass::Test),
            ("error: unexpected argument '--al' found\n\nUsage: x", ErrorClass::Usage),
            ("it just did not", ErrorClass::Other),
        ] {
            assert_eq!(ErrorClass::classify(error), class, "{error}");
        }
    }

    fn happened(fix: &str, outcome: EpisodeOutcome, error: &str) -> Record {
        let episode = Episode {
            task: Text::default(),
            tool: Text::from("Bash"),
            command: Text::from("cargo test"),
            input: Digest::hash_parts(["x"]),
            outcome,
            class: ErrorClass::classify(error),
            error: gist(error),
            fix: Text::from(fix),
            tries: 2,
            confidence: 0.8,
        };
        MemoryRecord::Episode(episode).record(Timestamp::from_millis(0))
    }

    #[test]
    fn three_alike_are_worth_a_learning_and_two_are_not() {
        let mut patterns = FailurePatterns::default();
        patterns.apply(&happened("add the feature", EpisodeOutcome::Fixed, "error: no feature `x` (line 1)"));
        patterns.apply(&happened("ran it again", EpisodeOutcome::Passed, "error: no feature `x` (line 2)"));
        patterns.apply(&happened("another", EpisodeOutcome::Fixed, "error: disk full"));
        patterns.apply(&happened("add the feature", EpisodeOutcome::Fixed, "error: no feature `x` (line 3)"));
        assert!(patterns.candidates().is_empty());
        patterns.apply(&happened("edit Cargo.toml", EpisodeOutcome::Fixed, "error: no feature `x` (line 4)"));
        let told: Vec<String> = patterns.candidates().iter().map(|pattern| pattern.describe()).collect();
        assert_eq!(
            told,
            [
                "`cargo test` failed 3 times with `error: no feature 'x' (line )` (other); fix: edit Cargo.toml"
            ]
        );
    }

    proptest! {
        #[test]
        fn any_command_and_error_is_read(text in "\\PC{0,200}") {
            let _some_or_none = command_of(&text);
            prop_assert!(!gist(&text).as_str().contains('\n'));
            let _a_class = ErrorClass::classify(&text);
        }
    }
}
