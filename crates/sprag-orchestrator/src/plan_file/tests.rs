//! Tests of plan files: valid plans, and each problem with its position and code.

use proptest::prelude::*;

use sprag_host::intent_files::file;
use sprag_intent::{IntentOrigin, IntentSet};
use sprag_plan::ids::StageId;
use sprag_plan::spec::checks::{CheckCache, StderrCheck};
use sprag_plan::spec::client::{ClientName, StageClient};
use sprag_plan::spec::problem::{ProblemCode, Severity};
use sprag_plan::spec::template::template;
use sprag_plan::spec::values::{Readable as _, Slug};
use sprag_plan::spec::{AgentMode, MergeMode, Network, Plan, SandboxLevel, StageKind};

use super::*;

const ALL: &str = include_str!("example.md");

fn intents() -> IntentSet {
    let text = "active_intents:\n  - {id: AUTH, owned_scope: ['src/auth/**', '!src/auth/gen/**']}\n  - {id: DOCS, owned_scope: ['docs/**']}\n";
    IntentSet::new([file::read(text, IntentOrigin::Sprag).intents])
}

fn looked_at(text: &str) -> Validated {
    let taken = [(StageId::new("taken"), Slug::read("other").unwrap())];
    match draft(text.as_bytes()) {
        Ok(draft) => {
            validate(&draft, &ValidateInput { intents: PlanIntents::Known(&intents()), taken: &taken })
        }
        Err(problem) => Validated::Bad { found: ProblemList { problems: vec![problem], more: 0 } },
    }
}

fn told(text: &str) -> Vec<String> {
    let found = match looked_at(text) {
        Validated::Good { warnings, .. } => warnings,
        Validated::Bad { found } => found,
    };
    found.problems.iter().map(|problem| problem.to_line("p.md")).collect()
}

fn good(text: &str) -> Plan {
    match looked_at(text) {
        Validated::Good { plan, .. } => *plan,
        Validated::Bad { found } => panic!("{:?}", found.problems),
    }
}

/// Returns a plan with extra lines at its root and in its one stage.
fn plan(root: &str, stage: &str) -> String {
    let indent = |text: &str, by: &str| text.lines().map(|line| format!("{by}{line}\n")).collect::<String>();
    format!(
        "# T\n\n```yaml sprag\nversion: 1\nname: t\n{}stages:\n  - id: a\n    working_dir: .\n    files: [a]\n    acceptance: ['true']\n{}```\n",
        indent(root, ""),
        indent(stage, "    "),
    )
}

#[test]
fn every_field_is_read_as_it_is_meant() {
    let plan = good(ALL);
    assert_eq!(told(ALL), Vec::<String>::new());
    assert_eq!((plan.head.slots, plan.head.gates.len()), (6, 2));
    assert_eq!(plan.head.overview.as_str(), "# All fields\n\nBefore the plan.\n\n\nAfter it.");
    let [auth, docs, look, last] = plan.stages() else { panic!("{}", plan.stages().len()) };
    assert_eq!(auth.name.as_str(), "Sign in");
    assert_eq!(docs.dependencies, [StageId::new("auth")]);
    let globs: Vec<&str> = auth.scope.globs.iter().map(|glob| glob.as_str()).collect();
    assert_eq!(globs, ["src/auth/**", "!src/auth/gen/**", "Cargo.toml"]);
    assert_eq!(auth.parallel_group.as_ref().map(|group| group.max), Some(Some(2)));
    let second = &auth.checks.acceptance[1];
    assert_eq!((second.exit_code, second.timeout.get(), second.cache), (3, 90, CheckCache::Never));
    assert_eq!((second.stdout_contains.len(), &second.stderr), (2, &StderrCheck::Empty));
    assert_eq!(
        (auth.checks.after_stage[0].timeout.get(), auth.checks.acceptance[0].timeout.get()),
        (30, 300)
    );
    assert_eq!(auth.checks.count(), 9);
    assert_eq!(auth.budget.tokens, Some(2_000_000));
    assert_eq!(auth.budget.cost.map(|cost| cost.to_string()).as_deref(), Some("12.50"));
    assert_eq!((auth.sandbox.confine, &auth.sandbox.network), (SandboxLevel::Required, &Network::None));
    assert_eq!(
        (docs.agent.mode, &docs.agent.client),
        (AgentMode::Tmux, &StageClient::Known(ClientName::Cursor))
    );
    assert_eq!((docs.merge, docs.context_budget, docs.retries), (MergeMode::Person, 40, 0));
    assert_eq!(look.kind, StageKind::Knowledge);
    assert!(matches!(&look.agent.client, StageClient::Command { command, .. } if command.len() == 2));
    assert_eq!(last.checks.regression_test.as_ref().map(|test| test.must_contain.len()), Some(1));
}

