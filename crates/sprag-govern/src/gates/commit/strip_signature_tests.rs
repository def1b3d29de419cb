use proptest::prelude::*;

use super::*;

const SIGN: &str = "Co-Authored-By: Claude <noreply@anthropic.com>";
const MADE: &str = "🤖 Generated with [Claude Code](https://claude.ai/code)";

fn start() -> ShellStart {
    ShellStart { cwd: Some("/w".to_owned()), home: None }
}

fn stripped(command: &str) -> Stripped {
    strip(command, &Script::parse(command, &start()), &start())
}

#[track_caller]
fn becomes(command: &str, wanted: &str) {
    match stripped(command) {
        Stripped::To { command: now, .. } => assert_eq!(now, wanted),
        other => panic!("{command:?}: {other:?}"),
    }
}

/// Fills a template with the two signatures named `SIGN` and `MADE`.
fn signed_text(template: &str) -> String {
    template.replace("SIGN", SIGN).replace("MADE", MADE)
}

#[test]
fn signatures_go_from_where_they_stand() {
    for (given, left) in [
        ("git commit -m \"feat: x\n\nSIGN\"", "git commit -m \"feat: x\""),
        ("git commit -m 'feat: x\n\nMADE\n\nSIGN\n'", "git commit -m 'feat: x\n'"),
        ("git commit -m 'feat: x' -m 'SIGN'", "git commit -m 'feat: x' -m ''"),
        ("git commit --amend --message='a\n\nSIGN' -q", "git commit --amend --message='a' -q"),
        ("git commit -am\"a\n\nSIGN\"", "git commit -am\"a\""),
        ("git commit -m $'a\\n\\nSIGN\\n'", "git commit -m $'a\\n'"),
        (
            "git commit -m \"$(cat <<'EOF'\nfeat: x\n\nMADE\n\nSIGN\nEOF\n)\"",
            "git commit -m \"$(cat <<'EOF'\nfeat: x\nEOF\n)\"",
        ),
        (
            "git add a && git commit -m \"$(cat <<EOF\nfeat: $X\n\nSIGN\nEOF\n)\" && git push",
            "git add a && git commit -m \"$(cat <<EOF\nfeat: $X\nEOF\n)\" && git push",
        ),
        (
            "git -C x commit -F - <<'EOF'\nfeat: x\n\nSIGN\nEOF\n",
            "git -C x commit -F - <<'EOF'\nfeat: x\nEOF\n",
        ),
        ("cat <<'EOF' | git commit -F -\na\n\nSIGN\nEOF", "cat <<'EOF' | git commit -F -\na\nEOF"),
        ("cd x && git commit -m 'a\n\nSIGN' || true", "cd x && git commit -m 'a' || true"),
        ("bash -c 'git commit -m \"a\n\nSIGN\"'", "bash -c 'git commit -m \"a\"'"),
        ("git commit -m a --trailer 'SIGN' -q", "git commit -m a -q"),
        ("git commit -m a --trailer=\"SIGN\"", "git commit -m a"),
        ("git -C y commit -m a \"--trailer=SIGN\"", "git -C y commit -m a"),
        ("gh pr create --title t --body \"b\n\nMADE\"", "gh pr create --title t --body \"b\""),
        ("gh pr create -t t -F - <<'E'\nb\n\nMADE\nE", "gh pr create -t t -F - <<'E'\nb\nE"),
        // Other text with such a line keeps it.
        (
            "echo 'a\n\nSIGN' > notes && git commit -m 'a\n\nSIGN'",
            "echo 'a\n\nSIGN' > notes && git commit -m 'a'",
        ),
        (
            "cat > notes <<'E'\na\n\nSIGN\nE\ngit commit -F - <<'E'\na\n\nSIGN\nE",
            "cat > notes <<'E'\na\n\nSIGN\nE\ngit commit -F - <<'E'\na\nE",
        ),
        (
            "git commit -m 'a\n\nCo-authored-by: Jane Doe <jane@example.org>\nSIGN'",
            "git commit -m 'a\n\nCo-authored-by: Jane Doe <jane@example.org>'",
        ),
        ("git commit -m 'a\r\n\r\nSIGN\r\n'", "git commit -m 'a\r\n'"),
        ("M='a\n\nSIGN'; git commit -m \"$M\"", "M='a'; git commit -m \"$M\""),
    ] {
        becomes(&signed_text(given), &signed_text(left));
    }
}

