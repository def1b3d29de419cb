//! Every row of the tables of carriers, and the paths programs use.

use super::*;
use crate::shell::Carrier;
use crate::shell::Host;

const X: &str = "gh issue close 1";

#[test]
fn forms_of_one_command() {
    for form in [
        "gh issue close 1",
        "GH_TOKEN=x gh issue close 1",
        "env A=1 gh issue close 1",
        "echo y | gh issue close 1",
        "gh issue close 1 | cat",
        "bash -c 'gh issue close 1'",
        "bash -lc 'gh issue close 1'",
        "cd x && gh issue close 1",
        "a; gh issue close 1",
        "a || gh issue close 1",
        "sudo gh issue close 1",
        "timeout 5 gh issue close 1",
        "echo $(gh issue close 1)",
        "a\ngh issue close 1",
        "gh  issue   close 1",
        "'gh' \"issue\" close 1",
        "command gh issue close 1",
    ] {
        assert!(lines(form).contains(&X.to_owned()), "{form}: {:?}", lines(form));
    }
    assert_eq!(lines("/usr/local/bin/gh issue close 1"), ["/usr/local/bin/gh issue close 1"]);
    assert_eq!(parse("/usr/local/bin/gh issue close 1").commands[0].program(), Some("gh"));
}

/// Carriers that keep the inner command as it is; `X` is its place.
const CARRIERS: &[&str] = &[
    "env X", "env -i A=1 X", "env -u A -C d X", "env -S 'A=1 X'", "env - A=1 X", "/usr/bin/env X",
    "sudo X", "sudo -u me -E -- X", "sudo A=1 X", "sudo -nu me X", "doas -u me X", "pkexec X", "pkexec --user me X",
    "runuser -u me -- X", "runuser -l me -c 'X'", "su - me -c 'X'", "su -c 'X' me",
    "nice X", "nice -n 5 X", "nice -5 X", "ionice -c 2 -n 7 X", "nohup X", "timeout 5 X", "timeout -k 3 -s KILL 5s X",
    "timeout --signal=KILL 5 X", "time X", "/usr/bin/time -f %e X", "stdbuf -oL -e 0 X", "setsid -w X", "unshare -r -n X", "chroot /r X",
    "flock /l X", "flock -n /l -c 'X'", "flock -w 5 /l X", "strace -f -o t X", "script -qc 'X' /dev/null", "script -q /dev/null X",
    "systemd-run --user -p A=b X", "busybox X", "command X", "command -p X", "builtin X", "exec X", "exec -a n X", "! X",
    "taskset -c 0 X", "caffeinate -i X", "xvfb-run X",
    "bash -c 'X'", "sh -xec 'X'", "zsh -lc 'X'", "dash -c 'X'", "ksh -c 'X'", "bash -o pipefail -c 'X'", "bash --norc -c 'X'",
    "bash -s <<< 'X'", "bash <<'E'\nX\nE", "echo 'X' | bash", "bash -c '\"$@\"' _ X", "bash -c 'eval \"$1\"' _ 'X'",
    "eval X", "eval 'X'", "source <(echo 'X')", ". /dev/stdin <<< 'X'", "trap 'X' EXIT", "mapfile -C 'X;:' -c 1 a < f",
    "find . -maxdepth 1 -exec X \\;", "find . -execdir X \\;", "find . -ok X \\;", "watch -n 1 X", "watch 'X'",
    "ssh h X", "ssh -p 22 -o A=b u@h 'X'", "ssh h <<'E'\nX\nE", "docker exec -it c X", "docker exec -e A=b c sh -c 'X'",
    "docker run --rm -v a:b --name n i X", "docker compose -f f exec s X", "docker run --entrypoint sh i -c 'X'", "podman exec c X",
    "kubectl exec p -- X", "kubectl -n ns exec -it p -c c -- sh -c 'X'", "tmux new-session -d -s n 'X'", "tmux send-keys -t n 'X' Enter",
    "tmux new -d ';' neww 'X'", "screen -dmS n X", "screen -S n -X stuff 'X^M'",
    "npx -c 'X'", "npm exec -c 'X'", "uv run X", "uv run --with a -- X", "poetry run X", "bundle exec X", "mise exec -- X", "mise x node@20 -- X",
    "direnv exec . X", "nix develop -c X", "nix shell p -c X", "nix-shell -p a --run 'X'", "conda run -n e X", "make -f - <<'E'\na:\n\tX\nE",
    "parallel X ::: ''", "hyperfine 'X'", "sg g -c 'X'", "entr X",
    "python3 -c 'import os; os.system(\"X\")'", "python -c 'import subprocess; subprocess.run(\"X\", shell=True)'",
    "python3 - <<'E'\nimport os\nos.system('X')\nE", "python3 -c 'c = \"X\"; import os; os.popen(c)'",
    "node -e 'require(\"child_process\").execSync(\"X\")'", "node -e \"const c = 'X'; require('child_process').exec(c)\"",
    "perl -e 'system(\"X\")'", "perl -e 'system \"X\"'", "perl -e 'print `X`'", "perl -e 'exec q{X}'", "perl -ne 'qx(X)' f",
    "ruby -e 'system(\"X\")'", "ruby -e 'system \"X\"'", "ruby -e '`X`'", "ruby -e '%x(X)'", "php -r 'shell_exec(\"X\");'", "php -r 'echo `X`;'",
    "awk 'BEGIN { system(\"X\") }'", "awk 'BEGIN { print \"x\" | \"X\" }'", "awk 'BEGIN { \"X\" | getline a }'", "lua -e 'os.execute(\"X\")'",
    "git -c alias.z='!X' z", "git -c core.pager='X' log", "git -c core.sshCommand='X' fetch", "GIT_SSH_COMMAND='X' git push",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.editor GIT_CONFIG_VALUE_0='X' git commit", "export GIT_EDITOR='X'; git commit",
    "git rebase -x 'X' main", "git bisect run X", "git submodule foreach 'X'",
    "nohup nice -n 5 env A=1 timeout 9 X", "sudo bash -c \"timeout 5 X\"",
];

