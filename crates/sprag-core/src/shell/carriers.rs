//! Programs that run another program: one row each, saying how to step over what is theirs. What
//! stays is the inner command; the carrier itself is only told.

use super::Carrier;
use super::DoubtKind;
use super::hole;
use super::options;
use super::options::Options;
use super::walk::Walk;

/// What became of one command line.
pub(super) enum Step {
    /// It runs this; the directory is given if the carrier changes it.
    Inner { words: Vec<String>, assigns: Vec<(String, String)>, enter: Option<String> },
    /// All it does has been walked.
    Done,
    /// It is no carrier.
    Plain,
}

/// One carrier.
#[derive(Clone, Copy)]
pub(super) struct Row {
    names: &'static [&'static str],
    /// One of these words must come first (`uv run`); none if empty.
    verbs: &'static [&'static str],
    options: Options,
    /// Words between its options and the inner command: `timeout 5 …`.
    operands: usize,
    /// `NAME=value` may stand before the inner command.
    assigns: bool,
    /// Options whose value is shell text.
    code: &'static [&'static str],
    /// Options with which it runs nothing.
    inert: &'static [&'static str],
    /// Options whose value is where the inner command runs.
    enter: &'static [&'static str],
    /// The inner words are joined and given to a shell.
    joined: bool,
}

/// More operands than there ever are: only the options hold commands.
const ONLY_OPTIONS: usize = 99;

const ROW: Row = Row {
    names: &[],
    verbs: &[],
    options: Options { letters: "", long: &[] },
    operands: 0,
    assigns: false,
    code: &[],
    inert: &[],
    enter: &[],
    joined: false,
};

