//! What lies in a user's home: keys to other places, which no agent needs, and what each client keeps about itself,
//! which its own agent cannot do without.

use crate::spec::client::ClientName;

/// What a client needs of a home. Its settings, hooks and commands are read and never written: the user's next
/// session would run what was put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    pub reads: &'static [&'static str],
    pub writes: &'static [&'static str],
    /// What stays as it is, of a place that is written as a whole.
    pub pins: &'static [&'static str],
    /// Where its model is.
    pub hosts: &'static [&'static str],
}

pub fn home_of(client: ClientName) -> Home {
    match client {
        ClientName::Claude => Home {
            reads: &[".claude", ".claude.json"],
            writes: &[
                ".claude/projects",
                ".claude/todos",
                ".claude/tasks",
                ".claude/plans",
                ".claude/statsig",
                ".claude/telemetry",
                ".claude/debug",
                ".claude/shell-snapshots",
                ".claude/session-env",
                ".claude/file-history",
                ".claude/paste-cache",
                ".claude/cache",
                ".claude/sessions",
                ".claude/backups",
            ],
            pins: &[],
            hosts: &["api.anthropic.com", "platform.claude.com", "console.anthropic.com"],
        },
        ClientName::Codex => Home {
            reads: &[],
            // Its databases lie beside its settings.
            writes: &[".codex"],
            pins: &[
                ".codex/config.toml",
                ".codex/hooks.json",
                ".codex/AGENTS.md",
                ".codex/rules",
                ".codex/prompts",
                ".codex/skills",
            ],
            hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
        },
        ClientName::Gemini => Home {
            reads: &[".gemini"],
            writes: &[".gemini/tmp", ".gemini/history"],
            pins: &[],
            hosts: &[
                "generativelanguage.googleapis.com",
                "cloudcode-pa.googleapis.com",
                "oauth2.googleapis.com",
            ],
        },
        ClientName::Copilot => Home {
            reads: &[".copilot", ".config/github-copilot"],
            writes: &[".copilot/session-state", ".copilot/logs", ".copilot/history-session-state"],
            pins: &[],
            hosts: &["api.github.com", "*.githubcopilot.com"],
        },
        ClientName::OpenCode => Home {
            reads: &[".config/opencode", ".local/share/opencode"],
            writes: &[
                ".local/share/opencode/storage",
                ".local/share/opencode/log",
                ".local/share/opencode/snapshot",
                ".local/state/opencode",
                ".cache/opencode",
            ],
            pins: &[],
            // It has a model of the user's choice: `network` has to name where that is.
            hosts: &[],
        },
        ClientName::Cursor => Home {
            reads: &[".cursor", ".config/cursor"],
            writes: &[".cursor/chats", ".cursor/projects"],
            pins: &[],
            hosts: &["*.cursor.sh", "*.cursor.com"],
        },
    }
}

/// Hidden from every agent, but for what its own client reads. A list of names is never whole; these are the ones that
/// open something elsewhere.
pub const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".docker",
    ".netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".vault-token",
    ".terraform.d",
    ".terraformrc",
    ".boto",
    ".s3cfg",
    ".fly",
    ".oci",
    ".age",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/gh",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/git/credentials",
    ".config/gcloud",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden CLI",
    ".config/sops",
    ".config/rclone",
    ".config/doctl",
    ".config/heroku",
    ".config/containers/auth.json",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".mozilla",
    ".thunderbird",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".local/share/fish/fish_history",
    // Other clients' logins: each gets its own back.
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".copilot",
    ".config/github-copilot",
    ".config/opencode",
    ".local/share/opencode",
    ".cursor",
    ".config/cursor",
];
