use std::collections::BTreeMap;
use std::ffi::OsString;

use sprag_plan::spec::values::Readable as _;

use super::*;

fn order<'a>(mode: AgentMode, git: &'a Path, settings: Option<&'a Path>) -> LaunchOrder<'a> {
    LaunchOrder {
        mode,
        model: Some("a model; rm -rf /"),
        effort: Some(Effort::Max),
        prompt: "read `brief.md`",
        settings,
        session: "0198-id",
        micros: Some(12_500_000),
        git,
        walls: LauncherSandbox::Its,
    }
}

#[test]
fn codex_leaves_its_sandbox_only_where_ours_is() {
    let git = Path::new("/r/.git");
    let words = |walls| {
        (codex::LAUNCHER.arguments)(&LaunchOrder { walls, ..order(AgentMode::Headless, git, None) }).join(" ")
    };
    assert!(words(LauncherSandbox::Its).contains("--sandbox workspace-write --add-dir /r/.git"));
    assert!(words(LauncherSandbox::Ours).contains("--sandbox danger-full-access"));
}

#[test]
fn every_client_of_a_plan_can_be_started_or_says_why_not() {
    for name in ClientName::NAMES {
        let known = ClientName::read(name).unwrap();
        assert_eq!(find(known).known, known);
    }
    assert_eq!(LAUNCHERS.len(), ClientName::NAMES.len());
}

#[test]
fn what_a_plan_says_is_one_argument_each_and_never_a_line_for_a_shell() {
    let git = Path::new("/r/.git");
    for launcher in LAUNCHERS {
        for mode in launcher.modes {
            let arguments = (launcher.arguments)(&order(*mode, git, None));
            assert!(arguments.iter().any(|word| word == "a model; rm -rf /"), "{arguments:?}");
            let is_told = arguments.iter().any(|word| word == "read `brief.md`");
            let on_stdin = launcher.prompt == Prompt::Stdin && *mode == AgentMode::Headless;
            assert_eq!(is_told, !on_stdin, "{arguments:?}");
            assert!(!arguments.iter().any(|word| word.contains("dangerously")), "{arguments:?}");
        }
    }
}

#[test]
fn claude_is_told_of_hooks_money_and_effort() {
    let arguments =
        (claude::LAUNCHER.arguments)(&order(AgentMode::Headless, Path::new("/"), Some(Path::new("/s.json"))));
    let pair = |name: &str| {
        let at = arguments.iter().position(|word| word == name).unwrap();
        arguments[at + 1].as_str()
    };
    assert_eq!(pair("--output-format"), "stream-json");
    assert_eq!((pair("--settings"), pair("--effort")), ("/s.json", "max"));
    assert_eq!((pair("--max-budget-usd"), pair("--session-id")), ("12.500000", "0198-id"));
}

#[test]
fn an_agent_sees_its_own_login_and_no_other_secret() {
    let set = [
        "PATH",
        "LC_ALL",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "CLAUDECODE",
        "DATABASE_URL",
        "CLAUDE_CODE_SESSION_ID",
    ];
    let env = Env::Given(
        set.iter().map(|name| ((*name).to_owned(), OsString::from("x"))).collect::<BTreeMap<_, _>>(),
    );
    let names = |launcher| -> Vec<String> {
        environment::passed_on(launcher, &env).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(Some(&claude::LAUNCHER)), ["ANTHROPIC_API_KEY", "LC_ALL", "PATH"]);
    assert_eq!(names(Some(&codex::LAUNCHER)), ["LC_ALL", "OPENAI_API_KEY", "PATH"]);
    assert_eq!(names(None), ["LC_ALL", "PATH"]);
}
