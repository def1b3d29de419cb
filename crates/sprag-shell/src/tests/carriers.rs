//! Tests of every row in the tables of carriers, and of the paths that programs use.

use super::*;
use crate::{Carrier, Host};

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
    for form in [
        "sudo --us me gh issue close 1",
        "env --uns A gh issue close 1",
        "timeout --sig KILL 5 gh issue close 1",
    ] {
        assert!(lines(form).contains(&X.to_owned()), "{form}: {:?}", lines(form));
        assert!(!parse(form).doubts.is_empty(), "{form}: another option may begin alike");
    }
    assert_eq!(lines("/usr/local/bin/gh issue close 1"), ["/usr/local/bin/gh issue close 1"]);
    assert_eq!(parse("/usr/local/bin/gh issue close 1").commands[0].program(), Some("gh"));
}

/// Carriers that keep the inner command unchanged; `@@` marks its position.
const CARRIERS: &[&str] = &[
    "env @@",
    "env -i A=1 @@",
    "env -u A -C d @@",
    "env -S 'A=1 @@'",
    "env - A=1 @@",
    "/usr/bin/env @@",
    "sudo @@",
    "sudo -u me -E -- @@",
    "sudo A=1 @@",
    "sudo -nu me @@",
    "doas -u me @@",
    "pkexec @@",
    "pkexec --user me @@",
    "runuser -u me -- @@",
    "runuser -l me -c '@@'",
    "su - me -c '@@'",
    "su -c '@@' me",
    "nice @@",
    "nice -n 5 @@",
    "nice -5 @@",
    "ionice -c 2 -n 7 @@",
    "nohup @@",
    "timeout 5 @@",
    "timeout -k 3 -s KILL 5s @@",
    "timeout --signal=KILL 5 @@",
    "time @@",
    "/usr/bin/time -f %e @@",
    "stdbuf -oL -e 0 @@",
    "setsid -w @@",
    "unshare -r -n @@",
    "chroot /r @@",
    "flock /l @@",
    "flock -n /l -c '@@'",
    "flock -w 5 /l @@",
    "strace -f -o t @@",
    "script -qc '@@' /dev/null",
    "script -q /dev/null @@",
    "systemd-run --user -p A=b @@",
    "busybox @@",
    "command @@",
    "command -p @@",
    "builtin @@",
    "exec @@",
    "exec -a n @@",
    "! @@",
    "taskset -c 0 @@",
    "caffeinate -i @@",
    "xvfb-run @@",
    "bash -c '@@'",
    "sh -xec '@@'",
    "zsh -lc '@@'",
    "dash -c '@@'",
    "ksh -c '@@'",
    "bash -o pipefail -c '@@'",
    "bash --norc -c '@@'",
    "bash -s <<< '@@'",
    "bash <<'E'\n@@\nE",
    "echo '@@' | bash",
    "bash -c '\"$@\"' _ @@",
    "bash -c 'eval \"$1\"' _ '@@'",
    "eval @@",
    "eval '@@'",
    "source <(echo '@@')",
    ". /dev/stdin <<< '@@'",
    "trap '@@' EXIT",
    "mapfile -C '@@;:' -c 1 a < f",
    "find . -maxdepth 1 -exec @@ \\;",
    "find . -execdir @@ \\;",
    "find . -ok @@ \\;",
    "watch -n 1 @@",
    "watch '@@'",
    "ssh h @@",
    "ssh -p 22 -o A=b u@h '@@'",
    "ssh h <<'E'\n@@\nE",
    "docker exec -it c @@",
    "docker exec -e A=b c sh -c '@@'",
    "docker run --rm -v a:b --name n i @@",
    "docker compose -f f exec s @@",
    "docker run --entrypoint sh i -c '@@'",
    "podman exec c @@",
    "kubectl exec p -- @@",
    "kubectl -n ns exec -it p -c c -- sh -c '@@'",
    "tmux new-session -d -s n '@@'",
    "tmux send-keys -t n '@@' Enter",
    "tmux new -d ';' neww '@@'",
    "screen -dmS n @@",
    "screen -S n -X stuff '@@^M'",
    "npx -c '@@'",
    "npm exec -c '@@'",
    "uv run @@",
    "uv run --with a -- @@",
    "poetry run @@",
    "bundle exec @@",
    "mise exec -- @@",
    "mise x node@20 -- @@",
    "direnv exec . @@",
    "nix develop -c @@",
    "nix shell p -c @@",
    "nix-shell -p a --run '@@'",
    "conda run -n e @@",
    "make -f - <<'E'\na:\n\t@@\nE",
    "parallel @@ ::: ''",
    "hyperfine '@@'",
    "sg g -c '@@'",
    "entr @@",
    "python3 -c 'import os; os.system(\"@@\")'",
    "python -c 'import subprocess; subprocess.run(\"@@\", shell=True)'",
    "python3 - <<'E'\nimport os\nos.system('@@')\nE",
    "python3 -c 'c = \"@@\"; import os; os.popen(c)'",
    "node -e 'require(\"child_process\").execSync(\"@@\")'",
    "node -e \"const c = '@@'; require('child_process').exec(c)\"",
    "perl -e 'system(\"@@\")'",
    "perl -e 'system \"@@\"'",
    "perl -e 'print `@@`'",
    "perl -e 'exec q{@@}'",
    "perl -ne 'qx(@@)' f",
    "ruby -e 'system(\"@@\")'",
    "ruby -e 'system \"@@\"'",
    "ruby -e '`@@`'",
    "ruby -e '%x(@@)'",
    "php -r 'shell_exec(\"@@\");'",
    "php -r 'echo `@@`;'",
    "awk 'BEGIN { system(\"@@\") }'",
    "awk 'BEGIN { print \"x\" | \"@@\" }'",
    "awk 'BEGIN { \"@@\" | getline a }'",
    "lua -e 'os.execute(\"@@\")'",
    "git -c alias.z='!@@' z",
    "git -c core.pager='@@' log",
    "git -c core.sshCommand='@@' fetch",
    "GIT_SSH_COMMAND='@@' git push",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.editor GIT_CONFIG_VALUE_0='@@' git commit",
    "export GIT_EDITOR='@@'; git commit",
    "git rebase -x '@@' main",
    "git bisect run @@",
    "git submodule foreach '@@'",
    "nohup nice -n 5 env A=1 timeout 9 @@",
    "sudo bash -c \"timeout 5 @@\"",
];

