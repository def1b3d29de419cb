//! Runs the examples of a rule against the rule itself. Sprag does not load a rule whose examples fail.

use serde_json::Value;

use sprag_shell::Script;

use crate::call::{InputCompleteness, ToolCall, ToolEffect, ToolRow};
use crate::pattern::location::KnownPaths;
use crate::pattern::subject::{MatchLevel, Subject};
use crate::rule::{BadRule, Decision, OnDoubt, Rule, Strictness};
use crate::rule_set::{RuleDecision, RuleSet, rule_outcome};

/// An example that contradicts its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedExample {
    pub rule: String,
    pub example: String,
    pub kind: ExampleKind,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleKind {
    Match,
    NotMatch,
}

/// The working directory in which examples run.
pub const EXAMPLE_CWD: &str = "/home/user/project";
pub const EXAMPLE_HOME: &str = "/home/user";

/// Tools that examples can call by name. Every other tool is `Exec`.
const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
    ToolRow { name: "Edit", effect: ToolEffect::Write, paths: &["file_path"], command: None },
    ToolRow { name: "Read", effect: ToolEffect::Read, paths: &["file_path"], command: None },
];

/// Returns each example of a rule that fails. `parse` reads a command line that starts in [`EXAMPLE_CWD`],
/// with the home directory [`EXAMPLE_HOME`].
pub fn check_examples(rule: &Rule, parse: impl Fn(&str) -> Script) -> Result<Vec<FailedExample>, BadRule> {
    let set = RuleSet::new([rule], Strictness::Usual)?;
    let ready = rule.ready()?;
    let ground = KnownPaths::new(Some(EXAMPLE_CWD), Some(EXAMPLE_HOME));
    let fires = |example: &str| -> Result<MatchLevel, String> {
        let (script, call) = match example.strip_prefix('@') {
            None => (Some(parse(example)), None),
            Some(call) => {
                let (name, input) = call.split_once(' ').unwrap_or((call, "{}"));
                let input: Value =
                    serde_json::from_str(input).map_err(|_| "the input is not JSON".to_owned())?;
                (None, Some(ToolCall::new(TOOLS, name, input, None, InputCompleteness::Yes)))
            }
        };
        let subject = match (&call, &script) {
            (Some(call), _) => Subject::call(call, None, &ground),
            (None, Some(script)) => Subject::script(script, &ground),
            (None, None) => return Ok(MatchLevel::No),
        };
        Ok(match rule.decision {
            Decision::Allow if set.judge(&subject).verdict == RuleDecision::Allow => MatchLevel::Match,
            Decision::Allow => MatchLevel::No,
            Decision::Ask | Decision::Review | Decision::Deny => rule_outcome(&ready, &subject),
        })
    };
    let mut failed = Vec::new();
    let mut fail = |example: &String, kind, why: String| {
        failed.push(FailedExample { rule: rule.id.clone(), example: example.clone(), kind, why });
    };
    for example in &rule.matching {
        match fires(example) {
            Ok(MatchLevel::Match) => {}
            Ok(MatchLevel::Uncertain | MatchLevel::OpaqueOnly) => {
                fail(example, ExampleKind::Match, "is uncertain".to_owned());
            }
            Ok(MatchLevel::No) => fail(example, ExampleKind::Match, "does not match".to_owned()),
            Err(why) => fail(example, ExampleKind::Match, why),
        }
    }
    for example in &rule.not_match {
        match fires(example) {
            Ok(MatchLevel::No | MatchLevel::OpaqueOnly) => {}
            // Such a rule ignores uncertain matches anyway.
            Ok(MatchLevel::Uncertain) if rule.on_uncertain == OnDoubt::None => {}
            Ok(MatchLevel::Uncertain) => fail(example, ExampleKind::NotMatch, "is uncertain".to_owned()),
            Ok(MatchLevel::Match) => fail(example, ExampleKind::NotMatch, "matches".to_owned()),
            Err(why) => fail(example, ExampleKind::NotMatch, why),
        }
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_shell::ShellStart;

    use super::*;
    use crate::tests::{rule, script};

    #[test]
    fn a_rule_is_read_as_it_is_written_and_proved_by_its_examples() {
        let written = json!({
            "id": "close-needs-review",
            "any": ["Bash:gh issue close*", "Bash:{bd,beads} close*", "mcp__tissue__close_issue"],
            "decision": "review",
            "unless": ["--dry-run"],
            "reason": "An issue is closed after review.",
            "next": "sprag review run",
            "match": [
                "GH_TOKEN=x gh issue close 1",
                "echo y | bash -lc 'gh issue close 1'",
                "cd sub && beads close 7",
                "@mcp__tissue__close_issue {\"id\": 1}",
            ],
            "not_match": ["echo 'gh issue close 1'", "gh issue list", "gh issue close 1 --dry-run"],
        });
        let rule: Rule = serde_json::from_value(written.clone()).unwrap();
        assert_eq!((rule.on_uncertain, rule.on_opaque), (OnDoubt::Ask, OnDoubt::None));
        let start = ShellStart { cwd: Some(EXAMPLE_CWD.to_owned()), home: Some(EXAMPLE_HOME.to_owned()) };
        assert_eq!(check_examples(&rule, |text| Script::parse(text, &start)).unwrap(), []);
        let mut unknown = written;
        unknown["colour"] = json!("red");
        assert!(serde_json::from_value::<Rule>(unknown).is_err());
    }

    #[test]
    fn examples_prove_a_rule() {
        let mut close =
            rule("close", Decision::Review, &["Bash:gh issue close*", "mcp__t__close", "Write:.sprag/**"]);
        close.matching = vec![
            "gh issue close 1".to_owned(),
            "@mcp__t__close {\"id\": 1}".to_owned(),
            "@Write {\"file_path\": \".sprag/x\"}".to_owned(),
            "gh issue list".to_owned(),
        ];
        close.not_match =
            vec!["echo gh issue close 1".to_owned(), "gh issue close 2".to_owned(), "@x nothing".to_owned()];
        let failed = check_examples(&close, script).unwrap();
        let told: Vec<&str> = failed.iter().map(|failed| failed.example.as_str()).collect();
        assert_eq!(told, ["gh issue list", "gh issue close 2", "@x nothing"]);
    }
}
