//! Reviewers in a sandbox that is narrower than the sandbox of the author: they read, and leave a decision.

use std::fs;

use super::fixture::{Desk, WALLS, is_there};
use crate::support::SPRAG;

/// Actions of a reviewer, and whether it may do them.
const TRIES: &[(&str, &str, bool)] = &[
    ("own place", "echo x >$TMPDIR/x", true),
    ("own folder", "echo x >here && rm here", true),
    ("the work", "git show refs/heads/sprag/a/work:a", true),
    ("files of the work", "cat $TREE/a", true),
    ("a file of the work", "echo x >$TREE/a", false),
    ("a new file beside it", "echo x >$TREE/b", false),
    ("the author's worktree", "echo x >$P/.worktrees/a/a", false),
    ("checkout", "echo x >$P/README", false),
    ("home", "echo x >>$HOME/.bashrc", false),
    ("key", "cat $HOME/.ssh/id_x", false),
    ("own branch", "git update-ref refs/heads/sprag/a/work HEAD~1", false),
    ("trunk", "git update-ref refs/sprag/p/trunk HEAD", false),
    ("object", "echo $$ | git hash-object -w --stdin", false),
    ("records", "cat $P/.git/sprag/run/plans/p.jsonl", false),
    ("tokens", "cat $P/.git/sprag/run/token", false),
    ("verdicts", "ls $P/.git/sprag/run/passes", false),
    ("a word", "cd $P && $S stage hold a", false),
];

#[test]
fn a_reviewer_reads_and_writes_nothing_but_its_verdict() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let mut desk = Desk::new().within(wall);
        fs::create_dir(desk.sandbox.home.join(".ssh")).unwrap();
        fs::write(desk.sandbox.home.join(".ssh/id_x"), "secret").unwrap();
        let tries: String = TRIES
            .iter()
            .map(|(name, what, may)| {
                let may = if *may { "yes" } else { "no" };
                format!(
                    "got=no; sh -c '{what}' >/dev/null 2>&1 && got=yes; test $got = {may} || bad=\"$bad {name}: $got\"\n"
                )
            })
            .collect();
        let project = desk.sandbox.project.display();
        let script = format!(
            "if [ -z \"$SPRAG_REVIEW_VERDICT\" ]; then echo good >a; git add -A; git commit -qm a; exit; fi\n\
             export S={SPRAG} P={project} TREE={project}/.git/sprag/run/gates/p-review-a; bad=\n{tries}\
             test -z \"$bad\" && exec {SPRAG} decide COMPLETE --summary good\n\
             {SPRAG} decide ISSUES --summary bad --message \"$bad\""
        );
        desk.sandbox.with_program("claude", &script);
        let stage = "  - id: a\n    working_dir: .\n    client: claude\n    verify: deep\n    acceptance: [\"true\"]\n";
        desk.plan(&[stage.to_owned()], "");
        let ran = desk.run();
        assert_eq!(ran.code, 0, "{wall}: {}{}{}", ran.stdout, ran.stderr, desk.records());
        assert!(!desk.sandbox.home.join(".bashrc").exists());
        assert_eq!(fs::read_dir(desk.sandbox.store().join("run/looks")).unwrap().count(), 0, "{wall}");
    }
}
