//! Carriers that add words to the inner command: `xargs`, `parallel`, `find`, `fd`, `watch`. Literal input is
//! filled in; other added words are unknown.

use super::Unwrapped;
use crate::Carrier;
use crate::eval::{Evaluator, StdinText, TEXT};
use crate::expand::unknown::{self, HOLE, MANY};
use crate::paths::options::{self, ProgramOptions};

/// Maximum number of literal input items.
const ITEMS: usize = 16;

type Assignments = [(String, String)];

impl Evaluator {
    pub(super) fn xargs(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "aEdILnPsJRS",
            long: &[
                "--arg-file",
                "--delimiter",
                "--max-lines",
                "--max-args",
                "--max-procs",
                "--max-chars",
                "--process-slot-var",
            ],
        };
        let split = options::leading(words, 1, &OPTIONS);
        let inner = &words[split.operands..];
        if inner.is_empty() {
            return Unwrapped::Plain;
        }
        self.wrapper(words, assigns);
        let items = self.items(&split);
        let lines: Option<Vec<String>> = match &self.input {
            StdinText::Text(text) if unknown::is_known(text) && text.lines().count() <= ITEMS => {
                Some(text.lines().map(str::to_owned).collect())
            }
            StdinText::Text(_) | StdinText::Inherited | StdinText::File(_) => None,
        };
        let mark = split
            .value(&["-I", "--replace", "-J"])
            .map(str::to_owned)
            .or_else(|| split.has(&["-i", "--replace"]).then(|| "{}".to_owned()));
        self.input_unknown(|walk| {
            walk.via.push(Carrier::Program("xargs".to_owned()));
            match (mark, items) {
                (Some(mark), Some(items)) => {
                    for item in items {
                        walk.run(inner.iter().map(|word| put(word, &mark, &item)).collect(), Vec::new());
                    }
                }
                (Some(mark), None) => {
                    let hole = HOLE.to_string();
                    // A whole unknown word may also be an option.
                    let filled = |word: &String| {
                        if *word == mark { MANY.to_string() } else { put(word, &mark, &hole) }
                    };
                    walk.run(inner.iter().map(filled).collect(), Vec::new());
                }
                (None, Some(items)) if split.has(&["-L", "-l", "--max-lines"]) => {
                    for line in items {
                        let mut run = inner.to_vec();
                        run.extend(line.split_whitespace().map(str::to_owned));
                        walk.run(run, Vec::new());
                    }
                }
                (None, items) => {
                    // A shell gets word by word what is meant line by line; the evaluator walks both
                    // readings.
                    if is_shell_code(inner)
                        && let Some(lines) = &lines
                    {
                        for line in lines {
                            let mut run = inner.to_vec();
                            run.push(line.clone());
                            walk.run(run, Vec::new());
                        }
                    }
                    let mut run = inner.to_vec();
                    // With `-n 1` each item is a separate command; one command with all items shows the same.
                    run.extend(items.unwrap_or_else(|| vec![MANY.to_string()]));
                    walk.run(run, Vec::new());
                }
            }
            walk.via.pop();
        });
        Unwrapped::Done
    }

    fn items(&self, split: &options::Split) -> Option<Vec<String>> {
        let text = match split.value(&["-a", "--arg-file"]) {
            Some(path) => self.file(path)?,
            None => self.file("/dev/stdin")?,
        };
        if !unknown::is_known(text) {
            // `find dist -print0 | xargs -0 rm` gets paths below a known directory.
            let items: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let is_path = |item: &String| {
                let known = item.strip_suffix(HOLE).unwrap_or_default();
                known.ends_with('/') && unknown::is_known(known) && !known.starts_with('-')
            };
            let is_usable = !items.is_empty() && items.len() <= ITEMS && items.iter().all(is_path);
            return is_usable.then_some(items);
        }
        let items: Vec<String> = if split.has(&["-0", "--null"]) {
            text.split('\0').map(str::to_owned).collect()
        } else if let Some(delimiter) = split.value(&["-d", "--delimiter"]) {
            let delimiter =
                crate::expand::escapes::decode(delimiter, crate::expand::escapes::EscapeDialect::Format).0;
            text.split(delimiter.as_str()).map(|item| item.trim_end_matches('\n').to_owned()).collect()
        } else if split.has(&["-I", "-i", "--replace", "-L", "-l"]) {
            text.lines().map(|line| line.trim_start().to_owned()).collect()
        } else {
            text.split_whitespace().map(|item| item.trim_matches(['\'', '"']).to_owned()).collect()
        };
        let items: Vec<String> = items.into_iter().filter(|item| !item.is_empty()).collect();
        (items.len() <= ITEMS).then_some(items)
    }

    pub(super) fn parallel(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "jNnaILPSdCX",
            long: &[
                "--jobs",
                "--max-args",
                "--arg-file",
                "--joblog",
                "--delay",
                "--timeout",
                "--colsep",
                "--results",
                "--sshlogin",
                "--delimiter",
            ],
        };
        let split = options::leading(words, 1, &OPTIONS);
        if split.has(&["--dry-run", "--dryrun", "--version", "--help", "--citation", "--number-of-cores"]) {
            return Unwrapped::Plain;
        }
        let rest = &words[split.operands..];
        let end = rest.iter().position(|word| word.starts_with(":::")).unwrap_or(rest.len());
        let (command, sources) = rest.split_at(end);
        self.wrapper(words, assigns);
        let mut items: Vec<String> = match sources.split_first() {
            Some((mark, items)) if mark == ":::" || mark == ":::+" => {
                items.iter().filter(|item| !item.starts_with(":::")).take(ITEMS).cloned().collect()
            }
            Some(_) => vec![HOLE.to_string()],
            None => match &self.input {
                StdinText::Text(text) => text.lines().take(ITEMS).map(str::to_owned).collect(),
                StdinText::Inherited | StdinText::File(_) => vec![HOLE.to_string()],
            },
        };
        if items.is_empty() {
            items.push(HOLE.to_string());
        }
        // With `--pipe` the input goes to the command itself.
        if split.has(&["--pipe", "--pipe-part", "--spreadstdin"]) {
            return Unwrapped::Inner { words: command.to_vec(), assigns: Vec::new(), enter: None };
        }
        // With several sources `{n}` is the n-th word of each turn; the first word of each source is enough.
        let lists: Vec<&[String]> = sources.split(|word| word.starts_with(":::")).skip(1).collect();
        let command: &[String] = &if lists.len() > 1 {
            items.truncate(1);
            let put_in = |word: &String| {
                lists.iter().enumerate().fold(word.clone(), |word, (at, list)| {
                    let item = if list.len() == 1 { list[0].clone() } else { HOLE.to_string() };
                    put(&word, &format!("{{{}}}", at + 1), &item)
                })
            };
            command.iter().map(put_in).collect::<Vec<String>>()
        } else {
            command.to_vec()
        };
        let template = command.join(" ");
        if command.len() > 1 {
            self.input_unknown(|walk| {
                walk.via.push(Carrier::Program("parallel".to_owned()));
                for item in items {
                    let mut run: Vec<String> = command.iter().map(|word| filled(word, &item)).collect();
                    if run == command {
                        run.push(item);
                    }
                    walk.run(run, Vec::new());
                }
                walk.via.pop();
            });
            return Unwrapped::Done;
        }
        for item in items {
            // Without a command the items are the commands.
            let text = if template.is_empty() {
                item
            } else {
                let text = filled(&template, &item);
                if text == template { format!("{template} {item}") } else { text }
            };
            self.shell_text("parallel", &text, Vec::new());
        }
        Unwrapped::Done
    }

    pub(super) fn find(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        let mut at = 1;
        while let Some(word) = words.get(at).map(String::as_str) {
            match word {
                "-H" | "-L" | "-P" => at += 1,
                "-D" => at += 2,
                _ if word.starts_with("-O") => at += 1,
                _ => break,
            }
        }
        let is_expression =
            |word: &String| word.starts_with('-') || matches!(word.as_str(), "(" | ")" | "!" | ",");
        let end = words[at..].iter().position(is_expression).map_or(words.len(), |length| at + length);
        let mut roots = words[at..end].to_vec();
        if roots.len() > ITEMS {
            roots = vec![MANY.to_string()];
        }
        if roots.is_empty() {
            roots.push(".".to_owned());
        }
        self.leaf(words, assigns);
        self.via.push(Carrier::Program("find".to_owned()));
        let mut at = end;
        while let Some(word) = words.get(at) {
            if !self.step() {
                break;
            }
            match word.as_str() {
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    self.count(at - end);
                    let FindAction { narrowed, below } = chosen(&words[end..at], &roots);
                    let length = words[at + 1..].iter().position(|word| word == ";" || word == "+");
                    let stop = length.map_or(words.len(), |length| at + 1 + length);
                    let inner = &words[at + 1..stop];
                    let mut run = Vec::new();
                    for word in inner {
                        if word == "{}" {
                            run.extend(below.iter().cloned());
                        } else {
                            run.push(put(word, "{}", below.first().map_or("", String::as_str)));
                        }
                    }
                    // Deleting all files of a directory one by one deletes the directory.
                    let deletes = inner
                        .first()
                        .is_some_and(|name| matches!(unknown::base_name(name), "rm" | "grm" | "unlink"));
                    if deletes && !narrowed {
                        let mut all = vec!["rm".to_owned(), "-rf".to_owned()];
                        all.extend(roots.iter().cloned());
                        self.input_unknown(|walk| walk.run(all, Vec::new()));
                    }
                    if word == "-execdir" || word == "-okdir" {
                        let cwd = self.state.cwd.take();
                        self.input_unknown(|walk| walk.run(run, Vec::new()));
                        self.state.cwd = cwd;
                    } else {
                        self.input_unknown(|walk| walk.run(run, Vec::new()));
                    }
                    at = stop;
                }
                "-delete" => {
                    self.count(at - end);
                    let FindAction { narrowed, below } = chosen(&words[end..at], &roots);
                    let mut run = vec!["rm".to_owned(), if narrowed { "-f" } else { "-rf" }.to_owned()];
                    run.extend(if narrowed { below } else { roots.clone() });
                    self.run(run, Vec::new());
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(path) = words.get(at + 1) {
                        self.writes(path, "find");
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.via.pop();
        for root in roots {
            let is_path = unknown::is_known(&root) && !root.starts_with('-');
            let found =
                if is_path { format!("{}/{HOLE}", root.trim_end_matches('/')) } else { HOLE.to_string() };
            self.print(&(found + "\n"));
        }
        Unwrapped::Done
    }

    pub(super) fn fd(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        let option = |word: &String| {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            matches!(name, "--exec" | "--exec-batch")
                || word.starts_with('-') && !word.starts_with("--") && word.ends_with(['x', 'X'])
        };
        let Some(at) = words.iter().position(option) else { return Unwrapped::Plain };
        self.leaf(&words[..at], assigns);
        // `--exec=rm` contains the first word.
        let attached = words[at].split_once('=').map(|(_, program)| program.to_owned());
        let end =
            words[at + 1..].iter().position(|word| word == ";").map_or(words.len(), |length| at + 1 + length);
        let inner: &[String] =
            &attached.into_iter().chain(words[at + 1..end].iter().cloned()).collect::<Vec<_>>();
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "eEtdSocj",
            long: &[
                "--extension",
                "--exclude",
                "--type",
                "--max-depth",
                "--size",
                "--color",
                "--owner",
                "--threads",
            ],
        };
        let (split, operands) = options::anywhere(&words[..at], 1, &OPTIONS);
        let root =
            split.value(&["--search-path", "--base-directory"]).or(operands.get(1).map(String::as_str));
        let hole = format!("{}/{HOLE}", root.unwrap_or(".").trim_end_matches('/'));
        let marks = ["{}", "{/}", "{//}", "{.}", "{/.}"];
        let mut run: Vec<String> = Vec::new();
        for word in inner {
            run.push(marks.iter().fold(word.clone(), |word, mark| put(&word, mark, &hole)));
        }
        if !inner.iter().any(|word| marks.iter().any(|mark| word.contains(mark))) {
            run.push(hole);
        }
        self.via.push(Carrier::Program("fd".to_owned()));
        self.input_unknown(|walk| walk.run(run, Vec::new()));
        self.via.pop();
        Unwrapped::Done
    }

    pub(super) fn watch(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "nq", long: &["--interval", "--equexit"] };
        let split = options::leading(words, 1, &OPTIONS);
        let inner = &words[split.operands..];
        if inner.is_empty() {
            return Unwrapped::Plain;
        }
        if split.has(&["-x", "--exec"]) {
            return Unwrapped::Inner { words: inner.to_vec(), assigns: Vec::new(), enter: None };
        }
        self.wrapper(words, assigns);
        let text = inner.join(" ");
        self.shell_text("watch", &text, Vec::new());
        Unwrapped::Done
    }
}

