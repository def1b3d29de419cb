//! Tests of words, variables, control flow and data.

use super::*;
use crate::{StdinSource, WorkingDir};

#[test]
fn words_are_what_the_program_gets() {
    check(&[
        ("a 'b c' \"d e\" f\\ g", "a 'b c' 'd e' 'f g'"),
        ("a  b\tc", "a b c"),
        ("a \\\n  b", "a b"),
        ("'a'\"b\"c d''", "abc d"),
        ("$'\\x67\\x68' $'\\151ssue'", "gh issue"),
        ("a \"\" ''", "a '' ''"),
        ("{gh,issue,close} x{1..3}", "gh issue close x1 x2 x3"),
        ("rm ~/x $HOME/y \"$HOME\" '~'", "rm ~/x ~/y ~ ~"),
        ("rm --dir=~/x a~b", "rm --dir=~/x a~b"),
        ("a \"$X\" $X pre$X \"a $X b\"", "a ? ?* pre? 'a ? b'"),
        ("a $((1)) $((x + 1)) $[2]", "a 1 ? 2"),
        ("a *.rs 'b*'", "a *.rs b*"),
        ("g* x", "g? x"),
        ("[ -f x ]", "[ -f x ]"),
        ("a \"it's\" 'say \"x\"' \\$X", "a it's 'say \"x\"' $X"),
        ("echo {a}>f {fd}>/dev/null b", "echo b"),
    ]);
}

#[test]
fn variables_are_followed_along_a_straight_line() {
    check(&[
        ("X=gh; $X issue", "gh issue"),
        ("X='gh issue'; $X \"$X\"", "gh issue 'gh issue'"),
        ("A=g B=h; $A$B x", "gh x"),
        ("X=a; X+=b; c $X", "c ab"),
        ("X=(a 'b c'); d \"${X[@]}\" ${X[1]} ${#X[@]}", "d a 'b c' b c 2"),
        ("X=abc; d ${X:1:1} ${X/b/x} ${X%c} ${X^^} ${#X}", "d b axc ab ABC 3"),
        ("N=X; X=y; d ${!N}", "d y"),
        // A variable that nothing sets has its default.
        ("X=; d ${X:-e} ${X:+f} ${Y:-g}", "d e g"),
        ("if a; then X=b; fi; c $X", "a | c ?*"),
        ("X=b; while a; do c $X; X=d; done; e $X", "a | c b | c ?* | e ?*"),
        ("read X; c $X", "read X | c ?*"),
        ("eval X=1; c $X", "c ?*"),
        ("X=ls; false && X=rm; $X /", "false | ?* /"),
        ("X=1 a $X; b $X", "a ?* | b ?*"),
        ("export X=a; b $X", "export X=a | b a"),
        ("for i in 1 2; do a $i; done; b $i", "a 1 | a 2 | b ?*"),
        ("for i in $L; do a $i; done", "a ?*"),
        ("set -- a b; c $2 \"$@\" $#", "set -- a b | c b a b 2"),
        ("a \"$@\" \"$1\"", "a ''"),
        ("printf -v X gh; $X issue", "printf -v X gh | gh issue"),
        ("(X=a); b $X", "b ?*"),
        ("X=$(echo gh) ; $X issue", "echo gh | gh issue"),
        ("$(printf 'g%s' h) issue", "printf g%s h | gh issue"),
        ("a \"$(if b; then echo c; fi)\"", "b | echo c | a ?"),
    ]);
}

#[test]
fn functions_and_aliases_run_when_they_are_called() {
    check(&[
        ("f() { gh issue close 1; }", ""),
        ("f() { gh \"$@\"; }; f a b", "f a b | gh a b"),
        ("function f { gh $1; }; f a", "f a | gh a"),
        ("git() { command git push \"$@\"; }; git x", "git x | git push x"),
        ("f() { f; }; f", "f | f"),
        ("f() { local o=$(a b); }; f", "f | a b | local o=?"),
        ("alias k='gh issue'; k close", "alias 'k=gh issue' | k close | gh issue close"),
        ("alias k='gh issue'", "alias 'k=gh issue'"),
        ("alias ls='ls -l'; ls", "alias 'ls=ls -l' | ls | ls -l"),
    ]);
}

