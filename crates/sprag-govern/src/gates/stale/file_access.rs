//! Finds the files that a call reads and writes, and how, from its words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::path::absolute;
use sprag_policy::call::{ToolCall, ToolEffect};
use sprag_shell::{Command, PathUse, Script, StdinSource, Word, WorkingDir};

use crate::event::Input;

/// Maximum number of files of one call.
const FILES: usize = 64;

/// A file that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// Path as written in the call.
    pub named: String,
    /// Absolute path, links not followed.
    pub path: String,
    pub how: FileUse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    Reads(ReadExtent),
    Writes(WriteManner),
}

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadExtent {
    /// This many lines from a first line.
    Lines { from: u32, count: u32 },
    /// The whole file, as far as a client shows the output of a command.
    Printed,
    /// An unknown part.
    Some,
}

/// The effect of a write on the old content, from harmless to final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteManner {
    /// The content stays, and more is added.
    Append,
    /// Parts are replaced by matching their text.
    Edit,
    /// The file is removed.
    Remove,
    /// The whole content is replaced.
    Overwrite,
}

/// Lines that a reading tool shows by default.
const SHOWN_LINES: u32 = 2000;

/// Returns the files that a call reads and writes. A file that is written several times occurs once, with the
/// most destructive manner.
pub fn touches(call: &ToolCall, input: &Input) -> Vec<FileAccess> {
    let mut found = Vec::new();
    let named = |path: &String| (path.clone(), input.cwd.clone());
    match (call.effect, input.script()) {
        (_, Some(script)) => {
            let known = |used: &PathUse| place(used, &input.cwd);
            for (used, (path, dir)) in script.writes.iter().filter_map(|used| Some((used, known(used)?))) {
                if let Some(manner) = manner_of(script, used) {
                    add(&mut found, path, &dir, input, FileUse::Writes(manner));
                }
            }
            let is_plain = is_printed(script);
            for (used, (path, dir)) in script.reads.iter().filter_map(|used| Some((used, known(used)?))) {
                let prints = is_plain && PRINTING.contains(&used.by.as_str());
                let part = if prints { ReadExtent::Printed } else { ReadExtent::Some };
                add(&mut found, path, &dir, input, FileUse::Reads(part));
            }
        }
        (ToolEffect::Read, None) => {
            for (path, dir) in call.paths.iter().map(named) {
                add(&mut found, path, &dir, input, FileUse::Reads(part_of(call)));
            }
        }
        (ToolEffect::Write | ToolEffect::Exec, None) => {
            for (path, dir) in call.paths.iter().map(named) {
                let manner = tool_manner(call, &path);
                add(&mut found, path, &dir, input, FileUse::Writes(manner));
            }
        }
        (ToolEffect::Net | ToolEffect::Delegate, None) => {}
    }
    found
}

/// Reports whether a call may read or write a file: a cheap test before its words are parsed.
pub fn may_touch(call: &ToolCall) -> bool {
    match &call.command {
        None => !call.paths.is_empty() && !matches!(call.effect, ToolEffect::Net | ToolEffect::Delegate),
        Some(command) => {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
            let mut words = command.as_bytes().split(|byte| !is_part(byte)).filter(|word| word.len() > 1);
            command.contains(['>', '<']) || words.any(|word| MARKS.iter().any(|mark| mark.as_bytes() == word))
        }
    }
}

/// Words of which every command contains one if it reads or writes a known file, or lets git move the tree.
const MARKS: &[&str] = &[
    "cat", "head", "tail", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "grep", "egrep", "fgrep", "rg",
    "less", "more", "nl", "tac", "bat", "batcat", "jq", "tee", "cp", "mv", "rm", "ln", "install", "rsync",
    "dd", "truncate", "patch", "tar", "zip", "unzip", "curl", "wget", "git", "perl", "ruby", "find", "sort",
    "diff", "yq", "unlink", "shred", "trash", "split", "-o", "--output", "xxd", "uniq", "cut", "wc", "eval",
];

const GIT: &str = "git";

/// Reports whether git moves the whole tree. No agent wrote the content that is there afterwards.
pub fn moves_tree(call: &ToolCall, input: &Input) -> bool {
    let is_git = call.command.as_ref().is_some_and(|command| command.contains(GIT));
    is_git && input.script().is_some_and(|script| script.commands.iter().any(moves))
}

