//! Decides whether a command line only reads. A command that is not known to only read may change something.

use super::options::{self, ProgramOptions};
use crate::{Command, Script, Word};

/// Programs that only print, with any options; `changes` has the exceptions.
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
    /// Reports whether all commands are known and only read.
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
    // An unknown word may be an option that writes.
    let Some(program) = command.program() else {
        return command.argv.is_empty();
    };
    match (program, words) {
        ("git", Some(words)) => {
            words.get(1).is_some_and(|verb| GIT.contains(verb)) && !changes("git", &words)
        }
        (program, Some(words)) => LOOKS.contains(&program) && !changes(program, &words),
        (program, None) => {
            ["cd", "ls", "cat", "echo", "printf", "wc", "head", "test", "["].contains(&program)
        }
    }
}

/// Reports whether the options make such a program write or run another program.
fn changes(program: &str, words: &[&str]) -> bool {
    const SORT: ProgramOptions = ProgramOptions { letters: "okStT", long: &[] };
    const FD: ProgramOptions = ProgramOptions { letters: "xXdEteSocj", long: &[] };
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let given = |options: &ProgramOptions| options::anywhere(&words, 1, options).0;
    let has = |names: &[&str]| given(&ProgramOptions::default()).may_have(names);
    match program {
        "sort" => given(&SORT).may_have(&["-o", "--output", "--compress-program"]),
        "fd" => given(&FD).may_have(&["-x", "-X", "--exec", "--exec-batch"]),
        // With `-R` it writes a page in every directory.
        "tree" => has(&["-o", "-R"]),
        "diff" => has(&["--output"]),
        "file" => has(&["-C", "--compile"]),
        "rg" => has(&["--pre", "--hostname-bin"]),
        "find" => words.iter().any(|word| {
            FIND.contains(&word.as_str()) || word.starts_with("-exec") || word.starts_with("-fprint")
        }),
        "git" => given(&ProgramOptions::default()).given.iter().any(|given| {
            // `--text` is a separate option.
            let is_odd = given.name != "--text"
                && given.may_be(&["--output", "--ext-diff", "--textconv", "--open-files-in-pager"]);
            is_odd || given.name == "-O" && words.get(1).is_some_and(|verb| verb == "grep")
        }),
        _ => false,
    }
}

const FIND: &[&str] = &["-delete", "-ok", "-okdir", "-fls"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShellStart;

    #[test]
    fn looking_is_told_from_changing() {
        let looks = |text: &str| Script::parse(text, &ShellStart::default()).only_looks();
        for text in [
            "ls -la",
            "cd src && git status && cat a.txt | grep -n x | wc -l",
            "rg TODO 2>/dev/null",
            "git log --oneline -5",
            "find . -name '*.rs' -o -name '*.toml'",
            "grep -on x a",
            "git diff --text",
            "df --output=pcent",
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
            "git diff --outp=x",
            "git log --ext-dif",
            "git grep -Oless x",
            "sort -o a a",
            "sort -oa a",
            "sort -uoa a",
            "sort --outp=a a",
            "sort --compress-prog=./x a",
            "tree -o a",
            "tree -oX a",
            "diff --outp=a b c",
            "fd -Hxtouch",
            "fd -x touch",
            "fd --exec-batch touch",
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
