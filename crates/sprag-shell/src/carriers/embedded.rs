//! Programs that also run a command that they are given: as the value of an option, as a command of an editor
//! or debugger, or as a statement of a database client. The script lists both the program and that command.

use crate::eval::{Evaluator, StdinText};
use crate::expand::{escapes, unknown};
use crate::paths::options::{self, ProgramOptions, Split};
use crate::{Carrier, DoubtKind};

/// Options whose value is a command.
struct EmbeddedRow {
    names: &'static [&'static str],
    options: ProgramOptions,
    code: &'static [&'static str],
}

const fn row(
    names: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
    code: &'static [&'static str],
) -> EmbeddedRow {
    EmbeddedRow { names, options: ProgramOptions { letters, long }, code }
}

const ROWS: &[EmbeddedRow] = &[
    row(&["rsync"], "efTMB", &["--rsh", "--rsync-path"], &["-e", "--rsh", "--rsync-path"]),
    row(&["scp", "sftp"], "cFiJloPSXbBDR", &[], &["-S"]),
    row(
        &["nc", "ncat", "netcat"],
        "cegGimoOpqsTvwxX",
        &["--exec", "--sh-exec", "--lua-exec"],
        &["-c", "-e", "--exec", "--sh-exec"],
    ),
    row(&["man"], "CRLmMeSsPpHEt", &["--pager"], &["-P", "--pager", "-H", "--html"]),
    row(&["bat", "batcat", "delta"], "lHrmS", &["--pager"], &["--pager"]),
    row(&["rg"], "ABCefgmtTjrdM", &["--pre", "--pre-glob", "--hostname-bin"], &["--pre", "--hostname-bin"]),
    row(&["ag", "ack"], "ABCmG", &["--pager"], &["--pager"]),
    row(&["fzf", "sk"], "dnqf", &["--preview", "--with-shell", "--bind"], &["--preview"]),
    row(&["sort", "gsort"], "kStTo", &["--compress-program"], &["--compress-program"]),
    row(&["split", "gsplit"], "abClnt", &["--filter"], &["--filter"]),
    row(&["tcpdump"], "BcCDEFGijmMqQrsTVwWyzZ", &[], &["-z"]),
    row(&["zip"], "bitxns", &["-TT", "--unzip-command"], &["-TT", "--unzip-command"]),
    row(&["go"], "", &["-exec", "-toolexec", "-vettool"], &["-exec", "-toolexec", "-vettool"]),
    row(&["wget"], "OPoaUeBtTwQi", &["--use-askpass"], &["--use-askpass"]),
    row(
        &["tar", "gtar", "bsdtar"],
        "fCTXbgIFKNVL",
        &[
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
        ],
        &[
            "-I",
            "-F",
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    row(&["ansible"], "amiltuUBcfPeK", &["--args", "--module-name"], &["-a", "--args"]),
    row(&["gcloud"], "", &["--command", "--zone", "--project", "--ssh-flag"], &["--command"]),
    row(&["fly", "flyctl"], "acCsr", &["--command", "--app"], &["-C", "--command"]),
    row(&["vagrant"], "c", &["--command"], &["-c", "--command"]),
    row(&["chokidar"], "cdtPi", &["--command"], &["-c", "--command"]),
];

impl Evaluator {
    /// Walks the commands inside a program that was just added as `command`.
    pub(crate) fn embedded(&mut self, name: &str, words: &[String], command: Option<usize>) {
        match name {
            "sed" | "gsed" => self.sed_code(words, command),
            "socat" => self.socat(words),
            "vim" | "vi" | "view" | "nvim" | "ex" | "gvim" | "vimdiff" | "nvimdiff" | "rvim" => {
                self.vim(name, words);
            }
            "ed" | "red" => self.lines_of_input(name, Evaluator::ex_command),
            "emacs" | "emacsclient" => self.emacs(name, words),
            "gdb" | "lldb" => self.debugger(name, words),
            "sqlite3" | "sqlite" | "duckdb" => {
                for word in &words[1..] {
                    self.dot_command(name, word);
                }
                self.lines_of_input(name, Evaluator::dot_command);
            }
            "psql" | "mysql" | "mariadb" | "pgcli" | "mycli" => {
                for word in &words[1..] {
                    self.statement_code(name, word);
                }
                self.lines_of_input(name, Evaluator::statement_code);
            }
            "osascript" => self.osascript(name, words),
            "expect" | "tclsh" | "wish" => self.tcl(name, words),
            "ftp" | "lftp" | "ncftp" | "sftp" | "smbclient" | "tnftp" => self.transfers(name, words),
            "groovy" | "scala" | "scala-cli" | "ghc" | "runghc" | "guile" | "racket" | "clojure" | "clj"
            | "bb" | "raku" | "octave" | "janet" | "swift" | "kotlin" | "kotlinc" | "java" | "erl"
            | "sbcl" | "clisp" | "ocaml" | "nim" | "jshell" | "dotnet-script" | "m4" | "csi" | "gosh"
            | "chibi-scheme" | "ecl" | "fennel" | "haxe" | "vlang" | "pwsh" => {
                self.unread(name, words, command)
            }
            _ => self.by_option(name, words),
        }
    }

    pub(super) fn by_option(&mut self, name: &str, words: &[String]) {
        let Some(row) = ROWS.iter().find(|row| row.names.contains(&name)) else { return };
        let (split, _) = options::anywhere(words, 1, &row.options);
        let mut code: Vec<String> = values(&split, row.code).map(str::to_owned).collect();
        if matches!(name, "scp" | "sftp") {
            code.extend(values(&split, &["-o"]).filter_map(ssh_setting).map(str::to_owned));
        }
        if name == "tar" || name == "gtar" {
            // Other actions of a checkpoint only print.
            code.retain_mut(|code| match code.split_once('=') {
                Some(("exec", inner)) => {
                    *code = inner.to_owned();
                    true
                }
                _ => {
                    !matches!(code.as_str(), "dot" | "echo" | "bell" | "ttyout" | "totals" | "wait" | "sleep")
                }
            });
        }
        if name == "ansible"
            && !values(&split, &["-m", "--module-name"]).all(|module| {
                matches!(
                    unknown::base_name(module),
                    "shell" | "command" | "raw" | "ansible.builtin.shell" | "script"
                )
            })
        {
            code.clear();
        }
        if name == "fzf" || name == "sk" {
            for bind in values(&split, &["--bind"]) {
                code.extend(bind_commands(bind));
            }
        }
        for code in code {
            self.by_program(name, &code);
        }
    }

    /// Walks shell text that a program runs.
    pub(super) fn by_program(&mut self, name: &str, code: &str) {
        self.via.push(Carrier::Program(name.to_owned()));
        self.input_unknown(|walk| walk.shell_text(name, code, Vec::new()));
        self.via.pop();
    }

    fn lines_of_input(&mut self, name: &str, line: impl Fn(&mut Evaluator, &str, &str)) {
        let StdinText::Text(text) = self.input.clone() else { return };
        for text in text.lines().take(256) {
            line(self, name, text);
        }
    }

    /// Walks the `EXEC:`, `SYSTEM:` and `SHELL:` addresses; options follow after commas.
    fn socat(&mut self, words: &[String]) {
        for word in &words[1..] {
            let Some((kind, rest)) = word.split_once(':') else { continue };
            let path = rest.split(',').next().unwrap_or_default().to_owned();
            match kind.to_ascii_lowercase().as_str() {
                "file" | "open" | "gopen" => self.reads(&path, "socat"),
                "create" => self.writes(&path, "socat"),
                _ => {}
            }
            if !["exec", "system", "shell"].contains(&kind.to_ascii_lowercase().as_str()) {
                continue;
            }
            let mut code = String::new();
            let mut chars = rest.chars();
            while let Some(c) = chars.next() {
                match c {
                    ',' => break,
                    '\\' => code.extend(chars.next()),
                    _ => code.push(c),
                }
            }
            self.by_program("socat", &code);
        }
    }

    fn vim(&mut self, name: &str, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "cSuTtwWiU", long: &["--cmd"] };
        // `-es` and `-Es` are modes; the letters before a value are not always options of vim.
        let (split, operands) = options::anywhere(words, 1, &OPTIONS);
        let given: Vec<String> = values(&split, &["-c", "--cmd"]).map(str::to_owned).collect();
        let plus = operands.iter().filter_map(|word| word.strip_prefix('+')).map(str::to_owned);
        for line in given.into_iter().chain(plus) {
            for part in line.split('|') {
                self.ex_command(name, part);
            }
        }
        if name == "ex" || split.has(&["-s", "-e", "-E"]) {
            self.lines_of_input(name, Evaluator::ex_command);
        }
    }

    /// Walks one command of a line editor: `!x`, `r !x`, `w !x`, `call system('x')`, `lua …`.
    fn ex_command(&mut self, name: &str, line: &str) {
        let mut line = line.trim_start_matches([' ', '\t', ':', '%', '$', '.', ',']);
        line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',');
        for modifier in ["silent!", "silent", "sil!", "sil", "noautocmd", "exe", "execute", "keepjumps"] {
            if let Some(rest) = line.strip_prefix(modifier)
                && rest.starts_with([' ', '!', '"', '\''])
            {
                line = rest.trim_start_matches([' ', '"', '\'', ':']);
            }
        }
        if let Some(code) = line.strip_prefix('!') {
            return self.by_program(name, code);
        }
        let (verb, rest) = line.split_once([' ', '(', '!']).unwrap_or((line, ""));
        match verb {
            "r" | "read" | "w" | "write" | "e" | "edit" => {
                if let Some(code) = rest.trim_start().strip_prefix('!') {
                    self.by_program(name, code);
                }
            }
            "terminal" | "term" | "ter" | "make" => self.by_program(name, rest),
            "call" | "echo" | "let" | "put" => {
                for call in ["system(", "systemlist(", "jobstart(", "termopen(", "job_start(", "delete("] {
                    if let Some(at) = line.find(call)
                        && let Some(text) = quoted(line[at + call.len()..].trim_start_matches("expand("))
                    {
                        let code = if call == "delete(" { format!("rm -rf {text}") } else { text };
                        self.by_program(name, &code);
                    }
                }
            }
            "lua" => self.interpreter_code("lua", rest),
            "python" | "python3" | "py" | "py3" | "pyx" => self.interpreter_code("python3", rest),
            "perl" => self.interpreter_code("perl", rest),
            "ruby" => self.interpreter_code("ruby", rest),
            _ => {}
        }
    }

    fn emacs(&mut self, name: &str, words: &[String]) {
        const OPTIONS: ProgramOptions =
            ProgramOptions { letters: "elf", long: &["--eval", "--execute", "-eval", "--funcall", "--load"] };
        let (split, operands) = options::anywhere(words, 1, &OPTIONS);
        let given = values(&split, &["--eval", "--execute", "-eval", "-e"]).map(str::to_owned);
        let forms = given.chain(operands.into_iter().filter(|word| word.starts_with('(')));
        for form in forms.collect::<Vec<String>>() {
            for call in ["(shell-command ", "(shell-command-to-string ", "(async-shell-command ", "(compile "]
            {
                if let Some(at) = form.find(call)
                    && let Some(code) = quoted(&form[at + call.len()..])
                {
                    self.by_program(name, &code);
                }
            }
            for (call, with) in [("(delete-directory ", "rm -rf"), ("(delete-file ", "rm -f")] {
                if let Some(at) = form.find(call)
                    && let Some(path) = quoted(&form[at + call.len()..])
                {
                    self.by_program(name, &format!("{with} {path}"));
                }
            }
        }
    }

    fn debugger(&mut self, name: &str, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "oOsSkKxdpcn",
            long: &["-ex", "-iex", "--ex", "--eval-command", "-eval-command", "--one-line", "--source", "-x"],
        };
        // After `--args` comes the program, which runs only on request.
        let end = words.iter().position(|word| matches!(word.as_str(), "--args" | "-args"));
        let own = &words[..end.unwrap_or(words.len())];
        let (split, _) = options::anywhere(own, 1, &OPTIONS);
        let names = ["-ex", "-iex", "--ex", "--eval-command", "-eval-command", "-o", "-O", "--one-line"];
        let lines: Vec<String> = values(&split, &names).map(str::to_owned).collect();
        for line in lines {
            self.debugger_command(name, &line);
        }
        self.lines_of_input(name, Evaluator::debugger_command);
        if let Some(end) = end
            && let Some(inner) = words.get(end + 1..).filter(|inner| !inner.is_empty())
        {
            self.via.push(Carrier::Program(name.to_owned()));
            self.run(inner.to_vec(), Vec::new());
            self.via.pop();
        }
    }

    fn debugger_command(&mut self, name: &str, line: &str) {
        let line = line.trim();
        let line = line.strip_prefix("platform ").unwrap_or(line);
        if let Some(code) = line.strip_prefix('!') {
            return self.by_program(name, code);
        }
        match line.split_once(' ') {
            Some(("shell" | "make", code)) => self.by_program(name, code),
            Some(("python" | "py" | "pi" | "script", code)) => self.interpreter_code("python3", code),
            Some(("pipe" | "|", code)) => {
                if let Some((_, code)) = code.split_once('|') {
                    self.by_program(name, code);
                }
            }
            _ => {}
        }
    }

    /// Walks `.shell x` and `.system x`, and `.once |x` and `.output |x`, which print into a command.
    fn dot_command(&mut self, name: &str, line: &str) {
        let Some((verb, rest)) = line.trim_start().split_once(' ') else { return };
        let rest = rest.trim();
        match verb {
            ".shell" | ".system" | ".sh" | ".sy" => self.by_program(name, rest),
            ".once" | ".output" | ".import" | ".read" => {
                if let Some(code) = rest.trim_matches(['\'', '"']).strip_prefix('|') {
                    self.by_program(name, code);
                }
            }
            _ => {}
        }
    }

    /// Walks `\! x`, `system x` and `copy … program 'x'`.
    fn statement_code(&mut self, name: &str, text: &str) {
        if let Some((_, code)) = text.split_once("\\!") {
            self.by_program(name, code);
        }
        if matches!(name, "mysql" | "mariadb" | "mycli")
            && let Some(code) = text.trim_start().strip_prefix("system ")
        {
            self.by_program(name, code.trim_end_matches(';'));
        }
        let lower = text.to_ascii_lowercase();
        if lower.contains("copy")
            && let Some(at) = lower.find("program ")
            && let Some(code) = quoted(&text[at + "program ".len()..])
        {
            self.by_program(name, &code);
        }
    }

    fn osascript(&mut self, name: &str, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "els", long: &[] };
        let (split, _) = options::anywhere(words, 1, &OPTIONS);
        let lines: Vec<String> = values(&split, &["-e"]).map(str::to_owned).collect();
        let said = |walk: &mut Evaluator, name: &str, line: &str| {
            const CALL: &str = "do shell script ";
            if let Some(at) = line.find(CALL) {
                match quoted(&line[at + CALL.len()..]) {
                    Some(code) => walk.by_program(name, &code),
                    None => walk.doubt(DoubtKind::Dynamic, "code for osascript is known only at run time"),
                }
            }
        };
        for line in lines {
            said(self, name, &line);
        }
        self.lines_of_input(name, said);
    }

    /// Walks `spawn x`, `exec x` and `system x` of Tcl.
    fn tcl(&mut self, name: &str, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "cf", long: &[] };
        let split = options::leading(words, 1, &OPTIONS);
        let texts: Vec<String> = values(&split, &["-c"]).map(str::to_owned).collect();
        let said = |walk: &mut Evaluator, name: &str, text: &str| {
            for statement in text.split([';', '\n', '[']) {
                let statement = statement.trim().trim_end_matches(']');
                let statement = statement.strip_prefix("glob ").map_or_else(
                    || statement.to_owned(),
                    |paths| {
                        if text.contains("delete") {
                            format!("file delete {paths}")
                        } else {
                            paths.to_owned()
                        }
                    },
                );
                match statement.split_once(' ') {
                    Some(("spawn" | "exec" | "system", code)) => {
                        let code = code.trim_start_matches("-noecho ").trim_matches(['"', '{', '}']);
                        walk.by_program(name, code);
                    }
                    Some(("file", rest)) if rest.trim_start().starts_with("delete") => {
                        let paths = rest.trim_start().trim_start_matches("delete");
                        walk.by_program(name, &format!("rm -rf {}", paths.replace("-force", "")));
                    }
                    _ => {}
                }
            }
        };
        for text in texts {
            said(self, name, &text);
        }
        self.lines_of_input(name, said);
    }
}