const fn opts(letters: &'static str, long: &'static [&'static str]) -> Options {
    Options { letters, long }
}

const ROWS: &[Row] = &[
    Row {
        names: &["sudo"],
        options: opts(
            "CDghpRrTtUu",
            &[
                "--user",
                "--group",
                "--prompt",
                "--close-from",
                "--chdir",
                "--host",
                "--chroot",
                "--role",
                "--type",
                "--other-user",
                "--command-timeout",
            ],
        ),
        assigns: true,
        inert: &["-l", "--list", "-v", "--validate", "-K", "--remove-timestamp", "-V", "--version"],
        enter: &["-D", "--chdir"],
        ..ROW
    },
    Row { names: &["doas"], options: opts("Cu", &[]), assigns: true, inert: &["-L"], ..ROW },
    Row { names: &["pkexec", "gksudo", "gksu"], options: opts("u", &["--user"]), ..ROW },
    Row {
        names: &["runuser"],
        options: opts(
            "ugGcsw",
            &["--user", "--group", "--supp-group", "--command", "--shell", "--session-command"],
        ),
        code: &["-c", "--command", "--session-command"],
        ..ROW
    },
    Row { names: &["nice"], options: opts("n", &["--adjustment"]), ..ROW },
    Row {
        names: &["ionice"],
        options: opts("cnpPu", &["--class", "--classdata", "--pid", "--pgid", "--uid"]),
        inert: &["-p", "--pid", "-P", "-u"],
        ..ROW
    },
    Row {
        names: &["nohup", "setsid", "builtin", "busybox", "toybox", "catchsegv", "unbuffer", "torsocks"],
        ..ROW
    },
    Row {
        names: &["timeout", "gtimeout"],
        options: opts("ks", &["--kill-after", "--signal"]),
        operands: 1,
        ..ROW
    },
    Row { names: &["time", "gtime"], options: opts("fo", &["--format", "--output"]), ..ROW },
    Row { names: &["stdbuf", "gstdbuf"], options: opts("ioe", &["--input", "--output", "--error"]), ..ROW },
    Row {
        names: &["unshare"],
        options: opts(
            "GRSw",
            &["--setgid", "--root", "--setuid", "--wd", "--map-user", "--map-group", "--propagation"],
        ),
        enter: &["-w", "--wd"],
        ..ROW
    },
    Row { names: &["nsenter"], options: opts("tSGr", &["--target", "--setuid", "--setgid"]), ..ROW },
    Row { names: &["chroot"], options: opts("", &["--userspec", "--groups"]), operands: 1, ..ROW },
    Row {
        names: &["flock"],
        options: opts("wEc", &["--timeout", "--wait", "--conflict-exit-code", "--command"]),
        operands: 1,
        code: &["-c", "--command"],
        ..ROW
    },
    Row {
        names: &["strace", "ltrace", "dtruss"],
        options: opts("aAbeEIonOpPsSuUX", &["--trace", "--output"]),
        ..ROW
    },
    Row {
        names: &["valgrind", "heaptrack", "perf-trace", "rlwrap", "proxychains", "proxychains4", "xvfb-run"],
        ..ROW
    },
    Row {
        names: &["perf"],
        verbs: &["stat", "record", "trace"],
        options: opts("eopF", &["--output"]),
        ..ROW
    },
    Row {
        names: &["script"],
        options: opts("cEIoBOTm", &["--command"]),
        operands: 1,
        code: &["-c", "--command"],
        ..ROW
    },
    Row {
        names: &["systemd-run"],
        options: opts(
            "pEutHMGr",
            &[
                "--property",
                "--setenv",
                "--unit",
                "--uid",
                "--gid",
                "--working-directory",
                "--machine",
                "--slice",
                "--host",
            ],
        ),
        enter: &["--working-directory"],
        ..ROW
    },
    Row { names: &["systemd-inhibit"], options: opts("", &["--what", "--who", "--why", "--mode"]), ..ROW },
    Row { names: &["command"], inert: &["-v", "-V"], ..ROW },
    Row { names: &["exec"], options: opts("a", &[]), ..ROW },
    Row { names: &["taskset"], options: opts("p", &["--pid"]), operands: 1, inert: &["-p", "--pid"], ..ROW },
    Row { names: &["chrt"], options: opts("TPD", &[]), operands: 1, inert: &["-p", "--pid"], ..ROW },
    Row { names: &["numactl"], options: opts("NmCip", &["--cpunodebind", "--membind"]), ..ROW },
    Row { names: &["setpriv"], options: opts("", &["--reuid", "--regid", "--groups"]), ..ROW },
    Row { names: &["prlimit"], inert: &["-p", "--pid"], ..ROW },
    Row { names: &["caffeinate"], options: opts("tw", &[]), ..ROW },
    Row { names: &["arch"], options: opts("", &["-arch"]), ..ROW },
    Row { names: &["dbus-run-session", "dbus-launch", "firejail", "cpulimit", "faketime"], ..ROW },
    Row { names: &["sg"], options: opts("c", &[]), operands: 1, code: &["-c"], joined: true, ..ROW },
    Row {
        names: &["watchexec"],
        options: opts("wefisd", &["--watch", "--exts", "--filter", "--ignore"]),
        joined: true,
        ..ROW
    },
    Row { names: &["entr"], options: opts("", &[]), ..ROW },
    Row {
        names: &["nodemon"],
        options: opts("xwe", &["--exec", "--watch", "--ext"]),
        code: &["-x", "--exec"],
        operands: ONLY_OPTIONS,
        ..ROW
    },
    Row {
        names: &["hyperfine"],
        options: opts(
            "wmMrpcnSu",
            &["--warmup", "--runs", "--prepare", "--cleanup", "--setup", "--export-json"],
        ),
        code: &["-p", "--prepare", "-c", "--cleanup", "--setup", "-s"],
        joined: true,
        ..ROW
    },
    // Package runners and environments.
    Row {
        names: &["npx", "bunx", "pnpx"],
        options: opts("pcw", &["--package", "--call", "--workspace", "--prefix"]),
        code: &["-c", "--call"],
        ..ROW
    },
    Row {
        names: &["npm", "pnpm"],
        verbs: &["exec", "x", "dlx"],
        options: opts("cwC", &["--package", "--call", "--workspace", "--prefix", "--filter", "--dir"]),
        code: &["-c", "--call"],
        ..ROW
    },
    Row { names: &["yarn"], verbs: &["exec", "dlx"], options: opts("p", &["--cwd", "--package"]), ..ROW },
    Row { names: &["bun"], verbs: &["x"], options: opts("", &["--cwd"]), ..ROW },
    Row {
        names: &["uv"],
        verbs: &["run"],
        options: opts(
            "pmP",
            &[
                "--with",
                "--extra",
                "--group",
                "--package",
                "--python",
                "--project",
                "--directory",
                "--env-file",
                "--with-requirements",
                "--with-editable",
                "--index",
                "--only-group",
                "--no-group",
            ],
        ),
        enter: &["--directory"],
        ..ROW
    },
    Row { names: &["uvx"], options: opts("p", &["--from", "--with", "--python"]), ..ROW },
    Row {
        names: &["poetry", "pipenv", "rye", "pdm", "hatch", "pixi"],
        verbs: &["run"],
        options: opts("CPe", &["--directory"]),
        ..ROW
    },
    Row { names: &["bundle", "bundler"], verbs: &["exec"], options: opts("", &["--gemfile"]), ..ROW },
    Row {
        names: &["conda", "mamba", "micromamba"],
        verbs: &["run"],
        options: opts("np", &["--name", "--prefix", "--cwd"]),
        enter: &["--cwd"],
        ..ROW
    },
    Row {
        names: &["mise", "rtx"],
        verbs: &["exec", "x"],
        options: opts("cCj", &["--command", "--cd"]),
        code: &["-c", "--command"],
        enter: &["-C", "--cd"],
        ..ROW
    },
    Row { names: &["asdf"], verbs: &["exec"], ..ROW },
    Row { names: &["rustup"], verbs: &["run"], operands: 1, ..ROW },
    Row { names: &["direnv"], verbs: &["exec"], operands: 1, ..ROW },
    Row {
        names: &["aws-vault"],
        verbs: &["exec"],
        options: opts("d", &["--duration", "--region"]),
        operands: 1,
        ..ROW
    },
    Row {
        names: &["op", "doppler", "infisical", "chamber", "dotenvx", "teller"],
        verbs: &["run"],
        options: opts("pcef", &["--env-file", "--project", "--config", "--env"]),
        ..ROW
    },
    Row { names: &["dotenv"], options: opts("ef", &["--file"]), verbs: &[], ..ROW },
    Row { names: &["devbox"], verbs: &["run"], options: opts("c", &["--config"]), ..ROW },
    Row {
        names: &["nix-shell"],
        options: opts("pIAE", &["--run", "--command", "--packages", "--arg", "--argstr"]),
        code: &["--run", "--command"],
        operands: ONLY_OPTIONS,
        ..ROW
    },
];

fn row(name: &str, words: &[String]) -> Option<&'static Row> {
    ROWS.iter().find(|row| {
        row.names.contains(&name)
            && (row.verbs.is_empty() || {
                let split = options::leading(words, 1, &row.options);
                words.get(split.operands).is_some_and(|verb| row.verbs.contains(&verb.as_str()))
            })
    })
}