fn moves(command: &Command) -> bool {
    const VERBS: &[&str] =
        &["switch", "checkout", "pull", "merge", "rebase", "stash", "cherry-pick", "revert", "am", "reset"];
    let word = |at: usize| match command.argv.get(at) {
        Some(Word::Known(word)) => Some(word.as_str()),
        Some(Word::Partly(_) | Word::Many) | None => None,
    };
    let has_paths = command.argv.iter().any(|word| matches!(word, Word::Known(word) if word == "--"));
    command.program() == Some(GIT) && !has_paths && word(1).is_some_and(|verb| VERBS.contains(&verb))
}

fn place(used: &PathUse, cwd: &str) -> Option<(String, String)> {
    match (&used.path, &used.cwd) {
        (Word::Known(path), WorkingDir::At(dir)) if !path.starts_with("/dev/") => {
            Some((path.clone(), absolute(cwd, dir)))
        }
        _ => None,
    }
}

fn add(found: &mut Vec<FileAccess>, named: String, dir: &str, input: &Input, how: FileUse) {
    let below_home = named.strip_prefix("~/").filter(|_| !input.home.is_empty());
    let whole = below_home.map_or_else(|| named.clone(), |rest| format!("{}/{rest}", input.home));
    let path = absolute(dir, &whole);
    let is_room = found.len() < FILES;
    match (found.iter_mut().find(|known| known.path == path), how) {
        (None, _) if is_room => found.push(FileAccess { named, path, how }),
        // A call that writes and reads a file shows the agent neither the old nor the new content.
        (Some(FileAccess { how: FileUse::Writes(known), .. }), FileUse::Writes(manner)) => {
            *known = manner.max(*known)
        }
        (Some(_) | None, _) => {}
    }
}

/// Programs that print a file unchanged.
const PRINTING: &[&str] = &["bat", "batcat", "cat", "nl", "tac"];

/// Reports whether the agent sees the output of the programs.
fn is_printed(script: &Script) -> bool {
    let is_plain = |command: &Command| command.via.is_empty() && command.stdin == StdinSource::Inherited;
    script.doubts.is_empty()
        && script.commands.iter().all(is_plain)
        && !script.writes.iter().any(|used| used.by.starts_with('>'))
}

/// Returns how a path is written, or `None` if its content does not change.
fn manner_of(script: &Script, used: &PathUse) -> Option<WriteManner> {
    let command = used.command.and_then(|at| script.commands.get(at));
    let has = |names: &[&str]| {
        let is_one = |word: &Word| matches!(word, Word::Known(word) if names.contains(&word.as_str()));
        command.is_some_and(|command| command.argv.iter().any(is_one))
    };
    Some(match used.by.as_str() {
        "touch" | "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "mkdir" | "mkfifo" | "mknod" => {
            return None;
        }
        ">>" => WriteManner::Append,
        "tee" if has(&["-a", "--append"]) => WriteManner::Append,
        "sed" | "gsed" | "perl" | "ruby" | "awk" | "gawk" | "mawk" | "nawk" | "patch" | "yq" | "<>" => {
            WriteManner::Edit
        }
        "rm" | "grm" | "srm" | "unlink" | "rmdir" | "shred" | "trash" | "git" | "find" => WriteManner::Remove,
        "mv" | "gmv" => {
            let is_last = command.and_then(|command| command.argv.last()) == Some(&used.path);
            if is_last { WriteManner::Overwrite } else { WriteManner::Remove }
        }
        _ => WriteManner::Overwrite,
    })
}

fn part_of(call: &ToolCall) -> ReadExtent {
    let number =
        |name: &str| call.input.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    match call.name.as_str() {
        "Read" | "NotebookRead" if call.input.get("pages").is_none() => ReadExtent::Lines {
            from: number("offset").unwrap_or(1).max(1),
            count: number("limit").unwrap_or(SHOWN_LINES),
        },
        _ => ReadExtent::Some,
    }
}

