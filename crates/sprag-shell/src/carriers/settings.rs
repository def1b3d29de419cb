//! Settings and variables whose value is a command: pagers, editors, transports, hooks.

use crate::eval::Evaluator;
use crate::expand::unknown;
use crate::{Carrier, DoubtKind};

/// Variables whose value is a command for the program that reads them.
const CODE: &[&str] = &[
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "SSH_ASKPASS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BAT_PAGER",
    "DELTA_PAGER",
    "GH_PAGER",
    "GH_EDITOR",
    "GH_BROWSER",
    "SYSTEMD_PAGER",
    "PSQL_EDITOR",
    "KUBE_EDITOR",
    "SUDO_EDITOR",
    "SUDO_ASKPASS",
    "FZF_DEFAULT_COMMAND",
    "RSYNC_RSH",
    "CVS_RSH",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "LESSOPEN",
    "LESSCLOSE",
    "PROMPT_COMMAND",
    "BROWSER",
    "RUSTC_WRAPPER",
    "CC",
    "CXX",
];

/// Marks a configured command in `calls` while it is walked; no program has this name.
const CONFIGURED: &str = "\0configured";

/// Variables that name a file with code.
const FILES: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "LD_PRELOAD",
    "LD_AUDIT",
    "PYTHONSTARTUP",
    "PERL5DB",
    "NODE_OPTIONS",
    "RUBYOPT",
    "PERL5OPT",
];

impl Evaluator {
    /// Walks the commands in the variables that a program starts with.
    pub(crate) fn configured(&mut self, name: &str, assigns: &[(String, String)]) {
        let mut found: Vec<(String, String)> = assigns.to_vec();
        let asks = matches!(
            name,
            "git"
                | "man"
                | "crontab"
                | "less"
                | "gh"
                | "psql"
                | "systemctl"
                | "journalctl"
                | "visudo"
                | "sudoedit"
                | "kubectl"
        );
        // A pager may start a program that has a pager; the evaluator walks each only once.
        let outer = self.calls.iter().any(|call| call == CONFIGURED);
        if asks && !outer {
            let exported = self.state.variables.iter().filter(|(variable, value)| {
                value.exported
                    && (CODE.contains(&variable.as_str()) || name == "git" && variable.starts_with("GIT_"))
            });
            found.extend(
                exported
                    .filter_map(|(name, variable)| Some((name.clone(), variable.values.first()?.clone()))),
            );
            found.dedup();
        }
        if found.is_empty() {
            return;
        }
        self.calls.push(CONFIGURED.to_owned());
        for (variable, value) in &found {
            if CODE.contains(&variable.as_str()) {
                // `LESSOPEN="|x %s"`.
                let value = value.trim_start_matches(['|', '-', ' ']);
                self.via.push(Carrier::Program(name.to_owned()));
                self.shell_text(variable, value, Vec::new());
                self.via.pop();
            } else if FILES.contains(&variable.as_str()) && !value.is_empty() && value != "/dev/null" {
                match self.file(value).map(str::to_owned) {
                    Some(text) => self.shell_text(variable, &text, Vec::new()),
                    None => self.doubt(DoubtKind::Opaque, &format!("{variable}={value}")),
                }
            } else if let Some(number) = variable.strip_prefix("GIT_CONFIG_KEY_") {
                let other = format!("GIT_CONFIG_VALUE_{number}");
                let setting = found.iter().find(|(name, _)| *name == other);
                let setting = setting.map_or(unknown::HOLE.to_string(), |(_, value)| value.clone());
                self.git_setting(&value.to_ascii_lowercase(), &setting);
            } else if variable.starts_with("GIT_TRACE") && value.starts_with(['/', unknown::HOLE]) {
                self.writes(value, "git");
            } else if variable.starts_with("BASH_FUNC_") {
                let body = value.trim_start().trim_start_matches("()").to_owned();
                self.shell_text(variable, &body, vec![unknown::MANY.to_string()]);
            } else if variable == "PS4" {
                self.reference(value);
            } else if variable == "PATH" {
                // A program of the same name may come first in `PATH`.
                self.doubt(DoubtKind::Opaque, &format!("PATH={value}"));
            } else if variable == "GIT_CONFIG_PARAMETERS" {
                self.doubt(DoubtKind::Dynamic, "GIT_CONFIG_PARAMETERS");
            }
        }
        self.calls.pop();
    }

