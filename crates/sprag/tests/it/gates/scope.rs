//! Effects of a scope: all names of a path, writes of a shell, and stray changes of programs.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::intents::{code, headless, sandbox, select, write};
use crate::support::{Sandbox, payload, stored_lines};

#[test]
fn a_path_is_judged_as_it_is_named_and_where_it_leads() {
    let sandbox = sandbox();
    select(&sandbox, "s", "AUTH");
    let root = sandbox.project.display().to_string();
    fs::create_dir_all(sandbox.project.join("src/auth/sub")).unwrap();
    symlink("../../docs", sandbox.project.join("src/auth/link")).unwrap();
    symlink("../../docs/guide.md", sandbox.project.join("src/auth/file.md")).unwrap();
    symlink("../../nowhere/yet", sandbox.project.join("src/auth/dangling")).unwrap();
    symlink("src/auth", sandbox.project.join("into")).unwrap();
    symlink("/etc", sandbox.project.join("src/auth/etc")).unwrap();
    for path in [
        "src/auth/a.rs",
        "src/auth/new/deep/file.rs",
        "src/../src/auth/./a.rs",
        "notes/x.md",
        &format!("{root}/src/auth/a.rs"),
    ] {
        assert_eq!(write(&sandbox, "s", path), json!({}), "{path}");
    }
    for path in [
        "src/auth/../other.rs",
        "src/auth/gen/g.rs",
        "src/authx/a.rs",
        "SRC/AUTH/a.rs",
        "notes/deep/x.md",
        "src/auth/link/guide.md",
        "src/auth/file.md",
        "src/auth/dangling",
        "into/a.rs",
        "src/auth/etc/passwd",
        "../outside.txt",
        "../../../../../../etc/x",
        "/etc/passwd",
        "~/x",
        &format!("{root}/docs/guide.md"),
        &format!("{root}x/src/auth/a.rs"),
        ".git/x",
        "newdir/file.rs",
    ] {
        let refused = code(&write(&sandbox, "s", path));
        assert!(refused == "scope_violation" || refused.contains("protected"), "{path}: {refused}");
    }
    // Files in the system's temporary directory are free.
    let temp = sandbox.project.parent().unwrap().join("tmp/x.txt");
    assert_eq!(write(&sandbox, "s", temp.to_str().unwrap()), json!({}));
    assert_eq!(write(&sandbox, "s", "/tmp/x.txt"), json!({}));
    assert_eq!(sandbox.bash("s", "ls > /dev/null 2>&1; echo x > /tmp/y"), json!({}));
    // A pipe in the repository is not a file.
    assert!(sandbox.command("mkfifo").arg("src/auth/fifo").output().unwrap().status.success());
    assert_eq!(code(&write(&sandbox, "s", "src/auth/fifo")), "scope_violation");
    // A rename needs both paths in the scope.
    let patch = |text: &str| {
        sandbox.hook(
            "codex",
            &payload(
                "s",
                "PreToolUse",
                &sandbox.project,
                json!({"tool_name": "apply_patch", "tool_input": {"command": text}}),
            ),
        )
    };
    let moved = |from: &str, to: &str| {
        format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n@@\n-a\n+b\n*** End Patch")
    };
    assert_eq!(patch(&moved("src/auth/a.rs", "src/auth/b.rs")), json!({}));
    assert_eq!(code(&patch(&moved("docs/guide.md", "src/auth/b.rs"))), "scope_violation");
    assert_eq!(code(&patch(&moved("src/auth/a.rs", "docs/b.rs"))), "scope_violation");
    let two = "*** Begin Patch\n*** Add File: src/auth/n.rs\n+a\n*** Delete File: README.md\n*** End Patch";
    assert_eq!(code(&patch(two)), "scope_violation");
}

