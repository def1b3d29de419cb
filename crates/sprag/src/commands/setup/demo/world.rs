//! The throwaway world of the demo: a home, a repository, and this program run in them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use sprag_host::git;
use sprag_host::sys::exec::{self, ProcessSpec};

use crate::failure::Failure;
use crate::output;

/// The throwaway world the script plays in.
pub(crate) struct DemoWorld {
    home: PathBuf,
    pub project: PathBuf,
    program: PathBuf,
}

impl DemoWorld {
    pub(super) fn new(root: &Path) -> Result<DemoWorld, Failure> {
        let (home, project) = (root.join("home"), root.join("project"));
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&project)?;
        let stage = DemoWorld { home, project, program: std::env::current_exe()? };
        let greeting = stage.project.join("greeting.txt");
        stage.git(&["init", "-q", "-b", "main"])?;
        fs::write(&greeting, "hello\n")?;
        stage.git(&["add", "."])?;
        stage.git(&["commit", "-q", "-m", "a greeting"])?;
        stage.git(&["switch", "-q", "-c", "loud"])?;
        fs::write(&greeting, "hello!\n")?;
        stage.git(&["commit", "-q", "-a", "-m", "a loud greeting"])?;
        stage.git(&["switch", "-q", "main"])?;
        fs::write(&greeting, "hello, world\n")?;
        stage.git(&["commit", "-q", "-a", "-m", "a wide greeting"])?;
        Ok(stage)
    }

    pub(super) fn git(&self, args: &[&str]) -> Result<(), Failure> {
        self.git_says(args).map(drop)
    }

    pub(super) fn git_says(&self, args: &[&str]) -> Result<String, Failure> {
        let ran = git::in_own_repository(&self.project, args).map_err(|error| {
            Failure::demo(format!("git cannot be started: {error}")).next("git --version")
        })?;
        if ran.succeeded() {
            Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
        } else {
            Err(Failure::demo(format!(
                "`git {}` failed: {}",
                args.join(" "),
                String::from_utf8_lossy(&ran.stderr)
            )))
        }
    }

    pub(super) fn say(&self, text: &str) {
        output::line(text);
    }

    pub(super) fn title(&self, text: &str) {
        output::line("");
        output::heading(text);
    }

    /// A shell call of the agent: asked for, done unless denied, reported.
    pub(super) fn tool(
        &self,
        session: &str,
        command: &str,
        act: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "call-1"});
        let reply = self.event(session, "PreToolUse", call.clone())?;
        if reply["hookSpecificOutput"]["permissionDecision"] != "deny" {
            act()?;
        }
        let mut done = call;
        done["tool_response"] = json!({"stdout": ""});
        self.ask(session, "PostToolUse", done).map(|_| ())
    }

    /// A call of a tool that reads or writes a file of the project.
    pub(super) fn file_tool(
        &self,
        session: &str,
        tool: &str,
        mut input: Value,
        act: impl FnOnce(&Path) -> std::io::Result<Value>,
    ) -> Result<(), Failure> {
        let path = self.project.join(input["file_path"].as_str().unwrap_or_default());
        input["file_path"] = json!(path);
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "call-1"});
        let reply = self.event(session, "PreToolUse", call.clone())?;
        if reply["hookSpecificOutput"]["permissionDecision"] == "deny" {
            return Ok(());
        }
        let mut done = call;
        done["tool_response"] = act(&path)?;
        self.ask(session, "PostToolUse", done).map(|_| ())
    }

    /// Sends one event through the hook and shows both sides of it.
    pub(super) fn event(&self, session: &str, name: &str, more: Value) -> Result<Value, Failure> {
        let reply = self.ask(session, name, more.clone())?;
        let about = ["prompt", "last_assistant_message"].iter().find_map(|key| more[*key].as_str());
        let input = &more["tool_input"];
        let file = input["file_path"].as_str().map(|path| path.rsplit('/').next().unwrap_or(path));
        let file = file.map(|file| format!("{} {file}", more["tool_name"].as_str().unwrap_or_default()));
        let about =
            about.or_else(|| input["command"].as_str()).map(str::to_owned).or(file).unwrap_or_default();
        output::line(format!("  {name:<17} {about}"));
        let specific = &reply["hookSpecificOutput"];
        let told = reply["reason"].as_str().or_else(|| specific["additionalContext"].as_str());
        let verdict = match (&reply["decision"], &specific["permissionDecision"]) {
            (Value::String(_), _) => "held",
            (_, Value::String(_)) => "denied",
            _ if told.is_some() => "told",
            _ => return Ok(reply),
        };
        let refusal = specific["permissionDecisionReason"].as_str().unwrap_or_default();
        let refusal: Value = serde_json::from_str(refusal).unwrap_or_default();
        let text = told.or_else(|| refusal["message"].as_str()).unwrap_or_default();
        for (at, line) in text.lines().enumerate() {
            output::line(format!("    {:<8} {line}", if at == 0 { verdict } else { "" }));
        }
        Ok(reply)
    }

    pub(super) fn ask(&self, session: &str, name: &str, mut payload: Value) -> Result<Value, Failure> {
        payload["session_id"] = json!(session);
        payload["hook_event_name"] = json!(name);
        payload["cwd"] = json!(self.project);
        let ran = self.sprag(&["hook", "claude"], payload.to_string().as_bytes())?;
        serde_json::from_slice(&ran.stdout)
            .map_err(|error| Failure::demo(format!("the hook did not answer: {error}")))
    }

    /// A reviewer agent starts, looks, decides and stops.
    pub(super) fn review(
        &self,
        session: &str,
        agent: &str,
        word: &str,
        message: &str,
    ) -> Result<(), Failure> {
        let who = json!({"agent_id": agent, "agent_type": "sprag-reviewer"});
        let told = self.ask(session, "SubagentStart", who.clone())?;
        let told = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
        let token = told.find("sprt_").and_then(|at| told.get(at..at + 37)).unwrap_or_default();
        output::line(format!("  {:<17} {agent}, with a token nobody else has", "SubagentStart"));
        let mut call = who.clone();
        call["tool_name"] = json!("Bash");
        call["tool_input"] = json!({"command": format!("sprag decide {word} --summary ... --token ...")});
        self.event(session, "PreToolUse", call)?;
        self.command(
            &[
                "decide",
                word,
                "--summary",
                message,
                "--message",
                message,
                "--session",
                session,
                "--token",
                token,
            ],
            "",
        )?;
        self.ask(session, "SubagentStop", who).map(|_| ())
    }

    /// A command of ours as an agent runs it, with what it prints.
    pub(super) fn command(&self, args: &[&str], stdin: &str) -> Result<(), Failure> {
        let ran = self.sprag(args, stdin.as_bytes())?;
        output::line(format!("  {:<17} sprag {}", "runs", args[0]));
        for line in
            String::from_utf8_lossy(&ran.stdout).lines().chain(String::from_utf8_lossy(&ran.stderr).lines())
        {
            output::line(format!("    {:<8} {line}", ""));
        }
        if ran.succeeded() { Ok(()) } else { Err(Failure::demo(format!("`sprag {}` failed", args[0]))) }
    }

    /// Lets a command of ours speak for itself.
    pub(super) fn show(&self, args: &[&str]) -> Result<(), Failure> {
        let ran = self.sprag(args, b"")?;
        for line in String::from_utf8_lossy(&ran.stdout).lines() {
            output::line(format!("  {line}"));
        }
        Ok(())
    }

    pub(super) fn sprag(&self, args: &[&str], stdin: &[u8]) -> Result<exec::ProcessOutput, Failure> {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let home = self.home.as_os_str();
        let env = [("SPRAG_HOME", home), ("HOME", home), ("NO_COLOR", OsStr::new("1"))];
        let deadline = Duration::from_secs(60);
        let program = self.program.as_os_str();
        let run = ProcessSpec {
            program,
            args: &args,
            dir: &self.project,
            env: &env,
            unset: &[],
            stdin,
            deadline,
            cap: 1 << 20,
        };
        Ok(exec::run(&run)?)
    }
}
