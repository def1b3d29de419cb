//! Paths that a command names without a table entry, and secret variables that it prints or sends.

use crate::PathUse;
use crate::eval::{Evaluator, StdinText};
use crate::expand::unknown::SECRET;

/// Programs that do not show the content of the files that they name.
const NAME_ONLY: &[&str] = &[
    "[",
    "[[",
    "alias",
    "ansible",
    "ansible-playbook",
    "basename",
    "cd",
    "chsh",
    "code",
    "declare",
    "df",
    "dir",
    "dirname",
    "docker",
    "du",
    "echo",
    "eza",
    "exa",
    "export",
    "fd",
    "file",
    "git",
    "helm",
    "id",
    "kubectl",
    "local",
    "lsd",
    "ls",
    "lsattr",
    "lsof",
    "mount",
    "mountpoint",
    "namei",
    "open",
    "podman",
    "printf",
    "pushd",
    "pwd",
    "readlink",
    "readonly",
    "realpath",
    "set",
    "sftp-server",
    "ssh",
    "ssh-add",
    "ssh-copy-id",
    "ssh-keygen",
    "sshd",
    "stat",
    "systemctl",
    "terraform",
    "test",
    "tofu",
    "tree",
    "type",
    "umask",
    "unset",
    "vagrant",
    "visudo",
    "whereis",
    "which",
    "xdg-open",
];

/// Programs that send their words and their input away.
const SENDING: &[&str] = &[
    "curl", "dig", "drill", "finger", "ftp", "host", "http", "https", "mail", "mailx", "nc", "ncat",
    "netcat", "nslookup", "ping", "ping6", "sendmail", "socat", "telnet", "wget", "whois", "xh", "xhs",
];

/// Options whose value authenticates a request.
const AUTHENTICATING: &[&str] = &[
    "-H",
    "--header",
    "-u",
    "--user",
    "--oauth2-bearer",
    "-b",
    "--cookie",
    "--proxy-user",
    "-a",
    "--auth",
    "--password",
    "-A",
];

/// Reports whether a header or another value authenticates a request. A header of another name sends the
/// secret to anyone.
fn authenticates(word: &str) -> bool {
    const NAMES: &[&str] =
        &["auth", "token", "key", "cookie", "secret", "pass", "credential", "session", "sign", "bearer"];
    match word.trim_start_matches("-H").trim_start_matches("--header=").split_once(": ") {
        Some((name, _)) => {
            let name = name.to_ascii_lowercase();
            NAMES.iter().any(|known| name.contains(known))
        }
        None => true,
    }
}

impl Evaluator {
    /// Records absolute paths among the words of a program that the table does not list.
    pub(super) fn named_paths(&mut self, name: &str, words: &[String], command: Option<usize>) {
        if NAME_ONLY.contains(&name) {
            return;
        }
        for word in words.iter().skip(1) {
            // `--file=/x`, `if=/x`, `@/x`, `file:///x`.
            let path = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            let path = path.strip_prefix('@').or_else(|| path.strip_prefix("file://")).unwrap_or(path);
            if path.len() > 1 && (path.starts_with('/') || path.starts_with("~/")) {
                self.names(path, name, command);
            }
        }
    }

    /// Records secret variables that a command prints or sends.
    pub(crate) fn named_secrets(&mut self, name: &str, words: &[String], command: Option<usize>) {
        let is_printed = matches!(name, "echo" | "printf") && self.pipes == 0;
        let is_sent = SENDING.contains(&name);
        if !is_printed && !is_sent {
            return;
        }
        let is_shown = |at: usize| {
            let is_option = AUTHENTICATING.contains(&words[at - 1].as_str())
                || words[at].starts_with("-H")
                || words[at].starts_with("--header=")
                || words[at].starts_with("-u");
            let is_header = is_option && authenticates(&words[at]);
            words[at].contains(SECRET) && !(is_sent && is_header)
        };
        let is_piped = matches!(&self.input, StdinText::Text(text) if text.contains(SECRET));
        if (1..words.len()).any(is_shown) || is_sent && is_piped {
            self.names("/proc/self/environ/secret", name, command);
        }
    }

    /// Records one path that a command names.
    pub(crate) fn names(&mut self, path: &str, by: &str, command: Option<usize>) {
        let path =
            PathUse { path: crate::eval::path_word(path), cwd: self.place(), by: by.to_owned(), command };
        if !self.script.names.contains(&path) {
            self.script.names.push(path);
        }
    }
}
