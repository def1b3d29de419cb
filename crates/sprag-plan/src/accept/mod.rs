//! Judges the checks of a stage. The host runs commands and reads files; this module decides. The same
//! rules apply to a stage that claims to be done and to a merge candidate.

pub mod candidate;
pub mod reviewer;
pub mod stub;
pub mod work;

use std::fmt;

use serde::{Deserialize, Serialize};

use sprag_base::redact;
use sprag_base::text::{Text, ending, plain, quoted};

use super::accept::stub::Stub;
use super::spec::checks::{DeadCode, Regression, StageCheck, StderrCheck, Wiring};

/// The end status and the output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    pub end: CommandEndStatus,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEndStatus {
    Code(i32),
    Signal,
    TimedOut,
    NotStarted { why: Text<200> },
}

/// A check that failed, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCheck {
    pub what: CheckKind,
    /// The command, pattern or file.
    pub of: Text<300>,
    pub why: Text<300>,
    /// The end of the output of the command.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub tail: Text<TAIL>,
}

const TAIL: usize = 1200;
/// Characters of the report to an agent.
const REPORT: usize = 4000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    Acceptance,
    AfterStage,
    Artifact,
    Wiring,
    WiringTest,
    Truth,
    DeadCode,
    RegressionTest,
    Gate,
}

impl fmt::Display for CheckKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CheckKind::Acceptance => "acceptance",
            CheckKind::AfterStage => "after_stage",
            CheckKind::Artifact => "artifact",
            CheckKind::Wiring => "wiring",
            CheckKind::WiringTest => "wiring test",
            CheckKind::Truth => "truth",
            CheckKind::DeadCode => "dead code",
            CheckKind::RegressionTest => "regression test",
            CheckKind::Gate => "gate",
        })
    }
}

/// Checks the end status and the output of a command of a plan.
pub fn command(what: CheckKind, check: &StageCheck, heard: &CommandOutput) -> Option<FailedCheck> {
    let why = ended(&heard.end, i32::from(check.exit_code)).or_else(|| said(check, heard))?;
    Some(FailedCheck { what, of: Text::new(check.command.as_str()), why: Text::new(why), tail: tail(heard) })
}

fn ended(end: &CommandEndStatus, wanted: i32) -> Option<String> {
    match end {
        CommandEndStatus::Code(code) if *code == wanted => None,
        CommandEndStatus::Code(code) => Some(format!("exit code {code}, expected {wanted}")),
        CommandEndStatus::Signal => Some("killed by a signal".to_owned()),
        CommandEndStatus::TimedOut => Some("timed out".to_owned()),
        CommandEndStatus::NotStarted { why } => Some(format!("cannot start: {why}")),
    }
}

fn said(check: &StageCheck, heard: &CommandOutput) -> Option<String> {
    let missing = |of: &str, words: &[Text<500>], text: &str| {
        let missing = words.iter().find(|words| !text.contains(words.as_str()))?;
        Some(format!("{of} does not contain `{}`", quoted(missing.as_str())))
    };
    let unwanted = check.stdout_not_contains.iter().find(|words| heard.stdout.contains(words.as_str()));
    missing("stdout", &check.stdout_contains, &heard.stdout)
        .or_else(|| unwanted.map(|words| format!("stdout contains `{}`", quoted(words.as_str()))))
        .or_else(|| match &check.stderr {
            StderrCheck::Any => None,
            StderrCheck::Empty if heard.stderr.trim().is_empty() => None,
            StderrCheck::Empty => Some("stderr is not empty".to_owned()),
            StderrCheck::Contains(words) => missing("stderr", words, &heard.stderr),
        })
}

/// Defect of a file that a plan requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Artifact {
    Missing,
    Empty { path: String },
    Stub { path: String, stub: Stub },
}

pub fn artifact(glob: &str, found: &Artifact) -> FailedCheck {
    let why = match found {
        Artifact::Missing => "no file matches".to_owned(),
        Artifact::Empty { path } => format!("`{}` is empty", quoted(path)),
        Artifact::Stub { path, stub } => {
            format!("`{}` is a stub: line {} is `{}`", quoted(path), stub.line, quoted(stub.text.as_str()))
        }
    };
    FailedCheck { what: CheckKind::Artifact, of: Text::new(glob), why: Text::new(why), tail: Text::default() }
}

