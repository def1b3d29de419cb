//! Carriers to another machine, container or terminal. The inner command runs on another host.

use super::Unwrapped;
use crate::eval::{Evaluator, StdinText};
use crate::expand::unknown;
use crate::paths::options::{self, ProgramOptions};
use crate::{Carrier, Host};

type Assignments = [(String, String)];

const SSH: ProgramOptions = ProgramOptions { letters: "BbcDEeFIiJLlmOopQRSWwPM", long: &["--ssh", "--port"] };

const DOCKER: ProgramOptions = ProgramOptions {
    letters: "aceHhlmpuvwf",
    long: &[
        "--add-host",
        "--annotation",
        "--attach",
        "--blkio-weight",
        "--cap-add",
        "--cap-drop",
        "--cgroup-parent",
        "--cgroupns",
        "--cidfile",
        "--config",
        "--context",
        "--cpu-shares",
        "--cpus",
        "--cpuset-cpus",
        "--detach-keys",
        "--device",
        "--dns",
        "--domainname",
        "--entrypoint",
        "--env",
        "--env-file",
        "--expose",
        "--file",
        "--gpus",
        "--group-add",
        "--health-cmd",
        "--host",
        "--hostname",
        "--ip",
        "--ipc",
        "--isolation",
        "--label",
        "--label-file",
        "--link",
        "--log-driver",
        "--log-level",
        "--log-opt",
        "--mac-address",
        "--memory",
        "--memory-swap",
        "--mount",
        "--name",
        "--network",
        "--net",
        "--network-alias",
        "--pid",
        "--pids-limit",
        "--platform",
        "--profile",
        "--project-directory",
        "--project-name",
        "--publish",
        "--pull",
        "--restart",
        "--runtime",
        "--security-opt",
        "--shm-size",
        "--stop-signal",
        "--stop-timeout",
        "--storage-opt",
        "--sysctl",
        "--tmpfs",
        "--ulimit",
        "--user",
        "--userns",
        "--uts",
        "--volume",
        "--volume-driver",
        "--volumes-from",
        "--workdir",
        "--index",
    ],
};

const KUBECTL: ProgramOptions = ProgramOptions {
    letters: "ncfls",
    long: &[
        "--namespace",
        "--container",
        "--context",
        "--cluster",
        "--kubeconfig",
        "--user",
        "--as",
        "--filename",
        "--server",
        "--token",
        "--pod-running-timeout",
        "--image",
        "--request-timeout",
    ],
};

impl Evaluator {
    pub(super) fn ssh(&mut self, name: &str, words: &[String], assigns: &Assignments) -> Unwrapped {
        let mut split = options::leading(words, 1, &SSH);
        let Some(host) = words.get(split.operands).cloned() else { return Unwrapped::Plain };
        // Options may follow the host too.
        let after = options::leading(words, split.operands + 1, &SSH);
        split.given.extend(after.given);
        let inner = words[after.operands..].join(" ");
        let local: Vec<String> = split
            .given
            .iter()
            .filter(|given| given.name == "-o")
            .filter_map(|given| given.value.as_deref())
            .filter_map(super::embedded::ssh_setting)
            .map(str::to_owned)
            .collect();
        for code in local {
            self.shell_text(name, &code, Vec::new());
        }
        let code = match (&self.input, inner.is_empty()) {
            (_, false) => inner,
            (StdinText::Text(text), true) => text.clone(),
            (StdinText::Inherited | StdinText::File(_), true) => return Unwrapped::Plain,
        };
        self.wrapper(words, assigns);
        self.elsewhere(&host, |walk| walk.shell_text(name, &code, Vec::new()));
        self.print_unknown();
        Unwrapped::Done
    }

