//! Code that changes something outside the worktree: it names a home or a directory of the system, and a call
//! that deletes, writes, renames or kills has a target that is known only at run time.

use super::calls::{CallReader, one};
use super::lexer::{CodeToken, Language};
use crate::DoubtKind;
use crate::eval::Evaluator;
use crate::expand::unknown;

/// Calls that change the file in their first argument or their receiver.
const CHANGING: &[&str] = &[
    "appendFile",
    "appendFileSync",
    "binwrite",
    "chmod",
    "chmodSync",
    "chmod_R",
    "chown",
    "chownSync",
    "cpSync",
    "createWriteStream",
    "deleteDir",
    "deleteIfExists",
    "deleteOnExit",
    "deleteRecursively",
    "emptyDirSync",
    "file_put_contents",
    "hardlink_to",
    "lchmod",
    "lchown",
    "remove",
    "removeDirectoryRecursive",
    "removeDirRecur",
    "removeFile",
    "removeSync",
    "remove_dir",
    "remove_dir_all",
    "remove_entry",
    "remove_file",
    "remove_tree",
    "removedirs",
    "rimraf",
    "rimrafSync",
    "rm",
    "rmSync",
    "rm_f",
    "rm_r",
    "rm_rf",
    "rmdir",
    "rmdirSync",
    "rmtree",
    "safe_unlink",
    "symlink_to",
    "truncate",
    "truncateSync",
    "unlink",
    "unlinkSync",
    "utime",
    "utimes",
    "utimesSync",
    "writeFile",
    "writeFileSync",
    "writeLines",
    "writeTextFile",
    "writeTextFileSync",
    "write_bytes",
    "write_text",
];

/// Calls that change the files in their first two arguments.
const MOVING: &[&str] = &[
    "copyFile",
    "copyFileSync",
    "copytree",
    "copyfile",
    "copy2",
    "link",
    "linkSync",
    "rename",
    "renameSync",
    "renames",
    "symlink",
    "symlinkSync",
];

/// Calls whose name is common, with the names before the dot that make them calls of a file.
const OF_RECEIVER: &[(&str, &[&str])] = &[
    ("delete", &["File", "FileUtils", "Files", "Pathname", "Dir", "fs"]),
    ("write", &["Bun", "File", "Files", "IO", "Deno"]),
    ("replace", &["os"]),
    ("move", &["shutil", "Files", "fs"]),
    ("copy", &["shutil", "Files", "fs", "FileUtils"]),
    ("mv", &["FileUtils", "shell", "Base"]),
    ("cp", &["FileUtils", "shell", "Base"]),
    ("cp_r", &["FileUtils"]),
    ("touch", &["FileUtils", "Pathname"]),
];

/// Calls and names that stand for a home.
const HOMES: &[&str] = &[
    "expanduser",
    "getusersitepackages",
    "getuserbase",
    "homedir",
    "home_dir",
    "UserHomeDir",
    "userInfo",
    "path_expand",
    "HOME",
    "USERPROFILE",
];

/// Directories of the system and of homes.
const TOPS: &[&str] = &[
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "bin",
    "boot",
    "etc",
    "home",
    "lib",
    "lib64",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
];

/// Words of other languages that delete, write or start something.
const OTHER_WORDS: &[&str] = &[
    "delete",
    "deleteDir",
    "delete-directory",
    "delete-file",
    "deleteRecursively",
    "directory-delete",
    "empty",
    "erase",
    "exec",
    "execute",
    "esyscmd",
    "remove",
    "removeDirectoryRecursive",
    "removeFile",
    "removeItem",
    "rename",
    "rename-file",
    "rm",
    "rmdir",
    "run-program",
    "sh",
    "shell",
    "shred",
    "spit",
    "spurt",
    "syscmd",
    "system",
    "system*",
    "truncate",
    "unlink",
    "write",
    "writeText",
    "setText",
    "kill",
    "mv",
    "process",
    "open-output-file",
    "with-output-to-file",
];