#[test]
fn a_frozen_plan_is_the_same_plan() {
    let plan = good(ALL);
    let json = serde_json::to_string(&plan).unwrap();
    let back: Plan = serde_json::from_str(&json).unwrap();
    assert_eq!((&back, back.digest()), (&plan, plan.digest()));
    // A comment does not change the digest; a value does.
    assert_eq!(good(&ALL.replace("slots: 6", "slots: 6 # six")).digest(), plan.digest());
    assert_ne!(good(&ALL.replace("slots: 6", "slots: 5")).digest(), plan.digest());
    assert_ne!(good(&ALL.replace("After it", "After that")).digest(), plan.digest());
    // Records cannot introduce a cycle or a bad value.
    let circle = json.replacen(r#""dependencies":[]"#, r#""dependencies":["docs"]"#, 1);
    assert!(serde_json::from_str::<Plan>(&circle).is_err());
    let outside = json.replacen(r#""working_dir":".""#, r#""working_dir":"../x""#, 1);
    assert_ne!(outside, json);
    assert!(serde_json::from_str::<Plan>(&outside).is_err());
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let two = |more: &str| plan("", &format!("name: x\n{more}"));
    for (text, place, code, part) in [
        (plan("slotz: 2", ""), "6:1", ProblemCode::UnknownField, "did you mean `slots`"),
        (plan("", "acceptence: [x]"), "11:5", ProblemCode::UnknownField, "did you mean `acceptance`"),
        (
            plan("", "acceptance2: [x]").replace("acceptance:", "x:"),
            "7:9",
            ProblemCode::UncheckedStage,
            "no check",
        ),
        (plan("slots: 0", ""), "6:8", ProblemCode::BadValue, "from 1 to 64"),
        (plan("slots: [1]", ""), "6:8", ProblemCode::WrongType, "text"),
        (plan("auto_merge: 'true'", ""), "6:13", ProblemCode::WrongType, "without quotes"),
        (plan("target: ../x", ""), "6:9", ProblemCode::BadValue, "not a branch name"),
        (plan("target: --force", ""), "6:9", ProblemCode::BadValue, "not a branch name"),
        (plan("", "").replace("version: 1", "version: 2"), "4:10", ProblemCode::BadValue, "version 1"),
        (plan("", "").replace("version: 1\n", ""), "4:1", ProblemCode::MissingField, "`version`"),
        (plan("", "").replace("name: t", "name: A plan"), "5:7", ProblemCode::BadId, "not a valid id"),
        (plan("", "").replace("id: a", "id: -a"), "7:9", ProblemCode::BadId, "not a valid id"),
        (plan("", "").replace("id: a", "id: taken"), "7:9", ProblemCode::Twice, "plan `other`"),
        (plan("", "").replace("    working_dir: .\n", ""), "7:5", ProblemCode::MissingField, "`working_dir`"),
        (
            plan("", "").replace("working_dir: .", "working_dir: ../b"),
            "8:18",
            ProblemCode::Traversal,
            "out of",
        ),
        (
            plan("", "").replace("working_dir: .", "working_dir: /b"),
            "8:18",
            ProblemCode::Traversal,
            "relative",
        ),
        (plan("", "").replace("files: [a]", "files: [../a]"), "9:13", ProblemCode::Traversal, "`..`"),
        (plan("", "").replace("files: [a]", "files: ['{a']"), "9:13", ProblemCode::BadPattern, "brace"),
        (plan("", "artifacts: ['!x']"), "11:17", ProblemCode::BadPattern, "excludes files"),
        (
            plan("", "wiring: [{source: a, pattern: 'x*', description: d}]"),
            "11:35",
            ProblemCode::WeakPattern,
            "empty text",
        ),
        (
            plan("", "wiring: [{source: a, pattern: 'x(', description: d}]"),
            "11:35",
            ProblemCode::BadPattern,
            "regular",
        ),
        (
            plan("", "wiring: [{source: ../a, pattern: x, description: d}]"),
            "11:23",
            ProblemCode::Traversal,
            "out of",
        ),
        (plan("", "wiring: [{source: a, pattern: x}]"), "11:14", ProblemCode::MissingField, "`description`"),
        (
            two("dead_code_check: {command: x, fail_patterns: ['.*']}"),
            "12:51",
            ProblemCode::WeakPattern,
            "empty text",
        ),
        (two("dependencies: [b]"), "12:20", ProblemCode::UnknownDependency, "unknown stage"),
        (two("dependencies: [a]"), "7:9", ProblemCode::Cycle, "a -> a"),
        (two("context_budget: 80"), "12:21", ProblemCode::BadValue, "10 to 75"),
        (two("type: standart"), "12:11", ProblemCode::BadValue, "did you mean `standard`"),
        (two("client: claud"), "12:13", ProblemCode::BadValue, "did you mean `claude`"),
        (two("client: command"), "12:13", ProblemCode::BadValue, "{command:"),
        (two("client: cursor\nmode: headless"), "13:11", ProblemCode::Contradiction, "tmux"),
        (two("model: '--x y'"), "12:12", ProblemCode::BadValue, "not a valid name"),
        (two("effort: hi"), "12:13", ProblemCode::BadValue, "known names: "),
        (two("verify: dep"), "12:13", ProblemCode::BadValue, "did you mean `deep`"),
        (two("sandbox: off"), "12:14", ProblemCode::LooserSandbox, "stricter"),
        (two("copy: [../x]"), "12:12", ProblemCode::Traversal, "out of"),
        (two("copy: [.git/config]"), "12:12", ProblemCode::BadValue, "is not a file that can be copied"),
        (two("copy: [.env, .env]"), "12:18", ProblemCode::Twice, "twice"),
        (
            two("caches: [{path: target, how: shared}]"),
            "12:34",
            ProblemCode::BadValue,
            "did you mean `share`",
        ),
        (two("caches: [{path: .sprag/x}]"), "12:14", ProblemCode::BadValue, "cannot be a cache"),
        (two("retries: 11"), "12:14", ProblemCode::BadValue, "0 to 10"),
        (two("budget: {tokens: 0}"), "12:22", ProblemCode::BadValue, "tokens"),
        (two("budget: {cost: -1}"), "12:20", ProblemCode::BadValue, "amount"),
        (two("budget: {time: 8d}"), "12:20", ProblemCode::BadValue, "not a duration"),
        (two("bug_fix: true"), "7:5", ProblemCode::MissingField, "regression_test"),
        (
            two("regression_test: {file: a, must_contain: [x]}"),
            "12:22",
            ProblemCode::Contradiction,
            "bug_fix",
        ),
        (two("tasks: [{id: x, text: y}, {id: x, text: z}]"), "12:31", ProblemCode::Twice, "twice"),
        (
            two("truths: [{command: x, stderr_empty: true, stderr_contains: y}]"),
            "12:14",
            ProblemCode::Contradiction,
            "forbids",
        ),
        (
            two("truths: [{command: x, stdout_contains: ab, stdout_not_contains: b}]"),
            "12:14",
            ProblemCode::Contradiction,
            "`ab`",
        ),
        (two("truths: [[x]]"), "12:14", ProblemCode::WrongType, "a check must be a map"),
        (two("truths: ['']"), "12:14", ProblemCode::BadValue, "not a valid command"),
        (two("intents: [AUHT]"), "12:15", ProblemCode::UnknownIntent, "did you mean `AUTH`"),
        (two("outputs: [x, x]"), "12:18", ProblemCode::Twice, "twice"),
        (two("name: y"), "12:5", ProblemCode::Yaml, "twice"),
        (two("setup: [&x y, *x]"), "12:19", ProblemCode::Yaml, "aliases"),
        ("# no plan\n".to_owned(), "1:1", ProblemCode::NoFence, "sprag plan new"),
        ("x\n```yaml\nversion: 1\n```\n".to_owned(), "1:1", ProblemCode::NoFence, "in line 2"),
        (format!("{0}\n{0}", plan("", "")), "15:1", ProblemCode::SecondFence, "line 3"),
        ("```yaml sprag\nversion: 1\n".to_owned(), "1:1", ProblemCode::OpenFence, "never closed"),
        ("```yaml sprag\n```\n".to_owned(), "1:1", ProblemCode::MissingField, "empty"),
        ("```yaml sprag\n- a\n```\n".to_owned(), "2:1", ProblemCode::WrongType, "a plan must be a map"),
        (plan("", "").replace("stages:", "stages: []\nx:"), "6:9", ProblemCode::MissingField, "no stages"),
    ] {
        let told = told(&text);
        let start = format!("p.md:{place} {} ", code.name());
        let is_told = |told: &String| told.starts_with(&start) && told.contains(part);
        assert!(told.iter().any(is_told), "{start}{part}\n{text}\n{told:#?}");
        assert!(
            code.weight() == Severity::Warning || matches!(looked_at(&text), Validated::Bad { .. }),
            "{text}"
        );
    }
}

/// Returns a plan; each line has the id, the dependencies and more fields of a stage.
fn stages(lines: &[(&str, &str, &str)]) -> String {
    let mut text = "```yaml sprag\nversion: 1\nname: t\nstages:\n".to_owned();
    for (id, needs, more) in lines {
        text.push_str(&format!(
            "  - {{id: {id}, working_dir: ., acceptance: [x], dependencies: [{needs}], {more}}}\n"
        ));
    }
    text + "```\n"
}

#[test]
fn all_problems_are_told_at_once() {
    let text = stages(&[
        ("one", "tow", "filez: 1, files: [a]"),
        ("two", "three", "files: [b]"),
        ("three", "four", "files: [c], retries: x"),
        ("four", "two", "files: [d]"),
    ]);
    assert_eq!(
        told(&text),
        [
            "p.md:5:63 unknown-dependency stage `one` depends on unknown stage `tow`, did you mean `two`?",
            "p.md:5:69 unknown-field a stage has no field `filez`, did you mean `files`?",
            "p.md:7:93 bad-value stage `three`: `retries`: `x` is out of range, write a number from 0 to 10",
            "p.md:8:10 cycle stages wait for each other: four -> three -> two -> four, remove one of these dependencies",
        ]
    );
}

#[test]
fn a_loose_group_and_a_missing_scope_are_told() {
    let text = stages(&[
        ("a", "", "files: [a], parallel_group: {name: g, max: 2}"),
        ("b", "", "files: [b], parallel_group: {name: g, max: 3}"),
        ("c", "", "parallel_group: g"),
    ]);
    let told = told(&text);
    assert!(told[0].contains("group-max group `g` has `max: 2` in line 5"), "{told:?}");
    assert!(told[1].starts_with("p.md:7:10 no-scope stage `c`"), "{told:?}");
}

#[test]
fn scopes_that_overlap_are_a_warning_unless_one_waits() {
    let text = stages(&[
        ("a", "", "files: ['src/**', '!src/gen/**']"),
        ("b", "", "files: ['src/*.rs']"),
        ("c", "a, b", "files: ['src/**']"),
        ("d", "", "files: ['src/gen/**']"),
        ("e", "", "files: [docs/x], intents: [AUTH]"),
        ("f", "", "type: knowledge"),
    ]);
    let pairs: Vec<String> = told(&text)
        .iter()
        .map(|told| {
            told.split('`').enumerate().filter(|(at, _)| at % 2 == 1).map(|(_, id)| id).take(2).collect()
        })
        .collect();
    assert_eq!(pairs, ["ab", "cd", "ae", "ce"]);
    good(&text);
}

#[test]
fn a_fence_within_a_longer_one_is_text() {
    let text = format!("````markdown\n```yaml sprag\nnot this\n```\n````\n~~~yaml sprag\n{}", plan("", ""));
    let inner = plan("", "").replace("# T\n\n```yaml sprag\n", "").replace("```\n", "");
    let good_text =
        format!("````markdown\n```yaml sprag\nno\n```\n````\n\n   ~~~~ yaml   sprag\n{inner}~~~~\nend");
    assert_eq!(good(&good_text).head.overview.as_str().lines().last(), Some("end"));
    assert!(told(&text)[0].contains(" open-fence "), "{:?}", told(&text));
    // Windows line ends work too.
    good(&plan("", "").replace('\n', "\r\n"));
}

#[test]
fn the_template_has_no_problem() {
    let text = template(&Slug::read("my-plan").unwrap());
    assert_eq!(told(&text), Vec::<String>::new());
    assert_eq!(good(&text).head.name.as_str(), "my-plan");
}

#[test]
fn a_big_plan_is_checked_soon() {
    let ids: Vec<String> = (0..5000).map(|at| format!("s{at}")).collect();
    let lines: Vec<(&str, &str, &str)> =
        ids.iter().map(|id| (id.as_str(), "", "files: ['a/**/b*']")).collect();
    let Validated::Good { plan, warnings } = looked_at(&stages(&lines)) else { panic!("the plan is valid") };
    assert_eq!(plan.stages().len(), 5000);
    assert_eq!((warnings.problems.len(), warnings.more), (201, 0));
    assert!(warnings.problems.iter().any(|problem| problem.code == ProblemCode::NotCompared));
    let lines: Vec<(&str, &str, &str)> =
        ids.iter().zip(ids.iter().skip(1)).map(|(id, next)| (id.as_str(), next.as_str(), "")).collect();
    assert!(matches!(looked_at(&stages(&lines)), Validated::Bad { .. }));
}

proptest! {
    #[test]
    fn any_bytes_are_a_plan_or_have_problems(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(problem) = draft(&bytes) {
            prop_assert!(problem.at.line >= 1);
        }
    }

    /// Changed valid texts come closer to the rules than random bytes.
    #[test]
    fn any_change_of_a_plan_is_a_plan_or_has_problems(
        at in 0usize..4000,
        cut in 0usize..40,
        put in "[-a-z0-9:{}\\[\\]'\"!&*|>#`~, \n.]{0,12}",
    ) {
        let letters: Vec<char> = ALL.chars().collect();
        let at = at % letters.len();
        let end = (at + cut).min(letters.len());
        let text: String =
            letters[..at].iter().copied().chain(put.chars()).chain(letters[end..].iter().copied()).collect();
        match looked_at(&text) {
            Validated::Good { plan, .. } => {
                let json = serde_json::to_string(&plan).unwrap();
                prop_assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), *plan);
            }
            Validated::Bad { found } => prop_assert!(!found.problems.is_empty()),
        }
    }
}