impl Walk {
    /// One carrier off the front of a command.
    pub(super) fn unwrapped(&mut self, name: &str, words: &[String], assigns: &[(String, String)]) -> Step {
        if let Some(step) = self.by_name(name, words, assigns) {
            return step;
        }
        let Some(row) = row(name, words) else { return Step::Plain };
        let mut split = options::leading(words, 1, &row.options);
        if !row.verbs.is_empty() {
            let verb = split.operands;
            let after = options::leading(words, verb + 1, &row.options);
            split.given.extend(after.given);
            split.operands = after.operands;
        }
        if split.has(row.inert) {
            return Step::Plain;
        }
        let mut at = split.operands;
        let mut inner_assigns = Vec::new();
        if row.assigns {
            while let Some((name, value)) = words.get(at).and_then(|word| assignment(word)) {
                inner_assigns.push((name, value));
                at += 1;
            }
        }
        let texts: Vec<&str> = split
            .given
            .iter()
            .filter(|given| row.code.contains(&given.name.as_str()))
            .filter_map(|given| given.value.as_deref())
            .collect();
        let found = !texts.is_empty();
        if found {
            self.wrapper(words, assigns);
            for text in texts {
                self.shell_text(name, text, Vec::new());
            }
        }
        at += row.operands;
        // `flock file -c text`.
        if words.get(at).is_some_and(|word| row.code.contains(&word.as_str()))
            && let Some(text) = words.get(at + 1)
        {
            self.wrapper(words, assigns);
            self.shell_text(name, text, Vec::new());
            return Step::Done;
        }
        let inner = words.get(at..).unwrap_or_default();
        // `--` between the carrier's operands and the command: `direnv exec . -- x`.
        let inner = if at > split.operands || !row.verbs.is_empty() {
            inner.strip_prefix(&["--".to_owned()]).unwrap_or(inner)
        } else {
            inner
        };
        // Tool and version words before the `--`: `mise exec node@20 -- x`.
        let inner = match inner.iter().position(|word| word == "--") {
            Some(end) if matches!(name, "mise" | "rtx" | "aws-vault" | "chamber" | "op" | "doppler") => {
                &inner[end + 1..]
            }
            _ => inner,
        };
        if inner.is_empty() {
            return if found { Step::Done } else { Step::Plain };
        }
        if row.joined {
            self.wrapper(words, assigns);
            // Each operand of `hyperfine` is a command of its own.
            let text = inner.join(if name == "hyperfine" { "\n" } else { " " });
            self.shell_text(name, &text, Vec::new());
            return Step::Done;
        }
        let enter = split.value(row.enter).map(str::to_owned);
        Step::Inner { words: inner.to_vec(), assigns: inner_assigns, enter }
    }

