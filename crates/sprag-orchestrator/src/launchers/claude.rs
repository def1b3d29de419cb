//! Claude Code. Headless, it reads the brief from stdin and prints a stream. In a terminal Sprag reads its
//! transcript, which it finds by the session id that Sprag chose.

use std::path::PathBuf;

use sprag_host::sys::env::Env;
use sprag_host::sys::locations;
use sprag_plan::spec::AgentMode;
use sprag_plan::spec::client::{ClientName, StreamFormat};

use super::{HookSupport, LaunchOrder, Launcher, Prompt, words};

pub(crate) const LAUNCHER: Launcher = Launcher {
    known: ClientName::Claude,
    program: "claude",
    env: &[
        "ANTHROPIC_*",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
        "CLAUDE_CODE_MAX_RETRIES",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "API_TIMEOUT_MS",
        "AWS_REGION",
        "AWS_PROFILE",
        "AWS_BEARER_TOKEN_BEDROCK",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "CLOUD_ML_REGION",
    ],
    arguments,
    prompt: Prompt::Stdin,
    stream: Some(StreamFormat::Claude),
    talks: Some(talks),
    governed: HookSupport::Arguments,
    modes: &[AgentMode::Headless, AgentMode::Tmux],
};

/// Tools that a headless agent may use without a permission prompt. The user's deny and ask rules, and
/// Sprag's hooks, still come first.
const ALLOWED: &str = "Bash,Read,Write,Edit,MultiEdit,NotebookEdit,Glob,Grep,Agent,Task,TaskCreate,TaskUpdate,TaskGet,TaskList,TodoWrite,Skill,WebSearch";

fn arguments(order: &LaunchOrder<'_>) -> Vec<String> {
    let mut arguments = match order.mode {
        AgentMode::Headless => {
            let mut arguments = words(&["-p", "--output-format", "stream-json", "--verbose"]);
            arguments.extend(words(&["--permission-mode", "acceptEdits", "--allowedTools", ALLOWED]));
            if let Some(micros) = order.micros {
                arguments.extend(["--max-budget-usd".to_owned(), dollars(micros)]);
            }
            arguments
        }
        AgentMode::Tmux => words(&["--permission-mode", "acceptEdits"]),
    };
    arguments.extend(words(&["--session-id", order.session]));
    if let Some(settings) = order.settings {
        arguments.extend(["--settings".to_owned(), settings.display().to_string()]);
    }
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    if let Some(effort) = order.effort {
        arguments.extend(words(&["--effort", effort.name()]));
    }
    if order.mode == AgentMode::Tmux {
        arguments.extend(words(&["--", order.prompt]));
    }
    arguments
}

fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn talks(env: &Env) -> Option<PathBuf> {
    let config = env.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    Some(config.or_else(|| Some(locations::home(env)?.join(".claude")))?.join("projects"))
}