#[test]
fn carriers_keep_their_inner_command() {
    let mut wrong = String::new();
    for carrier in CARRIERS {
        let text = carrier.replace("@@", X);
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
        ("find . /x -name '*.o' -exec rm {} +", "find . /x -name *.o -exec rm {} + | rm ./?/*.o /x/?/*.o"),
        ("find x -delete", "find x -delete | rm -rf x"),
        ("find x -name y -delete", "find x -name y -delete | rm -f x/?/y"),
        ("fd -e o -x rm", "fd -e o | rm ./?"),
        ("bash -c 'echo $0 $1' a b", "echo a b"),
        ("mapfile -C 'cb' -c 1 a", "mapfile -C cb -c 1 a | cb ?*"),
        (
            "python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", \"x\"])'",
            "python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", \"x\"])' | rm -rf x",
        ),
        (
            "python3 -c 'import shutil; shutil.rmtree(\"x\")'",
            "python3 -c 'import shutil; shutil.rmtree(\"x\")' | rm -rf x",
        ),
        (
            "python3 -c 'import pathlib; pathlib.Path(\"x\").unlink()'",
            "python3 -c 'import pathlib; pathlib.Path(\"x\").unlink()' | rm -f x",
        ),
        (
            "node -e 'require(\"fs\").rmSync(\"x\", {recursive: true})'",
            "node -e 'require(\"fs\").rmSync(\"x\", {recursive: true})' | rm -rf x",
        ),
        ("perl -e 'unlink \"x\"'", "perl -e 'unlink \"x\"' | rm -f x"),
        ("ruby -e 'FileUtils.rm_rf(\"x\")'", "ruby -e FileUtils.rm_rf(\"x\") | rm -rf x"),
        (
            "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\"])'",
            "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\"])' | git push",
        ),
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
        [
            Carrier::Program("sudo".to_owned()),
            Carrier::Shell("ssh".to_owned()),
            Carrier::Program("env".to_owned())
        ]
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
        ("mv a b", "a b", "a"),
        ("tee -a a b", "a b", ""),
        ("sed -i s/x/y/ a b", "a b", "a b"),
        ("sed -i.bak -e s/x/y/ a", "a", "a"),
        ("sed -n p a", "", "a"),
        ("sed -ne p a", "", "a"),
        ("dd if=a of=b bs=1", "b", "a"),
        ("ln -sf a b", "b", "a"),
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
        let paths =
            |uses: &[crate::PathUse]| uses.iter().map(|path| shown(&path.path)).collect::<Vec<_>>().join(" ");
        assert_eq!(
            (paths(&script.writes).as_str(), paths(&script.reads).as_str()),
            (writes, reads),
            "{text}"
        );
        for path in script.writes.iter().chain(&script.reads) {
            assert!(path.command.is_some_and(|at| at < script.commands.len()), "{text}");
        }
    }
}

/// Unread output of a program becomes unknown code when a shell reads it.
#[test]
fn what_is_printed_unseen_is_code_unseen() {
    for text in [
        "make x | sh",
        "source x.sh | sh",
        "$(make x)",
        "eval \"$(make -s x)\"",
        "sh <(make x)",
        "./x | sh",
        "npm run x | bash",
        "find . | sh",
        "git show HEAD:x | sh",
        "docker run i x | sh",
        "python3 x.py | sh",
    ] {
        let script = Script::parse(text, &ShellStart::default());
        assert!(script.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Dynamic), "{text}");
    }
}

