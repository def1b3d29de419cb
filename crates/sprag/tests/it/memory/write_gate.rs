//! The write gate through the program: which candidates it keeps, its messages, and its memory.

use std::fs;

use serde_json::{Value, json};

use crate::memory::learnings::{files_below, good, hand_in, hand_in_as, id, listed, records, sandbox, with};

#[test]
fn the_sieve_keeps_what_is_plain_and_says_what_to_change() {
    let sandbox = sandbox();
    let vague = json!({
        "category": "process", "summary": "Always write clean code and test your changes", "tags": ["quality"],
        "detail": "Clean code is easier to maintain, so make sure to follow best practices.", "criteria_met": ["behavior_changing"],
    });
    let unborne = with(
        good("sockets are dropped after a silence of 20 minutes"),
        "criteria_met",
        json!(["explicit_request"]),
    );
    let told = hand_in(
        &sandbox,
        &json!([good("idle sockets are dropped by the load balancer"), vague, unborne, {"category": "gossip"}]),
    );
    assert_eq!(told["accepted"].as_array().unwrap().len(), 1, "{told}");
    let stage = |index: u64| {
        let rejected = told["rejected"].as_array().unwrap().iter();
        rejected.clone().find(|it| it["index"] == index).map(|it| it["stage"].as_str().unwrap().to_owned())
    };
    assert_eq!(stage(1).as_deref(), Some("specificity"));
    assert_eq!(stage(2).as_deref(), Some("plausibility"));
    assert_eq!(stage(3).as_deref(), Some("schema"));
    assert_eq!(records(&sandbox.store(), "learning.rejected").len(), 3, "each is tracked");
    let done = &records(&sandbox.store(), "reflection.done")[0]["body"];
    assert_eq!((&done["candidates"], done["accepted"].as_array().unwrap().len()), (&json!(4), 1));
    assert_eq!(done["stages"], json!({"plausibility": 1, "schema": 1, "specificity": 1}));
    let kept = listed(&sandbox, &[]);
    assert_eq!(
        (kept.len(), &kept[0]["confidence"], &kept[0]["origin"]["via"]),
        (1, &json!("high"), &json!("reflect"))
    );
}

#[test]
fn what_is_worth_nothing_does_not_discharge_and_a_duplicate_does() {
    let sandbox = sandbox();
    let stop = |session: &str| sandbox.event(session, "Stop", json!({"last_assistant_message": "Done."}));
    sandbox.bash("s", "make");
    sandbox.write("a.txt", &"line\n".repeat(30));
    assert_eq!(stop("s")["decision"], "block");
    let vague = json!({
        "category": "process", "summary": "Always write clean code and test your changes", "tags": ["quality"],
        "detail": "Clean code is easier to maintain, so follow the best practices.", "criteria_met": ["behavior_changing"],
    });
    let ran = hand_in_as(&sandbox, "s", &json!([vague]), &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("not_kept") && ran.stdout.contains("name files"), "{}", ran.stdout);
    assert_eq!(stop("s")["decision"], "block", "nothing was learned");
    hand_in(&sandbox, &json!([good("idle sockets are dropped by the load balancer")]));
    assert_eq!(stop("s"), json!({}));
    sandbox.event("t", "SessionStart", json!({"source": "startup"}));
    sandbox.bash("t", "make");
    sandbox.write("b.txt", &"line\n".repeat(30));
    assert_eq!(stop("t")["decision"], "block");
    let again =
        hand_in_as(&sandbox, "t", &json!([good("Idle sockets are dropped by the load balancer.")]), &[]);
    assert_eq!(again.code, 0, "{}", again.stdout);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&again["accepted"], &again["rejected"][0]["stage"]), (&json!([]), &json!("duplicate")));
    assert_eq!(stop("t"), json!({}), "it did reflect");
    assert_eq!(records(&sandbox.store(), "learning.verified").len(), 1, "the old one is the truer for it");
    assert_eq!(listed(&sandbox, &[]).len(), 1);
}

