//! Files in a user's home directory: credentials, which no agent needs, and files of each client, which its
//! agent needs.

use crate::spec::client::ClientName;

/// Files of a home directory that a client needs. Its settings, hooks and commands are never writable,
/// because the user's next session would run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    pub reads: &'static [&'static str],
    pub writes: &'static [&'static str],
    /// Paths below a writable directory that stay unchanged.
    pub pins: &'static [&'static str],
    /// The hosts of its model.
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
            // The user chooses the model: `network` has to name its host.
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

/// Paths that are hidden from every agent, except those that its own client reads. The list is never
/// complete; it names files that give access to other systems.
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
    // Logins of clients: each agent can read those of its own client.
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