    /// Walks the value of a git setting, if it is code.
    pub(super) fn git_setting(&mut self, key: &str, value: &str) {
        let last = key.rsplit('.').next().unwrap_or(key);
        let code = match key {
            "core.pager"
            | "core.editor"
            | "core.sshcommand"
            | "core.askpass"
            | "core.gitproxy"
            | "sequence.editor"
            | "diff.external"
            | "gpg.program"
            | "uploadpack.packobjectshook"
            | "interactive.difffilter"
            | "core.alternaterefscommand" => true,
            // A program, unless the value only switches the builtin monitor.
            "core.fsmonitor" => !matches!(value, "true" | "false" | "0" | "1" | ""),
            "core.hookspath" => {
                if !matches!(value, "" | "/dev/null") {
                    self.doubt(DoubtKind::Opaque, &format!("hooks in {value}"));
                }
                false
            }
            _ => {
                key.starts_with("pager.") && !matches!(value, "true" | "false")
                    || matches!(last, "helper") && key.starts_with("credential")
                    || matches!(
                        last,
                        "cmd" | "driver" | "clean" | "smudge" | "process" | "textconv" | "command"
                    ) && ["difftool.", "mergetool.", "merge.", "filter.", "diff.", "browser.", "man."]
                        .iter()
                        .any(|start| key.starts_with(start))
            }
        };
        if !code {
            return;
        }
        let text = if key.starts_with("credential") {
            // Other helpers are names of git's own programs.
            match value.strip_prefix('!') {
                Some(code) => code,
                None => return,
            }
        } else {
            value
        };
        self.via.push(Carrier::Program("git".to_owned()));
        self.shell_text("git", text, Vec::new());
        self.via.pop();
    }
}

/// Reports whether a verb is a builtin of git, which no alias can replace.
pub(crate) fn is_git_builtin(verb: &str) -> bool {
    const BUILTINS: &[&str] = &[
        "add",
        "am",
        "annotate",
        "apply",
        "archive",
        "bisect",
        "blame",
        "branch",
        "bundle",
        "cat-file",
        "check-attr",
        "check-ignore",
        "checkout",
        "checkout-index",
        "cherry",
        "cherry-pick",
        "clean",
        "clone",
        "commit",
        "commit-tree",
        "config",
        "count-objects",
        "describe",
        "diff",
        "diff-files",
        "diff-index",
        "diff-tree",
        "difftool",
        "fast-export",
        "fast-import",
        "fetch",
        "filter-branch",
        "for-each-ref",
        "format-patch",
        "fsck",
        "gc",
        "grep",
        "hash-object",
        "help",
        "index-pack",
        "init",
        "log",
        "ls-files",
        "ls-remote",
        "ls-tree",
        "maintenance",
        "merge",
        "merge-base",
        "mergetool",
        "mktree",
        "mv",
        "notes",
        "pack-refs",
        "prune",
        "pull",
        "push",
        "range-diff",
        "read-tree",
        "rebase",
        "reflog",
        "remote",
        "repack",
        "replace",
        "rerere",
        "reset",
        "restore",
        "rev-list",
        "rev-parse",
        "revert",
        "rm",
        "shortlog",
        "show",
        "show-ref",
        "sparse-checkout",
        "stash",
        "status",
        "submodule",
        "switch",
        "symbolic-ref",
        "tag",
        "update-index",
        "update-ref",
        "var",
        "verify-commit",
        "version",
        "whatchanged",
        "worktree",
        "write-tree",
    ];
    BUILTINS.contains(&verb)
}
