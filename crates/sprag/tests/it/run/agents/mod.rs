//! Small scripts as agents that report about themselves: limits, logins, full contexts and budgets, and the
//! arguments of clients.

mod messages;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Ran, SPRAG, Sandbox, payload};

/// The output of Claude Code, in `sh`: `said ID TOKENS` is an answer of the model to a request with this many
/// tokens.
const SPEECH: &str = r#"
init() { echo '{"type":"system","subtype":"init","session_id":"s-1","model":"claude-sonnet-4-5"}'; }
said() { echo '{"type":"assistant","parent_tool_use_id":null,"message":{"id":"'$1'","model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":'$2',"output_tokens":0}}}'; }
failed() { echo '{"type":"result","is_error":true,"api_error_status":'$1',"result":"whatever"}'; exit 1; }
"#;

struct Desk {
    sandbox: Sandbox,
}

impl Desk {
    fn new() -> Desk {
        Desk { sandbox: crate::support::desk::Desk::new().sandbox }
    }

    fn git(&self, args: &[&str]) -> String {
        let output = self.sandbox.git(args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn home(&self, name: &str) -> PathBuf {
        self.sandbox.home.join(name)
    }

    /// Writes a plan of one stage with these lines.
    fn plan(&self, lines: &[&str]) -> PathBuf {
        let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        let text = format!(
            "# Plan\n\n```yaml sprag\nversion: 1\nname: p\ntarget: main\nstages:\n  - id: a\n    name: a\n    working_dir: .\n    description: make a\n    acceptance: [\"test -f a\"]\n{lines}```\n"
        );
        let path = self.home("plan.md");
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a script that prints like Claude Code; `$RUN` is the number of its starts.
    fn speaks(&self, script: &str, lines: &[&str]) {
        let (path, count) = (self.home("a.sh"), self.home("a.ran"));
        let start = format!("echo x >>{0}\nRUN=$(grep -c x {0})\n", count.display());
        let work = "work() { echo a >a; git add -A; git commit -qm a; }\n";
        fs::write(&path, format!("{start}{SPEECH}{work}{script}\n")).unwrap();
        let client = format!("client: {{command: [sh, {}], stream: claude}}", path.display());
        self.plan(&[&[client.as_str()], lines].concat());
    }

    fn pipe(&self) -> PathBuf {
        let pipe = self.home("pipe");
        assert!(self.sandbox.command("mkfifo").arg(&pipe).status().unwrap().success());
        pipe
    }

    fn run(&self) -> Ran {
        let plan = self.home("plan.md").display().to_string();
        self.sandbox.run(&["run", &plan, "--trust", "--foreground"])
    }

    fn times(&self) -> usize {
        fs::read_to_string(self.home("a.ran")).map_or(0, |text| text.lines().count())
    }

    /// Returns the ends of sessions from the records of the run.
    fn ends(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.sandbox.store().join("run/plans/p.jsonl")).unwrap();
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.filter(|it| it["kind"] == "session.ended").map(|it| it["body"]["ended"].clone()).collect()
    }

    /// Returns the exit files of supervisors, in the order in which the sessions started.
    fn exits(&self) -> Vec<Value> {
        let folders = fs::read_dir(self.sandbox.store().join("run/s")).unwrap();
        let mut paths: Vec<PathBuf> =
            folders.map(|folder| folder.unwrap().path().join("exit.json")).collect();
        paths.sort();
        paths.iter().map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).collect()
    }

    fn assert_merged(&self, ran: &Ran) {
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(self.git(&["show", "refs/sprag/p/trunk:a"]), "a");
    }

    fn assert_blocked(&self, ran: &Ran) {
        assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.lines().any(|line| line.ends_with("blocked")), "{}", ran.stdout);
    }
}

#[test]
fn a_limit_is_waited_for_and_costs_no_attempt() {
    let desk = Desk::new();
    let limited = r#"if [ $RUN -le 5 ]; then
        echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(date +%s)'}}'
        failed 429
    fi; init; said m1 1000; work"#;
    desk.speaks(limited, &["retries: 0"]);
    desk.assert_merged(&desk.run());
    let ends: Vec<Value> = desk.ends().iter().map(|end| end["ended"].clone()).collect();
    assert_eq!(ends[..5], ["rate_limited"; 5], "five limits, and no retry was to be had");
    assert_eq!(ends[5], "well");
}

#[test]
fn who_may_not_log_in_is_a_persons_at_once() {
    let desk = Desk::new();
    desk.speaks("init; failed 401", &[]);
    desk.assert_blocked(&desk.run());
    assert_eq!(desk.times(), 1);
    assert_eq!(desk.ends()[0]["failure"], "auth");
}