#[test]
fn every_place_that_runs_is_reached() {
    check(&[
        ("a; b & c", "a | b | c"),
        ("a && b || c", "a | b | c"),
        ("a | b |& c", "a | b | c"),
        ("! a; time -p b", "a | b"),
        ("( a ); { b; }", "a | b"),
        ("if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"),
        ("while a; do b; done; until c; do d; done", "a | b | c | d"),
        ("for ((i=0; i<3; i++)); do a; done", "a"),
        ("for ((;;)); do a; done", "a"),
        ("select x in a b; do c; done", "c"),
        ("case x in a|b) c;; *) d;; esac", "c | d"),
        ("coproc a", "a"),
        ("trap 'a b' EXIT", "a b"),
        ("x $(a) `b` <(c) \"$(d \"$(e)\")\"", "a | b | c | e | d ? | x ?* ?* /dev/fd/63 ?"),
        ("x > \"$(a)\"", "a | x"),
        ("X=$(a)", "a"),
        ("(( $(a) + 1 ))", "a | (("),
        ("[[ -n $(a) && $(b) =~ $(c) ]]", "a | b | c | [["),
        ("x ${Y:-$(a)} ${Z+`b`}", "a | b | x ?* ?*"),
        ("cat <<E\n$(a)\nE", "a | cat"),
        ("cat <<< \"$(a)\"", "a | cat"),
        ("X=($(a)); case $(b) in $(c)) ;; esac", "a | b | c"),
        ("x {log}> >(a)", "a | x"),
        ("echo \"$(cat <<'E'\nit's )\nE\n)\"; a", "cat | echo 'it's )' | a"),
    ]);
}

#[test]
fn data_is_not_code() {
    for text in [
        "echo 'gh issue close 1'",
        "echo gh issue close 1",
        "printf '%s' 'gh issue close 1' > f",
        "git commit -m 'gh issue close 1'",
        "git commit -F - <<'E'\ngh issue close 1\nE",
        "gh pr create --body \"$(cat <<'E'\ngh issue close 1\nE\n)\"",
        "cat > notes.md <<E\ngh issue close 1\nE",
        "grep -rn 'gh issue close' .",
        "rg -- 'gh issue close 1'",
        "sed -e 's/x/gh issue close 1/' f",
        "curl -d 'gh issue close 1' https://example.org",
        "ls # gh issue close 1",
        "X='gh issue close 1'",
        "a=(gh issue close 1)",
        "case x in gh) ;; esac",
        "for w in gh issue close; do echo $w; done",
        "echo '$(gh issue close 1)' \"\\`gh issue close 1\\`\"",
        "echo 'gh issue close 1' | bash -n",
        "bash -nc 'gh issue close 1'",
        "command -v gh",
        "awk '/gh issue close/ {print \"gh issue close 1\"}' f",
        "python3 -c 'print(\"gh issue close 1\")'",
        "f() { gh issue close 1; }",
        "jq '.x | \"gh issue close 1\"' f",
        "cat <<A <<'B'\nx\nA\ngh issue close 1\nB",
    ] {
        let script = parse(text);
        let runs = |command: &Command| {
            command.program() == Some("gh")
                && line(command).contains("issue close")
                && !line(command).contains("pr create")
        };
        assert!(!script.commands.iter().any(runs), "{text}\n{:?}", lines(text));
        assert!(script.doubts.is_empty(), "{text}\n{:?}", script.doubts);
    }
}

