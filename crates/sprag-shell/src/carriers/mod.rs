//! Carriers: programs that run another program. The table has one row per carrier, which describes its own
//! options and operands. The evaluator adds the inner command to the commands and the carrier to the
//! wrappers.

mod embedded;
mod remote;
mod script_files;
mod settings;
pub(crate) mod shells;
mod spread;
mod subcommands;
mod table;
mod unread;

use super::carriers::table::{opts, row};
use super::eval::Evaluator;
use super::expand::unknown;
use super::paths::options::{self, ProgramOptions};
use super::{Carrier, DoubtKind};

/// The result of unwrapping one command line.
pub(crate) enum Unwrapped {
    /// The carrier runs this command; `enter` is set if the carrier changes the directory.
    Inner { words: Vec<String>, assigns: Vec<(String, String)>, enter: Option<String> },
    /// The evaluator has walked everything that the command runs.
    Done,
    /// The command is not a carrier.
    Plain,
}

impl Evaluator {
    /// Removes one carrier from the front of a command.
    pub(super) fn unwrapped(
        &mut self,
        name: &str,
        words: &[String],
        assigns: &[(String, String)],
    ) -> Unwrapped {
        if let Some(step) = self.by_name(name, words, assigns) {
            return step;
        }
        let Some(row) = row(name, words) else { return Unwrapped::Plain };
        // These programs also write a file.
        if matches!(name, "strace" | "ltrace" | "time" | "gtime" | "perf" | "script") {
            self.paths(name, words, None);
        }
        let words = &self.spelled_out(words, &row.options);
        let mut split = options::leading(words, 1, &row.options);
        if !row.verbs.is_empty() {
            let verb = split.operands;
            let after = options::leading(words, verb + 1, &row.options);
            split.given.extend(after.given);
            split.operands = after.operands;
        }
        if split.has(row.inert) {
            return Unwrapped::Plain;
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
            return Unwrapped::Done;
        }
        let inner = words.get(at..).unwrap_or_default();
        // `--` between the operands of the carrier and the command: `direnv exec . -- x`.
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
            let shell = matches!(name, "sudo" | "doas") && split.has(&["-s", "-i", "--shell", "--login"])
                || matches!(name, "unshare" | "nsenter" | "chroot" | "script" | "pkexec");
            if shell && !found && self.is_fed() {
                self.stdin_code(name, words, assigns, Vec::new());
                return Unwrapped::Done;
            }
            return if found { Unwrapped::Done } else { Unwrapped::Plain };
        }
        if row.joined {
            self.wrapper(words, assigns);
            // Each operand of `hyperfine` is a separate command.
            let text = inner.join(if name == "hyperfine" { "\n" } else { " " });
            self.shell_text(name, &text, Vec::new());
            return Unwrapped::Done;
        }
        let enter = split.value(row.enter).map(str::to_owned);
        Unwrapped::Inner { words: inner.to_vec(), assigns: inner_assigns, enter }
    }

    /// Handles carriers that need more than a row.
    fn by_name(&mut self, name: &str, words: &[String], assigns: &[(String, String)]) -> Option<Unwrapped> {
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
            "lxc" | "incus" | "multipass" | "limactl" | "machinectl" | "distrobox" | "distrobox-enter"
            | "lxc-attach" | "flatpak" | "adb" | "wsl" | "heroku" | "tsh" | "pdsh" | "colima" | "gcloud" => {
                self.machine(name, words, assigns)
            }
            "bwrap" => Some(bubblewrap(words)),
            "capsh" => self.after(&["--"], &["bash"], words),
            "start-stop-daemon" => self.started(words),
            "lerna" | "onchange" | "reflex" | "guix" | "wait-for-it" => self.after(&["--"], &[], words),
            "ip" => self.after(&["exec"], &[], words).map(|step| match step {
                // `ip netns exec NAME …`.
                Unwrapped::Inner { words, assigns, enter } if words.len() > 1 => {
                    Unwrapped::Inner { words: words[1..].to_vec(), assigns, enter }
                }
                step => step,
            }),
            "yarn" if words.get(1).is_some_and(|word| word.starts_with("workspace")) => {
                self.after(&["exec", "dlx"], &[], words)
            }
            "uv" if words.get(1).is_some_and(|word| word == "tool") => self.after(&["run"], &[], words),
            "hatch" if words.get(1).is_some_and(|word| word == "env") => self.after(&["run"], &[], words),
            "just" => self.after(&["-c", "--command"], &[], words),
            "pwsh" | "powershell" | "nu" | "xonsh" | "elvish" | "cmd" => {
                self.other_shell(name, words, assigns)
            }
            "sops" => self.last_as_code("exec-env", words, assigns),
            "cargo" if words.get(1).is_some_and(|word| word == "watch") => self.cargo_watch(words, assigns),
            "pnpm" if words.get(1).is_some_and(|word| matches!(word.as_str(), "-c" | "--shell-mode")) => {
                self.last_as_code("exec", words, assigns)
            }
            // The loader of programs runs the one that it is given.
            _ if name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so" => {
                let at = words.iter().skip(1).position(|word| !word.starts_with('-'))?;
                Some(Unwrapped::Inner { words: words[at + 1..].to_vec(), assigns: Vec::new(), enter: None })
            }
            "tmux" => self.tmux(words, assigns),
            "screen" => self.screen(words, assigns),
            // `A-B=1 x` runs nothing in most shells and `x` in some.
            _ if words.len() > 1 && !words[0].contains('/') && any_assignment(&words[0]).is_some() => {
                Some(Unwrapped::Inner { words: words[1..].to_vec(), assigns: Vec::new(), enter: None })
            }
            // Git's own programs, by their names in its directory.
            _ if name.strip_prefix("git-").is_some_and(super::carriers::settings::is_git_builtin) => {
                let verb = name.strip_prefix("git-").unwrap_or(name);
                let mut inner = vec!["git".to_owned(), verb.to_owned()];
                inner.extend(words[1..].iter().cloned());
                Some(Unwrapped::Inner { words: inner, assigns: Vec::new(), enter: None })
            }
            "gh" if words.get(1).is_some_and(|word| word == "alias")
                && words.get(2).is_some_and(|word| word == "set") =>
            {
                self.gh_alias(words);
                None
            }
            _ if super::carriers::shells::is_shell(name) => Some(self.shell(name, words, assigns)),
            _ => None,
        }
    }

    /// Completes abbreviated long options such as `sudo --us root rm`, together with their value. Another
    /// option may start with the same letters, so this adds a doubt.
    fn spelled_out(&mut self, words: &[String], options: &ProgramOptions) -> Vec<String> {
        let mut words = words.to_vec();
        let mut at = 1;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && *word != "--").cloned() {
            let whole = options.long.iter().find(|long| options::abbreviates(&word, long) && word != **long);
            if let Some(whole) = whole {
                self.doubt(DoubtKind::Dynamic, &word);
                words[at] = (*whole).to_owned();
            }
            let taken = options::leading(&words[..words.len().min(at + 2)], at, options).operands;
            at = taken.max(at + 1);
        }
        words
    }

    fn env(&mut self, words: &[String], assigns: &[(String, String)]) -> Unwrapped {
        const OPTIONS: ProgramOptions = opts("uCSPa", &["--unset", "--chdir", "--split-string", "--argv0"]);
        let words = &self.spelled_out(words, &OPTIONS);
        let mut split = options::leading(words, 1, &OPTIONS);
        let mut at = split.operands;
        let mut inner_assigns = Vec::new();
        // A lone `-` means `-i`; some versions accept options after assignments too.
        while let Some(word) = words.get(at) {
            match any_assignment(word) {
                Some(assign) => inner_assigns.push(assign),
                None if word == "-" => {}
                None if word.starts_with('-') && word != "--" => {
                    let more = options::leading(words, at, &OPTIONS);
                    split.given.extend(more.given);
                    at = more.operands;
                    continue;
                }
                None => break,
            }
            at += 1;
        }
        let mut inner: Vec<String> = Vec::new();
        if let Some(text) = split.value(&["-S", "--split-string"]) {
            self.wrapper(words, assigns);
            // It splits words like a shell, without substitutions.
            let quoted = text.replace("\\_", " ").replace('`', "\\`").replace("$(", "\\$(");
            for word in split_words(&quoted) {
                inner.extend(self.fields(&word));
            }
            while let Some(assign) = inner.first().and_then(|word| any_assignment(word)) {
                inner_assigns.push(assign);
                inner.remove(0);
            }
        }
        inner.extend(words[at..].iter().cloned());
        if inner.is_empty() {
            return Unwrapped::Plain;
        }
        let enter = split.value(&["-C", "--chdir"]).map(str::to_owned);
        Unwrapped::Inner { words: inner, assigns: inner_assigns, enter }
    }

    fn su(&mut self, name: &str, words: &[String], assigns: &[(String, String)]) -> Unwrapped {
        const OPTIONS: ProgramOptions =
            opts("cgGsw", &["--command", "--group", "--shell", "--session-command"]);
        let (split, _) = options::anywhere(words, 1, &OPTIONS);
        match split.value(&["-c", "--command", "--session-command"]) {
            Some(text) => {
                self.wrapper(words, assigns);
                let text = text.to_owned();
                self.shell_text(name, &text, Vec::new());
                Unwrapped::Done
            }
            None if self.is_fed() => {
                self.stdin_code(name, words, assigns, Vec::new());
                Unwrapped::Done
            }
            None => Unwrapped::Plain,
        }
    }

    /// Walks the expansion in `gh alias set NAME EXPANSION`, because the same text may use the alias later.
    fn gh_alias(&mut self, words: &[String]) {
        let (split, operands) = options::anywhere(words, 3, &opts("", &[]));
        let Some(text) = operands.get(1).cloned() else { return };
        match text.strip_prefix('!') {
            Some(code) => self.shell_text("gh", code, Vec::new()),
            None if split.has(&["-s", "--shell"]) => self.shell_text("gh", &text, Vec::new()),
            None => self.shell_text("gh", &format!("gh {text}"), Vec::new()),
        }
    }

    /// Reports whether standard input comes from this text.
    fn is_fed(&self) -> bool {
        !matches!(self.input, super::eval::StdinText::Inherited)
    }

    /// Unwraps `nix develop -c x` and `nix shell p -c x`. Words after `nix run p --` are arguments of `p`.
    fn nix(&mut self, words: &[String], _assigns: &[(String, String)]) -> Unwrapped {
        match words.iter().position(|word| matches!(word.as_str(), "-c" | "--command")) {
            Some(at) if at + 1 < words.len() => {
                Unwrapped::Inner { words: words[at + 1..].to_vec(), assigns: Vec::new(), enter: None }
            }
            _ => Unwrapped::Plain,
        }
    }

    /// Returns the words after the first of these marks, with `program` in front.
    fn after(&mut self, marks: &[&str], program: &[&str], words: &[String]) -> Option<Unwrapped> {
        let at = words.iter().position(|word| marks.contains(&word.as_str()))?;
        let mut inner: Vec<String> = program.iter().map(|word| (*word).to_owned()).collect();
        inner.extend(words[at + 1..].iter().skip_while(|word| *word == "--").cloned());
        (!inner.is_empty()).then(|| Unwrapped::Inner { words: inner, assigns: Vec::new(), enter: None })
    }

    /// Handles a shell of another language. Its code is a doubt; simple code reads like that of a POSIX
    /// shell.
    fn other_shell(
        &mut self,
        name: &str,
        words: &[String],
        assigns: &[(String, String)],
    ) -> Option<Unwrapped> {
        let is_code = |word: &String| {
            matches!(
                word.to_ascii_lowercase().as_str(),
                "-c" | "-command" | "--commands" | "/c" | "-commandwithargs"
            )
        };
        let at = words.iter().position(is_code)?;
        let code = words.get(at + 1..).filter(|code| !code.is_empty())?.join(" ");
        let command = self.leaf(words, assigns);
        self.doubt_of(DoubtKind::Opaque, &format!("code for {name}"), command);
        self.shell_text(name, &code, Vec::new());
        Some(Unwrapped::Done)
    }

    /// Walks the last word as shell text, if `verb` is among the words.
    fn last_as_code(
        &mut self,
        verb: &str,
        words: &[String],
        assigns: &[(String, String)],
    ) -> Option<Unwrapped> {
        let at = words.iter().position(|word| word == verb)?;
        let code = words[at + 1..].last()?.clone();
        self.wrapper(words, assigns);
        self.shell_text(verb, &code, Vec::new());
        Some(Unwrapped::Done)
    }

    /// Unwraps `start-stop-daemon --start --exec x -- a b`.
    fn started(&mut self, words: &[String]) -> Option<Unwrapped> {
        const OPTIONS: ProgramOptions =
            opts("xapnucgrkdR", &["--exec", "--startas", "--pidfile", "--user", "--chuid"]);
        let split = options::leading(words, 1, &OPTIONS);
        let program = split.value(&["-a", "--startas", "-x", "--exec"])?.to_owned();
        let mut inner = vec![program];
        inner.extend(words[split.operands..].iter().cloned());
        Some(Unwrapped::Inner { words: inner, assigns: Vec::new(), enter: None })
    }

    /// Walks `cargo watch -s 'x'`, `-x 'test'` and `-- x`.
    fn cargo_watch(&mut self, words: &[String], assigns: &[(String, String)]) -> Option<Unwrapped> {
        const OPTIONS: ProgramOptions =
            opts("sxwidCN", &["--shell", "--exec", "--watch", "--ignore", "--delay"]);
        let split = options::leading(words, 2, &OPTIONS);
        let mut code: Vec<String> = Vec::new();
        for given in &split.given {
            let Some(value) = &given.value else { continue };
            match given.name.as_str() {
                "-s" | "--shell" => code.push(value.clone()),
                "-x" | "--exec" => code.push(format!("cargo {value}")),
                _ => {}
            }
        }
        let inner = words.get(split.operands..).unwrap_or_default();
        if code.is_empty() && inner.is_empty() {
            return None;
        }
        self.wrapper(words, assigns);
        for code in code {
            self.shell_text("cargo", &code, Vec::new());
        }
        if !inner.is_empty() {
            self.run(inner.to_vec(), Vec::new());
        }
        Some(Unwrapped::Done)
    }

    /// Walks shell text that `by` passes to another shell.
    pub(super) fn shell_text(&mut self, by: &str, text: &str, arguments: Vec<String>) {
        if !text.contains(|c: char| !unknown::is_hole(c) && !c.is_whitespace()) {
            if !unknown::is_known(text) {
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

/// Unwraps `bwrap`: options with up to three values, then the command.
fn bubblewrap(words: &[String]) -> Unwrapped {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += match word.as_str() {
            "--" => {
                at += 1;
                break;
            }
            "--bind" | "--bind-try" | "--dev-bind" | "--dev-bind-try" | "--ro-bind" | "--ro-bind-try"
            | "--symlink" | "--setenv" | "--file" | "--bind-data" | "--ro-bind-data" | "--chmod" => 3,
            "--proc" | "--dev" | "--tmpfs" | "--mqueue" | "--dir" | "--chdir" | "--unsetenv" | "--uid"
            | "--gid" | "--hostname" | "--lock-file" | "--sync-fd" | "--seccomp" | "--args" | "--perms"
            | "--size" | "--cap-add" | "--cap-drop" | "--remount-ro" | "--exec-label" | "--argv0" => 2,
            _ => 1,
        };
    }
    match words.get(at..).filter(|inner| !inner.is_empty()) {
        Some(inner) => Unwrapped::Inner { words: inner.to_vec(), assigns: Vec::new(), enter: None },
        None => Unwrapped::Plain,
    }
}

/// Reads `NAME=value` like `env`, which accepts any name.
fn any_assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    (!name.is_empty() && !name.starts_with('-')).then(|| (name.to_owned(), value.to_owned()))
}

/// Reads `NAME=value` with a valid shell name.
pub(crate) fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let valid = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then(|| (name.to_owned(), value.to_owned()))
}

/// Splits a text into raw words at blanks and respects quotes.
pub(crate) fn split_words(text: &str) -> Vec<String> {
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
