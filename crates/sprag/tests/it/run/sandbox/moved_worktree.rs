//! An agent replaces the repository of its worktree by one full of programs that git would run. No later
//! action of the run or of a person runs any of them.

use super::fixture::{Desk, is_there};
use crate::support::SPRAG;

/// All programs that git starts on its own, in a repository that looks like the one of the stage.
const SWAP: &str = "rm -rf .git .env; git init -q . && git add -A && git commit -qm x && git checkout -q -b sprag/a/work
for hook in pre-commit post-commit post-checkout post-index-change reference-transaction fsmonitor-watchman; do
    printf '#!/bin/sh\\ntouch $HOME/evil-hook\\n' >.git/hooks/$hook; chmod +x .git/hooks/$hook
done
cat >>.git/config <<END
[core]
    fsmonitor = touch $HOME/evil-fsmonitor
    hooksPath = $PWD/.git/hooks
    sshCommand = touch $HOME/evil-ssh
    pager = touch $HOME/evil-pager
[filter \"evil\"]
    clean = touch $HOME/evil-clean; cat
    smudge = touch $HOME/evil-smudge; cat
[diff]
    external = touch $HOME/evil-diff
[diff \"evil\"]
    textconv = touch $HOME/evil-text; cat
[extensions]
    partialClone = evil
[remote \"evil\"]
    url = $PWD
    promisor = true
    uploadpack = touch $HOME/evil-pack
END
echo '* filter=evil diff=evil' >.gitattributes; echo other >README
";

/// The ways in which the agent ends.
const WAYS: [&str; 3] = ["exit 0", "exit 1", "cd $P && $S stage complete; exit 0"];

#[test]
fn whoever_swaps_the_repository_runs_nothing_outside() {
    for wall in ["off", "landlock"] {
        if wall != "off" && !is_there(wall) {
            continue;
        }
        for way in WAYS {
            let desk = Desk::new().within(wall);
            desk.sandbox.write(".env", "KEY=1\n");
            let identity =
                "export GIT_AUTHOR_NAME=e GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=e GIT_COMMITTER_EMAIL=e";
            let script = format!("{identity} S={SPRAG} P={}\n{SWAP}{way}", desk.sandbox.project.display());
            desk.plan(&[format!("{}    copy: [.env]\n", desk.stage("a", &script))], "");
            let ran = desk.run();
            assert_eq!(ran.code, 1, "{wall}, {way}: {}{}", ran.stdout, ran.stderr);
            assert!(desk.records().contains("is not a regular file"), "{wall}, {way}: {}", desk.records());
            let words: [&[&str]; 6] = [
                &["stage", "verify", "a"],
                &["status", "--why"],
                &["run", "worktrees"],
                &["run", "repair"],
                &["stage", "reset", "a"],
                &["run", "resume", "p", "--foreground"],
            ];
            for word in words {
                desk.sandbox.run(word);
            }
            let entries = std::fs::read_dir(&desk.sandbox.home).unwrap().flatten();
            let evil: Vec<_> = entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| name.starts_with("evil"))
                .collect();
            assert!(evil.is_empty(), "{wall}, {way}: {evil:?}");
        }
    }
}
