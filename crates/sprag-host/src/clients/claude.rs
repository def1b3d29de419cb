//! Claude Code. Its hooks have an exec form, so no shell runs between Claude Code and Sprag.

use std::path::PathBuf;

use serde_json::{Value, json};

use sprag_govern::event::Presence;
use sprag_policy::call::ToolEffect::{Delegate, Exec, Net, Read, Write};
use sprag_policy::call::ToolRow;

use super::hook_dialect::{self, HookDialect};
use super::{
    Client, ClientAbility, Install, Malformed, McpServerFile, PROMPT, ParsedPayload, ReviewerArgs,
    ServerFileForm, Support,
};
use crate::clients::payload::HookPayload;
use crate::sys::env::{self, Env};
use crate::sys::locations;

/// Arguments of a reviewer that only reads the work of a stage: files and git.
const READING: &[&str] = &[
    "-p",
    PROMPT,
    // Reports the cost.
    "--output-format",
    "json",
    "--setting-sources",
    "user",
    "--strict-mcp-config",
    "--allowedTools",
    "Read,Grep,Glob,Bash(git diff:*),Bash(git log:*),Bash(git show:*),Bash(git blame:*),Bash(sprag decide:*)",
    "--disallowedTools",
    "Write,Edit,MultiEdit,NotebookEdit,WebFetch,WebSearch,Agent,Task",
];

pub const CLIENT: Client = Client {
    name: "claude",
    title: "Claude Code",
    program: "claude",
    tested: "2.1.325",
    parse,
    render: hook_dialect::render,
    presence,
    session_variable: Some("CLAUDE_CODE_SESSION_ID"),
    kind_of: hook_dialect::kind_of,
    settled: None,
    review: Some(ReviewerArgs {
        trying: &["-p", PROMPT, "--allowedTools", "Bash,Read,Grep,Glob"],
        reading: READING,
        walled: READING,
    }),
    install: Install {
        user_file,
        project_file: ".claude/settings.json",
        events: EVENTS,
        entry,
        program_of,
        agent_file: Some("agents/sprag-reviewer.md"),
        // Claude Code keeps writing to its user list of servers, so Sprag adds to the project list only.
        server: Some(McpServerFile {
            file: |_, worktree| worktree.map(|worktree| worktree.join(".mcp.json")),
            form: ServerFileForm::Json,
        }),
        after: "start a new Claude Code session",
        permission: Some(|command| format!("Bash(sprag {command}:*)")),
    },
    can: &[
        (ClientAbility::ContextAtStart, Support::Tested),
        (ClientAbility::ContextWithPrompt, Support::Tested),
        (ClientAbility::BlockPrompt, Support::Tested),
        (ClientAbility::DenyTool, Support::Tested),
        (ClientAbility::RewriteInput, Support::Tested),
        (ClientAbility::ContextBeforeTool, Support::Tested),
        (ClientAbility::ContextAfterTool, Support::Tested),
        (ClientAbility::HoldStop, Support::Tested),
        (ClientAbility::HoldSubagentStop, Support::Tested),
        (ClientAbility::SeeCompaction, Support::Tested),
        (ClientAbility::RunHooksUntrusted, Support::Tested),
    ],
};

/// Events of Sprag's hooks. `WorktreeCreate` is left out because it replaces `git worktree`. `PostToolBatch`
/// is left out because its block ends the turn and loses the reason.
const EVENTS: &[(&str, u32)] = &[
    ("SessionStart", 30),
    ("UserPromptSubmit", 20),
    ("PreToolUse", 30),
    ("PermissionRequest", 30),
    ("PostToolUse", 30),
    ("PostToolUseFailure", 30),
    ("Stop", 600),
    ("StopFailure", 30),
    ("SubagentStart", 30),
    ("SubagentStop", 600),
    ("TaskCompleted", 600),
    ("PreCompact", 30),
    ("Notification", 30),
    ("SessionEnd", 30),
];

const fn tool(
    name: &'static str,
    effect: sprag_policy::call::ToolEffect,
    paths: &'static [&'static str],
) -> ToolRow {
    ToolRow { name, effect, paths, command: None }
}

pub const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: Exec, paths: &[], command: Some("command") },
    tool("Read", Read, &["file_path"]),
    tool("Glob", Read, &["path"]),
    tool("Grep", Read, &["path"]),
    tool("LS", Read, &["path"]),
    tool("NotebookRead", Read, &["notebook_path"]),
    tool("Write", Write, &["file_path"]),
    tool("Edit", Write, &["file_path"]),
    tool("MultiEdit", Write, &["file_path"]),
    tool("NotebookEdit", Write, &["notebook_path"]),
    tool("WebFetch", Net, &[]),
    tool("WebSearch", Net, &[]),
    tool("Agent", Delegate, &[]),
    tool("Task", Delegate, &[]),
    tool("TaskCreate", Read, &[]),
    tool("TaskUpdate", Read, &[]),
    tool("TaskGet", Read, &[]),
    tool("TaskList", Read, &[]),
    tool("TaskOutput", Read, &[]),
    tool("TodoWrite", Read, &[]),
    tool("BashOutput", Read, &[]),
    tool("ToolSearch", Read, &[]),
    tool("AskUserQuestion", Read, &[]),
    tool("EnterPlanMode", Read, &[]),
    tool("ExitPlanMode", Read, &[]),
    tool("Skill", Read, &[]),
];

fn parse(payload: &HookPayload, env: &Env) -> Result<ParsedPayload, Malformed> {
    // Copilot also runs the hooks of `.claude/settings.json`. Its events must not count as events of Claude
    // Code.
    if env.get("COPILOT_CLI").is_some() {
        return Ok(ParsedPayload { native: String::new(), input: None });
    }
    let dialect = HookDialect {
        client: "claude",
        tools: TOOLS,
        presence: presence(env),
        tells_outcome: true,
        // `cwd` is not the project, because it follows the agent's `cd`.
        project: env.text("CLAUDE_PROJECT_DIR").filter(|dir| dir.starts_with('/')),
        now: env::now(),
    };
    hook_dialect::parse(&dialect, payload)
}

fn presence(env: &Env) -> Presence {
    let is_headless = env.text("CLAUDE_CODE_ENTRYPOINT").is_some_and(|from| from.starts_with("sdk"));
    if is_headless { Presence::Headless } else { Presence::Attended }
}

fn user_file(env: &Env) -> Option<PathBuf> {
    let dir = env
        .get("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| locations::home(env).map(|home| home.join(".claude")));
    dir.map(|dir| dir.join("settings.json"))
}

fn entry(program: &str, timeout: u32) -> Value {
    json!({"hooks": [{"type": "command", "command": program, "args": ["hook", "claude"], "timeout": timeout}]})
}

fn program_of(entry: &Value) -> Option<String> {
    let [hook] = entry["hooks"].as_array()?.as_slice() else {
        return None;
    };
    let args = hook["args"].as_array()?;
    let is_call = args.first()? == "hook" && args.get(1)? == "claude";
    hook["command"].as_str().filter(|program| is_call && super::is_our_program(program)).map(str::to_owned)
}