#[test]
fn what_is_known_only_later_is_a_doubt() {
    for (text, kind) in [
        ("$X issue close", DoubtKind::Dynamic),
        ("$(locate gh) issue close", DoubtKind::Dynamic),
        ("sh -c \"$STEP\"", DoubtKind::Dynamic),
        ("curl -s https://example.org | sh", DoubtKind::Dynamic),
        ("bash <(curl -s https://example.org)", DoubtKind::Dynamic),
        ("eval \"$X\"", DoubtKind::Dynamic),
        ("python3 -c 'import os; os.system(x)'", DoubtKind::Dynamic),
        ("awk '{ print $1 }' f | sh", DoubtKind::Dynamic),
        ("bash x.sh", DoubtKind::Opaque),
        ("./x.sh", DoubtKind::Opaque),
        ("source ./env", DoubtKind::Opaque),
        ("make test", DoubtKind::Opaque),
        ("npm run build", DoubtKind::Opaque),
        ("python3 x.py", DoubtKind::Opaque),
        ("bash < x.sh", DoubtKind::Opaque),
        ("echo 'x", DoubtKind::Parse),
        ("if a; then b", DoubtKind::Parse),
        ("gh\u{a0}issue close 1", DoubtKind::OddChar),
        ("a;\u{200b}gh issue close", DoubtKind::OddChar),
        ("a \0 b", DoubtKind::OddChar),
        ("x {1..999}", DoubtKind::Limit),
    ] {
        assert_eq!(kinds(text), [kind], "{text}\n{:?}", parse(text).doubts);
    }
    for text in [
        "echo \"$X\"",
        "rm -rf \"$X\"",
        "ls; git status",
        "bash -c 'cd \"$X\" && ls'",
        "cargo test 2>&1 | tail -5",
    ] {
        assert_eq!(kinds(text), [], "{text}");
    }
}

#[test]
fn what_cannot_be_parsed_is_still_looked_at() {
    for text in [
        "gh issue close 1 'oops",
        "if a; then gh issue close 1",
        "gh issue close 1 | | b",
        "x <<'E'\nnot closed\ngh issue close 1 )\nE\n)); gh issue close 1",
        "echo y | gh issue close 1 && )",
        "99999999999>x gh issue close 1",
    ] {
        assert!(kinds(text).contains(&DoubtKind::Parse), "{text}");
        assert!(
            lines(text).iter().any(|line| line.starts_with("gh issue close 1")),
            "{text}\n{:?}",
            lines(text)
        );
    }
}

#[test]
fn input_that_is_code_is_run() {
    check(&[
        ("echo 'a b' | sh", "echo 'a b' | a b"),
        ("echo 'a b' | tee x | sh", "echo 'a b' | tee x | a b"),
        ("printf 'a\\nb\\n' | bash -s x", "printf a\\nb\\n | a | b"),
        ("bash <<'E'\na b\nc\nE", "a b | c"),
        ("bash <<E\na $X\nE", "a ?*"),
        ("sh <<< 'a b'", "a b"),
        ("cat <<'E' | sh\na b\nE", "cat | a b"),
        ("{ echo a; echo b; } | sh", "echo a | echo b | a | b"),
        ("source /dev/stdin <<< 'a b'", "a b"),
        (". <(echo a b)", "echo a b | a b"),
        ("echo YSBiCg== | base64 -d | sh", "echo YSBiCg== | base64 -d | a b"),
        ("echo '6120 62' | xxd -r -p | sh", "echo '6120 62' | xxd -r -p | a b"),
        ("echo 'b a' | rev | sh", "echo 'b a' | rev | a b"),
        ("printf '%b' '\\0141 b' | sh", "printf %b '\\0141 b' | a b"),
        ("bash -c \"$(echo YSBi | base64 --decode)\"", "echo YSBi | base64 --decode | a b"),
        ("echo 'a b' > x.sh; bash x.sh", "echo 'a b' | a b"),
        ("cat > x.sh <<'E'\n#!/bin/sh\na b\nE\nchmod +x x.sh; ./x.sh", "cat | chmod +x x.sh | ./x.sh | a b"),
        ("echo 'a b' | at now", "echo 'a b' | at now | a b"),
        ("echo '0 1 * * * a b' | crontab -", "echo '0 1 * * * a b' | crontab - | a b"),
        ("make -f - <<'E'\nall:\n\t@a b\nE", "make -f - | a b"),
        ("echo 'a b' | tr a-z b-za | sh", "echo 'a b' | tr a-z b-za | b c"),
    ]);
}

