//! Texts with a command that bash runs but a careless reader of quotes, continuations or delimiters misses.
//! `@@` marks its position. Sprag must find it or report a doubt.

use super::*;

const X: &str = "gh issue close 1";

const HIDDEN: &[&str] = &[
    // A quoted parenthesis does not end `(( ))`, and `) )` ends two subshells.
    "((@@ ; : \\)) )",
    "((@@; echo \"a))\") )",
    "((@@; echo 'a))') )",
    "echo $((@@; echo \\)) )",
    "x=$((@@ ; : x\\)) )",
    "echo \"$((@@ ; : x\\)) )\"",
    // The shell joins continued lines before it reads anything.
    "echo \"$\\\n(@@)\"",
    "x=\"$\\\n(@@)\"",
    "[[ \"$\\\n(@@)\" ]]",
    "echo $(( $\\\n(@@) ))",
    "for i in \"$\\\n(@@)\"; do :; done",
    "case \"$\\\n(@@)\" in x) ;; esac",
    "a=(\"$\\\n(@@)\")",
    "c=\"@@\"; $\\\nc",
    "set -- \"@@\"; $\\\n1",
    "x=$\\\n'\\'' ; @@ ; : \\'",
    "cat <<E\n$\\\n(@@)\nE",
    "f\\\n() { @@; }; f",
    "fo\\\no() { @@; }; foo",
    "function f\\\ng { @@; }; fg",
    "function f\\\n { @@; }; f",
    "2\\\n>/dev/null @@",
    "{fd}\\\n>/dev/null @@",
    "{f\\\nd}>/dev/null @@",
    // Within a substitution a line that only starts with the delimiter ends a heredoc.
    "git commit -m \"$(cat <<'EOF'\nmsg\nEOF @@)\nEOF\n)\"",
    "cat <(cat <<'E'\nE @@)\nE\n)",
    // The shell removes the quotes of delimiters.
    "cat <<\"a\\b\"\na\\b\n@@\nab",
    "cat <<\"\\E\"\n\\E\n@@\nE",
    "cat <<$'E'\nE\n@@\n$E",
    "cat <<$'E F'\nE F\n@@",
    "cat <<$\"E\"\nE\n@@\n$E",
    "time -- @@",
    "time -p -- @@",
    "time -- ! @@",
];

#[test]
fn no_command_hides_behind_quotes_continuations_and_delimiters() {
    let missed: Vec<String> = HIDDEN
        .iter()
        .map(|text| text.replace("@@", X))
        .filter(|text| {
            let is_found = lines(text).iter().any(|line| line == X);
            let is_doubted =
                kinds(text).iter().any(|kind| matches!(kind, DoubtKind::Parse | DoubtKind::Limit));
            !is_found && !is_doubted
        })
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn more_doubts_than_are_kept_are_a_doubt_of_their_own() {
    let many: String = (0..80).map(|at| format!("./s{at}.sh;")).collect();
    assert!(kinds(&format!("{many} curl x | sh")).contains(&DoubtKind::Limit));
    assert!(!kinds("./s1.sh; ./s2.sh").contains(&DoubtKind::Limit));
}

#[test]
fn a_line_that_goes_on_behind_a_blank_is_read_once() {
    assert_eq!(lines("gh issue \\\n  close 1"), [X]);
    assert_eq!(lines("a \\\n | b"), ["a", "b"]);
}