impl Evaluator {
    /// Adds a doubt for code that changes something outside the worktree, and the writes that it names.
    pub(super) fn reached_by_code(
        &mut self,
        name: &str,
        tokens: &[CodeToken],
        language: Language,
        code: &str,
    ) {
        let reader = CallReader::new(tokens, language);
        let mut targets = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let CodeToken::Name(call) = token else { continue };
            if call == "kill" && reader.is_call(at) {
                self.kills(name, tokens, &reader, at);
                continue;
            }
            if reader.is_call(at) {
                targets.extend(reader.targets(at, call));
            }
        }
        let is_away = names_home(tokens, code) || self.names_system(tokens);
        let mut is_unknown = opens_unknown(tokens, &reader, language);
        for target in targets {
            match target {
                Some(path) if unknown::is_known(&path) => {
                    if path.starts_with(['/', '~']) {
                        self.writes_now(&path, name);
                    }
                }
                Some(path) if path.starts_with("/tmp/") => {}
                _ => is_unknown = true,
            }
        }
        if is_away && is_unknown {
            self.doubt(DoubtKind::Dynamic, &format!("code for {name} changes files outside the worktree"));
        }
        if forks_on(tokens) {
            self.doubt(DoubtKind::Dynamic, &format!("code for {name} starts processes in a loop"));
        }
        if language == Language::Python && builds_names(tokens) {
            self.doubt(DoubtKind::Dynamic, &format!("code for {name} builds the names of its calls"));
        }
    }

    /// Adds the command of `kill(-1, 9)`, and a doubt for a loop over all processes.
    fn kills(&mut self, name: &str, tokens: &[CodeToken], reader: &CallReader<'_>, at: usize) {
        let inner = reader.inner(at);
        let all = inner.windows(2).any(|pair| pair == [CodeToken::Mark('-'), CodeToken::Mark('1')]);
        if all && !inner.iter().any(|token| matches!(token, CodeToken::Name(name) if name == "pid")) {
            let words = ["kill", "-9", "--", "-1"].map(str::to_owned).to_vec();
            self.input_unknown(|walk| walk.run(words, Vec::new()));
        }
        let lists = |token: &CodeToken| match token {
            CodeToken::Text(text) => text.starts_with("/proc"),
            CodeToken::Name(name) => matches!(name.as_str(), "process_iter" | "pids" | "pidlist"),
            CodeToken::Exec(_) | CodeToken::Mark(_) => false,
        };
        if tokens.iter().any(lists) {
            self.doubt(DoubtKind::Dynamic, &format!("code for {name} ends processes in a loop"));
        }
    }

    /// Adds a doubt for code of a language that the evaluator does not read.
    pub(crate) fn reached_by_unread_code(&mut self, name: &str, code: &str, command: Option<usize>) {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '*');
        let changes = code.split(|c: char| !is_word(c)).any(|word| OTHER_WORDS.contains(&word));
        let homes = ["~/", "$HOME", "\"HOME\"", "'HOME'", "user.home", "homedir", "home-dir", "of home"];
        let at_home = homes.iter().any(|home| code.contains(home));
        let is_top = |path: &str| self.is_top(path);
        let at_top = code.match_indices('/').any(|(at, _)| {
            !code[..at].ends_with(|c: char| is_word(c) || matches!(c, '.' | '/' | '~' | ':'))
                && is_top(&code[at..])
        });
        if changes && (at_home || at_top) {
            let about = format!("code for {name} changes files outside the worktree");
            self.doubt_of(DoubtKind::Dynamic, &about, command.filter(|_| false));
        }
    }

    /// Reports whether code names a directory of the system or another home.
    fn names_system(&self, tokens: &[CodeToken]) -> bool {
        tokens.iter().any(|token| matches!(token, CodeToken::Text(text) if self.is_top(text)))
    }

    fn is_top(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix('/') else { return false };
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
        let is_free = ["/var/tmp", "/var/folders", "/proc/self", "/usr/bin/env"]
            .iter()
            .any(|free| text.starts_with(free));
        let cwd = self.state.cwd.as_deref().filter(|cwd| cwd.starts_with('/') && cwd.len() > 1);
        TOPS.contains(&&rest[..end]) && !is_free && !cwd.is_some_and(|cwd| text.starts_with(cwd))
    }
}