    /// Handles `docker exec`, `docker run`, and the same below `compose`.
    pub(super) fn container(
        &mut self,
        name: &str,
        words: &[String],
        assigns: &Assignments,
    ) -> Option<Unwrapped> {
        let mut at = options::leading(words, 1, &DOCKER).operands;
        let mut verb = words.get(at)?.as_str();
        if matches!(verb, "compose" | "container") {
            at = options::leading(words, at + 1, &DOCKER).operands;
            verb = words.get(at)?.as_str();
        }
        if !matches!(verb, "exec" | "run") {
            return None;
        }
        let split = options::leading(words, at + 1, &DOCKER);
        let target = words.get(split.operands)?.clone();
        let mut inner: Vec<String> = words[split.operands + 1..].to_vec();
        if let Some(entry) = split.value(&["--entrypoint"]) {
            inner.insert(0, entry.to_owned());
        }
        self.inside(name, &target, inner, words, assigns)
    }

    /// Runs the words inside a container or machine; returns `None` if there are none.
    fn inside(
        &mut self,
        name: &str,
        target: &str,
        inner: Vec<String>,
        words: &[String],
        assigns: &Assignments,
    ) -> Option<Unwrapped> {
        if inner.is_empty() {
            return None;
        }
        self.wrapper(words, assigns);
        self.elsewhere(target, |walk| {
            walk.via.push(Carrier::Program(name.to_owned()));
            walk.run(inner, Vec::new());
            walk.via.pop();
        });
        Some(Unwrapped::Done)
    }

    pub(super) fn pod(&mut self, name: &str, words: &[String], assigns: &Assignments) -> Option<Unwrapped> {
        let mut at = options::leading(words, 1, &KUBECTL).operands;
        // `k3s kubectl exec`.
        if words.get(at).is_some_and(|word| word == "kubectl") {
            at = options::leading(words, at + 1, &KUBECTL).operands;
        }
        if !matches!(words.get(at)?.as_str(), "exec" | "run" | "debug" | "rsh") {
            return None;
        }
        let split = options::leading(words, at + 1, &KUBECTL);
        let target = words.get(split.operands)?.clone();
        let rest = &words[split.operands + 1..];
        let inner = match rest.iter().position(|word| word == "--") {
            Some(end) => rest[end + 1..].to_vec(),
            // The old form, without dashes.
            None => rest[options::leading(rest, 0, &KUBECTL).operands..].to_vec(),
        };
        self.inside(name, &target, inner, words, assigns)
    }

