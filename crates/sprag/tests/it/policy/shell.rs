//! The shell model compared with bash: a text that `bash -n` accepts has no `parse` doubt, and the model
//! finds the command inside it.

use std::process::Command;

use sprag_shell::{DoubtKind, Script, ShellStart};

/// Statements to nest; `%%` marks the place for another one.
const SHAPES: &[&str] = &[
    "%%",
    "a %% b",
    "%%; b",
    "%% && b || c",
    "%% | b |& c",
    "! %%",
    "time -p %%",
    "( %% )",
    "((a) ; (%%\n))",
    "( ( %% ) )",
    "{ %%\n}",
    "if %%\nthen b; elif c; then d; else e; fi",
    "while %%\ndo b; done < f",
    "until a; do %%\ndone 2>&1 | b",
    "for i in a 'b c' $(%%\n); do echo \"$i\"; done",
    "for i; do %%\ndone",
    "for ((i = 0; i < 3; i++)); do %%\ndone",
    "for ((;;)); do %%\ndone",
    "select x in a b; do %%\ndone",
    "case $x in a|b) %%\n;; (c) d;& *) e;;& esac",
    "case x in a) %%\nesac",
    "( case x in a) %%\n;; esac )",
    "f() { %%\n}; f",
    "function f { %%\n}",
    "function f() ( %% )",
    "coproc { %%\n}",
    "x=$(%%\n) y=`b` z+=(1 2 $(c)) w[3]=d e",
    "echo \"a $(%%\n) b\" 'c d' $'e\\'f' ${x:-$(g)} ${y//a/b} ${#z[@]}",
    "cat <(%%\n) > >(tee a)",
    "cat <<E\n$(%%\n) 'it''s'\nE",
    "cat <<'E' | b\nit's $( ((\nE",
    "cat <<-\\E && b\n\tx\n\tE",
    "cat <<A <<'B'\na\nA\nb\nB\n%%",
    "echo \"$(cat <<'E'\ndon't )\nE\n)\"; %%",
    "[[ -n $(%%\n) && ( a == b* || c =~ ^(d|e)+$ ) ]]",
    "(( i = (1 << 2) + $(%%\n) ))",
    "echo $(( 1 + 2 )) $((a<<2)) # it's a comment (",
    "a \\\n  %%",
    "{fd}> x 3<&- 2>| y &> z a",
    "echo {a,b}{1..3} ~ ~/x *.[ch] !(a|b)",
    "%% &",
    "trap 'a b' EXIT INT; %%",
    "bash -c 'a b'; eval \"c $d\"",
    "export A=1 B=\"$C\"; declare -A m=([k]=v); local -r x=$(%%\n)",
    "while read -r l; do %%\ndone <<< \"$x\"",
];

/// Texts that bash accepts and the parser does not: the parser splits arithmetic into words before it knows
/// where a substitution ends.
const EXCEPTIONS: &[&str] =
    &["(( i = (1 << 2) + $(case", "(( i = (1 << 2) + $(cat <<'E'", "(( i = (1 << 2) + $(echo"];

#[test]
fn what_bash_accepts_is_no_parse_error() {
    let mut tried = 0;
    let mut wrong = Vec::new();
    let pairs = SHAPES.iter().flat_map(|outer| SHAPES.iter().map(move |inner| (outer, inner)));
    for (outer, inner) in pairs {
        let text = outer.replace("%%", &inner.replace("%%", "gh issue close 1"));
        let said = Command::new("bash").args(["-n", "-c", &text]).output().unwrap();
        // Bash only warns about a heredoc without an end.
        if !said.status.success() || !said.stderr.is_empty() {
            continue;
        }
        tried += 1;
        let script = Script::parse(&text, &ShellStart::default());
        let parse = script.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Parse);
        // Functions without a call never run, and arguments are not commands.
        let runs = [outer, inner]
            .iter()
            .all(|shape| shape.contains("%%") && !shape.starts_with("function") && !shape.starts_with("a "));
        let reached = script.commands.iter().any(|command| command.program() == Some("gh"));
        let known = EXCEPTIONS.iter().any(|exception| text.contains(exception));
        if parse && !known || runs && !reached {
            wrong.push(text);
        }
    }
    assert!(tried > 1000, "only {tried} texts were valid");
    assert!(wrong.is_empty(), "{} of {tried}:\n\n{}", wrong.len(), wrong.join("\n----\n"));
}