impl CallReader<'_> {
    /// Reports whether the name at `at` is called, not defined or imported.
    fn is_call(&self, at: usize) -> bool {
        let bare = matches!(self.language(), Language::Perl | Language::Ruby)
            && matches!(
                self.tokens.get(at + 1),
                Some(CodeToken::Text(_) | CodeToken::Name(_) | CodeToken::Mark('$' | '@'))
            );
        let defined = matches!(self.tokens.get(at.wrapping_sub(1)), Some(CodeToken::Name(word)) if matches!(word.as_str(), "def" | "function" | "sub" | "import" | "class"));
        // `File.rm_rf!(x)`.
        let opens = self.is_mark(at + 1, '(') || self.is_mark(at + 1, '!') && self.is_mark(at + 2, '(');
        (bare || opens) && !defined
    }

    /// Reports whether a call opens a file with a mode that writes: `File.open(x, "a")`, `fopen($x, "w")`. Python
    /// and Perl have readers of their own.
    fn opens_to_write(&self, at: usize, call: &str) -> bool {
        if !matches!(call, "open" | "fopen" | "openSync" | "new_file")
            || matches!(self.language(), Language::Python | Language::Perl)
            || !self.is_mark(at + 1, '(')
        {
            return false;
        }
        let mode = self.arguments(at + 2).get(1).map(one).unwrap_or_default();
        mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+', 'c'])
    }

    /// Returns the tokens between the parentheses of a call.
    fn inner(&self, at: usize) -> &[CodeToken] {
        if !self.is_mark(at + 1, '(') {
            return self.tokens.get(at + 1..(at + 6).min(self.tokens.len())).unwrap_or_default();
        }
        self.tokens.get(at + 2..self.skip(at + 1)).unwrap_or_default()
    }

    /// Returns the files that a call changes; `None` is a file that is known only at run time.
    fn targets(&self, at: usize, call: &str) -> Vec<Option<String>> {
        let receiver = match self.tokens.get(at.wrapping_sub(2)..at) {
            Some([CodeToken::Name(name), CodeToken::Mark('.')]) => Some(name.as_str()),
            // `Files::delete`, `FileUtils->rm`.
            Some([CodeToken::Mark(':'), CodeToken::Mark(':')]) => match self.tokens.get(at.wrapping_sub(3)) {
                Some(CodeToken::Name(name)) => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        };
        let of_file = OF_RECEIVER
            .iter()
            .any(|(name, of)| *name == call && receiver.is_some_and(|receiver| of.contains(&receiver)));
        let moves = MOVING.contains(&call) || of_file && matches!(call, "replace" | "move" | "copy" | "mv");
        let opens = self.opens_to_write(at, call);
        if !CHANGING.contains(&call) && !moves && !of_file && !opens {
            return Vec::new();
        }
        let from = (at + 1..at + 3).find(|at| self.is_mark(*at, '(')).map_or(at + 1, |open| open + 1);
        let mut targets: Vec<Option<String>> =
            self.arguments(from).iter().take(if moves { 2 } else { 1 }).map(|path| Some(one(path))).collect();
        // `Path("x").unlink()` changes its receiver.
        let follows_value = matches!(
            self.tokens.get(at.wrapping_sub(2)..at),
            Some([CodeToken::Mark(')'), CodeToken::Mark('.')])
        );
        let of_path = ["write_text", "write_bytes", "symlink_to", "hardlink_to"].contains(&call);
        if !opens && (of_path || follows_value || targets.is_empty()) {
            // The text in `home().joinpath("x")` is only a part of the path.
            let maker = at.checked_sub(5).and_then(|from| self.tokens.get(from));
            let is_whole = matches!(maker, Some(CodeToken::Name(name)) if matches!(name.as_str(), "Path" | "PurePath" | "Pathname" | "File" | "file"));
            targets.truncate(0);
            targets.push(self.receiver(at).filter(|_| !follows_value || is_whole));
        }
        targets
    }
}

