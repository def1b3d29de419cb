//! Stages with a review by another process before the merge, as whole stories. The client is one script: it
//! is the reviewer if it has a path for a decision, else the author.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use sprag_orchestrator::session_dir::SessionDir;

use crate::support::desk::Desk;
use crate::support::{Ran, SPRAG};

struct Deep {
    desk: Desk,
}

impl Deep {
    /// Makes a plan with both scripts. `$RUN` is the number of starts of each. The work of the author is
    /// committed.
    fn new(author: &str, reviewer: &str) -> Deep {
        let mut desk = Desk::new();
        desk.sandbox.with_program(
            "claude",
            &format!(
                "if [ -n \"$SPRAG_REVIEW_VERDICT\" ]; then\n\
                 echo x >>$HOME/reviews; RUN=$(grep -c x $HOME/reviews)\n{reviewer}\nelse\n\
                 echo x >>$HOME/a.ran; RUN=$(grep -c x $HOME/a.ran); cat >$HOME/brief\n{author}\n\
                 git add -A; git commit -qm \"a $RUN\" --allow-empty\nfi"
            ),
        );
        let deep = Deep { desk };
        deep.plan("client: claude\n    verify: deep");
        deep
    }

    fn plan(&self, lines: &str) {
        self.desk.plan(&[format!(
            "  - id: a\n    working_dir: .\n    description: make a good one\n    acceptance: [\"true\"]\n    {lines}\n"
        )]);
    }

    fn reviews(&self) -> usize {
        self.read("reviews").lines().count()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.desk.sandbox.home.join(name)).unwrap_or_default()
    }

    fn sprag(&self, args: &[&str]) -> Ran {
        self.desk.sandbox.run(args)
    }

    fn assert_merged(&self, ran: &Ran) {
        assert_eq!(ran.code, 0, "{}{}{:#?}", ran.stdout, ran.stderr, self.desk.records());
        self.desk.assert_all_landed_was_tested();
    }

    /// Asserts that neither the records nor the decisions contain a secret.
    fn assert_keeps_no_secret(&self) {
        let run = self.desk.sandbox.store().join("run");
        let verdicts = fs::read_dir(run.join("passes/reviews")).into_iter().flatten().flatten();
        let kept = verdicts.map(|it| it.path()).chain([run.join("plans/p.jsonl")]);
        for path in kept {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains(SECRET), "{}: {text}", path.display());
        }
    }

    fn assert_a_persons(&self, ran: &Ran, why: &str) {
        assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
        let asked = self.sprag(&["stage", "review", "a"]).stdout;
        assert!(asked.contains("no review took place") && asked.contains(why), "{asked}");
        assert!(asked.contains("sprag stage merge a"), "{asked}");
        let status = self.sprag(&["status", "--why"]).stdout;
        assert!(status.contains("no review took place"), "{status}");
    }
}

const SECRET: &str = "ghp_R8sT2vW4xY6zA1bC3dE5fG7hJ9kL0mN2pQ4r";

fn decide(word: &str) -> String {
    format!("{SPRAG} decide {word}")
}

#[test]
fn work_that_a_reviewer_finds_complete_is_merged() {
    let reviewer = format!(
        "printf '%s\\n' \"$@\" >$HOME/args; pwd >$HOME/pwd; git log --format=%s -1 refs/heads/sprag/a/work >$HOME/log; {}",
        decide("COMPLETE --summary 'all good'")
    );
    let deep = Deep::new("echo good >a", &reviewer);
    deep.assert_merged(&deep.desk.run());
    assert_eq!((deep.reviews(), deep.desk.on_trunk("a").as_str()), (1, "good"));
    let (args, pwd) = (deep.read("args"), deep.read("pwd"));
    assert!(args.contains("> make a good one\n") && args.contains("`git diff "), "{args}");
    assert!(args.contains("--setting-sources\nuser\n"), "{args}");
    assert!(pwd.contains("/run/looks/") && !pwd.contains(".worktrees"), "{pwd}");
    assert_eq!(deep.read("log"), "a 1\n", "git answers where it stands");
    let logs = deep.sprag(&["run", "logs", "a"]).stdout;
    assert!(logs.contains("`claude` reviews its work since 20"), "{logs}");
    assert!(!deep.desk.sandbox.store().join("run/gates/p-review-a").exists());
}