#[test]
fn a_request_counts_if_the_user_made_one() {
    let sandbox = sandbox();
    let asked = with(
        good("idle sockets are dropped by the load balancer"),
        "criteria_met",
        json!(["explicit_request"]),
    );
    assert_eq!(hand_in_as(&sandbox, "s", &json!([asked]), &[]).code, 1);
    sandbox.event(
        "s",
        "UserPromptSubmit",
        json!({"prompt": "Please remember that idle sockets are dropped"}),
    );
    assert_eq!(hand_in(&sandbox, &json!([asked]))["accepted"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_similar_waits_for_a_word() {
    let old = good("the cache of the parser is keyed by the path alone");
    let similar = with(
        good("the cache of the parser is keyed by worktree and path since 2.4"),
        "detail",
        json!(
            "two worktrees of one clone shared it; the key has the worktree since `cache_key` was changed in 2.4"
        ),
    );
    for (word, expected) in [("--merge", 1), ("--supersede", 1), ("--distinct", 2)] {
        let sandbox = sandbox();
        let first = id(&hand_in(&sandbox, &json!([old])));
        sandbox.event("t", "SessionStart", json!({"source": "startup"}));
        let parked: Value =
            serde_json::from_str(&hand_in_as(&sandbox, "t", &json!([similar]), &[]).stdout).unwrap();
        assert_eq!(parked["accepted"], json!([]), "{parked}");
        assert_eq!(parked["similar"][0]["id"], json!(first), "{parked}");
        assert!(parked["notes"][0].as_str().unwrap().contains("--supersede ID"), "{parked}");
        assert_eq!(listed(&sandbox, &[]).len(), 1, "not yet");
        let value = if word == "--distinct" { "they are about two caches" } else { &first[..] };
        let ran = sandbox.run_with(&["reflect", "--session", "t", "--json", word, value], b"");
        assert_eq!(ran.code, 0, "{word}: {} {}", ran.stdout, ran.stderr);
        let now = listed(&sandbox, &[]);
        assert_eq!(now.len(), expected, "{word}: {now:?}");
        assert!(now.iter().any(|it| it["summary"] == similar["summary"]), "{word}");
        let show = sandbox.json(&["memory", "show", &first[..18], "--json"]);
        match word {
            "--merge" => assert_eq!(show["learning"]["summary"], similar["summary"]),
            "--supersede" => assert_eq!(show["learning"]["status"], "superseded"),
            _ => assert_eq!(show["learning"]["status"], "active"),
        }
        let again = sandbox.run_with(&["reflect", "--session", "t", "--distinct", "again"], b"");
        assert_eq!(again.code, 1, "nothing waits any more: {}", again.stdout);
    }
    let sandbox = sandbox();
    let ran = sandbox.run_with(
        &["reflect", "--session", "s", "--merge", "0000000000"],
        json!([old]).to_string().as_bytes(),
    );
    assert!(ran.code == 1 && ran.stderr.contains("learning `0000000000` does not exist"), "{}", ran.stderr);
}

#[test]
fn a_number_that_differs_is_never_thrown_away() {
    let sandbox = sandbox();
    hand_in(&sandbox, &json!([good("the load balancer drops idle sockets after 20 minutes")]));
    let told = hand_in(&sandbox, &json!([good("the load balancer drops idle sockets after 30 minutes")]));
    assert_eq!((&told["rejected"], told["similar"].as_array().unwrap().len()), (&json!([]), 1), "{told}");
}

#[test]
fn what_was_rejected_and_is_learned_later_is_a_miss_of_the_sieve() {
    let sandbox = sandbox();
    let text = "the load balancer drops idle sockets by itself";
    let bad = with(good(text), "criteria_met", json!(["explicit_request"]));
    assert_eq!(hand_in_as(&sandbox, "s", &json!([bad]), &[]).code, 1);
    let mended = hand_in(&sandbox, &json!([good(text)]));
    assert_eq!(mended["accepted"].as_array().unwrap().len(), 1);
    let misses = |at: usize| records(&sandbox.store(), "reflection.done")[at]["body"]["misses"].clone();
    assert_eq!(misses(1), Value::Null, "mending it in the same session is what it was told for");
    let sandbox = self::sandbox();
    assert_eq!(hand_in_as(&sandbox, "s", &json!([bad]), &[]).code, 1);
    sandbox.event("t", "SessionStart", json!({"source": "startup"}));
    assert_eq!(hand_in_as(&sandbox, "t", &json!([good(text)]), &[]).code, 0);
    let done = records(&sandbox.store(), "reflection.done");
    assert_eq!(done[1]["body"]["misses"][0]["stage"], "plausibility", "{done:?}");
}

#[test]
fn agents_of_the_session_note_and_do_not_reflect() {
    let sandbox = sandbox();
    let call = |command: &str| {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "agent_id": "a1", "agent_type": "helper"});
        sandbox.event("s", "PreToolUse", call)
    };
    for command in
        ["echo '[]' | sprag reflect", "sprag memory archive 0190f3c1", "sprag memory edit 0190f3c1"]
    {
        let reply = call(command);
        assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny", "{command}: {reply}");
        assert!(reply.to_string().contains("sprag observe NOTE"), "{reply}");
    }
    for command in [
        "sprag observe 'the cache is cold'",
        "sprag reflect --schema",
        "sprag memory list",
        "sprag search cache",
    ] {
        assert_eq!(call(command), json!({}), "{command}");
    }
    let own = json!({"tool_name": "Bash", "tool_input": {"command": "echo '[]' | sprag reflect"}});
    assert_eq!(sandbox.event("s", "PreToolUse", own), json!({}));
}

#[test]
fn nothing_is_lost_when_many_reflect_at_once() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.project.join(".sprag")).unwrap();
    for session in 0..10 {
        sandbox.event(&format!("s-{session}"), "SessionStart", json!({"source": "startup"}));
    }
    let kept: Vec<String> = std::thread::scope(|scope| {
        let sandbox = &sandbox;
        let reflect = move |at: usize| {
            // Different numbers guard the candidates: the gate takes none for a duplicate of another.
            let said = with(
                good(&format!("tenant_{at} has {} shards of its own", at * 7)),
                "detail",
                json!(format!("see `infra/lb.tf`, pool {at}, since version 1.{at}")),
            );
            let session = format!("s-{}", at % 10);
            let ran = hand_in_as(sandbox, &session, &json!([said]), &["--distinct", "another tenant"]);
            assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
            id(&serde_json::from_str(&ran.stdout).unwrap())
        };
        let threads: Vec<_> = (0..100).map(|at| scope.spawn(move || reflect(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let now: Vec<String> =
        listed(&sandbox, &[]).iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(now.len(), 100);
    assert!(kept.iter().all(|id| now.contains(id)), "what was acknowledged is there");
    sandbox.run(&["memory", "render"]);
    let share: usize = files_below(&sandbox.project.join(".sprag/share"))
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| {
            fs::read_to_string(path)
                .unwrap()
                .lines()
                .filter(|line| line.contains("learning.accepted"))
                .count()
        })
        .sum();
    assert_eq!(share, 100);
}