#[test]
fn what_is_not_exact_is_not_done() {
    for given in [
        "M='a\n\nSIGN'; echo \"$M\" > notes; git commit -m \"$M\"",
        "echo 'a\n\nSIGN' | tee notes | git commit -F -",
        "cat <<'E' | tee notes | git commit -F -\na\n\nSIGN\nE",
        "f() { git commit -m \"$1\"; }; f 'a\n\nSIGN'",
        "git commit -m 'a\n\nSIGN' 'unclosed",
        "git commit -m \"a\n\nCo-Authored-By: \\Claude\"\"\"' '\"<noreply@anthropic.com>\"",
    ] {
        let given = signed_text(given);
        let stripped = stripped(&given);
        assert!(matches!(stripped, Stripped::Not(Obstacle::Inexact { .. })), "{given:?}: {stripped:?}");
    }
    assert_eq!(stripped(&signed_text("git commit -m 'SIGN'")), Stripped::Not(Obstacle::Empty));
    let file = Obstacle::File { name: "msg.txt".to_owned() };
    assert_eq!(stripped("git commit -F msg.txt"), Stripped::Not(file.clone()));
    assert_eq!(stripped("git commit -F - < msg.txt"), Stripped::Not(file));
    assert_eq!(stripped("git commit -m \"$MESSAGE\""), Stripped::Not(Obstacle::Unknown));
    assert_eq!(stripped("jq -r .m x.json | git commit -F -"), Stripped::Not(Obstacle::Unknown));
}

#[test]
fn there_is_mostly_nothing_to_do() {
    for given in [
        "git commit -m 'feat: x'",
        "git commit -m \"Release $VERSION\"",
        "git commit --amend --no-edit",
        "git commit",
        "git commit -m 'a\n\nCo-authored-by: Jane Doe <jane@example.org>'",
        "git commit -m x --trailer 'Co-authored-by: Jane Doe <jane@example.org>'",
        "echo 'SIGN'",
        "git log --grep 'SIGN'",
        "git cherry-pick -m 1 HEAD",
        "cat > notes <<'E'\nSIGN\nE",
        "gh pr list",
    ] {
        assert_eq!(stripped(&signed_text(given)), Stripped::Nothing, "{given}");
    }
}

/// Returns the effects of a script, without the messages.
fn but_for_messages(text: &str) -> String {
    let mut script = Script::parse(text, &start());
    for command in &mut script.commands {
        command.span = (0, 0);
        let parts = pieces(command);
        for part in parts.iter().rev() {
            match part {
                MessagePiece::Word { at, .. } => command.argv[at.word] = Word::Many,
                MessagePiece::Stdin { .. } => command.stdin = StdinSource::Unknown,
                MessagePiece::Trailer { first, end, value } if is_trailer_option(value) => {
                    command.argv.drain(*first..*end);
                }
                MessagePiece::Trailer { .. } | MessagePiece::File { .. } | MessagePiece::Unknown => {}
            }
        }
        let is_message =
            command.via.last() == Some(&Carrier::Substitution) && command.program() == Some("cat");
        if is_message {
            command.stdin = StdinSource::Unknown;
        }
    }
    format!("{:?} {:?} {:?} {:?}", script.commands, script.writes, script.reads, script.doubts)
}

/// Returns the messages of a script, and the same without signatures.
fn messages(text: &str) -> (Vec<String>, Vec<String>) {
    let script = Script::parse(text, &start());
    let given: Vec<String> =
        script.commands.iter().flat_map(pieces).filter_map(|piece| piece.text().map(str::to_owned)).collect();
    let clean = |text: &String| {
        let mut text = text.clone();
        while let Some(cut) = first_cut(&text) {
            text.replace_range(cut, "");
        }
        text
    };
    let cleaned = given.iter().map(clean).collect();
    (given, cleaned)
}

proptest! {
    /// Stripping changes only the message, and a second pass finds nothing.
    #[test]
    fn only_the_message_changes(
        lines in proptest::collection::vec("(a|b c|\"|'|\\$X|\\\\|||SIGN|SIGN|MADE|Co-authored-by: J <j@d.e>|EOF)", 1..6),
        before in "(|git add a && |cd x; |echo 'SIGN' > n; |sudo |M='MADE'; |bash -c ')",
        form in 0usize..8,
        after in "(| && git push| --trailer 'SIGN'| > log|'|; echo \"SIGN\")",
    ) {
        let message = lines.join("\n");
        let commit = match form {
            0 => format!("git commit -m \"{message}\""),
            1 => format!("git commit -m '{message}'"),
            2 => format!("git -C d commit -am \"$(cat <<'EOF'\n{message}\nEOF\n)\""),
            3 => format!("git commit -F - <<EOF\n{message}\nEOF\n"),
            4 => format!("git commit -m $'{}'", message.replace('\n', "\\n")),
            5 => format!("git commit -m a -m \"{message}\" -m '{message}'"),
            6 => format!("echo \"{message}\" | git commit -F -"),
            _ => format!("gh pr create --body \"{message}\" --title x"),
        };
        let given = signed_text(&format!("{before}{commit}{after}"));
        if let Stripped::To { command, gone } = stripped(&given) {
            prop_assert!(!gone.is_empty());
            prop_assert_eq!(but_for_messages(&given), but_for_messages(&command), "{:?}\n{:?}", given, command);
            prop_assert_eq!(messages(&given).1, messages(&command).0);
            prop_assert_eq!(stripped(&command), Stripped::Nothing);
        }
    }
}
