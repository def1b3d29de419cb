//! Command lines and tool calls, and the tickets they close.

use proptest::prelude::*;
use serde_json::json;

use sprag_policy::call::{InputCompleteness, ToolEffect, ToolRow};
use sprag_shell::ShellStart;

use super::*;

const TOOLS: &[ToolRow] =
    &[ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") }];

fn shown(name: &str, input: Value, enabled: impl Fn(&str) -> bool) -> String {
    let call = ToolCall::new(TOOLS, name, input, None, InputCompleteness::Yes);
    let start = ShellStart { cwd: Some("/w".to_owned()), home: None };
    let tickets = closes(&call, call.parse_script(&start).as_ref(), enabled);
    tickets.iter().map(|ticket| format!("{}:{}", ticket.tracker, ticket.id)).collect::<Vec<_>>().join(" ")
}

fn bash(command: &str) -> String {
    shown("Bash", json!({ "command": command }), |_| true)
}

#[test]
fn the_list_has_the_order_of_discovery() {
    let names: Vec<&str> = TRACKERS.iter().map(|tracker| tracker.name).collect();
    assert_eq!(names, ["tissue", "beads", "github", "tasks", "session"]);
    assert!(find("beads").is_some() && find("jira").is_none());
}

#[test]
fn a_close_is_seen_wherever_it_stands() {
    for line in [
        "bd close 1",
        "  bd   close\t1  ",
        "BD_ACTOR=me bd close 1",
        "env BD_ACTOR=me bd close 1",
        "env -i A=b bd close 1",
        "bd close 1 | cat",
        "echo y | bd close 1",
        "bash -c 'bd close 1'",
        "bash -lc \"bd close 1\"",
        "sh -c 'bash -c \"bd close 1\"'",
        "bash -c \"bash -c 'bd \\\"close\\\" 1'\"",
        "cd x && bd close 1",
        "true; bd close 1",
        "false || bd close 1",
        "git add a\nbd close 1\ngit status",
        "sudo bd close 1",
        "sudo -u me bd close 1",
        "/usr/local/bin/bd close 1",
        "timeout 5 bd close 1",
        "nice -n 3 bd close 1",
        "echo $(bd close 1)",
        "x=`bd close 1`",
        "(bd close 1)",
        "{ bd close 1; } &",
        "if true; then bd close 1; fi",
        "for id in 1; do bd close \"$id\"; done",
        "command bd close 1",
        "exec bd close 1",
        "nohup bd close 1 &",
        "bd 'close' \"1\"",
        "b''d cl\"os\"e 1",
        "bd close \\\n  1",
        "bd close 1 > /dev/null 2>&1",
        "! bd close 1",
        "eval 'bd close 1'",
        "bash <<'E'\nbd close 1\nE",
        "echo 'bd close 1' | sh",
        "f() { bd close 1; }; f",
        "id=1; bd close $id",
        "bd close 1 # and that was that",
    ] {
        assert_eq!(bash(line), "beads:1", "{line}");
    }
}

#[test]
fn commands_of_beads() {
    for (line, tickets) in [
        ("bd close a b c", "beads:a beads:b beads:c"),
        ("bd close a a", "beads:a"),
        ("br close a", "beads:a"),
        ("beads complete a", "beads:a"),
        ("bd done a", "beads:a"),
        ("bd done a 'with a word why'", "beads:a"),
        ("bd close a --reason 'done with b'", "beads:a"),
        ("bd close a -r done -m x --json", "beads:a"),
        ("bd close -f a", "beads:a"),
        ("bd close -- a", "beads:a"),
        ("bd --json close a", "beads:a"),
        ("bd --db path close a", "beads:a"),
        ("bd --db=path --actor me close a", "beads:a"),
        ("bd -C dir close a", "beads:a"),
        ("br --lock-timeout 5 close a", "beads:a"),
        ("bd update a --status closed", "beads:a"),
        ("bd update a b --status=closed", "beads:a beads:b"),
        ("bd update a -s done", "beads:a"),
        ("bd update -sclosed a", "beads:a"),
        ("bd update a --if-status open -s closed --due +1d", "beads:a"),
        ("bd update a -t bug --status CLOSED -d 'x y'", "beads:a"),
        ("bd close \"$ID\"", "beads:unknown"),
        ("bd close bd-$N x", "beads:unknown beads:x"),
        ("bd close $(bd list --json | jq -r '.[].id')", "beads:unknown"),
        ("bd list | xargs bd close", "beads:unknown"),
        ("bd close", "beads:unknown"),
        ("bd close --reason", "beads:unknown"),
        ("bd close a; bd close b", "beads:a beads:b"),
        ("bd close a && tissue status t closed && gh issue close 5", "beads:a tissue:t github:5"),
        ("bash -c 'bd --help close a; bd close a'", "beads:a"),
    ] {
        assert_eq!(bash(line), tickets, "{line}");
    }
}

#[test]
fn commands_of_tissue() {
    for (line, tickets) in [
        ("tissue status t-1 closed", "tissue:t-1"),
        ("tissue status t-1 closed --json", "tissue:t-1"),
        ("tissue --store .claude/.tissue status t-1 closed", "tissue:t-1"),
        ("tissue --store=x status --quiet t-1 closed", "tissue:t-1"),
        ("tissue edit t-1 --status closed --rm-tag build", "tissue:t-1"),
        ("id=$(tissue new x --quiet); tissue status \"$id\" closed", "tissue:unknown"),
        ("tissue status t-1 in_progress", ""),
        ("tissue status t-1 duplicate", ""),
        ("tissue status closed", ""),
        ("tissue edit t-1 --title closed", ""),
        ("tissue list --status closed", ""),
        ("tissue comment t-1 -m 'tissue status t-1 closed'", ""),
        ("tissue status t-1 closed --help", ""),
        ("tissue --help status t-1 closed", ""),
    ] {
        assert_eq!(bash(line), tickets, "{line}");
    }
}

#[test]
fn commands_of_github() {
    for (line, tickets) in [
        ("gh issue close 5", "github:5"),
        ("gh issue close '#5' -c 'done, see 6' -r completed", "github:5"),
        ("gh issue close https://github.com/o/r/issues/5", "github:o/r#5"),
        ("gh issue close https://git.example/o/r/issues/5#c1", "github:git.example/o/r#5"),
        ("gh -R o/r issue close 5", "github:o/r#5"),
        ("gh issue -R o/r close 5", "github:o/r#5"),
        ("gh issue close 5 --repo o/r", "github:o/r#5"),
        ("gh issue close 5 -Ro/r", "github:o/r#5"),
        ("gh issue close \"$N\"", "github:unknown"),
        ("gh pr merge", "github:current"),
        ("gh pr merge 7 --squash --delete-branch", "github:7"),
        ("gh pr merge -sd -t 'a title' -b body 7", "github:7"),
        ("gh pr merge feature/x -m", "github:feature/x"),
        ("gh pr merge 7 --auto=false", "github:7"),
        ("gh api -X PATCH repos/o/r/issues/5 -f state=closed", "github:o/r#5"),
        (
            "gh api /repos/o/r/issues/5 --method=patch --raw-field state=closed -f state_reason=completed",
            "github:o/r#5",
        ),
        ("gh api -XPATCH 'repos/{owner}/{repo}/issues/5' -F state=closed", "github:5"),
        ("gh api -X PATCH repos/o/r/issues/$N -f state=closed", "github:unknown"),
        ("gh api -X PUT repos/o/r/pulls/7/merge", "github:o/r#7"),
        ("gh api repos/o/r/issues/5 -f state=closed", ""),
        ("gh api -X PATCH repos/o/r/issues/5 -f state=open", ""),
        ("gh api -X PATCH repos/o/r/issues/5 -f body=state=closed", ""),
        ("gh pr merge --auto 7", ""),
        ("gh pr merge 7 --auto --squash", ""),
        ("gh pr merge 7 --disable-auto", ""),
        ("gh issue close", ""),
        ("gh issue close 5 --help", ""),
        ("gh --help issue close 5", ""),
        ("gh issue view 5", ""),
        ("gh pr close 7", ""),
        ("gh issue comment 5 -b 'gh issue close 5'", ""),
    ] {
        assert_eq!(bash(line), tickets, "{line}");
    }
}

#[test]
fn words_in_prose_close_nothing() {
    for line in [
        "echo \"bd close 1\"",
        "echo bd close 1",
        "printf '%s\\n' 'tissue status x closed'",
        "git commit -m \"bd close 1\"",
        "git commit -m 'gh issue close 5' && git push",
        "# bd close 1",
        "grep -r 'bd close' docs",
        "cat <<'E' > notes.md\nbd close 1\nE",
        "bd comment 1 'bd close 1'",
        "bd create 'close 1'",
        "bd list --status closed",
        "bd show close 1",
        "bd reopen 1",
        "bd help close",
        "bd close --help",
        "bd close 1 -h",
        "bd --help close 1",
        "bd update 1 --status in_progress",
        "bd update 1 --title closed",
        "bd update 1 --if-status closed -p 0",
        "bd update 1 --status \"$S\"",
        "abd close 1",
        "bd-close 1",
        "ssh host bd close 1",
        "",
        "'",
    ] {
        assert_eq!(bash(line), "", "{line}");
    }
}

#[test]
fn mcp_tools_close_by_their_members() {
    for (name, input, tickets) in [
        ("mcp__tissue__close_issue", json!({"id": 1}), "tissue:1"),
        ("mcp__tissue__close", json!({"issue_id": "t-1"}), "tissue:t-1"),
        ("mcp__tissue__status", json!({"id": "t-1", "status": "closed"}), "tissue:t-1"),
        ("mcp__tissue__status", json!({"id": "t-1", "status": "open"}), ""),
        ("mcp__beads__close", json!({"issue_id": "bd-1", "reason": "x"}), "beads:bd-1"),
        ("mcp__plugin_beads_beads__close", json!({"issue_id": "bd-1"}), "beads:bd-1"),
        ("mcp__beads-mcp__close", json!({"issue_ids": ["a", 2, null]}), "beads:a beads:2"),
        ("mcp__beads__update", json!({"issue_id": "bd-1", "status": "closed"}), "beads:bd-1"),
        ("mcp__beads__update", json!({"issue_id": "bd-1", "status": "in_progress"}), ""),
        ("mcp__beads__update", json!({"issue_id": "bd-1", "notes": "status closed"}), ""),
        ("mcp__beads__close", json!({}), ""),
        ("mcp__beads__close", json!({"issue_id": "--all"}), ""),
        ("mcp__beads__close", json!({"issue_id": {"x": 1}}), ""),
        ("mcp__beads__show", json!({"issue_id": "bd-1"}), ""),
        (
            "mcp__github__update_issue",
            json!({"owner": "o", "repo": "r", "issue_number": 5, "state": "closed"}),
            "github:o/r#5",
        ),
        (
            "mcp__github__issue_write",
            json!({"method": "update", "issue_number": 5, "state": "closed"}),
            "github:5",
        ),
        ("mcp__github__issue_write", json!({"method": "create", "title": "x"}), ""),
        ("mcp__github__update_issue", json!({"issue_number": 5, "state": "open"}), ""),
        (
            "mcp__github__merge_pull_request",
            json!({"owner": "o", "repo": "r", "pullNumber": 7}),
            "github:o/r#7",
        ),
        ("mcp__github__merge_pull_request", json!({"pull_number": "7"}), "github:7"),
        ("mcp__notes__close_issue", json!({"id": 1}), ""),
        ("mcp__beads", json!({"issue_id": "x"}), ""),
        ("close_issue", json!({"id": 1}), ""),
        ("mcp__shell__run", json!({"command": "bd close 1"}), "beads:1"),
    ] {
        assert_eq!(shown(name, input.clone(), |_| true), tickets, "{name} {input}");
    }
}

#[test]
fn a_tracker_that_is_off_sees_nothing() {
    let line = json!({ "command": "bd close a; gh issue close 5" });
    assert_eq!(shown("Bash", line, |name| name == "github"), "github:5");
    assert_eq!(shown("mcp__beads__close", json!({"id": "a"}), |name| name != "beads"), "");
}

#[test]
fn ids_from_outside_are_bounded() {
    let long = "x".repeat(1000);
    assert!(bash(&format!("bd close {long}")).chars().count() < 140);
    let many: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    assert_eq!(bash(&format!("bd close {}", many.join(" "))).split(' ').count(), MOST);
    assert_eq!(shown("mcp__beads__close", json!({"id": "a\nb"}), |_| true), "");
    for id in ["bd-1", "o/r#5", "a.b_1/x"] {
        assert!(is_plain(id), "{id}");
    }
    for id in ["", "-x", "a b", "x;y", "$(x)", "unknown", "…"] {
        assert!(!is_plain(id), "{id}");
    }
}

#[test]
fn answers_are_read_or_refused() {
    let items = |name: &str, answer: &str| {
        let items = find(name).unwrap().read_active(answer.as_bytes())?;
        Some(
            items
                .iter()
                .map(|item| format!("{}={}", item.ticket.id, item.title))
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    for (name, answer, read) in [
        ("tissue", r#"[{"id":"t-1","status":"in_progress","title":"one","tags":"a,b"}]"#, Some("t-1=one")),
        ("tissue", "[]\n", Some("")),
        ("beads", r#"[{"id":"bd-1","title":"one"},{"id":"bd-2","title":"t\nu"}]"#, Some("bd-1=one bd-2=t u")),
        ("beads", r#"{"schema_version":1,"data":[{"id":"bd-1","title":"one"}]}"#, Some("bd-1=one")),
        ("github", r#"[{"number":5,"title":"one"}]"#, Some("5=one")),
        ("github", r#"[{"title":"one"}]"#, None),
        ("beads", "no issues found", None),
        ("beads", r#"{"error":"x"}"#, None),
        ("tasks", "[]", None),
    ] {
        assert_eq!(items(name, answer).as_deref(), read, "{name} {answer}");
    }
    for (name, answer, closed) in [
        ("tissue", r#"{"issue":{"id":"t-1","status":"closed"},"comments":[],"deps":[]}"#, Some(true)),
        ("tissue", r#"{"issue":{"id":"t-1","status":"paused"}}"#, Some(false)),
        ("beads", r#"[{"id":"bd-1","status":"closed"}]"#, Some(true)),
        ("beads", r#"{"id":"bd-1","status":"open"}"#, Some(false)),
        ("beads", "[]", None),
        ("github", r#"{"state":"MERGED"}"#, Some(true)),
        ("github", r#"{"state":"OPEN"}"#, Some(false)),
        ("github", r#"{"state":3}"#, None),
        ("session", r#"{"state":"CLOSED"}"#, None),
    ] {
        assert_eq!(find(name).unwrap().read_closed(answer.as_bytes()), closed, "{name} {answer}");
    }
}

#[test]
fn what_is_asked_about_a_ticket() {
    for (name, id, asked) in [
        ("tissue", "t-1", "show t-1 --json"),
        ("beads", "bd-1", "show bd-1 --json"),
        ("github", "5", "issue view 5 --json state"),
        ("github", "o/r#5", "issue view 5 --repo o/r --json state"),
        ("github", "feature/x", "pr view feature/x --json state"),
        ("github", "current", "pr view --json state"),
        ("github", "#-w", "pr view #-w --json state"),
    ] {
        let asks = find(name).unwrap().asks.as_ref().unwrap();
        assert_eq!((asks.closed)(id).join(" "), asked);
    }
}

#[test]
fn a_ticket_survives_its_tracker() {
    let item: ActiveTicket =
        serde_json::from_str(r#"{"id":"x","tracker":"of-tomorrow","title":"t","more":1}"#).unwrap();
    assert_eq!(item.ticket.tracker.as_str(), "of-tomorrow");
    assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"id":"x","tracker":"of-tomorrow","title":"t"}"#);
}

fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "bd",
        "tissue",
        "gh",
        "issue",
        "pr",
        "api",
        "close",
        "merge",
        "status",
        "update",
        "closed",
        "-s",
        "-R",
        "--status",
        "--status=",
        "--",
        "-",
        "repos/o/r/issues/1",
        "state=closed",
        "-X",
        "PATCH",
        "$x",
        "$(",
        ")",
        "'",
        "\"",
        ";",
        "|",
        "&&",
        "\n",
        "\0",
        "\u{E000}",
        "://",
        "#",
        "1",
    ];
    prop_oneof![3 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in ".{0,200}", pieces in proptest::collection::vec(piece(), 0..14)) {
        bash(&text);
        let line = pieces.join(" ");
        for ticket in bash(&line).split(' ').filter(|ticket| !ticket.is_empty()) {
            let (_, id) = ticket.split_once(':').unwrap();
            prop_assert!(!id.is_empty() && !id.starts_with('-'), "{line:?}: {ticket}");
        }
    }

    #[test]
    fn any_words_and_any_answer_are_read(
        pieces in proptest::collection::vec(piece(), 0..8),
        answer in any::<Vec<u8>>(),
        tool in "(close|update|issue_write|merge_pull_request|.{0,5})",
        member in "(id|issue_id|ids|status|state|number)",
    ) {
        for tracker in TRACKERS {
            (tracker.closes)(&pieces);
            let value = Value::from(pieces.clone());
            (tracker.closes_by_tool)(&tool, &json!({ member.clone(): value }));
            tracker.read_active(&answer);
            tracker.read_closed(&answer);
        }
    }
}