/// Must-beat 15: a scope also limits the writes of a shell.
#[test]
fn scope_binds_the_shell() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    fs::create_dir_all(sandbox.project.join("src/auth/sub")).unwrap();
    let mut wrong = Vec::new();
    for command in [
        "echo x > src/auth/n.rs",
        "cd src/auth && sed -i s/a/b/ a.rs",
        "sed -i s/a/b/ src/auth/a.rs && cat src/other.rs",
        "cp docs/guide.md src/auth/",
        "cp docs/guide.md notes/guide.md",
        "mv src/auth/a.rs src/auth/b.rs",
        "rm -rf src/auth/sub",
        "rm src/auth/*.tmp",
        "find src/auth/sub -name '*.tmp' -delete",
        "find docs -name '*.md' -exec cat {} +",
        "mkdir -p src/auth/x/y notes",
        "tar -xf a.tar -C src/auth/sub",
        "curl -so src/auth/x http://localhost/x",
        "curl -s -o - http://localhost/x",
        "wget -qO- http://localhost/x",
        "git restore --staged docs/guide.md",
        "git mv src/auth/a.rs src/auth/b.rs",
        "git switch -c x",
        "git checkout main",
        "git stash",
        "git commit -am x",
        "git pull --rebase",
        "make",
        "X=src/auth/a.rs; echo x > $X",
        "for f in src/auth/a.rs src/auth/b.rs; do touch $f; done",
        "bash -c 'cd src && echo x > auth/y'",
        "git apply <<'E'\n--- a/src/auth/a.rs\n+++ b/src/auth/a.rs\n@@ -1 +1 @@\n-one\n+two\nE",
    ] {
        let refused = code(&sandbox.bash("s", command));
        if !refused.is_empty() {
            wrong.push(format!("{command}: {refused}"));
        }
    }
    for command in [
        "echo x > src/other.rs",
        "echo x >> docs/guide.md",
        "cat <<'E' > docs/x\nhello\nE",
        "echo x | tee docs/x",
        "sed -i s/a/b/ src/other.rs",
        "perl -pi -e s/a/b/ src/other.rs",
        "cp src/auth/a.rs docs/",
        "cp src/auth/a.rs src/b.rs",
        "cp -t docs src/auth/a.rs",
        "mv docs/guide.md src/auth/guide.md",
        "mv src/auth/a.rs docs/",
        "rm src/other.rs",
        "rm -rf src/auth",
        "rm -rf src",
        "ln -sf ../x docs/link",
        "install -m 644 src/auth/a.rs docs/a",
        "rsync -a src/auth/ docs/",
        "dd if=src/auth/a.rs of=docs/a",
        "truncate -s 0 README.md",
        "touch newfile",
        "patch docs/guide.md x.patch",
        "tar -xf a.tar",
        "tar xzf a.tgz -C docs",
        "unzip a.zip",
        "unzip a.zip -d docs",
        "curl -o docs/x http://localhost/x",
        "curl -O http://localhost/x.tgz",
        "wget http://localhost/x.tgz",
        "git checkout -- docs/guide.md",
        "git checkout docs/guide.md",
        "git checkout HEAD~1 docs/guide.md",
        "git restore docs/guide.md",
        "git restore .",
        "git rm docs/guide.md",
        "git mv src/auth/a.rs docs/a.rs",
        "git clean -fd",
        "git stash push -- docs",
        "git apply <<'E'\n--- a/docs/guide.md\n+++ b/docs/guide.md\n@@ -1 +1 @@\n-one\n+two\nE",
        "find docs -name '*.md' -delete",
        "find docs -type f -exec sed -i s/a/b/ {} +",
        "echo docs/guide.md | xargs rm",
        "cd docs && touch x",
        "cd src/auth && touch ../other.rs",
        "bash -c 'touch docs/x'",
        "sudo timeout 5 env A=1 touch docs/x",
        "sh <<'E'\ntouch docs/x\nE",
        "eval 'touch docs/x'",
        "python3 -c \"open('docs/x','w').write('y')\"",
        "true && (cd docs; touch x) || true",
        "mkdir -p elsewhere/x",
        "touch /etc/x",
        "touch ../x",
    ] {
        let refused = code(&sandbox.bash("s", command));
        if refused != "scope_violation" {
            wrong.push(format!("{command}: {refused}"));
        }
    }
    for command in [
        "echo x > $X",
        "ls | xargs touch",
        "cd $D && touch x",
        "git apply nowhere.patch",
        "patch -p1 < nowhere.patch",
        "patch <<'E'\n--- a/src/auth/README.md\n+++ b/src/auth/README.md\n@@ -1 +1 @@\n-one\n+two\nE",
    ] {
        let refused = code(&sandbox.bash("s", command));
        if refused != "scope_unknown" {
            wrong.push(format!("{command}: {refused}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(code(&sandbox.bash("s", "rm -rf .")), "protected_path");
}

/// Sprag follows links that the same command makes, and treats a second name of a file as that file.
#[test]
fn a_link_is_no_way_out() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    symlink("../../docs", sandbox.project.join("src/auth/link")).unwrap();
    fs::create_dir_all(sandbox.project.join("src/auth/sub")).unwrap();
    for command in [
        "ln -s ../../docs src/auth/l && echo x > src/auth/l/x",
        "ln -s ../../docs/guide.md src/auth/l; echo x > src/auth/l",
        "ln -sf ../../../docs src/auth/sub; touch src/auth/sub/docs/x",
        "ln -s -t src/auth/sub ../../../docs; touch src/auth/sub/docs/x",
        "cd src/auth && ln -s ../../docs l && cd l && touch x",
        "ln -s ../../docs src/auth/l1; ln -s l1 src/auth/l2; touch src/auth/l2/x",
        "ln -s l2 src/auth/l1; ln -s l1 src/auth/l2; touch src/auth/l2/x; touch docs/x",
        "link docs/guide.md src/auth/second",
        "ln docs/guide.md src/auth/second",
        "cp -l docs/guide.md src/auth/second",
        "cp --link docs/guide.md src/auth/second",
        // The system resolves `..` to the parent of `docs`.
        "echo x > src/auth/link/../a.rs",
        "rm src/auth/link/../README.md",
    ] {
        assert_eq!(code(&sandbox.bash("s", command)), "scope_violation", "{command}");
    }
    for command in [
        "ln -s ../../docs src/auth/l",
        "ln src/auth/a.rs src/auth/second",
        "ln -s a.rs src/auth/l && echo x > src/auth/l",
        "echo x > src/auth/sub/../a.rs",
        "ln -s ../../docs src/auth/l && touch src/auth/x",
        // Another case is another file here.
        "ln -s ../../docs src/auth/l && touch src/auth/L/x",
    ] {
        assert_eq!(sandbox.bash("s", command), json!({}), "{command}");
    }
    assert_eq!(code(&sandbox.bash("s", "ln -s $X src/auth/l && touch src/auth/l/x")), "scope_unknown");
    // The same path leads to protected files.
    let plain = Sandbox::new();
    symlink(".git/hooks", plain.project.join("link")).unwrap();
    assert!(plain.bash("s", "echo x > link/../config").to_string().contains("deny"));
}

/// Sprag reads the changed files from a patch, inline or in a file.
#[test]
fn patches_are_read() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    let patch = |path: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-one\n+two\n");
    sandbox.write("in.patch", &patch("src/auth/a.rs"));
    sandbox.write("out.patch", &patch("docs/guide.md"));
    sandbox.write("ours.patch", &patch(".sprag/intents.yaml"));
    let made = "diff --git a/docs/new b/docs/new\nnew file mode 100644\nindex 0000000..e69de29\n";
    sandbox.write("made.patch", &format!("{}{made}", patch("src/auth/a.rs")));
    let copied = "diff --git a/src/auth/a.rs b/docs/copy.rs\ncopy from src/auth/a.rs\ncopy to docs/copy.rs\n";
    sandbox.write("copied.patch", copied);
    sandbox.write("torn.patch", "--- a/src/auth/a.rs\n+++ b/src/auth/a.rs\n@@ -1,9 +1 @@\n-one\n");
    sandbox.write("large.patch", &format!("{}{}", patch("src/auth/a.rs"), "\n".repeat(2_000_000)));
    for (commands, expected) in [
        (["git apply in.patch", "git apply --index -p1 < in.patch", "git apply -p 1 -v in.patch"], ""),
        (["patch -p1 < in.patch", "patch -p1 -i in.patch", "patch -p1 --input=in.patch"], ""),
        (["git apply out.patch", "patch -p1 < out.patch", "git am out.patch"], "scope_violation"),
        (
            ["git apply made.patch", "git apply copied.patch", "cd src && git apply ../made.patch"],
            "scope_violation",
        ),
        (
            ["git apply in.patch out.patch", "patch -p0 < in.patch", "cd docs && git apply ../in.patch"],
            "scope_violation",
        ),
        (["git apply --directory=docs in.patch"; 3], "scope_violation"),
        (["git apply ours.patch", "patch -p1 < ours.patch", "git apply < ours.patch"], "protected_path"),
        (["git apply torn.patch", "git apply large.patch", "patch < in.patch"], "scope_unknown"),
        // The patch may differ when the command runs.
        (
            ["cp out.patch src/auth/p; git apply src/auth/p", "make && git apply in.patch", "git apply $X"],
            "scope_unknown",
        ),
        (["git apply . in.patch", "git apply .", "cat in.patch | git apply"], "scope_unknown"),
    ] {
        for command in commands {
            let refused = code(&sandbox.bash("s", command));
            // Sprag follows `cat` and knows its output.
            assert!(refused == expected || command.starts_with("cat"), "{command}: `{refused}`");
        }
    }
}

#[test]
fn what_leads_nowhere_and_what_edits_is_known() {
    let sandbox = headless(sandbox());
    select(&sandbox, "s", "AUTH");
    for command in [
        "ls | tee /dev/stderr",
        "cat README.md > /dev/stdout",
        "git stash push src/auth/a.rs",
        "git stash push -m docs src/auth/a.rs",
        "vim -es -c 's/a/b/' -c wq src/auth/a.rs",
        "vim -R docs/guide.md",
    ] {
        assert_eq!(sandbox.bash("s", command), json!({}), "{command}");
    }
    for command in [
        "git stash push docs/guide.md",
        "git stash push -m x docs",
        "git submodule add ../x docs/sub",
        "git submodule add https://localhost/x.git",
        "git worktree remove ../elsewhere",
        "git worktree move src/auth/w docs/w",
        "ed docs/guide.md <<< w",
        "ex -s +wq docs/guide.md",
        "vim -es -c wq docs/guide.md",
        "emacs --batch docs/guide.md -f save-buffer",
        "echo x > /dev/stdout/../../etc/x",
    ] {
        assert_eq!(code(&sandbox.bash("s", command)), "scope_violation", "{command}");
    }
}

/// Runs a command as hooks see it.
fn ran(sandbox: &Sandbox, command: &str, does: impl FnOnce()) {
    assert_eq!(sandbox.bash("s", command), json!({}), "{command}");
    does();
    sandbox.event(
        "s",
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {}}),
    );
}

