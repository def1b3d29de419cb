//! Properties that hold for any text.

use proptest::prelude::*;

use super::*;

/// Returns pieces of shell code for random texts.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "gh",
        "$(",
        "(",
        ")",
        "`",
        "'",
        "\"",
        "$",
        "${",
        "}",
        "{",
        "<<E",
        "<<'E'",
        "\nE\n",
        "\n",
        ";",
        "&&",
        "|",
        "&",
        ">",
        "<",
        "<(",
        "((",
        "))",
        "if ",
        "then ",
        "fi",
        "case x in ",
        "esac",
        ";;",
        "do ",
        "done",
        "while ",
        "[[ ",
        " ]]",
        "!",
        "\\",
        " ",
        "*",
        "x=",
        "x+=(",
        "$x",
        "\"$@\"",
        "${x:-",
        "${#",
        "${x/",
        "eval ",
        "bash -c ",
        "xargs ",
        "find . -exec ",
        "python3 -c ",
        "awk ",
        "perl -e ",
        "ruby -e ",
        "git -c alias.x=",
        "env -S ",
        "{1..9}",
        "{a,b}",
        "é",
        "\u{a0}",
        "\u{E000}",
        "\u{E001}",
        "\0",
        "~",
        "99999999999>",
        "$'\\x",
        "$((",
        "#",
        "function f ",
        "f() ",
        "select ",
        "coproc ",
        "-",
        "--",
        "=",
        "%",
        "@",
        "tee ",
        "trap ",
        "read ",
        "printf '%b' ",
    ];
    proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        parse(&text);
    }

    #[test]
    fn any_mix_of_shell_is_answered(pieces in proptest::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let script = parse(&text);
        for doubt in &script.doubts {
            prop_assert!(doubt.command.is_none_or(|at| at < script.commands.len()));
        }
        for command in &script.commands {
            prop_assert!(command.span.0 <= command.span.1 && text.len() >= command.span.1.min(text.len()));
            prop_assert!(!command.argv.is_empty());
        }
    }

    #[test]
    fn wrapping_keeps_a_command_reachable(layers in proptest::collection::vec(0..LAYERS.len(), 0..5)) {
        let mut text = "gh issue close 1".to_owned();
        for layer in &layers {
            let quoted = format!("'{}'", text.replace('\'', "'\\''"));
            text = LAYERS[*layer].replace("Q", &quoted).replace("X", &text);
        }
        prop_assert!(lines(&text).iter().any(|line| line == "gh issue close 1"), "{}\n{:?}", text, lines(&text));
    }

    #[test]
    fn every_literal_command_word_is_in_some_command(words in proptest::collection::vec("[a-z]{4,8}q", 1..8), joints in proptest::collection::vec(0..JOINTS.len(), 8)) {
        let mut text = words[0].clone();
        for (word, joint) in words[1..].iter().zip(joints) {
            text = JOINTS[joint].replace('L', &text).replace('R', word);
        }
        let script = parse(&text);
        // A `case` in some substitutions cannot be parsed, which adds a doubt.
        if script.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Parse) {
            return Ok(());
        }
        prop_assert!(script.doubts.is_empty(), "{}\n{:?}", text, script.doubts);
        for word in &words {
            prop_assert!(script.commands.iter().any(|command| command.program() == Some(word)), "{}: {}", text, word);
        }
    }
}

/// Layers around a text: `X` is the text itself, `Q` is the text as one quoted word.
const LAYERS: &[&str] = &[
    "bash -c Q",
    "eval Q",
    "( X\n)",
    "{ X\n}",
    "a; X",
    "X | b",
    "true && X",
    "if a; then X\nfi",
    "while a; do X\ndone",
    "echo \"$(X\n)\"",
    "cat <(X\n)",
    "sh <<< Q",
    "echo Q | bash",
    "sudo bash -c Q",
    "trap Q EXIT",
    "f() { X\n}; f",
    "env A=1 sh -c Q",
    "case a in b) X\n;; esac",
    "X &",
    "ssh h Q",
];

const JOINTS: &[&str] = &[
    "L; R",
    "L && R",
    "L || R",
    "L | R",
    "L\nR",
    "( L ); R",
    "if L; then R; fi",
    "while L; do R; done",
    "{ L; R; }",
    "L & R",
    "case $( L ) in x) R;; esac",
    "R \"$( L )\"",
    "R < <( L )",
    "! L; R 2>&1",
    "for i in a; do L; R; done",
    "R > >( L )",
];

#[test]
fn depth_and_size_end_in_a_doubt() {
    for (open, middle, close) in [
        ("(", "a", ")"),
        ("( ", "a", " )"),
        ("$(", "a", ")"),
        ("\"$(", "a", ")\""),
        ("`", "a", "`"),
        ("{ ", "a", "; }"),
        ("${x:-", "a", "}"),
        ("if ", "a", "; then b; fi"),
        ("while ", "a", "; do b; done"),
        ("case x in x) ", "a", " esac"),
        ("f() { ", "a", "; }"),
        ("coproc ", "a", ""),
        ("<( ", "a", ")"),
        ("[[ ( ", "a", " ) ]]"),
        ("$((", "1", "))"),
        ("! ", "a", ""),
        ("sudo ", "a", ""),
        ("xargs ", "a", ""),
        ("eval ", "a", ""),
        ("{a,", "b", "}"),
        ("bash -c \"", "a", "\""),
        ("a && ", "b", ""),
        ("a | ", "b", ""),
        ("a; ", "b", ""),
        ("[[ a && ", "b", " ]]"),
        ("x=$x", "", "\n"),
        ("find . -exec ", "a", " \\;"),
        ("python3 -c '(", "a", ")'"),
        ("$[", "1", "]"),
        ("for i in 1 2; do ", "a", "; done"),
        ("env -S '", "a", "'"),
        ("git -c alias.x=", "x", " x"),
        ("cat <<E\n$(", "a", ")\nE\n"),
    ] {
        for count in [20, 100, 10_000] {
            let text = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
            let script = parse(&text);
            assert!(script.commands.len() <= 4096);
        }
    }
    // Texts that grow while they are walked.
    for text in [
        format!("x=aaaaaaaa\n{}echo \"$x\"", "x=$x$x$x\n".repeat(100)),
        format!("x={}; echo {}", "a".repeat(30_000), "$x".repeat(15_000)),
        format!("set -- {}; echo {}", "a ".repeat(15_000), "\"$@\" ".repeat(5_000)),
        (0..4000).map(|n| format!("v{n}=1;")).collect::<String>() + &"a|b;".repeat(2000),
        format!("echo {} | xargs -I{{}} b {}", "a".repeat(30_000), "{}".repeat(15_000)),
        format!("x={}; echo ${{x//a/{}}}", "a".repeat(30_000), "b".repeat(30_000)),
        format!(
            "for i in {{1..9}}; do for j in {{1..9}}; do for k in {{1..9}}; do f() {{ {} }}; done; done; done",
            "a;".repeat(20_000)
        ),
        format!("cat <<E | while a; do {} done\n{}\nE", "b;".repeat(4000), "x".repeat(40_000)),
        format!("find {} -exec a {} +", "b ".repeat(10_000), "{} ".repeat(10_000)),
    ] {
        parse(&text);
    }
    assert!(kinds(&"(".repeat(10_000)).contains(&DoubtKind::Limit));
    assert!(kinds(&format!("echo {}", "x".repeat(70_000))).contains(&DoubtKind::Limit));
    assert!(kinds(&"a;".repeat(5000)).contains(&DoubtKind::Limit));
}