pub(super) fn values<'s>(split: &'s Split, names: &'s [&str]) -> impl Iterator<Item = &'s str> {
    split
        .given
        .iter()
        .filter(|given| names.contains(&given.name.as_str()))
        .filter_map(|given| given.value.as_deref())
}

/// Returns the command in a setting of ssh, if there is one.
pub(crate) fn ssh_setting(setting: &str) -> Option<&str> {
    let (key, code) = setting.split_once(['=', ' '])?;
    let keys = ["proxycommand", "localcommand", "knownhostscommand"];
    keys.contains(&key.trim().to_ascii_lowercase().as_str()).then_some(code)
}

/// Returns the quoted text at the start, with its escapes decoded.
fn quoted(text: &str) -> Option<String> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut out = String::new();
    let mut chars = text[1..].chars();
    loop {
        match chars.next()? {
            '\\' => {
                out.push('\\');
                out.push(chars.next()?);
            }
            c if c == quote => break,
            c => out.push(c),
        }
    }
    Some(unknown::without_marks(&escapes::decode(&out, escapes::EscapeDialect::Format).0))
}

/// Returns the commands in `enter:execute(x)` or `ctrl-d:reload:x`.
fn bind_commands(bind: &str) -> Vec<String> {
    let mut found = Vec::new();
    for action in ["execute", "execute-silent", "reload", "become", "preview", "transform"] {
        let mut rest = bind;
        while let Some(at) = rest.find(action)
            && found.len() < 32
        {
            rest = &rest[at + action.len()..];
            let close = match rest.chars().next() {
                Some('(') => ')',
                Some('[') => ']',
                Some('{') => '}',
                Some(':') => {
                    found.push(rest[1..].to_owned());
                    break;
                }
                _ => continue,
            };
            let end = rest.rfind(close).unwrap_or(rest.len());
            found.push(rest[1..end].to_owned());
        }
    }
    found
}