#[test]
fn what_a_program_strays_into_holds_the_stop() {
    let sandbox = sandbox();
    select(&sandbox, "s", "AUTH");
    ran(&sandbox, "make", || {
        sandbox.write("src/auth/a.rs", "two\n");
        sandbox.write("docs/guide.md", "two\n");
        sandbox.write("docs/new.md", "two\n");
    });
    let stop = || sandbox.event("s", "Stop", json!({"background_tasks": []}));
    let held = stop();
    let reason = held["reason"].as_str().unwrap_or_else(|| panic!("{held}"));
    assert!(reason.contains("`docs/guide.md`, `docs/new.md`") && !reason.contains("src/auth"), "{reason}");
    assert!(reason.contains("sprag intent expand AUTH docs/guide.md"), "{reason}");
    // The session may undo the stray change, and nothing else.
    assert_eq!(sandbox.bash("s", "git stash push -u -- docs/guide.md && rm docs/new.md"), json!({}));
    assert_eq!(code(&sandbox.bash("s", "git stash push -- README.md")), "scope_violation");
    assert_eq!(code(&write(&sandbox, "s", "docs/guide.md")), "scope_violation");
    sandbox.git(&["checkout", "--", "docs/guide.md"]);
    assert!(stop()["reason"].as_str().unwrap().contains("`docs/new.md`"));
    // A selected intent may own the stray file, too.
    select(&sandbox, "s", "DOCS");
    let reason = stop()["reason"].to_string();
    assert!(!reason.contains("docs/new.md"), "{reason}");
    assert!(stored_lines(&sandbox.store()).iter().any(|line| line.contains("\"intent.strayed\"")));
}