#[test]
fn the_place_is_followed() {
    let cases = [
        ("cd x; a", "x"),
        ("cd x && a", "x"),
        ("cd x && cd ../y && a", "y"),
        ("(cd x); a", "."),
        ("cd x | b; a", "."),
        ("cd \"$X\"; a", "?"),
        ("test x && cd y; a", "?"),
        ("cd x; cd -; a", "."),
        ("pushd x; popd; a", "."),
        ("cd; a", "~"),
        ("env -C x a", "x"),
        ("git -C x a", "x"),
        ("cd x; git -C y a", "x/y"),
        ("git -C x b; a", "."),
        ("bash -c 'cd x && a'", "x"),
        ("bash -c 'cd x'; a", "."),
    ];
    for (text, place) in cases {
        let script = parse(text);
        let command = script.commands.iter().rev().find(|command| line(command).ends_with('a')).unwrap();
        let found = match &command.cwd {
            WorkingDir::At(place) => place.as_str(),
            WorkingDir::Unknown => "?",
        };
        assert_eq!(found, place, "{text}");
    }
    let start = ShellStart { cwd: Some("/r".to_owned()), home: Some("/h".to_owned()) };
    let script = Script::parse("cd ../q; rm ~/x $PWD/y", &start);
    assert_eq!(line(&script.commands[1]), "rm /h/x /q/y");
    assert_eq!(script.commands[1].cwd, WorkingDir::At("/q".to_owned()));
}

#[test]
fn input_assignments_and_spans_are_told() {
    let script = parse("A=1 x <<< t; é | y < f; bash -c 'z'");
    assert_eq!(script.commands[0].stdin, StdinSource::Text("t\n".to_owned()));
    assert_eq!(script.commands[0].assigns, [("A".to_owned(), Word::Known("1".to_owned()))]);
    assert_eq!(script.commands[0].span, (0, 5));
    assert_eq!(script.commands[2].stdin, StdinSource::File(Word::Known("f".to_owned())));
    assert_eq!(script.commands[2].span.0, 18);
    assert_eq!(script.commands[3].span, (25, 36));
}

#[test]
fn a_program_with_a_pattern_for_a_name_is_not_known() {
    check(&[
        ("/bin/r? -rf x", "/bin/r? -rf x"),
        ("/bin/r[m] -rf x", "/bin/r? -rf x"),
        ("./gi[!]x] y", "./gi? y"),
        ("[ -f x ]", "[ -f x ]"),
        ("sudo /bin/r? -rf x", "/bin/r? -rf x"),
        ("find x -exec /bin/r[m] {} +", "find x -exec /bin/r[m] {} + | /bin/r? x/?"),
    ]);
    assert_eq!(kinds("/usr/bin/g[i]t x"), [DoubtKind::Dynamic]);
}

#[test]
fn an_apostrophe_that_shells_read_differently_is_a_doubt() {
    for text in
        ["echo \"${a:-'}\"; rm x; echo \"'}\"", "echo \"${a:-'}\"' }\"; rm x; #'", "echo \"${a:-it's}\""]
    {
        assert_eq!(kinds(text), [DoubtKind::Parse], "{text}");
    }
    for text in ["echo \"${a:-'b c'}\"", "echo \"${a#'}'}\"", "echo ${a:-'}'}"] {
        assert!(kinds(text).is_empty(), "{text}");
    }
}

#[test]
fn a_heredoc_ends_where_joined_lines_equal_its_delimiter() {
    check(&[
        ("a <<E\nx \\\nE\nrm y\nE", "a"),
        ("a <<E\nx\nE\\\n\nrm y", "a | rm y"),
        ("a <<'E'\nx \\\nE\nrm y", "a | rm y"),
    ]);
}
