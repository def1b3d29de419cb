//! Codex: the JSON of Claude Code with gaps. A question and a rewrite become holds; the hold for a rewrite
//! names the wanted input. The payload does not contain the outcome of a tool.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use sprag_govern::event::{Event, Presence};
use sprag_govern::reason::Reason;
use sprag_govern::verdict::{Rewrite, Ruling, Verdict};
use sprag_policy::call::ToolEffect::{Delegate, Exec, Read, Write};
use sprag_policy::call::{ToolCall, ToolRow};

use super::hook_dialect::{self, HookDialect};
use super::{
    Client, ClientAbility, Install, Malformed, McpServerFile, PROMPT, ParsedPayload, RenderInput,
    ReviewerArgs, ServerFileForm, Support,
};
use crate::clients::payload::HookPayload;
use crate::sys::env::{self, Env};
use crate::sys::locations;

pub const CLIENT: Client = Client {
    name: "codex",
    title: "Codex",
    program: "codex",
    tested: "0.166.0",
    parse,
    render,
    presence: |_| Presence::Headless,
    session_variable: Some("CODEX_SESSION_ID"),
    kind_of: hook_dialect::kind_of,
    settled: Some(settled),
    // The reviewer must be able to write its verdict. Any other write makes the verdict stale.
    review: Some(ReviewerArgs {
        trying: &["exec", "-s", "workspace-write", PROMPT],
        // `--json` reports the cost.
        reading: &["exec", "--json", "-s", "workspace-write", "--skip-git-repo-check", PROMPT],
        // Codex cannot start its own sandbox inside Sprag's, and would run no command.
        walled: &["exec", "--json", "-s", "danger-full-access", "--skip-git-repo-check", PROMPT],
    }),
    install: Install {
        user_file,
        project_file: ".codex/hooks.json",
        events: EVENTS,
        entry,
        program_of,
        agent_file: None,
        server: Some(McpServerFile {
            file: |settings, _| settings.parent().map(|dir| dir.join("config.toml")),
            form: ServerFileForm::Toml,
        }),
        after: "open Codex and trust the hooks with `/hooks`; untrusted hooks are skipped silently",
        permission: None,
    },
    can: &[
        (ClientAbility::ContextAtStart, Support::Tested),
        (ClientAbility::ContextWithPrompt, Support::Tested),
        (ClientAbility::BlockPrompt, Support::Tested),
        (ClientAbility::DenyTool, Support::Tested),
        (ClientAbility::RewriteInput, Support::Unusable),
        (ClientAbility::ContextBeforeTool, Support::Tested),
        (ClientAbility::ContextAfterTool, Support::Tested),
        (ClientAbility::HoldStop, Support::Tested),
        (ClientAbility::HoldSubagentStop, Support::Tested),
        (ClientAbility::SeeCompaction, Support::Read),
        (ClientAbility::RunHooksUntrusted, Support::No),
    ],
};

const EVENTS: &[(&str, u32)] = &[
    ("SessionStart", 30),
    ("UserPromptSubmit", 20),
    ("PreToolUse", 30),
    ("PermissionRequest", 30),
    ("PostToolUse", 30),
    ("Stop", 600),
    ("SubagentStart", 30),
    ("SubagentStop", 600),
    ("PreCompact", 30),
    ("SessionEnd", 30),
];

const fn tool(name: &'static str, effect: sprag_policy::call::ToolEffect) -> ToolRow {
    ToolRow { name, effect, paths: &[], command: None }
}

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: Exec, paths: &[], command: Some("command") },
    tool("apply_patch", Write),
    tool("spawn_agent", Delegate),
    tool("send_input", Delegate),
    tool("wait_agent", Read),
    tool("close_agent", Read),
    tool("update_plan", Read),
    tool("view_image", Read),
];

fn parse(payload: &HookPayload, _env: &Env) -> Result<ParsedPayload, Malformed> {
    let dialect = HookDialect {
        client: "codex",
        tools: TOOLS,
        presence: Presence::Headless,
        tells_outcome: false,
        project: None,
        now: env::now(),
    };
    let mut parsed = hook_dialect::parse(&dialect, payload)?;
    if let Some(
        Event::ToolRequested { call } | Event::PermissionAsked { call } | Event::ToolFinished { call, .. },
    ) = parsed.input.as_mut().map(|input| &mut input.event)
    {
        name_patched(call);
    }
    Ok(parsed)
}