#[test]
fn what_strays_for_ever_becomes_a_debt() {
    let sandbox = sandbox();
    select(&sandbox, "s", "AUTH");
    ran(&sandbox, "make", || drop(sandbox.write("docs/guide.md", "two\n")));
    let stop = || sandbox.event("s", "Stop", json!({"background_tasks": []}));
    let mut holds = 0;
    while stop()["decision"] == "block" {
        holds += 1;
        assert!(holds < 8, "a hold has a bound");
    }
    assert!(holds >= 3);
    let debts = sandbox.json(&["debt", "list", "--json"]);
    assert_eq!(debts["debts"][0]["duty"], "scope", "{debts}");
}

#[test]
fn what_git_brings_in_is_nobodys_change() {
    let sandbox = sandbox();
    sandbox.git(&["checkout", "-qb", "side"]);
    sandbox.write("docs/guide.md", "theirs\n");
    // Git times have seconds: a commit of this second could be from the call itself.
    sandbox.git(&["commit", "-qam", "side", "--date", "2020-01-01T00:00:00Z"]);
    sandbox.git(&["checkout", "-q", "main"]);
    select(&sandbox, "s", "AUTH");
    ran(&sandbox, "git merge side", || drop(sandbox.git(&["merge", "-q", "side"])));
    let stop = sandbox.event("s", "Stop", json!({"background_tasks": []}));
    assert!(!stop.to_string().contains("docs/guide.md"), "{stop}");
}

/// A file that the session itself committed did not arrive with another tree, whatever else git did in that
/// command.
#[test]
fn a_tree_that_is_moved_hides_no_stray() {
    for command in [
        "git merge --ff-only HEAD; bash src/auth/x.sh; git commit -qam x",
        "git checkout -q main && make && git commit -qam x",
    ] {
        let sandbox = sandbox();
        select(&sandbox, "s", "AUTH");
        ran(&sandbox, command, || {
            sandbox.write("docs/guide.md", "two\n");
            assert!(sandbox.git(&["commit", "-qam", "x"]).status.success());
        });
        let stop = sandbox.event("s", "Stop", json!({"background_tasks": []}));
        assert!(
            stop["reason"].as_str().is_some_and(|why| why.contains("`docs/guide.md`")),
            "{command}: {stop}"
        );
    }
}