/// Reports whether words start a shell with `-c`, which the added words follow.
fn is_shell_code(words: &[String]) -> bool {
    words.first().is_some_and(|name| super::shells::is_shell(unknown::base_name(name)))
        && words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))
}

/// Replaces each `mark` in `word` by `item`; returns a hole if the result would be very long.
fn put(word: &str, mark: &str, item: &str) -> String {
    if mark.is_empty() || word.matches(mark).count().saturating_mul(item.len()) > TEXT {
        return HOLE.to_string();
    }
    word.replace(mark, item)
}

/// Fills the item into a template of `parallel`.
fn filled(template: &str, item: &str) -> String {
    ["{}", "{.}", "{/}", "{1}"].iter().fold(template.to_owned(), |text, mark| put(&text, mark, item))
}

/// The files that an action of `find` applies to.
struct FindAction {
    /// Whether most files are excluded.
    narrowed: bool,
    /// Their paths, as far as known.
    below: Vec<String>,
}

/// Returns the files that the words before an action select: those after the last `-o` outside parentheses.
fn chosen(before: &[String], roots: &[String]) -> FindAction {
    let mut depth = 0_usize;
    let mut from = before.len();
    for word in before.iter().rev() {
        match word.as_str() {
            ")" => depth += 1,
            "(" => depth = depth.saturating_sub(1),
            "-o" | "-or" | "," if depth == 0 => break,
            _ => {}
        }
        from -= 1;
    }
    let words = &before[from..];
    let (mut tests, mut others) = (0, 0);
    let mut names = Vec::new();
    let mut whole = true;
    for (at, word) in words.iter().enumerate() {
        let negated = at > 0 && matches!(words[at - 1].as_str(), "!" | "-not");
        // The value of a test is not a test itself.
        let value = at > 0 && is_test(&words[at - 1]) && words[at - 1] != "-empty";
        if matches!(word.as_str(), "-o" | "-or" | ",") && !value {
            others += 1;
        }
        // `-name '*'` excludes nothing.
        let all = words.get(at + 1).is_some_and(|value| matches!(value.as_str(), "*" | "**"));
        if !is_test(word) || value || negated || all {
            continue;
        }
        tests += 1;
        match words.get(at + 1) {
            Some(name) if word == "-name" => names.push(name.clone()),
            Some(name) if word == "-iname" => names.push(name.to_lowercase()),
            _ => whole = others == 0 && !names.is_empty(),
        }
    }
    let narrowed = tests > others;
    let below = roots.iter().map(|root| format!("{}/{HOLE}", root.trim_end_matches('/')));
    if narrowed && whole && !names.is_empty() && names.len() * roots.len() <= ITEMS {
        let named =
            |below: String| names.iter().map(move |name| format!("{below}/{name}")).collect::<Vec<_>>();
        return FindAction { narrowed, below: below.flat_map(named).collect() };
    }
    FindAction { narrowed, below: below.collect() }
}

/// Reports whether a test of `find` excludes most files; tests of type and depth do not.
fn is_test(word: &str) -> bool {
    matches!(
        word,
        "-name"
            | "-iname"
            | "-path"
            | "-ipath"
            | "-wholename"
            | "-regex"
            | "-iregex"
            | "-mtime"
            | "-mmin"
            | "-ctime"
            | "-cmin"
            | "-atime"
            | "-amin"
            | "-newer"
            | "-size"
            | "-empty"
            | "-lname"
            | "-inum"
            | "-samefile"
            | "-newermt"
    )
}