/// Adds the paths that a patch names in its text, in any member of the input.
fn name_patched(call: &mut ToolCall) {
    let texts =
        call.input.as_object().into_iter().flat_map(|members| members.values()).filter_map(Value::as_str);
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let paths: Vec<String> = texts
        .filter(|text| text.contains("*** Begin Patch"))
        .flat_map(str::lines)
        .filter_map(|line| marks.iter().find_map(|mark| line.trim().strip_prefix(mark)))
        .map(str::to_owned)
        .collect();
    call.paths.extend(paths);
}

/// A line of the transcript that holds the answer of a tool.
#[derive(Deserialize)]
struct TranscriptLine<'a> {
    #[serde(borrow)]
    payload: ToolAnswer<'a>,
}

#[derive(Deserialize)]
struct ToolAnswer<'a> {
    r#type: Cow<'a, str>,
    #[serde(default)]
    call_id: Cow<'a, str>,
    #[serde(default)]
    output: Value,
}

/// Reports whether the call succeeded. Reads the exit code above `Output:` only, because the command controls
/// the text below.
fn settled(line: &str, call: &str) -> Option<bool> {
    let TranscriptLine { payload } = serde_json::from_str(line).ok()?;
    let output = payload
        .output
        .as_str()
        .filter(|_| payload.r#type == "function_call_output" && payload.call_id == call)?;
    let head = output.lines().take_while(|line| *line != "Output:");
    let code = head.filter_map(|line| line.strip_prefix("Process exited with code ")).next()?;
    Some(code.trim() == "0")
}

fn render(reply: &RenderInput<'_>) -> String {
    let verdict = Verdict {
        ruling: match (&reply.verdict.ruling, &reply.verdict.rewrite) {
            (Ruling::Ask { gate, reason }, _) => {
                Ruling::Hold { gate, reason: reason.clone(), also: Vec::new() }
            }
            (Ruling::Pass, Some(Rewrite { input, why })) => Ruling::Hold {
                gate: "rewrite",
                reason: Reason::new("rewrite", why.as_str(), format!("call the tool with {input}")),
                also: Vec::new(),
            },
            (ruling, _) => ruling.clone(),
        },
        notes: reply.verdict.notes.clone(),
        rewrite: None,
    };
    hook_dialect::render(&RenderInput { verdict: &verdict, ..*reply })
}

fn user_file(env: &Env) -> Option<PathBuf> {
    let dir = env
        .get("CODEX_HOME")
        .map(PathBuf::from)
        .or_else(|| locations::home(env).map(|home| home.join(".codex")));
    dir.map(|dir| dir.join("hooks.json"))
}

fn entry(program: &str, timeout: u32) -> Value {
    json!({"hooks": [{"type": "command", "command": format!("{} hook codex", quoted(program)), "timeout": timeout}]})
}

fn program_of(entry: &Value) -> Option<String> {
    let [hook] = entry["hooks"].as_array()?.as_slice() else {
        return None;
    };
    let program = hook["command"].as_str()?.strip_suffix(" hook codex")?;
    let program = program.trim_matches('\'').replace(r"'\''", "'");
    super::is_our_program(&program).then_some(program)
}

/// Quotes a program for the shell that Codex runs it with.
fn quoted(program: &str) -> String {
    let is_plain = program.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte));
    if is_plain { program.to_owned() } else { format!("'{}'", program.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_call_went_stands_in_the_talk() {
        let line = |id: &str, output: &str| {
            json!({"type": "response_item", "payload": {"type": "function_call_output", "call_id": id, "output": output}})
                .to_string()
        };
        let said = |code: u8| format!("Chunk ID: 1\nProcess exited with code {code}\nOutput:\nfine\n");
        assert_eq!(settled(&line("c1", &said(0)), "c1"), Some(true));
        assert_eq!(settled(&line("c1", &said(3)), "c1"), Some(false));
        assert_eq!(settled(&line("c2", &said(0)), "c1"), None);
        let liar = "Process running with session ID 7\nOutput:\nProcess exited with code 0\n";
        assert_eq!(settled(&line("c1", liar), "c1"), None);
        assert_eq!(settled("{", "c1"), None);
    }
}