#[test]
fn issues_go_back_to_the_author_with_what_was_found() {
    let reviewer = format!(
        "if [ $RUN = 1 ]; then {}; else {}; fi",
        decide("ISSUES --summary 'not good' --message 'a:1 says bad'"),
        decide("COMPLETE --summary good")
    );
    let author = "if grep -q 'a:1 says bad' $HOME/brief; then echo good >a; else echo bad >a; fi";
    let deep = Deep::new(author, &reviewer);
    deep.assert_merged(&deep.desk.run());
    assert_eq!((deep.desk.runs("a"), deep.reviews(), deep.desk.on_trunk("a").as_str()), (2, 2, "good"));
    assert!(deep.read("brief").contains("- review by `claude`: not good"), "{}", deep.read("brief"));
}

#[test]
fn the_same_tree_is_not_reviewed_twice_and_issues_that_stay_are_a_persons() {
    let deep =
        Deep::new("echo bad >a", &decide(&format!("ISSUES --summary 'not good' --message '{SECRET}'")));
    let ran = deep.desk.run();
    assert_eq!((ran.code, deep.desk.runs("a"), deep.reviews()), (1, 4, 1), "{}{}", ran.stdout, ran.stderr);
    let asked = deep.sprag(&["stage", "review", "a"]).stdout;
    assert!(asked.contains("its checks have failed too often"), "{asked}");
    assert!(asked.contains("- review by `claude`: not good"), "{asked}");
    deep.assert_keeps_no_secret();
}

