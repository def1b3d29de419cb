//! Whether a command line only looks. What is not known to only look may change something.

use super::{Command, Script, Word};

/// Programs that print what is there, whatever they are told; the exceptions are in `changes`.
const LOOKS: &[&str] = &[
    "cd", "pwd", "ls", "tree", "cat", "head", "tail", "nl", "tac", "wc", "stat", "file", "du", "df", "which",
    "type", "date", "echo", "printf", "true", "false", "test", "[", "grep", "egrep", "fgrep", "rg", "cut",
    "tr", "sort", "diff", "cmp", "jq", "find", "fd", "realpath", "basename", "dirname", "uname", "id",
    "whoami", "ps", "sprag",
];

/// Verbs of git that print.
const GIT: &[&str] =
    &["status", "log", "diff", "show", "blame", "grep", "ls-files", "rev-parse", "describe", "shortlog"];

impl Script {
    /// Everything it would run is known, and known to leave things as they are.
    pub fn only_looks(&self) -> bool {
        let is_nothing = |path: &Word| matches!(path, Word::Known(path) if path == "/dev/null");
        self.doubts.is_empty()
            && self.writes.iter().all(|written| is_nothing(&written.path))
            && self.commands.iter().all(only_looks)
    }
}

fn only_looks(command: &Command) -> bool {
    let words: Option<Vec<&str>> = command
        .argv
        .iter()
        .map(|word| match word {
            Word::Known(word) => Some(word.as_str()),
            Word::Partly(_) | Word::Many => None,
        })
        .collect();
    // A word nobody knows may be an option that writes.
    let Some(program) = command.program() else {
        return command.argv.is_empty();
    };
    match (program, words) {
        ("git", Some(words)) => words.get(1).is_some_and(|verb| GIT.contains(verb)) && !changes(&words),
        (program, Some(words)) => LOOKS.contains(&program) && !changes(&words),
        (program, None) => {
            ["cd", "ls", "cat", "echo", "printf", "wc", "head", "test", "["].contains(&program)
        }
    }
}

/// Options with which such a program writes after all, or runs another.
fn changes(words: &[&str]) -> bool {
    const EXACT: &[&str] =
        &["-delete", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-o", "-x", "-X"];
    const STARTS: &[&str] =
        &["-exec", "--exec", "--output", "--pre", "--ext-diff", "--textconv", "--open-files-in-pager"];
    words.iter().any(|word| EXACT.contains(word) || STARTS.iter().any(|start| word.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::super::Start;
    use super::*;

    #[test]
    fn looking_is_told_from_changing() {
        let looks = |text: &str| Script::parse(text, &Start::default()).only_looks();
        for text in [
            "ls -la",
            "cd src && git status && cat a.txt | grep -n x | wc -l",
            "rg TODO 2>/dev/null",
            "git log --oneline -5",
            "find . -name '*.rs'",
            "echo $HOME",
            "sprag status",
        ] {
            assert!(looks(text), "{text}");
        }
        for text in [
            "make",
            "echo x > a.txt",
            "find . -delete",
            "find . -exec rm {} +",
            "git commit -m x",
            "git diff --output=x",
            "sort -o a a",
            "rg --pre ./x y",
            "$EDITOR x",
            "cat a | tee b",
            "bash x.sh",
            "ls $(touch x)",
            "grep $OPTIONS x",
        ] {
            assert!(!looks(text), "{text}");
        }
    }
}