    /// Carriers that need more than a row.
    fn by_name(&mut self, name: &str, words: &[String], assigns: &[(String, String)]) -> Option<Step> {
        match name {
            "env" | "genv" => Some(self.env(words, assigns)),
            "su" => Some(self.su(name, words, assigns)),
            // Without `-u` it is `su`.
            "runuser" if !words.iter().any(|word| word == "-u" || word.starts_with("--user")) => {
                Some(self.su(name, words, assigns))
            }
            "eval" => Some(self.eval(words, assigns)),
            "source" | "." => Some(self.source(words, assigns)),
            "trap" => Some(self.trap(words, assigns)),
            "mapfile" | "readarray" => Some(self.mapfile(words, assigns)),
            "at" | "batch" | "crontab" => Some(self.schedule(name, words, assigns)),
            "make" | "gmake" => Some(self.make(words, assigns)),
            "nix" => Some(self.nix(words, assigns)),
            "xargs" | "gxargs" => Some(self.xargs(words, assigns)),
            "parallel" => Some(self.parallel(words, assigns)),
            "find" | "gfind" => Some(self.find(words, assigns)),
            "fd" | "fdfind" => Some(self.fd(words, assigns)),
            "watch" => Some(self.watch(words, assigns)),
            "ssh" | "mosh" | "autossh" => Some(self.ssh(name, words, assigns)),
            "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose" => {
                self.container(name, words, assigns)
            }
            "kubectl" | "oc" | "k3s" | "microk8s" => self.pod(name, words, assigns),
            "tmux" => self.tmux(words, assigns),
            "screen" => self.screen(words, assigns),
            _ if super::shells::is_shell(name) => Some(self.shell(name, words, assigns)),
            _ => None,
        }
    }

    fn env(&mut self, words: &[String], assigns: &[(String, String)]) -> Step {
        const OPTIONS: Options = opts("uCSP", &["--unset", "--chdir", "--split-string", "--block-signal"]);
        let split = options::leading(words, 1, &OPTIONS);
        let mut at = split.operands;
        let mut inner_assigns = Vec::new();
        // A lone `-` is `-i`.
        while let Some(word) = words.get(at) {
            match assignment(word) {
                Some(assign) => inner_assigns.push(assign),
                None if word == "-" => {}
                None => break,
            }
            at += 1;
        }
        let mut inner: Vec<String> = Vec::new();
        if let Some(text) = split.value(&["-S", "--split-string"]) {
            self.wrapper(words, assigns);
            // It splits like a shell, without substitutions.
            let quoted = text.replace('`', "\\`").replace("$(", "\\$(");
            for word in split_words(&quoted) {
                inner.extend(self.fields(&word));
            }
            while let Some(assign) = inner.first().and_then(|word| assignment(word)) {
                inner_assigns.push(assign);
                inner.remove(0);
            }
        }
        inner.extend(words[at..].iter().cloned());
        if inner.is_empty() {
            return Step::Plain;
        }
        let enter = split.value(&["-C", "--chdir"]).map(str::to_owned);
        Step::Inner { words: inner, assigns: inner_assigns, enter }
    }

    fn su(&mut self, name: &str, words: &[String], assigns: &[(String, String)]) -> Step {
        const OPTIONS: Options = opts("cgGsw", &["--command", "--group", "--shell", "--session-command"]);
        let (split, _) = options::anywhere(words, 1, &OPTIONS);
        match split.value(&["-c", "--command", "--session-command"]) {
            Some(text) => {
                self.wrapper(words, assigns);
                let text = text.to_owned();
                self.shell_text(name, &text, Vec::new());
                Step::Done
            }
            None => Step::Plain,
        }
    }

    /// `nix develop -c x`, `nix shell p -c x`, `nix run p -- x`.
    fn nix(&mut self, words: &[String], _assigns: &[(String, String)]) -> Step {
        match words.iter().position(|word| matches!(word.as_str(), "-c" | "--command")) {
            Some(at) if at + 1 < words.len() => {
                Step::Inner { words: words[at + 1..].to_vec(), assigns: Vec::new(), enter: None }
            }
            _ => Step::Plain,
        }
    }

    /// Shell text handed to another shell by `by`.
    pub(super) fn shell_text(&mut self, by: &str, text: &str, arguments: Vec<String>) {
        if !text.contains(|c: char| !hole::is_hole(c) && !c.is_whitespace()) {
            if !hole::is_known(text) {
                self.doubt(DoubtKind::Dynamic, &format!("code for {by} is known only at run time"));
            }
            return;
        }
        let state = self.fork();
        self.state = state.for_child();
        self.state.arguments = Some(arguments);
        self.same_shell_text(text, Carrier::Shell(by.to_owned()));
        self.state = state;
    }
}

/// `NAME=value`.
pub(super) fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let valid = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then(|| (name.to_owned(), value.to_owned()))
}

/// Raw words of a text between blanks, quotes respected.
pub(super) fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (_, '\\') if quote != Some('\'') => {
                word.push(c);
                word.extend(chars.next());
                continue;
            }
            _ => {}
        }
        word.push(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}