/// Reports whether code names a home.
fn names_home(tokens: &[CodeToken], code: &str) -> bool {
    let in_token = |(at, token): (usize, &CodeToken)| match token {
        CodeToken::Name(name) if name == "home" => {
            let before = at.checked_sub(2).and_then(|from| tokens.get(from..at));
            matches!(before, Some([CodeToken::Name(of), CodeToken::Mark('.')]) if matches!(of.as_str(), "Path" | "Dir" | "Pathname" | "pathlib"))
        }
        CodeToken::Name(name) => HOMES.contains(&name.as_str()),
        CodeToken::Text(text) => {
            matches!(text.as_str(), "~" | "HOME" | "USERPROFILE" | "user.home") || text.starts_with("~/")
        }
        CodeToken::Exec(_) | CodeToken::Mark(_) => false,
    };
    // In a text with variables the name of the variable is a hole.
    let in_text = ["ENV{HOME}", "env.HOME", "{HOME}", "$HOME", "homedir()", "Dir.home"];
    tokens.iter().enumerate().any(in_token) || in_text.iter().any(|home| code.contains(home))
}

/// Reports whether code opens an unknown file for writing.
fn opens_unknown(tokens: &[CodeToken], reader: &CallReader<'_>, language: Language) -> bool {
    use super::calls::CallAction;
    let is_open = |at: usize| match language {
        Language::Python => reader.python_open(at),
        Language::Perl => reader.perl_open(at),
        _ => None,
    };
    if language == Language::Awk {
        return (0..tokens.len()).any(|at| {
            reader.is_mark(at, '>')
                && matches!(reader.awk_redirect(at), Some(CallAction::Write(path)) if !unknown::is_known(&path))
        });
    }
    tokens.iter().enumerate().any(|(at, token)| {
        matches!(token, CodeToken::Name(name) if name == "open")
            && matches!(is_open(at), Some(CallAction::Write(path)) if !unknown::is_known(&path))
    })
}

/// Reports whether code starts processes in a loop.
fn forks_on(tokens: &[CodeToken]) -> bool {
    let named = |wanted: &[&str]| {
        tokens.iter().any(|token| matches!(token, CodeToken::Name(name) if wanted.contains(&name.as_str())))
    };
    named(&["fork"]) && named(&["while", "loop", "until", "forever"])
}

/// Reports whether Python code builds the names of modules or calls at run time.
fn builds_names(tokens: &[CodeToken]) -> bool {
    let is_name = |at: usize, wanted: &[&str]| matches!(tokens.get(at), Some(CodeToken::Name(name)) if wanted.contains(&name.as_str()));
    let looks_up = (0..tokens.len())
        .any(|at| is_name(at, &["getattr", "__import__", "import_module", "__builtins__", "globals"]));
    let joins = tokens.windows(3).any(|window| {
        matches!(window, [CodeToken::Text(one), CodeToken::Mark('+'), CodeToken::Text(other)] if is_part(one) && is_part(other))
    });
    let decodes = (0..tokens.len()).any(|at| {
        is_name(at, &["bytes", "bytearray"])
            && tokens.get(at + 1..at + 3) == Some(&[CodeToken::Mark('('), CodeToken::Mark('[')])
            || is_name(at, &["b64decode", "fromhex", "unhexlify", "rot13"])
    }) || tokens.windows(4).any(|window| {
        matches!(
            window,
            [CodeToken::Text(_), CodeToken::Mark('['), CodeToken::Mark(':'), CodeToken::Mark(':')]
        )
    });
    looks_up && (joins || decodes)
}

/// Reports whether a text can be a part of a name.
fn is_part(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}