#[test]
fn carriers_keep_their_inner_command() {
    let mut wrong = String::new();
    for carrier in CARRIERS {
        let text = carrier.replace('X', X);
        let found = lines(&text);
        if !found.iter().any(|line| line == X || line.starts_with(&format!("{X} "))) {
            wrong.push_str(&format!("\n{text}\n  {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn words_that_carriers_add_are_told() {
    check(&[
        ("echo 'a b' | xargs rm", "echo 'a b' | rm a b"),
        ("cat f | xargs -0 rm -f", "cat f | rm -f ?*"),
        ("printf 'a\\0b' | xargs -0 -n 1 rm", "printf a\\0b | rm a b"),
        ("printf 'a\\nb\\n' | xargs -I{} mv {} {}.x", "printf a\\nb\\n | mv a a.x | mv b b.x"),
        ("ls | xargs -I % sh -c 'rm %'", "ls | rm ?*"),
        ("parallel rm -f ::: a b", "rm -f a | rm -f b"),
        ("echo 'rm a' | parallel", "echo 'rm a' | rm a"),
        ("find . /x -name '*.o' -exec rm {} +", "find . /x -name *.o -exec rm {} + | rm ./? /x/?"),
        ("find x -delete", "find x -delete | rm -rf x"),
        ("find x -name y -delete", "find x -name y -delete | rm -f x/?"),
        ("fd -e o -x rm", "fd -e o | rm ./?"),
        ("bash -c 'echo $0 $1' a b", "echo a b"),
        ("mapfile -C 'cb' -c 1 a", "mapfile -C cb -c 1 a | cb ?*"),
        ("python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", \"x\"])'", "python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", \"x\"])' | rm -rf x"),
        ("python3 -c 'import shutil; shutil.rmtree(\"x\")'", "python3 -c 'import shutil; shutil.rmtree(\"x\")' | rm -rf x"),
        ("python3 -c 'import pathlib; pathlib.Path(\"x\").unlink()'", "python3 -c 'import pathlib; pathlib.Path(\"x\").unlink()' | rm -f x"),
        ("node -e 'require(\"fs\").rmSync(\"x\", {recursive: true})'", "node -e 'require(\"fs\").rmSync(\"x\", {recursive: true})' | rm -rf x"),
        ("perl -e 'unlink \"x\"'", "perl -e 'unlink \"x\"' | rm -f x"),
        ("ruby -e 'FileUtils.rm_rf(\"x\")'", "ruby -e 'FileUtils.rm_rf(\"x\")' | rm -rf x"),
        ("python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\"])'", "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\"])' | git push"),
    ]);
}

#[test]
fn global_options_are_dropped() {
    check(&[
        ("git -C d -c a.b=c --git-dir=x --no-pager -P push", "git push"),
        ("git --git-dir x --work-tree y status", "git status"),
        ("git -c alias.p='push --force' p o", "git push --force o"),
        ("git -c alias.push=status push", "git push"),
        ("gh -R o/r issue close 1", "gh issue close 1"),
        ("gh issue -R o/r close 1", "gh issue close 1"),
        ("gh issue close 1 -R o/r", "gh issue close 1 -R o/r"),
        ("kubectl -n ns --context c delete pod p", "kubectl delete pod p"),
        ("terraform -chdir=d destroy -auto-approve", "terraform destroy -auto-approve"),
        ("npm --prefix d publish", "npm publish"),
        ("aws --profile p s3 --region r rb b", "aws s3 rb b"),
        ("cargo +nightly -C d publish", "cargo publish"),
        ("docker --context c volume rm v", "docker volume rm v"),
        ("git --version", "git --version"),
    ]);
    assert_eq!(parse("git -C d push").wrappers.iter().map(line).collect::<Vec<_>>(), ["git -C d push"]);
}

#[test]
fn hosts_and_carriers_are_told() {
    let script = parse("sudo ssh web 'env A=1 rm x'; ls");
    assert_eq!(script.commands[0].host, Host::Other("web".to_owned()));
    assert_eq!(
        script.commands[0].via,
        [Carrier::Program("sudo".to_owned()), Carrier::Shell("ssh".to_owned()), Carrier::Program("env".to_owned())]
    );
    assert_eq!(script.commands[0].assigns.len(), 1);
    assert_eq!(script.commands[1].host, Host::Local);
    assert_eq!(script.wrappers.len(), 3);
}

#[test]
fn paths_are_told() {
    let cases = [
        ("x > a 2>> b &> c", "a b c", ""),
        ("x < a", "", "a"),
        ("x 2>&1 >&2", "", ""),
        ("cp a b c", "c", "a b"),
        ("cp -t d a b", "d", "a b"),
        ("mv a b", "a b", ""),
        ("tee -a a b", "a b", ""),
        ("sed -i s/x/y/ a b", "a b", "a b"),
        ("sed -i.bak -e s/x/y/ a", "a", "a"),
        ("sed -n p a", "", "a"),
        ("sed -ne p a", "", "a"),
        ("dd if=a of=b bs=1", "b", "a"),
        ("ln -sf a b", "b", ""),
        ("install -m 755 a b", "b", "a"),
        ("rsync -a a/ b/", "b/", "a/"),
        ("truncate -s 0 a", "a", ""),
        ("touch a", "a", ""),
        ("rm -rf a b", "a b", ""),
        ("chmod -R 700 a", "a", ""),
        ("tar -xzf a.tgz -C d", "d", "a.tgz"),
        ("tar czf a.tgz b", "a.tgz", "b"),
        ("curl -sSLo a https://example.org/b", "a", ""),
        ("curl -O https://example.org/b", "b", ""),
        ("curl -d @a https://example.org", "", "a"),
        ("wget -O a https://example.org", "a", ""),
        ("git restore -s HEAD a", "a", ""),
        ("git checkout -- a", "a", ""),
        ("git checkout main", "", ""),
        ("cat a b", "", "a b"),
        ("grep -n x a", "", "a"),
        ("head -n 3 a", "", "a"),
        ("sudo tee a", "a", ""),
        ("bash -c 'cat a > b'", "b", "a"),
        ("sort -o a b", "a", "b"),
        ("perl -i -pe 's/x/y/' a", "a", "a"),
    ];
    for (text, writes, reads) in cases {
        let script = parse(text);
        let paths = |uses: &[crate::shell::PathUse]| uses.iter().map(|path| shown(&path.path)).collect::<Vec<_>>().join(" ");
        assert_eq!((paths(&script.writes).as_str(), paths(&script.reads).as_str()), (writes, reads), "{text}");
        for path in script.writes.iter().chain(&script.reads) {
            assert!(path.command.is_some_and(|at| at < script.commands.len()), "{text}");
        }
    }
}
