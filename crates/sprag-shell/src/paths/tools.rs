//! Paths of single programs with rules of their own: modes, editors that run without a user, downloads.

use super::options::{self, ProgramOptions};
use crate::eval::{Evaluator, StdinText};
use crate::expand::unknown;

impl Evaluator {
    /// Records the files that `chmod` and its like change. A mode may look like an option: `chmod -x a`.
    pub(super) fn modes(&mut self, name: &str, words: &[String]) {
        let has_no_mode = |word: &String| is_mode(word) || word.starts_with("--ref");
        if name == "chmod" && words.iter().skip(1).any(has_no_mode) {
            for path in words.iter().skip(1).filter(|word| !word.starts_with('-')) {
                self.writes(path, name);
            }
            return;
        }
        self.by_row(name, words);
    }

    /// Records the files of an editor that runs without a user: `vim -es +wq a`.
    pub(super) fn batch_editor(&mut self, name: &str, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "cSuTtwWiU", long: &["--cmd"] };
        let (split, operands) = options::anywhere(words, 1, &OPTIONS);
        let saves = |line: &str| {
            ["w", "wq", "x", "wa", "wqa", "xa", "up", "update", "sav"].iter().any(|verb| {
                line.split(['|', ' ', '!']).any(|word| word.trim_start_matches([':', '%']) == *verb)
            })
        };
        let commands = operands.iter().filter_map(|word| word.strip_prefix('+'));
        let given =
            split.given.iter().filter(|given| given.name == "-c").filter_map(|given| given.value.as_deref());
        let is_batch = split.has(&["-e", "-E", "-s"]) || commands.chain(given).any(saves);
        for path in operands.iter().filter(|word| !word.starts_with('+')) {
            self.reads(path, name);
            if is_batch {
                self.writes(path, name);
            }
        }
    }

    /// Records the files of `exiftool -TAG=VALUE a`; without a value it only reads.
    pub(super) fn exiftool(&mut self, words: &[String]) {
        let sets = |word: &String| {
            word.starts_with('-')
                && (word.contains('=')
                    || word.starts_with("-overwrite")
                    || word.starts_with("-delete_original"))
        };
        let is_set = words.iter().any(sets);
        for path in words.iter().skip(1).filter(|word| !word.starts_with('-')) {
            self.reads(path, "exiftool");
            if is_set {
                self.writes(path, "exiftool");
            }
        }
    }

    /// Records the database of `sqlite3`, which some statements change.
    pub(super) fn sqlite(&mut self, words: &[String]) {
        const OPTIONS: ProgramOptions =
            ProgramOptions { letters: "", long: &["-cmd", "-separator", "-init"] };
        let (split, operands) = options::anywhere(words, 1, &OPTIONS);
        let Some((database, statements)) = operands.split_first() else { return };
        self.reads(database, "sqlite3");
        let mut code = statements.join(" ").to_ascii_lowercase();
        if let StdinText::Text(text) = &self.input {
            code.push_str(&text.to_ascii_lowercase());
        }
        let verbs = ["drop", "delete", "update", "insert", "alter", "create", "vacuum", "replace", "reindex"];
        let changes = code.split(|c: char| !c.is_alphanumeric()).any(|word| verbs.contains(&word));
        if changes && !split.given.iter().any(|given| given.name == "-readonly") {
            self.writes(database, "sqlite3");
        }
    }

    /// Records the files of a new key: `ssh-keygen -f ~/.ssh/x`.
    pub(super) fn key_files(&mut self, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "abCDEFfIJjKMmNnOPrRsTtVwYz", long: &[] };
        let (split, _) = options::anywhere(words, 1, &OPTIONS);
        if split.has(&["-l", "-y", "-e", "-F", "-B", "-L", "-Q"]) {
            return;
        }
        if let Some(path) = split.value(&["-f"]).map(str::to_owned) {
            self.writes(&path, "ssh-keygen");
        }
    }

    /// Records the files that `jq` reads; some options take two values.
    pub(super) fn jq(&mut self, words: &[String]) {
        let mut at = 1;
        let mut operands = Vec::new();
        let mut has_file = false;
        while let Some(word) = words.get(at) {
            match word.as_str() {
                "--arg" | "--argjson" => at += 2,
                "--slurpfile" | "--rawfile" => {
                    if let Some(path) = words.get(at + 2) {
                        self.reads(path, "jq");
                    }
                    at += 2;
                }
                "--indent" | "-L" => at += 1,
                "-f" | "--from-file" => {
                    has_file = true;
                    at += 1;
                }
                "--args" | "--jsonargs" => break,
                word if word.starts_with('-') && word.len() > 1 => {}
                word => operands.push(word.to_owned()),
            }
            at += 1;
        }
        for path in operands.iter().skip(usize::from(!has_file)) {
            self.reads(path, "jq");
        }
    }

    /// Records the files of `cmake -E rm a` and the like.
    pub(super) fn cmake(&mut self, words: &[String]) {
        if words.get(1).is_none_or(|word| word != "-E") {
            return;
        }
        let paths: Vec<&String> = words.iter().skip(3).filter(|word| !word.starts_with('-')).collect();
        match words.get(2).map(String::as_str) {
            Some("rm" | "remove" | "remove_directory" | "touch" | "rename") => {
                for path in paths {
                    self.writes(path, "cmake");
                }
            }
            Some("copy" | "copy_directory" | "copy_if_different" | "create_symlink") => {
                if let Some(path) = paths.last() {
                    self.writes(path, "cmake");
                }
            }
            _ => {}
        }
    }

    /// Records the file of `aria2c -d DIR -o NAME`.
    pub(super) fn downloads_to(&mut self, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "odijsx", long: &["--dir", "--out"] };
        let (split, operands) = options::anywhere(words, 1, &OPTIONS);
        let place = split.value(&["-d", "--dir"]).unwrap_or(".").to_owned();
        let named = split.value(&["-o", "--out"]).map(str::to_owned);
        let of_address = operands.first().map(|address| unknown::base_name(address).to_owned());
        if let Some(name) = named.or(of_address) {
            let path = format!("{place}/{name}");
            self.write_file(&path, &unknown::HOLE.to_string());
            self.writes(&path, "aria2c");
        }
    }

    /// Records the files that settings of `curl` name: `curl -K -`.
    pub(super) fn curl_settings(&mut self, split: &options::Split) {
        let Some(path) = split.value(&["-K", "--config"]) else { return };
        let text = match &self.input {
            StdinText::Text(text) if path == "-" => Some(text.clone()),
            _ => self.file(path).map(str::to_owned),
        };
        for line in text.iter().flat_map(|text| text.lines()).take(256) {
            let line = line.trim().trim_start_matches('-');
            let Some((key, value)) = line.split_once(['=', ' ', ':']) else { continue };
            let value = value.trim().trim_start_matches(['=', ' ']).trim_matches('"');
            match key.trim() {
                "upload-file" | "T" => self.reads(value, "curl"),
                "output" | "o" => self.writes(value, "curl"),
                "data" | "data-binary" | "data-urlencode" | "form" | "d" | "F" => {
                    if let Some((_, path)) = value.split_once('@') {
                        self.reads(path, "curl");
                        self.names("/proc/self/sent", "curl", None);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Reports whether a word takes rights away, such as `-x` or `-rwx,o+w`.
fn is_mode(word: &str) -> bool {
    let rest = word.strip_prefix('-').unwrap_or_default();
    rest.starts_with(['r', 'w', 'x', 'X', 's', 't'])
        && rest.bytes().all(|byte| b"rwxXstugo,=+-".contains(&byte))
}