#[test]
fn a_context_that_is_full_is_handed_over() {
    let desk = Desk::new();
    let pipe = desk.pipe();
    let script = format!(
        "init; if [ $RUN = 1 ]; then said m1 99000; said m2 101000; cat {} >/dev/null; fi; said m3 1000; work",
        pipe.display()
    );
    desk.speaks(&script, &["context_budget: 50", "retries: 0"]);
    desk.assert_merged(&desk.run());
    assert_eq!(desk.times(), 2);
    let first = &desk.exits()[0];
    assert_eq!(
        (&first["by"], &first["seen"]["context"]["tokens"]),
        (&Value::from("told"), &Value::from(101_000))
    );
    let told = fs::read_to_string(desk.sandbox.store().join("run/plans/p.jsonl")).unwrap();
    assert!(told.contains("context_full"), "{told}");
}

#[test]
fn a_client_that_says_so_itself_is_handed_over_too() {
    let desk = Desk::new();
    let full = r#"if [ $RUN = 1 ]; then
        echo '{"type":"result","is_error":true,"terminal_reason":"prompt_too_long"}'; exit 1
    fi; init; said m1 10; work"#;
    desk.speaks(full, &["retries: 0"]);
    desk.assert_merged(&desk.run());
    assert_eq!(desk.ends()[0]["ended"], "context_full");
}

#[test]
fn who_fills_one_context_after_the_other_is_a_persons_at_last() {
    let desk = Desk::new();
    desk.speaks(
        r#"echo '{"type":"result","is_error":true,"terminal_reason":"prompt_too_long"}'; exit 1"#,
        &[],
    );
    desk.assert_blocked(&desk.run());
    assert_eq!(desk.times(), 11, "ten handed over");
    let told = desk.sandbox.run(&["stage", "review", "a"]).stdout;
    assert!(told.contains("its agents fill one context after the other"), "{told}");
}

#[test]
fn a_budget_of_tokens_ends_an_agent_within_a_turn() {
    let desk = Desk::new();
    let pipe = desk.pipe();
    let script =
        format!("init; said m1 600; said m2 600; cat {} >/dev/null; said m3 600; work", pipe.display());
    desk.speaks(&script, &["budget: {tokens: 1000}"]);
    desk.assert_blocked(&desk.run());
    let exit = &desk.exits()[0];
    assert_eq!((&exit["by"], &exit["seen"]["used"]["tokens"]), (&Value::from("budget"), &Value::from(1200)));
    assert_eq!((desk.ends()[0]["failure"].as_str(), desk.times()), (Some("budget"), 1));
}

#[test]
fn a_budget_of_time_ends_an_agent_and_what_it_used_counts_for_the_next() {
    let desk = Desk::new();
    let pipe = desk.pipe();
    desk.speaks(
        &format!("cat {} >/dev/null; work", pipe.display()),
        &["budget: {time: 1s, on_exceed: stop}"],
    );
    desk.assert_blocked(&desk.run());
    assert_eq!(desk.exits()[0]["by"], "budget");
    assert_eq!(desk.exits()[0]["seen"]["trouble"]["trouble"], "budget");
}

#[test]
fn words_that_only_sound_like_trouble_are_none() {
    let desk = Desk::new();
    let sounds = r#"init; said m1 10; echo 'API Error: 429 rate_limit_error prompt is too long'; echo '{"type":"result","is_error":false,"result":"429"}'; work"#;
    desk.speaks(sounds, &[]);
    desk.assert_merged(&desk.run());
    assert_eq!(desk.exits()[0]["seen"]["trouble"], Value::Null);
}

#[test]
fn an_agent_sees_a_clean_environment_and_is_no_person() {
    let mut desk = Desk::new();
    desk.sandbox.vars.push(("SECRET_TOKEN".to_owned(), "hush".to_owned()));
    let (seen, refused) = (desk.home("env"), desk.home("refused"));
    let script = format!(
        "env >{}; {SPRAG} run {} --trust 2>{}; echo $? >>{2}; work",
        seen.display(),
        desk.home("plan.md").display(),
        refused.display()
    );
    desk.speaks(&script, &[]);
    desk.assert_merged(&desk.run());
    let env = fs::read_to_string(seen).unwrap();
    assert!(!env.contains("hush"), "{env}");
    for name in ["SPRAG_STAGE=a", "SPRAG_BRIEF=/", "SPRAG_SESSION=", "SPRAG_RUN=", "HOME="] {
        assert!(env.lines().any(|line| line.starts_with(name)), "{name}: {env}");
    }
    let refused = fs::read_to_string(refused).unwrap();
    assert!(refused.contains("agent") && refused.ends_with("1\n"), "{refused}");
}