#[test]
fn less_common_carriers_are_taken_off() {
    for text in [
        "env A=b -S 'x y'",
        "env -S 'x\\_y'",
        "env -a name x y",
        "env --block-signal x y",
        "sudo -s <<< 'x y'",
        "sudo -i <<< 'x y'",
        "su <<< 'x y'",
        "python3 -m timeit 'import os; os.system(\"x y\")'",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0='!x y' git z",
        "env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0='!x y' git z",
        "F='!x y' git --config-env=alias.z=F z",
        "gh alias set z '!x y'",
    ] {
        let found = lines(text);
        assert!(found.iter().any(|line| line.trim_end() == "x y"), "{text}: {found:?}");
    }
    check(&[
        ("git-reset --hard", "git reset --hard"),
        ("/usr/lib/git-core/git-push -f", "git push -f"),
        ("fd z --exec=x y", "fd z | x y ./?"),
        ("git config core.HOOKSPATH x", "git config core.hooksPath x"),
    ]);
    assert_eq!(kinds("python3 <(curl x)"), [DoubtKind::Dynamic]);
    assert!(
        lines("env GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0=reset git z; git z")
            .contains(&"git z".to_owned())
    );
}

#[test]
fn files_that_options_name_are_written() {
    for (text, path) in [
        ("tar -C d -xf a.tar", "d"),
        ("cp -r x/. d", "d"),
        ("patch -d d < p", "d"),
        ("patch -o f x p", "f"),
        ("split -b 1 a f", "f"),
        ("uniq a f", "f"),
        ("shuf -o f a", "f"),
        ("xxd -r a f", "f"),
        ("openssl enc -d -in a -out f", "f"),
        ("zstd -d a -o f", "f"),
        ("go build -o f .", "f"),
        ("strace -o f ls", "f"),
        ("script f", "f"),
        ("script -c ls f", "f"),
        ("docker cp c:/x f", "f"),
        ("yq -i .a=1 f", "f"),
        ("chmod +x f", "f"),
        ("git checkout-index -a --prefix=f", "f"),
        ("git init --template=t f", "f/.git/hooks"),
        ("GIT_TRACE=/f git status", "/f"),
        ("python3 -c 'import shutil; shutil.copy(\"a\", \"f\")'", "f"),
        ("python3 -c 'import os; os.rename(\"a\", \"f\")'", "f"),
        ("python3 -c 'open(\"f\", \"w\").write(\"x\")'", "f"),
        ("node -e 'require(\"fs\").renameSync(\"a\", \"f\")'", "f"),
        // Most programs accept any abbreviation of a long option.
        ("sort -m --outp=f x", "f"),
        ("sort --o f x", "f"),
        ("cp --target-dir=f x", "f"),
        ("cp --t f x", "f"),
        ("mv --target-d=f x", "f"),
        ("ln -s --target-dir=f x", "f"),
        ("wget --output-doc=f u", "f"),
        ("patch --dir=f", "f"),
        ("tar --extr --direc=f --fil=a", "f"),
        ("tar --cre --fil=f a", "f"),
        ("sed --in-pl s/a/b/ f", "f"),
        ("git format-patch --output-dir=f", "f"),
        ("git format-patch --output-directory f", "f"),
        ("git diff --outp=f", "f"),
        ("git diff -b --output=f", "f"),
        ("git show -s --output f", "f"),
        ("git init f", "f"),
        ("git init --templ=t f", "f/.git/hooks"),
        ("git init --separate-git-dir=f d", "f"),
        ("git config -f f a.b c", "f"),
        ("git config --fil=f a.b c", "f"),
        ("git bundle create f main", "f"),
        ("tree -o f", "f"),
        ("tree -ao f d", "f"),
        ("diff --output=f a b", "f"),
        ("sdiff -of a b", "f"),
        ("7z x a.7z -of", "f"),
        ("7z a f x", "f"),
        ("curl --head -o f u", "f"),
    ] {
        let written: Vec<String> = parse(text).writes.iter().map(|used| shown(&used.path)).collect();
        assert!(written.contains(&path.to_owned()), "{text}: {written:?}");
    }
    for text in [
        "uniq a",
        "xxd a",
        "yq .a f",
        "go test ./...",
        "openssl version",
        "time ls",
        "docker cp f c:/x",
        "tree -a d",
        "diff -u a b",
        "7z l a.7z",
        "git log --oneline",
        "git config -f f --get a.b",
        "git config -f f -l",
    ] {
        assert!(parse(text).writes.is_empty(), "{text}");
    }
}
