//! Paths of programs that the table cannot describe: the meaning of their words depends on a verb, or follows
//! special rules.

use super::options::{self, ProgramOptions};
use crate::eval::{Evaluator, StdinText};
use crate::expand::unknown;

/// Options of written paths; `-b` and `-s` take no value here.
const OUTPUT: ProgramOptions = ProgramOptions { letters: "o", long: &["--output", "--output-directory"] };

impl Evaluator {
    pub(super) fn dd(&mut self, words: &[String]) {
        for word in &words[1..] {
            if let Some(path) = word.strip_prefix("of=") {
                self.writes(path, "dd");
            } else if let Some(path) = word.strip_prefix("if=") {
                self.reads(path, "dd");
            }
        }
    }

    pub(super) fn tar(&mut self, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "fCTXbgIKNV",
            long: &[
                "--file",
                "--directory",
                "--files-from",
                "--exclude",
                "--exclude-from",
                "--strip-components",
                "--transform",
                "--listed-incremental",
                "--index-file",
            ],
        };
        // The old style omits the dash: `tar xzf a.tar`.
        let mut dashed = words.to_vec();
        if let Some(first) = dashed.get_mut(1)
            && !first.starts_with('-')
            && unknown::is_known(first)
        {
            first.insert(0, '-');
        }
        let (split, operands) = options::anywhere(&dashed, 1, &OPTIONS);
        let archives = split.may_values(&["-f", "--file"]);
        for path in split.may_values(&["-g", "--listed-incremental", "--index-file"]) {
            self.writes(&path, "tar");
        }
        if split.may_have(&["-x", "--extract", "--get"]) {
            let mut places = split.may_values(&["-C", "--directory", "--one-top-level"]);
            if places.is_empty() {
                places.push(".".to_owned());
            }
            let piped = archives.iter().all(|archive| archive == "-");
            let is_fetched = match &self.input {
                _ if !piped => archives.iter().any(|archive| self.is_unread(archive)),
                StdinText::Text(text) => !unknown::is_known(text),
                StdinText::Inherited | StdinText::File(_) => false,
            };
            for place in places {
                self.writes(&place, "tar");
                if is_fetched {
                    self.fetches(&place);
                }
            }
            for archive in archives {
                self.reads(&archive, "tar");
            }
        } else if split.may_have(&["-c", "--create", "-r", "-u", "--append", "--update"]) {
            for archive in archives {
                self.writes(&archive, "tar");
            }
            for path in operands {
                self.reads(&path, "tar");
            }
        }
    }

    /// Records written paths that no word names.
    pub(super) fn unnamed(&mut self, name: &str, words: &[String]) {
        match name {
            "unzip" => self.unzip(words),
            "wget" => self.wget(words),
            _ => self.cpio(words),
        }
        self.by_row(name, words);
    }

    /// Records the target of `unzip`; without an option it unpacks to the current directory.
    fn unzip(&mut self, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "dxP", long: &[] };
        let (split, operands) = options::anywhere(words, 1, &OPTIONS);
        let looks = ["-l", "-t", "-v", "-p", "-c", "-z", "-Z"];
        if operands.first().is_some_and(|archive| self.is_unread(archive)) {
            let place = split.value(&["-d"]).unwrap_or(".").to_owned();
            self.fetches(&place);
        }
        if !operands.is_empty() && !split.may_have(&["-d"]) && !split.has(&looks) {
            self.writes(".", "unzip");
        }
    }

    fn cpio(&mut self, words: &[String]) {
        let (split, _) = options::anywhere(words, 1, &ProgramOptions { letters: "DEFHIOR", long: &[] });
        if split.may_have(&["-i", "--extract", "-p", "--pass-through"]) && !split.has(&["-t", "--list"]) {
            let place = split.value(&["-D", "--directory"]).unwrap_or(".").to_owned();
            self.writes(&place, "cpio");
        }
    }

    /// Records the file that `wget` writes; without an option its name comes from the URL.
    fn wget(&mut self, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "OPoaUeBtTwQi",
            long: &["--output-document", "--directory-prefix", "--header", "--user-agent", "--post-data"],
        };
        let (split, operands) = options::anywhere(words, 1, &OPTIONS);
        if let Some(place) = split.value(&["-P", "--directory-prefix"]) {
            let place = place.to_owned();
            self.fetches(&place);
        }
        let named = ["-O", "--output-document", "-P", "--directory-prefix", "--spider"];
        if split.may_have(&named) {
            return;
        }
        for address in operands {
            let path = address.split(['?', '#']).next().unwrap_or_default();
            let file = match unknown::base_name(path.split_once("://").map_or(path, |(_, rest)| rest)) {
                "" => "index.html".to_owned(),
                file => file.to_owned(),
            };
            self.write_file(&file, &unknown::HOLE.to_string());
            self.writes(&file, "wget");
        }
    }

    /// Reports whether a file was downloaded by the same text.
    fn is_unread(&self, path: &str) -> bool {
        self.file(path).is_some_and(|text| !unknown::is_known(text))
    }

    /// Records the target of `docker cp CONTAINER:PATH PATH`.
    pub(super) fn container_copy(&mut self, name: &str, words: &[String]) {
        let is_copy = words.get(1).is_some_and(|word| word == "cp");
        if let Some(path) = words.last().filter(|path| is_copy && !path.contains(':')) {
            self.writes(path, name);
        }
    }

    /// Records the output of `tree`. Each letter of one word takes one of the following words:
    /// `tree -Lo 2 f`.
    pub(super) fn tree(&mut self, words: &[String]) {
        let is_output =
            |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('o');
        let Some(at) = words.iter().position(is_output) else { return };
        let after = &words[at + 1..];
        let written = if words[at] == "-o" { after.get(..1).unwrap_or_default() } else { after };
        for path in written {
            self.writes(path, "tree");
        }
    }

    pub(super) fn seven_zip(&mut self, words: &[String]) {
        for path in words.iter().filter_map(|word| word.strip_prefix("-o")) {
            self.writes(path, "7z");
        }
        let archive = words.iter().skip(2).find(|word| !word.starts_with('-'));
        let verb = words.get(1).map_or("", String::as_str);
        match archive {
            Some(archive) if matches!(verb, "a" | "d" | "rn" | "u") => {
                self.writes(archive, "7z");
                let deletes = words.iter().any(|word| word == "-sdel");
                for path in
                    words.iter().skip(3).filter(|word| deletes && !word.starts_with('-') && *word != archive)
                {
                    self.writes(path, "7z");
                }
            }
            Some(archive) => self.reads(archive, "7z"),
            None => {}
        }
    }

    pub(super) fn git_paths(&mut self, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "sbBo",
            long: &[
                "--source",
                "--pathspec-from-file",
                "--branch",
                "--depth",
                "--prefix",
                "--template",
                "--separate-git-dir",
            ],
        };
        let verb = words.get(1).map_or("", String::as_str);
        let (split, operands) = options::anywhere(words, 2, &OPTIONS);
        let dashes = words.iter().position(|word| word == "--");
        let read = operands.clone();
        let written: Vec<String> = match verb {
            // These change only the index, not the worktree.
            "restore" if split.has(&["--staged", "-S"]) && !split.may_have(&["--worktree", "-W"]) => {
                Vec::new()
            }
            "rm" if split.has(&["--cached"]) => Vec::new(),
            "restore" | "rm" | "mv" | "apply-to" => operands,
            "checkout" => match dashes {
                Some(at) => words[at + 1..].to_vec(),
                // Without dashes only words that look like paths count as paths.
                None => operands
                    .into_iter()
                    .filter(|word| word == "." || word.starts_with("./") || word.starts_with(":/"))
                    .collect(),
            },
            "checkout-index" => split.may_values(&["--prefix"]),
            "init" | "clone" => {
                let mut written = split.may_values(&["--separate-git-dir"]);
                let place = operands.get(usize::from(verb == "clone")).cloned().or_else(|| {
                    let address = operands.first().filter(|_| verb == "clone")?.trim_end_matches('/');
                    Some(unknown::base_name(address).trim_end_matches(".git").to_owned())
                });
                let is_address =
                    |word: &String| word.contains("://") || word.contains('@') && word.contains(':');
                if verb == "clone"
                    && operands.first().is_some_and(is_address)
                    && let Some(place) = &place
                {
                    self.fetches(place);
                }
                let place = place.as_ref();
                // A template can contain hooks.
                if split.may_have(&["--template"]) {
                    written.push(format!("{}/.git/hooks", place.map_or(".", String::as_str)));
                }
                written.extend(place.cloned());
                written
            }
            "worktree" if operands.first().is_some_and(|word| word == "add") => {
                operands.into_iter().skip(1).take(1).collect()
            }
            "bundle" if operands.first().is_some_and(|word| word == "create") => {
                operands.into_iter().skip(1).take(1).collect()
            }
            "apply" | "am" => {
                const APPLY: ProgramOptions = ProgramOptions { letters: "pC", long: &["--directory"] };
                options::anywhere(words, 2, &APPLY).0.may_values(&["--directory"])
            }
            "diff" | "log" | "show" | "format-patch" | "archive" => {
                options::anywhere(words, 2, &OUTPUT).0.may_values(&["-o", "--output", "--output-directory"])
            }
            "config" => config_file(words),
            _ => Vec::new(),
        };
        for path in written {
            self.writes(&path, "git");
        }
        let reads = verb == "hash-object" || verb == "diff" && split.has(&["--no-index"]);
        for path in read.into_iter().filter(|_| reads) {
            self.reads(&path, "git");
        }
    }
}

/// Returns the file that `git config -f FILE` changes.
fn config_file(words: &[String]) -> Vec<String> {
    const OPTIONS: ProgramOptions = ProgramOptions { letters: "f", long: &["--file"] };
    let (split, operands) = options::anywhere(words, 2, &OPTIONS);
    let is_asked = split.given.iter().any(|given| given.name.starts_with("--get"))
        || split.has(&["-l", "--list"])
        || operands.first().is_some_and(|verb| verb == "get" || verb == "list");
    let edits = ["--unset", "--rename-section", "--remove-section", "--edit"];
    let is_set = operands.len() > 1
        || split.has(&["-e"])
        || split.given.iter().any(|given| given.name == "--unset-all" || given.may_be(&edits));
    if is_set && !is_asked { split.may_values(&["-f", "--file"]) } else { Vec::new() }
}