#[test]
fn hooks_and_commands_below_an_agent_know_its_stage() {
    let desk = Desk::new();
    let told = desk.home("told");
    let script = format!(
        r#"echo '{{"session_id":"h-1","hook_event_name":"SessionStart","source":"startup","cwd":"'$PWD'"}}' | {SPRAG} hook claude
        (CLAUDE_CODE_SESSION_ID=h-1 {SPRAG} observe 'it is warm'; echo "observed $?"; {SPRAG} verify) >{} 2>&1
        work"#,
        told.display()
    );
    desk.speaks(&script, &[]);
    desk.assert_merged(&desk.run());
    let journal = fs::read_to_string(desk.sandbox.store().join("stages/a/h-1.jsonl")).unwrap();
    assert!(journal.contains(r#""stage":"a""#), "{journal}");
    let told = fs::read_to_string(told).unwrap();
    assert!(told.contains("observed 0"), "the client's name of the session counts, too: {told}");
    assert!(!told.contains("a check started this command"), "{told}");
}

#[test]
fn claude_gets_its_brief_our_hooks_and_what_the_plan_says_of_it() {
    let mut desk = Desk::new();
    let (args, stdin) = (desk.home("args"), desk.home("stdin"));
    desk.sandbox.with_program(
        "claude",
        &format!(
            "printf '%s\\n' \"$@\" >{}\ncat >{}\n{SPEECH}\ninit; said m1 5000; echo a >a; git add -A; git commit -qm a",
            args.display(),
            stdin.display()
        ),
    );
    desk.plan(&["client: claude", "model: claude-sonnet-4-5", "effort: high", "budget: {cost: 2.50}"]);
    desk.assert_merged(&desk.run());
    assert!(fs::read_to_string(stdin).unwrap().contains("make a"), "the brief is what it is asked");
    let args = fs::read_to_string(args).unwrap();
    let args: Vec<&str> = args.lines().collect();
    let after = |name: &str| args[args.iter().position(|arg| *arg == name).unwrap() + 1];
    assert_eq!((args[0], after("--output-format")), ("-p", "stream-json"));
    assert_eq!(
        (after("--model"), after("--effort"), after("--max-budget-usd")),
        ("claude-sonnet-4-5", "high", "2.500000")
    );
    let settings: Value = serde_json::from_slice(&fs::read(after("--settings")).unwrap()).unwrap();
    let hook = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!((&hook["command"], &hook["args"][1]), (&Value::from(SPRAG), &Value::from("claude")));
    assert_eq!(desk.exits()[0]["seen"]["context"]["tokens"], 5000);
}

#[test]
fn hooks_that_are_switched_off_are_no_hooks() {
    let mut desk = Desk::new();
    desk.sandbox.with_program("claude", "echo a >a; git add -A; git commit -qm a");
    fs::create_dir_all(desk.home(".claude")).unwrap();
    fs::write(desk.home(".claude/settings.json"), r#"{"disableAllHooks": true}"#).unwrap();
    desk.plan(&["client: claude"]);
    let ran = desk.run();
    desk.assert_blocked(&ran);
    assert!(ran.stderr.contains("`disableAllHooks`"), "{}", ran.stderr);
    assert!(
        !desk.sandbox.store().join("run/s").read_dir().unwrap().any(|it| it
            .unwrap()
            .path()
            .join("claim")
            .exists())
    );
}

#[test]
fn a_stage_that_nobody_can_work_at_is_told_before_anything_is_begun() {
    let mut desk = Desk::new();
    let refused = |desk: &Desk, lines: &[&str], why: &str| {
        desk.plan(lines);
        let ran = desk.run();
        assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stderr.contains("stage `a` cannot run here") && ran.stderr.contains(why),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains("next: sprag "), "{}", ran.stderr);
        assert!(!desk.sandbox.store().join("run").exists());
    };
    refused(&desk, &["client: claude"], "`claude` is not on PATH");
    desk.sandbox.with_program("gemini", "true");
    refused(&desk, &["client: gemini"], "headless it needs `sandbox: required`");
    let answer = r#"{"id":2,"result":{"data":[{"hooks":[{"command":"sprag hook codex","trustStatus":"untrusted"}]}]}}"#;
    desk.sandbox.with_program("codex", &format!("read a; read b; read c; echo '{answer}'; cat >/dev/null"));
    refused(&desk, &["client: codex"], "would skip 1 of 1 hooks of Sprag");
    desk.sandbox.with_program(
        "codex",
        r#"read a; read b; read c; echo '{"id":2,"result":{"data":[]}}'; cat >/dev/null"#,
    );
    refused(&desk, &["client: codex"], "does not list Sprag's hooks");
    desk.sandbox.vars.retain(|(name, _)| name != "PATH");
    desk.sandbox.vars.push(("PATH".to_owned(), desk.home("bin").display().to_string()));
    refused(&desk, &["client: {command: [sh, work.sh]}", "mode: tmux"], "needs `tmux`");
}

#[test]
fn in_tmux_an_agent_has_a_terminal_and_is_kept_like_any_other() {
    let mut desk = Desk::new();
    if desk.sandbox.command("tmux").arg("-V").output().is_err() {
        // Without tmux the test can only check this message.
        desk.sandbox.with_program("claude", "true");
        desk.plan(&["client: claude", "mode: tmux"]);
        return assert!(desk.run().stderr.contains("needs `tmux`"));
    }
    let talks = desk.home(".claude/projects/p");
    fs::create_dir_all(&talks).unwrap();
    let script = format!(
        "test -t 0 && test -t 1 || exit 9\n{SPEECH}\nfor last; do :; done\nwhile [ $# -gt 1 ]; do [ $1 = --session-id ] && session=$2; shift; done\n(said m1 44000) >{}/$session.jsonl\necho \"$last\" >{}; stty -a >/dev/null || exit 8\necho a >a; git add -A; git commit -qm a",
        talks.display(),
        desk.home("prompt").display()
    );
    desk.sandbox.with_program("claude", &script);
    desk.sandbox.vars.push(("TMUX_TMPDIR".to_owned(), desk.sandbox.home.display().to_string()));
    desk.plan(&["client: claude", "mode: tmux"]);
    desk.assert_merged(&desk.run());
    let prompt = fs::read_to_string(desk.home("prompt")).unwrap();
    assert!(prompt.starts_with("Read the file /") && prompt.contains("briefs/p/a.md"), "{prompt}");
    let seen = &desk.exits()[0]["seen"];
    assert_eq!(seen["context"]["tokens"], 44_000, "{seen}");
}

#[test]
fn who_asks_a_person_at_its_terminal_is_answered_there_and_goes_on() {
    let mut desk = Desk::new();
    if desk.sandbox.command("tmux").arg("-V").output().is_err() {
        return;
    }
    let payload = |name: &str| {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "make it"}});
        payload("s-asking", name, &desk.sandbox.project.join(".worktrees/a"), call).to_string()
    };
    let script = format!(
        "{SPRAG} hook claude >/dev/null <<'E'\n{}\nE\nread answer\n{SPRAG} hook claude >/dev/null <<'E'\n{}\nE\necho \"$answer\" >a; git add -A; git commit -qm a; cat {}",
        payload("PermissionRequest"),
        payload("PreToolUse"),
        desk.pipe().display()
    );
    desk.sandbox.with_program("claude", &script);
    desk.sandbox.vars.push(("TMUX_TMPDIR".to_owned(), desk.sandbox.home.display().to_string()));
    let plan = desk.plan(&["client: claude", "mode: tmux"]);
    let mut command = desk.sandbox.command(SPRAG);
    command.arg("run").arg(plan).args(["--trust", "--foreground"]).stdin(Stdio::null());
    let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(run.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut until = |state: &str| assert!(told.any(|line| line.contains(state)), "it is never {state}");
    until("asking");
    let review = desk.sandbox.run(&["stage", "review", "a"]).stdout;
    assert!(review.contains("may the agent use `Bash`: make it"), "{review}");
    let said = desk.sandbox.run(&["stage", "resume", "a", "--answer", "yes, do"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    until("running");
    fs::write(desk.home("pipe"), "").unwrap();
    until("done");
    assert!(run.wait().unwrap().success());
    assert_eq!(desk.git(&["show", "refs/sprag/p/trunk:a"]), "yes, do");
}

#[test]
fn when_most_of_a_budget_is_used_somebody_is_told_once() {
    let desk = Desk::new();
    desk.speaks("init; said m1 45; [ $RUN = 1 ] && exit 1; said m2 30; work", &["budget: {tokens: 1000}"]);
    let plan = fs::read_to_string(desk.home("plan.md")).unwrap();
    let bounded = plan.replace("stages:", "backoff: 1s\nbudget: {tokens: 130}\nstages:");
    fs::write(desk.home("plan.md"), bounded).unwrap();
    desk.assert_merged(&desk.run());
    let text = fs::read_to_string(desk.sandbox.store().join("run/plans/p.jsonl")).unwrap();
    let told: Vec<&str> = text.lines().filter(|line| line.contains("budget.nearly")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("\"run\""), "{told:?}");
    assert_eq!(text.matches("/-/0/nearly").count(), 2, "it is begun to tell somebody, and done");
    let status = desk.sandbox.run(&["status"]).stdout;
    assert!(status.contains("80% of the plan's budget is used"), "{status}");
}