    /// Handles containers, virtual machines and devices: `lxc exec c -- x`, `machinectl shell c x`.
    pub(super) fn machine(
        &mut self,
        name: &str,
        words: &[String],
        assigns: &Assignments,
    ) -> Option<Unwrapped> {
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "nuwdpseaC",
            long: &[
                "--name",
                "--user",
                "--cwd",
                "--env",
                "--workdir",
                "--uid",
                "--setenv",
                "--app",
                "--zone",
                "--project",
                "--distribution",
                "--cd",
            ],
        };
        // Verbs, and whether the name of the machine follows them.
        let (verbs, named): (&[&str], bool) = match name {
            "lxc" | "incus" | "multipass" => (&["exec"], true),
            "limactl" | "machinectl" => (&["shell"], true),
            "distrobox" => (&["enter"], true),
            "tsh" | "gcloud" => (&["ssh"], true),
            "colima" => (&["ssh"], false),
            "heroku" | "flatpak" => (&["run"], name == "flatpak"),
            "adb" => (&["shell"], false),
            "wsl" | "pdsh" => (&[], false),
            _ => (&[], !words.iter().any(|word| matches!(word.as_str(), "-n" | "--name"))),
        };
        let table =
            if name == "wsl" { &ProgramOptions { letters: "ud", long: OPTIONS.long } } else { &OPTIONS };
        let mut at = options::leading(words, 1, table).operands;
        if !verbs.is_empty() {
            at = 1 + words.iter().position(|word| verbs.contains(&word.as_str()))?;
        }
        let split = options::leading(words, at, table);
        at = split.operands;
        let mut target = name.to_owned();
        if named {
            target = words.get(at)?.clone();
            at += 1;
            // Words after the application are its arguments.
            if name != "flatpak" {
                at = options::leading(words, at, table).operands;
            }
        }
        let rest = words.get(at..).unwrap_or_default();
        let mut inner = match rest.iter().position(|word| word == "--") {
            Some(end) => rest[end + 1..].to_vec(),
            None => rest.to_vec(),
        };
        if name == "flatpak" {
            // Without a given program the words are only arguments of the application.
            inner.insert(0, split.value(&["--command"])?.to_owned());
        }
        // Some programs pass one text to a shell.
        if let [code] = inner.as_slice()
            && code.contains(' ')
        {
            let code = code.clone();
            self.wrapper(words, assigns);
            self.elsewhere(&target, |walk| walk.shell_text(name, &code, Vec::new()));
            return Some(Unwrapped::Done);
        }
        self.inside(name, &target, inner, words, assigns)
    }

    pub(super) fn tmux(&mut self, words: &[String], assigns: &Assignments) -> Option<Unwrapped> {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "cefLlnpSstxyFNT", long: &[] };
        let mut at = options::leading(words, 1, &ProgramOptions { letters: "cfLST", long: &[] }).operands;
        let mut found = false;
        // `;` separates the commands of tmux.
        while let Some(verb) = words.get(at).map(String::as_str) {
            let end =
                words[at..].iter().position(|word| word == ";").map_or(words.len(), |length| at + length);
            let runs = matches!(
                verb,
                "new-session"
                    | "new"
                    | "new-window"
                    | "neww"
                    | "split-window"
                    | "splitw"
                    | "respawn-pane"
                    | "respawnp"
                    | "respawn-window"
                    | "respawnw"
                    | "run-shell"
                    | "run"
                    | "if-shell"
                    | "if"
                    | "pipe-pane"
                    | "pipep"
                    | "display-popup"
                    | "popup"
            );
            let keys = matches!(verb, "send-keys" | "send");
            if runs || keys {
                let split = options::leading(&words[..end], at + 1, &OPTIONS);
                let code: Vec<&str> = words[split.operands..end]
                    .iter()
                    .map(|word| {
                        if keys && matches!(word.as_str(), "Enter" | "C-m" | "KPEnter") {
                            "\n"
                        } else {
                            word.as_str()
                        }
                    })
                    .collect();
                if !code.is_empty() {
                    found = true;
                    let code = code.join(" ");
                    self.elsewhere("tmux", |walk| walk.shell_text("tmux", &code, Vec::new()));
                }
            }
            at = end + 1;
        }
        if !found {
            return None;
        }
        self.wrapper(words, assigns);
        Some(Unwrapped::Done)
    }

    pub(super) fn screen(&mut self, words: &[String], assigns: &Assignments) -> Option<Unwrapped> {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "cehpSstT", long: &[] };
        let split = options::leading(words, 1, &OPTIONS);
        let inner = &words[split.operands..];
        let (verb, rest) = inner.split_first()?;
        let code = if split.has(&["-X"]) {
            match verb.as_str() {
                "stuff" | "exec" => crate::expand::escapes::decode(
                    &rest.join(" "),
                    crate::expand::escapes::EscapeDialect::Format,
                )
                .0
                .replace("^M", "\n"),
                "screen" => rest.join(" "),
                _ => return None,
            }
        } else {
            return self.inside("screen", "screen", inner.to_vec(), words, assigns);
        };
        self.wrapper(words, assigns);
        self.elsewhere("screen", |walk| walk.shell_text("screen", &code, Vec::new()));
        Some(Unwrapped::Done)
    }

    /// Runs `inner` on another host, where local files and directories do not apply.
    fn elsewhere(&mut self, host: &str, inner: impl FnOnce(&mut Evaluator)) {
        let shown = if unknown::is_known(host) { host.to_owned() } else { "?".to_owned() };
        let host = std::mem::replace(&mut self.host, Host::Other(shown));
        let cwd = self.state.cwd.take();
        let files = std::mem::take(&mut self.files);
        inner(self);
        self.files = files;
        self.state.cwd = cwd;
        self.host = host;
    }
}