/// Returns how a writing tool changes a file.
fn tool_manner(call: &ToolCall, path: &str) -> WriteManner {
    match call.name.as_str() {
        "Edit" | "MultiEdit" => WriteManner::Edit,
        "apply_patch" => super::codex_patch::manner(call, path),
        _ => WriteManner::Overwrite,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_base::ids::SessionId;
    use sprag_base::time::Timestamp;
    use sprag_policy::call::{InputCompleteness, ToolRow};

    use super::*;
    use crate::event::Event;

    const TOOLS: &[ToolRow] = &[
        ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
        ToolRow { name: "Read", effect: ToolEffect::Read, paths: &["file_path"], command: None },
        ToolRow { name: "Edit", effect: ToolEffect::Write, paths: &["file_path"], command: None },
    ];

    fn call(tool: &str, input: Value) -> (ToolCall, Input) {
        let call = ToolCall::new(TOOLS, tool, input, None, InputCompleteness::Yes);
        let event = Event::ToolRequested { call: call.clone() };
        let input = Input::new(Timestamp::from_millis(0), SessionId::new("s"), event).within("/w");
        (call, Input { home: "/home/u".to_owned(), ..input })
    }

    fn told(command: &str) -> Vec<(String, FileUse)> {
        let (call, input) = call("Bash", json!({ "command": command }));
        let found = touches(&call, &input);
        assert!(found.is_empty() || may_touch(&call), "{command} is passed over");
        found.into_iter().map(|touch| (touch.path, touch.how)).collect()
    }

    /// Returns the use of file `a`.
    fn one(command: &str) -> FileUse {
        let found = told(command);
        found
            .iter()
            .find(|(path, _)| path.ends_with("/a"))
            .unwrap_or_else(|| panic!("{command}: {found:?}"))
            .1
    }

    #[test]
    fn a_command_tells_what_it_writes_and_how() {
        for (command, manner) in [
            ("echo x > a", WriteManner::Overwrite),
            ("echo x >> a", WriteManner::Append),
            ("echo x | tee a", WriteManner::Overwrite),
            ("echo x | tee -a a", WriteManner::Append),
            ("sed -i s/a/b/ a", WriteManner::Edit),
            ("perl -pi -e s/a/b/ a", WriteManner::Edit),
            ("rm a", WriteManner::Remove),
            ("git restore a", WriteManner::Remove),
            ("git checkout -- a", WriteManner::Remove),
            ("truncate -s 0 a", WriteManner::Overwrite),
            ("echo x >> a; echo y > a", WriteManner::Overwrite),
            ("/usr/bin/env cp b a", WriteManner::Overwrite),
            ("bash -c 'truncate -s 0 a'", WriteManner::Overwrite),
        ] {
            assert_eq!(one(command), FileUse::Writes(manner), "{command}");
        }
        assert_eq!(
            told("mv a b"),
            [
                ("/w/a".to_owned(), FileUse::Writes(WriteManner::Remove)),
                ("/w/b".to_owned(), FileUse::Writes(WriteManner::Overwrite)),
            ]
        );
        let copied = told("cd src && cp ../a ~/b");
        assert!(
            copied.contains(&("/home/u/b".to_owned(), FileUse::Writes(WriteManner::Overwrite))),
            "{copied:?}"
        );
        for command in ["touch a", "mkdir a", "chmod +x a", "make", "echo x > /dev/null", "echo x > $F"] {
            assert_eq!(told(command), [], "{command}");
        }
    }

    #[test]
    fn most_commands_are_not_even_read() {
        for command in
            ["cargo test --package parser --quiet", "make -j4", "ls -la", "npm run build", "echo more-or"]
        {
            assert!(!may_touch(&call("Bash", json!({ "command": command })).0), "{command}");
        }
    }

    #[test]
    fn what_is_printed_whole_is_told_from_what_is_looked_into() {
        assert_eq!(one("cat a"), FileUse::Reads(ReadExtent::Printed));
        assert_eq!(one("cd src && cat -n a"), FileUse::Reads(ReadExtent::Printed));
        for command in ["head a", "sed -n 1,5p a", "grep x a", "cat a | head", "cat a | wc -l", "x=$(cat a)"]
        {
            assert_eq!(one(command), FileUse::Reads(ReadExtent::Some), "{command}");
        }
    }

    #[test]
    fn a_reading_tool_tells_its_lines() {
        let part = |input: Value| {
            let (call, input) = call("Read", input);
            touches(&call, &input)[0].how
        };
        assert_eq!(
            part(json!({"file_path": "/w/a"})),
            FileUse::Reads(ReadExtent::Lines { from: 1, count: 2000 })
        );
        assert_eq!(
            part(json!({"file_path": "/w/a", "offset": 5, "limit": 10})),
            FileUse::Reads(ReadExtent::Lines { from: 5, count: 10 })
        );
        assert_eq!(part(json!({"file_path": "/w/a.pdf", "pages": "1-5"})), FileUse::Reads(ReadExtent::Some));
    }

    #[test]
    fn git_that_moves_the_tree_is_told_from_git_that_takes_paths() {
        let moves = |command: &str| {
            let (call, input) = call("Bash", json!({ "command": command }));
            moves_tree(&call, &input)
        };
        for command in
            ["git switch x", "git checkout main", "git pull", "git -C sub stash", "cd a && git rebase x"]
        {
            assert!(moves(command), "{command}");
        }
        for command in ["git status", "git checkout -- a", "git commit -m x", "ls", "echo git"] {
            assert!(!moves(command), "{command}");
        }
    }
}
