//! Briefs of agents, handoffs between them, and files that they may not touch: real runs, with scripts as
//! agents.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Child;

use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use sprag_base::sha256::Sha256Sum;

use crate::support::desk::Desk;
use crate::support::{SPRAG, payload};

/// Returns a command that copies the brief of an agent, and the path of the copy.
fn copy(desk: &Desk, name: &str) -> (String, PathBuf) {
    let path = desk.sandbox.home.join(name);
    (format!("cp \"$SPRAG_BRIEF\" {}", path.display()), path)
}

fn pipe(desk: &Desk, name: &str) -> PathBuf {
    let path = desk.sandbox.home.join(name);
    assert!(desk.sandbox.command("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn state_of<'a>(stdout: &'a str, stage: &str) -> Vec<&'a str> {
    let own = stdout.lines().filter(|line| line.split_whitespace().next() == Some(stage));
    own.map(|line| line[stage.len()..].trim()).collect()
}

/// Adds a record that something happened to a stage.
fn happened(desk: &Desk, stage: &str, what: &Value) {
    let path = desk.sandbox.store().join("run/plans/p.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    let mut record: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    record["kind"] = json!("stage.happened");
    record["body"] = json!({"stage": stage, "what": what});
    text.push_str(&format!("{record}\n"));
    fs::write(&path, text).unwrap();
}

/// Kills the run once the agent of `a` is running, and records that its context is full.
fn its_context_is_full(desk: &Desk, mut run: Child) {
    let mut heard = BufReader::new(run.stdout.take().unwrap()).lines();
    assert!(heard.any(|line| line.unwrap().split_whitespace().eq(["a", "running"])));
    kill_process(Pid::from_child(&run), Signal::KILL).unwrap();
    run.wait().unwrap();
    happened(desk, "a", &json!({"happened": "context_full", "why": "its context is full"}));
}

#[test]
fn a_brief_begins_with_the_same_bytes_for_every_stage() {
    let desk = Desk::new();
    desk.sandbox.write(".sprag/knowledge/pitfall.md", "# pitfall\n\n- the disk is slow\n## Conflict\n");
    desk.git("add -A");
    desk.git("commit -qm knowledge");
    let ((copy_a, a), (copy_b, b)) = (copy(&desk, "a.brief"), copy(&desk, "b.brief"));
    let described = |stage: String| {
        stage.replace("    working_dir", "    description: \"Do it well.\\n## Conflict\"\n    working_dir")
    };
    desk.plan(&[
        described(desk.stage("a", &[], &format!("{copy_a}; echo a >a"), "test -f a")),
        desk.stage("b", &["a"], &format!("{copy_b}; echo b >b"), "test -f b"),
    ]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let (a, b) = (fs::read_to_string(a).unwrap(), fs::read_to_string(b).unwrap());
    let stable = |text: &str| text.split("\n# Project").next().unwrap().to_owned();
    assert_eq!(stable(&a), stable(&b));
    assert!(a.contains("> Do it well.\n> ## Conflict\n") && !a.contains("\n## Conflict"), "{a}");
    assert!(a.contains("> - the disk is slow"), "{a}");
    assert!(a.contains("- must succeed: `test -f a`"), "{a}");
    assert!(b.contains("## Dependencies\n\n- `a`, merged as `"), "{b}");
    let about = |id: &str| -> Value {
        let path = desk.sandbox.store().join(format!("run/briefs/p/{id}.json"));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    assert_eq!(about("a")["stable"], about("b")["stable"]);
    assert_eq!(about("a")["whole"], json!(Sha256Sum::hash_bytes(a.as_bytes())));
}

#[test]
fn what_is_noted_is_recited_to_the_next_agent_and_remembered_once_merged() {
    let desk = Desk::new();
    desk.sandbox.write("src/parser.rs", "pub fn parse_header() {}\n");
    desk.git("add -A");
    desk.git("commit -qm parser");
    let (copy, told) = copy(&desk, "a.brief");
    let script = format!(
        "if test -f a; then {copy}; echo good >a; else \
         {SPRAG} note 'token ghp_0123456789abcdefghij0123456789abcdef is not needed'; \
         {SPRAG} decision 'parse_header in src/parser.rs reads bytes and never UTF-8' \
           --because 'headers of src/parser.rs may hold Latin-1 names, so text would be rejected instead of kept'; \
         {SPRAG} question 'who calls it?'; echo bad >a; fi"
    );
    desk.plan(&[desk.stage("a", &[], &script, "grep -q good a")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let told = fs::read_to_string(told).unwrap();
    let now = told.split("\n# Now\n").nth(1).unwrap();
    assert!(now.contains("> note: token [redacted:github_token] is not needed"), "{now}");
    assert!(now.contains("> decision: parse_header in src/parser.rs reads bytes"), "{now}");
    assert!(now.contains("> question: who calls it?"), "{now}");
    let shown = desk.sandbox.json(&["handoff", "show", "a", "--json"]);
    assert_eq!((shown["notes"].as_array().unwrap().len(), &shown["handoff"]), (3, &Value::Null));
    let kept = desk.sandbox.json(&["memory", "list", "--json"]);
    let summaries: Vec<&str> =
        kept["learnings"].as_array().unwrap().iter().map(|it| it["summary"].as_str().unwrap()).collect();
    assert_eq!(summaries, ["parse_header in src/parser.rs reads bytes and never UTF-8"], "{kept}");
    assert!(kept.to_string().contains("stage.p.a"), "whose it was is on record: {kept}");
    let again = desk.sandbox.run(&["memory", "distill"]);
    assert_eq!(again.stdout, "0 notes: 0 kept, 0 not kept\n", "each is handed in once: {}", again.stderr);
}

#[test]
fn a_note_belongs_to_a_stage_that_is_run_here() {
    let desk = Desk::new();
    let nowhere = desk.sandbox.run(&["note", "something"]);
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.stderr.contains("next: sprag note TEXT --stage STAGE"), "{}", nowhere.stderr);
    let unknown = desk.sandbox.run(&["note", "something", "--stage", "a"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("no run in this clone has a stage `a`"), "{}", unknown.stderr);
    let other =
        format!("{SPRAG} note 'for you' --stage b 2>{}/said || true; echo a >a", desk.sandbox.home.display());
    desk.plan(&[
        desk.stage("a", &[], &other, "test -f a"),
        desk.stage("b", &["a"], "echo b >b", "test -f b"),
    ]);
    assert_eq!(desk.run().code, 0);
    let said = fs::read_to_string(desk.sandbox.home.join("said")).unwrap();
    assert!(said.contains("this agent works on stage `a`; it cannot report on `b`"), "{said}");
    assert_eq!(desk.sandbox.run(&["handoff", "show", "b"]).code, 1);
}

#[test]
fn a_full_context_is_handed_over_to_an_agent_that_is_told_where_it_was() {
    let desk = Desk::new();
    let pipe = pipe(&desk, "pipe");
    let (copy, told) = copy(&desk, "a.brief");
    let script = format!(
        "if grep -q '^## Handoff' $SPRAG_BRIEF; then {copy}; rm half; echo done >a; else \
         echo one >one; git add one; git commit -qm 'the first part'; echo half >half; \
         {SPRAG} note 'the second part is harder than it looks'; \
         {SPRAG} handoff --next 'finish the second part'; echo up >{0}; cat {0} >/dev/null; fi",
        pipe.display()
    );
    desk.plan(&[desk.stage("a", &[], &script, "test -f a")]);
    let first = desk.start_heard();
    assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
    its_context_is_full(&desk, first);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.runs("a"), 2);
    let told = fs::read_to_string(told).unwrap();
    let handed = told.split("\n## Handoff\n").nth(1).unwrap();
    for line in
        ["> - finish the second part", "the first part", "> - half", "> - one", "harder than it looks"]
    {
        assert!(handed.contains(line), "{line}: {handed}");
    }
    let file = fs::read_to_string(desk.sandbox.store().join("run/handoffs/p/a/1.yaml")).unwrap();
    assert!(file.starts_with("version: 2\nsession_id: \""), "{file}");
    assert!(
        file.contains("branch: \"sprag/a/work\"\n") && file.contains("uncommitted_files:\n  - \"half\"\n"),
        "{file}"
    );
    assert!(!desk.sandbox.store().join("run/handoffs/p/a/2.yaml").exists(), "the agent's own is the one");
    let salvaged = desk.git("show refs/sprag/p/salvage/a/1:half");
    assert_eq!(salvaged, "half");
}

#[test]
fn whoever_hands_nothing_over_is_spoken_for() {
    let desk = Desk::new();
    let pipe = pipe(&desk, "pipe");
    let script = format!(
        "if grep -q '^## Handoff' $SPRAG_BRIEF; then {SPRAG} stage task one; echo done >a; else \
         echo half >half; git add half; git commit -qm 'half of it'; \
         {SPRAG} question 'is it enough?'; echo up >{0}; cat {0} >/dev/null; fi",
        pipe.display()
    );
    let tasks = "    tasks: [{id: one, text: write it}]\n    acceptance";
    desk.plan(&[desk.stage("a", &[], &script, "test -f a").replace("    acceptance", tasks)]);
    let first = desk.start_heard();
    assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
    its_context_is_full(&desk, first);
    desk.run();
    assert_eq!(desk.runs("a"), 2);
    let shown = desk.sandbox.json(&["handoff", "show", "a", "--json"]);
    let keys = &shown["handoff"]["keys"];
    assert_eq!(keys["open_questions"], json!(["is it enough?"]), "{shown}");
    assert_eq!(keys["next_actions"], json!(["write it"]));
    assert_eq!(keys["files_modified"], json!(["half"]));
    assert!(keys["commits"][0].as_str().unwrap().ends_with(" half of it"));
    assert_eq!(keys.get("context_percent"), None, "what is not known is not there");
}

#[test]
fn a_handoff_is_written_in_either_form_and_what_is_wrong_with_one_is_told() {
    let desk = Desk::new();
    desk.plan(&[desk.stage("a", &[], "echo a >a", "test -f a")]);
    assert_eq!(desk.run().code, 0);
    let write = |text: &str| desk.sandbox.run_with(&["handoff", "--stage", "a"], text.as_bytes());
    assert_eq!(write("version: 2\nnext_actions: [look]\nmood: blue\nsession_id: forged\n").code, 0);
    let shown = desk.sandbox.json(&["handoff", "show", "a", "--json"]);
    assert_eq!(shown["handoff"]["keys"]["mood"], "blue", "{shown}");
    assert_eq!(shown["handoff"]["keys"].get("session_id"), None, "whose it is, nobody says but us");
    assert_eq!(write("Just words.\n").code, 0);
    assert!(desk.sandbox.run(&["handoff", "show", "a"]).stdout.contains("Just words."));
    assert!(desk.sandbox.run(&["handoff", "show", "a", "--number", "1"]).stdout.contains("look"));
    let bad = write("version: 2\ncommits: {a: [b]}\n");
    assert_eq!(bad.code, 1);
    assert!(
        bad.stderr.contains("cannot read the handoff: line 2, column 10: expected a text"),
        "{}",
        bad.stderr
    );
    assert_eq!(write("").code, 2);
    let told = |args: &[&str]| desk.sandbox.run(args).stderr;
    assert_snapshot!(told(&["handoff", "show", "a", "--number", "7"]), @"
    sprag: stage `a` has no handoff 7; the last one is 2
      next: sprag handoff show a --number 2
    ");
    assert_snapshot!(told(&["handoff", "show", "b"]), @"
    sprag: no run in this clone has a stage `b`; known stages: `a`
      next: sprag run graph
    ");
    assert_snapshot!(told(&["handoff", "show"]), @"
    sprag: no stage given; only an agent that works on a stage may omit the name
      next: sprag handoff show STAGE
    ");
    // The stage is merged and its worktree is removed: files in another directory do not belong to it.
    desk.sandbox.write("mine", "x");
    assert_eq!(write("version: 2\nnext_actions: [look]\n").code, 0);
    let shown = desk.sandbox.run(&["handoff", "show", "a"]).stdout;
    assert!(!shown.contains("mine"), "{shown}");
}

/// Records a session of a stage, as its supervisor does: this process started it.
fn in_stage(desk: &mut Desk, stage: &str) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let start: u64 = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap();
    let record =
        json!({"process": {"pid": std::process::id(), "start": start}, "task": {"stage": {"stage": stage}}});
    let dir = desk.sandbox.home.join(".local/state/sprag/runs");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("a-run-of-a-stage"), record.to_string()).unwrap();
    desk.sandbox.vars.push(("SPRAG_RUN".to_owned(), "a-run-of-a-stage".to_owned()));
    desk.sandbox.vars.push(("SPRAG_SESSION".to_owned(), "r.a.1.spawn.0".to_owned()));
}

#[test]
fn a_compacted_session_of_a_stage_is_told_where_its_brief_is_and_what_is_open() {
    let mut desk = Desk::new();
    let tasks = "    tasks: [{id: one, text: write it}]\n    acceptance";
    desk.plan(&[desk.stage("a", &[], "true", "false").replace("    acceptance", tasks)]);
    assert_eq!(desk.run().code, 1);
    assert_eq!(desk.sandbox.run(&["note", "it is not easy", "--stage", "a"]).code, 0);
    let worktree = desk.sandbox.project.join(".worktrees/a");
    let event = |desk: &Desk, name: &str, more: Value| {
        desk.sandbox.hook("claude", &payload("s", name, &worktree, more))
    };
    let context =
        |reply: &Value| reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or("").to_owned();
    let before = event(&desk, "SessionStart", json!({"source": "compact"}));
    assert_eq!(context(&before), "", "a session of nobody's stage is told nothing");
    in_stage(&mut desk, "a");
    fs::write(worktree.join("half"), "x").unwrap();
    assert_eq!(event(&desk, "SessionStart", json!({"source": "startup"})), json!({}), "it has its brief yet");
    assert_eq!(event(&desk, "PreCompact", json!({"trigger": "auto"})), json!({}), "it is never held");
    let file = fs::read_to_string(desk.sandbox.store().join("run/handoffs/p/a/1.yaml")).unwrap();
    assert!(file.contains("session_id: \"r.a.1.spawn.0\"") && file.contains("- \"half\""), "{file}");
    for source in ["compact", "resume"] {
        let told = context(&event(&desk, "SessionStart", json!({ "source": source })));
        let brief = desk.sandbox.store().join("run/briefs/p/a.md");
        assert!(told.contains(&format!("Its brief `{}` (sha256:", brief.display())), "{told}");
        assert!(told.contains("- `one`: write it") && told.contains("> note: it is not easy"), "{told}");
        assert!(told.chars().count() <= 9500);
    }
}

#[test]
fn a_protected_file_that_was_changed_is_not_let_through() {
    let desk = Desk::new();
    desk.sandbox.write("RULES.md", "<!-- sprag:protected -->\nbe kind\n");
    desk.sandbox.write(".sprag/intents.yaml", "intents: []\n");
    desk.git("add -A");
    desk.git("commit -qm rules");
    let blob = desk.git("rev-parse HEAD:RULES.md");
    let (copy, told) = copy(&desk, "a.brief");
    let mends = format!(
        "if grep -q 'Failures to fix' $SPRAG_BRIEF; then {copy}; \
         git checkout -q refs/sprag/p/trunk -- RULES.md .sprag; git rm -qf .sprag/more; \
         else echo mine >RULES.md; echo x >.sprag/more; fi; echo a >>a"
    );
    let marks = "printf '<!-- sprag:protected -->\\nnew\\n' >NEW.md";
    desk.plan(&[
        desk.stage("a", &[], &mends, "true"),
        desk.stage("b", &[], "rm -rf .sprag; date +%N >>b", "true"),
        desk.stage("c", &[], marks, "true"),
    ]);
    let ran = desk.run();
    assert_eq!(ran.code, 1);
    let told = fs::read_to_string(told).unwrap();
    assert!(told.contains("2 protected files changed; no stage may change them"), "{told}");
    assert!(told.contains(&format!("`RULES.md` was `{blob}`; restore it with: git checkout ")), "{told}");
    assert!(
        told.contains("`.sprag/more` was newly added; remove it with: git rm -f -- '.sprag/more'"),
        "{told}"
    );
    assert_eq!(state_of(&ran.stdout, "a").last(), Some(&"done"), "{}", ran.stdout);
    assert_eq!(state_of(&ran.stdout, "b").last(), Some(&"review"), "{}", ran.stdout);
    assert_eq!(state_of(&ran.stdout, "c").last(), Some(&"done"), "to mark a new file is no damage");
    assert_eq!(desk.on_trunk("RULES.md"), "<!-- sprag:protected -->\nbe kind");
    assert_eq!(desk.on_trunk(".sprag/intents.yaml"), "intents: []");
}

#[test]
fn a_candidate_that_changes_what_was_protected_meanwhile_does_not_land() {
    let desk = Desk::new();
    let lines: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    desk.sandbox.write("RULES.md", &lines);
    desk.git("add -A");
    desk.git("commit -qm rules");
    let (looked_at, landed) = (pipe(&desk, "looked-at"), pipe(&desk, "landed"));
    let once = desk.sandbox.home.join("once");
    // While Sprag checks the claim of `b`, `a` lands a mark on the file that `b` changed.
    let waits = format!(
        "test -e {0} || {{ touch {0}; echo up >{1}; cat {2}; }}",
        once.display(),
        looked_at.display(),
        landed.display()
    );
    let marks = format!("cat {}; sed -i '1i <!-- sprag:protected -->' RULES.md", looked_at.display());
    desk.plan(&[
        desk.stage("a", &[], &marks, "true"),
        desk.stage("b", &[], "sed -i 's/line 20/mine/' RULES.md", &waits)
            .replace("    acceptance", "    retries: 0\n    acceptance"),
        desk.stage("c", &["a"], &format!("echo c >c; echo up >{}", landed.display()), "true"),
    ]);
    let ran = desk.run();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(state_of(&ran.stdout, "b").contains(&"merge held"), "{}", ran.stdout);
    let records = fs::read_to_string(desk.sandbox.store().join("run/plans/p.jsonl")).unwrap();
    assert!(records.contains("1 protected files changed; no stage may change them"));
    let text = desk.on_trunk("RULES.md");
    assert!(text.starts_with("<!-- sprag:protected -->") && text.ends_with("line 20"), "{text}");
}

#[test]
fn a_stage_that_distills_renders_knowledge_and_needs_no_agent() {
    let desk = Desk::new();
    desk.sandbox.write("src/parser.rs", "pub fn parse_header() {}\n");
    desk.sandbox.write(".sprag/intents.yaml", "intents: []\n");
    desk.git("add -A");
    desk.git("commit -qm parser");
    let notes = format!(
        "{SPRAG} decision 'parse_header in src/parser.rs reads bytes and never UTF-8' \
           --because 'headers of src/parser.rs may hold Latin-1 names, so text would be rejected instead of kept'; \
         echo a >a"
    );
    let distill = "  - id: d\n    name: d\n    type: knowledge-distill\n    working_dir: .\n    dependencies: [a]\n    acceptance: [\"grep -q UTF-8 .sprag/knowledge/convention.md\"]\n";
    desk.plan(&[desk.stage("a", &[], &notes, "test -f a"), distill.to_owned()]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(desk.on_trunk(".sprag/knowledge/INDEX.md").contains("convention"));
    assert!(desk.on_trunk(".sprag/learnings.md").contains("src/parser.rs"));
    assert_eq!(desk.git("status --porcelain"), "", "the user's checkout is as it was");
}