/// Checks that a file names the thing that it has to use; `text` is `None` if the file is missing.
pub fn wiring(wiring: &Wiring, text: Option<&str>) -> Option<FailedCheck> {
    let source = quoted(wiring.source.as_str());
    let why = match text {
        None => format!("`{source}` is missing"),
        Some(text) if wiring.pattern.regex().is_match(text) => return None,
        Some(_) => {
            format!("`{}` is not in `{source}`: {}", quoted(wiring.pattern.as_str()), wiring.description)
        }
    };
    Some(FailedCheck {
        what: CheckKind::Wiring,
        of: Text::new(wiring.source.as_str()),
        why: Text::new(why),
        tail: Text::default(),
    })
}

pub fn dead_code(check: &DeadCode, heard: &CommandOutput) -> Option<FailedCheck> {
    let red = |why: String| {
        let (of, why) = (Text::new(check.command.as_str()), Text::new(why));
        Some(FailedCheck { what: CheckKind::DeadCode, of, why, tail: tail(heard) })
    };
    match &heard.end {
        // The exit code of such a command means nothing: its output decides.
        CommandEndStatus::Code(_) => {}
        CommandEndStatus::Signal | CommandEndStatus::TimedOut | CommandEndStatus::NotStarted { .. } => {
            return ended(&heard.end, 0).and_then(red);
        }
    }
    let regexes = |patterns: &[super::spec::values::RegexText]| {
        patterns.iter().map(|it| it.regex()).collect::<Vec<_>>()
    };
    let (fail, ignore) = (regexes(&check.fail_patterns), regexes(&check.ignore_patterns));
    let is_dead =
        |line: &&str| fail.iter().any(|it| it.is_match(line)) && !ignore.iter().any(|it| it.is_match(line));
    let line = heard.stdout.lines().chain(heard.stderr.lines()).find(is_dead)?;
    red(format!("the output has `{}`", quoted(line.trim())))
}

/// Checks for the test that a fixed bug needs; `text` is `None` if the file is missing.
pub fn regression(test: &Regression, text: Option<&str>) -> Option<FailedCheck> {
    let file = quoted(test.file.as_str());
    let why = match text {
        None => format!("`{file}` is missing"),
        Some(text) => {
            let missing = test.must_contain.iter().find(|words| !text.contains(words.as_str()))?;
            format!("`{file}` does not contain `{}`", quoted(missing.as_str()))
        }
    };
    let of = Text::new(test.file.as_str());
    Some(FailedCheck { what: CheckKind::RegressionTest, of, why: Text::new(why), tail: Text::default() })
}

fn tail(heard: &CommandOutput) -> Text<TAIL> {
    let both = format!("{}\n{}", heard.stdout.trim_end(), heard.stderr.trim_end());
    let both = plain(both.trim());
    Text::new(ending(&redact::text(&both).into_inner(), TAIL))
}

