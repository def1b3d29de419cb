//! Commands of agents and people about a stage, as whole stories.

use super::House;
use crate::support::SPRAG;

#[test]
fn an_agent_hears_that_its_checks_are_red_and_mends_it_itself() {
    let house = House::new();
    let desk = &house.desk;
    let heard = house.home("heard");
    let script = format!(
        "echo bad >a; git add -A; git commit -qm bad; {SPRAG} stage complete >{0} && exit 7; echo good >a; git commit -qam good; {SPRAG} stage complete",
        heard.display()
    );
    desk.plan(&[desk.stage("a", &[], &script, "grep -q good a")]);
    let ran = house.run(&["--wait"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let told = house.read("heard");
    assert!(told.starts_with("failed:\n- acceptance `grep -q good a`: exit code 1, expected 0"), "{told}");
    assert_eq!((desk.runs("a"), desk.on_trunk("a").as_str()), (1, "good"));
}

#[test]
fn open_tasks_hold_the_end_and_a_task_is_ticked_by_its_check() {
    let house = House::new();
    let desk = &house.desk;
    let heard = house.home("heard");
    let script = format!(
        "{{ echo a >a; git add -A; git commit -qm a; {SPRAG} stage complete || true; {SPRAG} stage task t1; {SPRAG} stage task t2 || echo no; echo b >b; git add -A; git commit -qm b; {SPRAG} stage task t2; {SPRAG} stage output port 8080; {SPRAG} stage output other 1 || true; }} >{} 2>&1; {SPRAG} stage complete",
        heard.display()
    );
    let stage = desk.stage("a", &[], &script, "true").replace(
        "    acceptance",
        "    outputs: [port]\n    tasks: [{id: t1, text: one}, {id: t2, text: two, check: test -f b}]\n    acceptance",
    );
    desk.plan(&[stage]);
    let ran = house.run(&["--wait"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let told = house.read("heard");
    assert!(told.starts_with("failed:\ntasks are open: `t1`, `t2`; do them"), "{told}");
    assert!(
        told.contains(
            "recorded\nfailed:\n- acceptance `test -f b`: exit code 1, expected 0\nno\nrecorded\nrecorded\n"
        ),
        "{told}"
    );
    assert!(told.contains("stage `a` has no such output in the plan"), "{told}");
    assert_eq!(desk.runs("a"), 1);
}

#[test]
fn a_question_waits_for_a_person_and_the_next_agent_is_told_the_answer() {
    let house = House::new();
    let desk = &house.desk;
    let script = format!(
        "if grep -q 'paint it blue' $SPRAG_BRIEF; then echo blue >a; else {SPRAG} stage ask 'which colour?'; fi"
    );
    desk.plan(&[desk.stage("a", &[], &script, "grep -q blue a")]);
    assert_eq!(house.run(&["--wait"]).code, 1);
    let asked = house.sprag(&["stage", "review", "a"]).stdout;
    assert!(asked.contains("stage `a` of plan `p` is asking, attempt 1\nquestion: which colour?"), "{asked}");
    let ran = house.sprag(&["stage", "resume", "a"]);
    assert!(ran.stderr.contains("stage `a` asks a question: add `--answer TEXT`"), "{}", ran.stderr);
    assert_eq!(house.sprag(&["stage", "resume", "a", "--answer", "paint it blue"]).code, 0);
    house.wait();
    assert_eq!((desk.runs("a"), desk.on_trunk("a").as_str()), (2, "blue"));
}

#[test]
fn an_agent_has_no_say_in_what_is_not_its_own_whatever_it_shows() {
    let house = House::new();
    let desk = &house.desk;
    let heard = house.home("heard");
    let mut tries = String::new();
    for said in ["skip b --why x", "complete --stage b", "hold a", "verify a --bypass --why x"] {
        // An agent can read the token of a person, but does not count as one.
        tries.push_str(&format!("{SPRAG} stage {said}; env -u SPRAG_SESSION {SPRAG} stage {said}; "));
    }
    tries.push_str(&format!(
        "env -u SPRAG_SESSION {SPRAG} run stop; (env -u SPRAG_SESSION setsid {SPRAG} stage hold a); "
    ));
    let script = format!("(set +e; {tries} true) 2>{}; echo a >a", heard.display());
    desk.plan(&[desk.stage("a", &[], &script, "true"), desk.stage("b", &["a"], "echo b >b", "true")]);
    let ran = house.run(&["--wait"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let told = house.read("heard");
    let count = |what: &str| told.matches(what).count();
    assert_eq!(count("this is for a person to say"), 5, "{told}");
    assert_eq!(count("not the agent of stage `b`"), 2, "{told}");
    assert_eq!(count("this is for an admin to say"), 2, "{told}");
    assert_eq!(count("people only: an agent started this command"), 1, "{told}");
    for name in ["token", "admin"] {
        let token = std::fs::read_to_string(house.folder().join(name)).unwrap();
        assert!(!token.is_empty() && !told.contains(&token) && !ran.stdout.contains(&token));
    }
}

#[test]
fn a_stage_that_is_blocked_is_retried_while_nobody_runs_it() {
    let house = House::new();
    let desk = &house.desk;
    let script = format!(
        "if test -e {0}; then echo a >a; else {SPRAG} stage block --why 'no key'; sleep 1000; fi",
        house.home("key").display()
    );
    desk.plan(&[desk.stage("a", &[], &script, "true")]);
    assert_eq!(house.run(&["--wait"]).code, 1);
    let told = house.sprag(&["stage", "review", "a"]).stdout;
    assert!(told.contains("is blocked, attempt 1\nblocked: no key"), "{told}");
    assert_eq!(house.sprag(&["run", "stop"]).code, 0);
    let nothing = house.sprag(&["stage", "merge", "a"]);
    assert!(nothing.stderr.contains("not possible while stage `a` is blocked"), "{}", nothing.stderr);
    let ran = house.sprag(&["stage", "retry", "a"]);
    assert!(
        ran.stdout.contains("recorded; takes effect when the run resumes")
            && ran.stdout.ends_with("next: sprag run resume p\n"),
        "{}",
        ran.stdout
    );
    std::fs::write(house.home("key"), "k").unwrap();
    assert_eq!(house.sprag(&["run", "resume", "--wait"]).code, 0);
    assert_eq!(desk.runs("a"), 2);
}

#[test]
fn an_agents_word_without_a_daemon_is_refused() {
    let house = House::new();
    let mut sandbox = crate::support::Sandbox::new();
    sandbox.vars.push(("SPRAG_SESSION".to_owned(), "r.a.1.spawn.0".to_owned()));
    let ran = sandbox.run(&["stage", "complete"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("the daemon is not running, so this report was not recorded"),
        "{}",
        ran.stderr
    );
    let nobody = house.sprag(&["stage", "retry", "a"]);
    assert!(nobody.stderr.contains("no unfinished run has a stage `a`"), "{}", nobody.stderr);
    assert_eq!(house.sprag(&["stage", "complete"]).code, 2, "a person names the stage");
}

#[test]
fn a_disputed_check_is_given_up_by_a_person_for_that_stage_alone() {
    let house = House::new();
    let desk = &house.desk;
    let script = |id: &str| {
        format!(
            "echo {id} >{id}; git add -A; git commit -qm {id}; {SPRAG} stage dispute false --why 'it is always red'; sleep 1000"
        )
    };
    desk.plan(&[desk.stage("a", &[], &script("a"), "false"), desk.stage("b", &["a"], "echo b >b", "true")]);
    assert_eq!(house.run(&["--wait"]).code, 1);
    let told = house.sprag(&["stage", "review", "a"]).stdout;
    assert!(told.contains("check `false` is disputed: it is always red"), "{told}");
    let ran = house.sprag(&["stage", "review", "a", "--accept"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "passed: all checks passed\n"), "{}", ran.stderr);
    house.wait();
    assert_eq!((desk.runs("a"), desk.on_trunk("b").as_str()), (1, "b"));
}

#[test]
fn checks_are_passed_by_for_an_admin_alone_and_the_gates_of_the_plan_are_not() {
    let house = House::new();
    let desk = &house.desk;
    let path = desk.plan(&[desk.stage("a", &[], "date +%N >>a", "false")]);
    let text = std::fs::read_to_string(&path).unwrap();
    let gate = house.home("gate");
    let gates = format!("target: main\ngates: [\"echo x >>{}\"]\n", gate.display());
    std::fs::write(&path, text.replace("target: main\n", &gates)).unwrap();
    assert_eq!(house.run(&["--wait"]).code, 1);
    assert_eq!(desk.runs("a"), 4);
    assert_eq!(house.sprag(&["stage", "verify", "a", "--bypass"]).code, 2, "with a reason");
    let red = house.sprag(&["stage", "verify", "a"]);
    assert_eq!(red.code, 1);
    assert!(red.stdout.starts_with("failed:\n- acceptance `false`"), "{}", red.stdout);
    assert!(!gate.exists());
    let ran = house.sprag(&["stage", "verify", "a", "--bypass", "--why", "known"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    house.wait();
    assert!(gate.exists(), "what was not checked by its stage is by the plan");
    let said = desk.records().into_iter().find(|record| record["body"]["said"]["say"] == "bypass").unwrap();
    assert_eq!(said["body"]["said"]["why"], "known");
}

#[test]
fn a_stage_begins_anew_and_what_it_had_is_kept() {
    let house = House::new();
    let desk = &house.desk;
    let script = format!(
        "if test -e {0}; then test ! -e old; echo a >a; else echo old >old; git add -A; git commit -qm old; echo left >left; {SPRAG} stage block --why x; sleep 1000; fi",
        house.home("key").display()
    );
    desk.plan(&[desk.stage("a", &[], &script, "test -f a")]);
    assert_eq!(house.run(&["--wait"]).code, 1);
    std::fs::write(house.home("key"), "k").unwrap();
    assert_eq!(house.sprag(&["stage", "reset", "a"]).code, 0);
    house.wait();
    assert_eq!(desk.on_trunk("a"), "a");
    assert!(!desk.git("ls-tree --name-only refs/sprag/p/trunk").contains("old"));
    assert_eq!(desk.git("show refs/sprag/p/salvage/a/reset-1:old"), "old");
    assert_eq!(desk.git("show refs/sprag/p/salvage/a/reset-1:left"), "left");
}