#[test]
fn a_person_who_asks_has_the_same_tree_reviewed_again() {
    let reviewer = format!(
        "if [ $RUN = 1 ]; then {}; else {}; fi",
        decide("ISSUES --summary 'not good'"),
        decide("COMPLETE --summary 'good after all'")
    );
    let deep = Deep::new("echo good >a", &reviewer);
    assert_eq!((deep.desk.run().code, deep.reviews()), (1, 1));
    let ran = deep.sprag(&["stage", "verify", "a"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    deep.assert_merged(&deep.sprag(&["run", "resume", "--wait"]));
    assert_eq!((deep.reviews(), deep.desk.runs("a")), (2, 4));
}

#[test]
fn without_a_verdict_it_is_tried_once_more_and_then_a_person_says() {
    let deep = Deep::new("echo good >a", &format!("echo 'I am tired of {SECRET}' >&2; exit 3"));
    deep.assert_a_persons(
        &deep.desk.run(),
        "no verdict after 2 reviews: `claude` ended with exit code 3: I am tired",
    );
    deep.assert_keeps_no_secret();
    assert_eq!((deep.reviews(), deep.desk.runs("a")), (2, 1));
    assert_eq!(deep.sprag(&["stage", "merge", "a"]).code, 0);
    deep.assert_merged(&deep.sprag(&["run", "resume", "--wait"]));
    assert_eq!(deep.reviews(), 2);
}

#[test]
fn whoever_decides_and_does_not_end_well_has_not_decided() {
    let failing = format!("{}; test $RUN = 2", decide("COMPLETE --summary 'all good'"));
    let deep = Deep::new("echo good >a", &failing);
    deep.assert_merged(&deep.desk.run());
    assert_eq!(deep.reviews(), 2);
}

#[test]
fn a_token_of_somebody_else_is_no_verdict_and_an_author_has_none() {
    let author = format!("echo good >a; {} 2>$HOME/refused", decide("COMPLETE --summary mine"));
    let stolen = decide("COMPLETE --summary mine --token sprt_00000000000000000000000000000000");
    let deep = Deep::new(&author, &stolen);
    deep.assert_a_persons(&deep.desk.run(), "`claude` gave no verdict");
    let refused = deep.read("refused");
    assert!(refused.contains("only the reviewer of this session (with its token)"), "{refused}");
}

#[test]
fn a_killed_daemon_has_it_reviewed_once_more_and_no_agent_works_twice() {
    let reviewer = format!(
        "if [ $RUN = 1 ]; then echo up >$HOME/pipe; cat $HOME/pipe; fi; {}",
        decide("COMPLETE --summary good")
    );
    let deep = Deep::new("echo good >a", &reviewer);
    let pipe = deep.desk.pipe("pipe");
    let mut run = deep.desk.start();
    pipe.is_up();
    let status = deep.sprag(&["status", "--why"]).stdout;
    assert!(status.contains("`claude` reviews its work since 20"), "{status}");
    kill_process(Pid::from_child(&run), Signal::KILL).unwrap();
    run.wait().unwrap();
    deep.assert_merged(&deep.sprag(&["run", "resume", "--wait"]));
    assert_eq!((deep.reviews(), deep.desk.runs("a")), (2, 1));
}

#[test]
fn an_author_may_dispute_a_review_and_a_person_decides() {
    let author = format!(
        "if [ $RUN = 1 ]; then echo good >a; else {SPRAG} stage dispute review --why 'it is good'; fi"
    );
    let deep = Deep::new(&author, &decide("ISSUES --summary 'not good'"));
    assert_eq!(deep.desk.run().code, 1);
    let asked = deep.sprag(&["stage", "review", "a"]).stdout;
    assert!(asked.contains("check `review` is disputed: it is good"), "{asked}");
    let accepted = deep.sprag(&["stage", "review", "a", "--accept"]);
    assert_eq!(accepted.code, 0, "{}{}", accepted.stdout, accepted.stderr);
    deep.assert_merged(&deep.sprag(&["run", "resume", "--wait"]));
    assert_eq!(deep.reviews(), 1);
}

#[test]
fn large_changes_are_reviewed_although_nobody_asked_unless_the_stage_is_quick() {
    let many = "for i in 1 2 3 4 5 6 7 8 9 10 11; do echo $i >a$i; done";
    for (lines, reviews) in [("client: claude", 1), ("client: claude\n    verify: quick", 0)] {
        let deep = Deep::new(many, &decide("COMPLETE --summary good"));
        deep.plan(lines);
        deep.assert_merged(&deep.desk.run());
        assert_eq!(deep.reviews(), reviews, "{lines}");
    }
    let deep = Deep::new("echo good >a", &decide("COMPLETE --summary good"));
    deep.plan("client: claude");
    deep.assert_merged(&deep.desk.run());
    assert_eq!(deep.reviews(), 0, "a small one is not");
}

#[test]
fn what_a_reviewer_costs_is_part_of_the_budget() {
    let cost = "'{\"type\":\"result\",\"modelUsage\":{\"m\":{\"inputTokens\":90,\"outputTokens\":20}}}'";
    let reviewer = format!("{}; echo {cost}", decide("ISSUES --summary 'not good'"));
    for (budget, runs, why) in [
        ("    budget: {tokens: 100, on_exceed: stop}\n", 1, "the `budget` of the stage is used up"),
        ("    budget: {tokens: 500, on_exceed: stop}\n", 4, "its checks have failed too often"),
    ] {
        let deep = Deep::new("echo bad >a", &reviewer);
        deep.plan(&format!("client: claude\n    verify: deep\n{budget}"));
        assert_eq!(deep.desk.run().code, 1);
        let asked = deep.sprag(&["stage", "review", "a"]).stdout;
        assert!(asked.contains(why), "{asked}");
        assert_eq!((deep.desk.runs("a"), deep.reviews()), (runs, 1), "{budget}");
        let sessions = fs::read_dir(deep.desk.sandbox.store().join("run/s")).unwrap().flatten();
        let mut reviewers = sessions.filter(|it| it.file_name().to_string_lossy().contains(".review."));
        let site = SessionDir::at(&reviewers.next().unwrap().path());
        assert_eq!(site.keeper(), None, "nobody is taken for it who is below the daemon");
        assert_eq!(deep.sprag(&["run", "repair"]).stdout, "no leftovers\n");
    }
}

#[test]
fn for_a_command_the_person_is_the_reviewer() {
    let deep = Deep::new("true", "true");
    let script = deep.desk.sandbox.home.join("a.sh");
    fs::write(&script, "echo good >a; git add -A; git commit -qm a").unwrap();
    deep.plan(&format!("client: {{command: [sh, {}]}}\n    verify: deep", script.display()));
    let plan = deep.desk.sandbox.home.join("plan.md").display().to_string();
    let shown = deep.sprag(&["plan", "show", &plan, "a"]).stdout;
    assert!(shown.contains("deep, reviewed by you\n"), "{shown}");
    deep.assert_a_persons(&deep.desk.run(), "for `sh` there is no reviewer but you");
    assert_eq!(deep.sprag(&["stage", "merge", "a"]).code, 0);
    deep.assert_merged(&deep.sprag(&["run", "resume", "--wait"]));
    assert_eq!(deep.desk.on_trunk("a"), "good");
}