/// Describes failed checks for the agent that has to fix them: first all of them, then the end of each
/// output as far as there is room.
pub fn report(red: &[FailedCheck]) -> Text<REPORT> {
    let mut text = String::new();
    for it in red {
        text.push_str(&format!("- {} `{}`: {}\n", it.what, quoted(it.of.as_str()), it.why));
    }
    let said: Vec<&FailedCheck> = red.iter().filter(|it| !it.tail.is_empty()).collect();
    let each = REPORT.saturating_sub(text.chars().count()) / said.len().max(1);
    for it in said {
        let head = format!("\nlast output of `{}`:\n", quoted(it.of.as_str()));
        let room = each.saturating_sub(head.chars().count() + 1);
        if room > 0 {
            text.push_str(&head);
            text.push_str(ending(it.tail.as_str(), room));
            text.push('\n');
        }
    }
    Text::new(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(more: Value) -> StageCheck {
        let mut all = json!({"command": "make test", "exit_code": 0, "stderr": "any", "timeout": "300s", "cache": "by_tree"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    fn heard(code: i32, stdout: &str, stderr: &str) -> CommandOutput {
        CommandOutput {
            end: CommandEndStatus::Code(code),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }

    fn why(more: Value, heard: &CommandOutput) -> Option<String> {
        command(CheckKind::Acceptance, &check(more), heard).map(|red| red.why.to_string())
    }

    #[test]
    fn a_command_ends_and_says_what_it_has_to() {
        let ok = heard(0, "12 passed", "");
        assert_eq!(why(json!({}), &ok), None);
        assert_eq!(why(json!({"stdout_contains": ["passed"], "stderr": "empty"}), &ok), None);
        let told = |more, heard: &CommandOutput| why(more, heard).unwrap();
        assert_eq!(told(json!({}), &heard(2, "", "")), "exit code 2, expected 0");
        assert_eq!(told(json!({"exit_code": 1}), &ok), "exit code 0, expected 1");
        assert_eq!(
            told(json!({"stdout_contains": ["13 passed"]}), &ok),
            "stdout does not contain `13 passed`"
        );
        assert_eq!(told(json!({"stdout_not_contains": ["12"]}), &ok), "stdout contains `12`");
        assert_eq!(told(json!({"stderr": "empty"}), &heard(0, "", "warning\n")), "stderr is not empty");
        let wanted = json!({"stderr": {"contains": ["done"]}});
        assert_eq!(told(wanted, &ok), "stderr does not contain `done`");
        let late = CommandOutput { end: CommandEndStatus::TimedOut, ..ok.clone() };
        assert_eq!(told(json!({"exit_code": 0}), &late), "timed out");
        let missing = CommandOutput { end: CommandEndStatus::NotStarted { why: "no sh".into() }, ..ok };
        assert_eq!(told(json!({}), &missing), "cannot start: no sh");
    }

    #[test]
    fn wiring_and_regression_tests_are_looked_for_in_their_files() {
        let wanted: Wiring = serde_json::from_value(
            json!({"source": "src/main.rs", "pattern": "^mod api;", "description": "the api is there"}),
        )
        .unwrap();
        assert_eq!(wiring(&wanted, Some("mod cli;\nmod api;\n")), None);
        assert_eq!(wiring(&wanted, None).unwrap().why.as_str(), "`src/main.rs` is missing");
        assert_eq!(
            wiring(&wanted, Some("// mod api;")).unwrap().why.as_str(),
            "`^mod api;` is not in `src/main.rs`: the api is there"
        );
        let test: Regression =
            serde_json::from_value(json!({"file": "tests/a.rs", "must_contain": ["fn issue_7"]})).unwrap();
        assert_eq!(regression(&test, Some("fn issue_7() {}")), None);
        assert_eq!(
            regression(&test, Some("")).unwrap().why.as_str(),
            "`tests/a.rs` does not contain `fn issue_7`"
        );
    }

    #[test]
    fn dead_code_is_what_a_line_says_and_nobody_excuses() {
        let dead: DeadCode = serde_json::from_value(json!({
            "command": "cargo check", "fail_patterns": ["never used"], "ignore_patterns": ["in tests"], "timeout": "120s"
        }))
        .unwrap();
        assert_eq!(dead_code(&dead, &heard(0, "", "ok")), None);
        assert_eq!(dead_code(&dead, &heard(0, "`a` is never used in tests", "")), None);
        let red = dead_code(&dead, &heard(1, "", "fine\nwarning: `b` is never used\n")).unwrap();
        assert_eq!(red.why.as_str(), "the output has `warning: 'b' is never used`");
        let late =
            CommandOutput { end: CommandEndStatus::TimedOut, stdout: String::new(), stderr: String::new() };
        assert!(dead_code(&dead, &late).is_some(), "a command that timed out proves nothing");
    }

    #[test]
    fn a_report_names_everything_and_gives_each_its_last_words() {
        let long = "x\n".repeat(3000);
        let red: Vec<FailedCheck> = (0..5)
            .filter_map(|_| command(CheckKind::Truth, &check(json!({})), &heard(1, &long, "the end")))
            .chain([artifact("src/*.rs", &Artifact::Missing)])
            .collect();
        let report = report(&red);
        assert_eq!(report.as_str().lines().filter(|line| line.starts_with("- truth `make test`")).count(), 5);
        assert!(report.as_str().contains("- artifact `src/*.rs`: no file matches\n"));
        assert_eq!(report.as_str().matches("the end").count(), 5);
        assert!(!report.as_str().ends_with('…'), "nothing is cut off at the end");
    }

    #[test]
    fn secrets_of_a_check_stay_where_they_are() {
        let said = heard(1, "", "token ghp_R8sT2vW4xY6zA1bC3dE5fG7hJ9kL0mN2pQ4r");
        let red = command(CheckKind::Gate, &check(json!({})), &said).unwrap();
        assert!(!red.tail.as_str().contains("ghp_R8"), "{}", red.tail);
    }
}
