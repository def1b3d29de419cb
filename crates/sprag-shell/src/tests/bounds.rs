//! Tests of texts whose walk multiplies: it ends after a limited number of steps and misses no command.

use super::*;
use crate::eval::Evaluator;

/// Returns the script of a text, the steps of its walk and the maximum.
fn walk(text: &str) -> (Script, usize, usize) {
    let walked = Evaluator::new(&ShellStart::default()).walk(text);
    let (steps, most) = walked.steps_taken();
    (walked.script, steps, most)
}

/// Nests `levels` forms around a command. In `open` and `close`, `N` becomes the level and `M` the level
/// below.
fn nested(levels: usize, open: &str, inner: &str, close: &str) -> String {
    let numbered = |text: &str, level: usize| {
        text.replace('N', &level.to_string()).replace('M', &level.saturating_sub(1).to_string())
    };
    let opened: String = (1..=levels).map(|level| numbered(open, level)).collect();
    let closed: String = (1..=levels).rev().map(|level| numbered(close, level)).collect();
    format!("{opened}{inner}{closed}")
}

#[test]
fn what_multiplies_ends_in_a_doubt_and_hides_no_command() {
    let loops = "for vN in a b c d e f; do ";
    for text in [
        nested(8, loops, "rm $v1$v2$v3$v4$v5$v6$v7$v8", "; done"),
        nested(12, "while a; do xN=b$xN; ", "rm x", "; done"),
        nested(12, "until a; do for i in 1 2 3; do xN=b$xN; ", "rm x", "; done; done"),
        nested(8, "fN() { fM a; fM b; fM c; fM d; }; ", "f0() { rm $1; }; f8", ""),
        nested(
            8,
            "xN='eval \"$xM\"; eval \"$xM\"; eval \"$xM\"; eval \"$xM\"'; ",
            "x0='rm x'; eval \"$x8\"",
            "",
        ),
        nested(8, "alias aN='aM; aM; aM; aM'; ", "alias a0='rm x'; a8", ""),
        nested(8, "echo {a,b}{c,d}{e,f}$(", "rm x", ")"),
        nested(8, "case $xN in a) for vN in 1 2 3 4; do ", "rm x", "; done;; esac"),
        nested(8, "printf '1\\n2\\n3\\n4\\n' | while read vN; do ", "rm $v1$v8", "; done"),
    ] {
        let (script, steps, most) = walk(&text);
        assert!(steps < most + most / 8, "{steps} steps for {text}");
        assert!(most < 1024 + 16 * 700, "{text}");
        assert!(script.commands.iter().any(|command| command.program() == Some("rm")), "{text}");
        assert!(script.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Limit), "{text}");
    }
}

#[test]
fn a_common_loop_is_followed_to_its_end() {
    let text = "for a in 1 2 3 4 5 6 7 8; do for b in x y z; do rm $a$b; done; done";
    let (script, _, _) = walk(text);
    assert_eq!(script.commands.len(), 24);
    assert!(script.doubts.is_empty(), "{:?}", script.doubts);
}
