//! The throwaway home and repository of the demo, and this program run in them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use sprag_host::git;
use sprag_host::sys::exec::{self, ProcessSpec};

use crate::failure::Failure;
use crate::output::{self, Tone};

/// The throwaway repository, home and program of a demo.
pub(crate) struct DemoWorld {
    home: PathBuf,
    pub(super) project: PathBuf,
    program: PathBuf,
    detail: Detail,
}

/// How much of the demo is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The decisive events.
    Short,
    /// Every event.
    Full,
}

/// Sprag's answer to what the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Allowed,
    /// A refusal or a hold, printed on the next line.
    Below,
}

/// Longest line of the short demo.
const SHORT_LINE: usize = 118;

impl DemoWorld {
    pub(super) fn new(root: &Path, detail: Detail) -> Result<DemoWorld, Failure> {
        let (home, project) = (root.join("home"), root.join("project"));
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&project)?;
        let stage = DemoWorld { home, project, program: std::env::current_exe()?, detail };
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
        let ran = git::in_own_repository(&self.project, args)
            .map_err(|error| Failure::demo(format!("cannot start git: {error}")).next("git --version"))?;
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

    pub(super) fn is_full(&self) -> bool {
        self.detail == Detail::Full
    }

    /// Prints what one of the actors says or does.
    pub(super) fn actor(&self, who: &str, tone: Tone, word: &str, text: &str) {
        let room = SHORT_LINE.saturating_sub(11 + word.chars().count());
        for (at, line) in text.lines().enumerate() {
            let (who, word) = if at == 0 { (who, word) } else { ("", "") };
            let line = if self.is_full() { line.to_owned() } else { output::cut(line, room) };
            output::toned(&[
                (Tone::Name, &format!("  {who:<7}")),
                (tone, word),
                (Tone::Plain, if word.is_empty() { "" } else { " " }),
                (Tone::Plain, &line),
            ]);
        }
    }

    /// Plays a shell call of the agent: the hook is asked, then the call is done unless it was refused.
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

    /// Plays a call of a tool that reads or writes a file of the project. `shown_in` is the shortest demo
    /// that prints the call.
    pub(super) fn file_tool(
        &self,
        shown_in: Detail,
        session: &str,
        tool: &str,
        mut input: Value,
        act: impl FnOnce(&Path) -> std::io::Result<Value>,
    ) -> Result<(), Failure> {
        let path = self.project.join(input["file_path"].as_str().unwrap_or_default());
        input["file_path"] = json!(path);
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "call-1"});
        let reply = match shown_in {
            Detail::Short => self.event(session, "PreToolUse", call.clone())?,
            Detail::Full => self.quietly(session, "PreToolUse", call.clone())?,
        };
        if reply["hookSpecificOutput"]["permissionDecision"] == "deny" {
            return Ok(());
        }
        let mut done = call;
        done["tool_response"] = act(&path)?;
        self.ask(session, "PostToolUse", done).map(|_| ())
    }

    /// Sends one event through the hook and prints both sides of it.
    pub(super) fn event(&self, session: &str, name: &str, more: Value) -> Result<Value, Failure> {
        let reply = self.ask(session, name, more.clone())?;
        let verdict = self.verdict(&reply);
        let answer = if verdict.is_none() { Answer::Allowed } else { Answer::Below };
        let text = |key: &str| more[key].as_str().unwrap_or_default().to_owned();
        match name {
            "UserPromptSubmit" => self.actor("user", Tone::Plain, "", &text("prompt")),
            "Stop" => self.act("stops:", &text("last_assistant_message"), answer),
            "PreToolUse" => {
                let input = &more["tool_input"];
                let path = input["file_path"].as_str().unwrap_or_default();
                let file = path.rsplit('/').next().unwrap_or(path);
                match input["command"].as_str() {
                    Some(command) => self.act("runs:", command, answer),
                    None => self.act("calls:", &format!("{} {file}", text("tool_name")), answer),
                }
            }
            _ if self.is_full() => self.actor("client", Tone::Dim, "", name),
            _ => {}
        }
        if let Some((tone, word, text)) = verdict {
            self.actor("sprag", tone, word, &text);
        }
        Ok(reply)
    }

    /// Sends an event that only the full demo prints.
    pub(super) fn quietly(&self, session: &str, name: &str, more: Value) -> Result<Value, Failure> {
        if self.is_full() { self.event(session, name, more) } else { self.ask(session, name, more) }
    }

    /// Prints what the agent does, and whether Sprag lets it.
    pub(super) fn act(&self, word: &str, text: &str, answer: Answer) {
        let text = match answer {
            Answer::Allowed => format!("{text}  (allowed)"),
            Answer::Below => text.to_owned(),
        };
        self.actor("agent", Tone::Plain, word, &text);
    }

    /// Returns what Sprag answered, with its tone; `None`: the call or stop is allowed without a word.
    fn verdict(&self, reply: &Value) -> Option<(Tone, &'static str, String)> {
        let specific = &reply["hookSpecificOutput"];
        let refusal = specific["permissionDecisionReason"].as_str().unwrap_or_default();
        let refusal: Value = serde_json::from_str(refusal).unwrap_or_default();
        let refusal = refusal["message"].as_str();
        let context = specific["additionalContext"].as_str();
        let (tone, word, text) = match (reply["reason"].as_str(), refusal, context) {
            (Some(reason), _, _) => (Tone::Bad, "holds the stop:", reason),
            (_, Some(refusal), _) => (Tone::Bad, "refuses:", refusal),
            (_, _, Some(context)) => (Tone::Good, "adds to the context:", context),
            (None, None, None) => return None,
        };
        let text =
            text.strip_prefix("sprag: ").unwrap_or(text).replace(&format!("{}/", self.project.display()), "");
        let lines: Vec<&str> = text.lines().filter(|line| self.is_full() || is_decisive(line)).collect();
        Some((tone, word, lines.join("\n")))
    }

    pub(super) fn ask(&self, session: &str, name: &str, mut payload: Value) -> Result<Value, Failure> {
        payload["session_id"] = json!(session);
        payload["hook_event_name"] = json!(name);
        payload["cwd"] = json!(self.project);
        let ran = self.sprag(&["hook", "claude"], payload.to_string().as_bytes())?;
        serde_json::from_slice(&ran.stdout)
            .map_err(|error| Failure::demo(format!("the hook did not answer: {error}")))
    }

    /// Plays a reviewer agent that starts, decides and stops.
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
        self.actor("review", Tone::Plain, "", &format!("agent `{agent}` decides {word}: {message}"));
        let mut call = who.clone();
        call["tool_name"] = json!("Bash");
        call["tool_input"] = json!({"command": format!("sprag decide {word} --summary ... --token ...")});
        self.quietly(session, "PreToolUse", call)?;
        let decide = ["decide", word, "--summary", message, "--session", session, "--token", token];
        let ran = self.sprag(&decide, b"")?;
        if !ran.succeeded() {
            return Err(Failure::demo("`sprag decide` failed"));
        }
        self.ask(session, "SubagentStop", who).map(|_| ())
    }

    /// Runs a `sprag` command as an agent does, and prints its output.
    pub(super) fn command(&self, args: &[&str], stdin: &str) -> Result<(), Failure> {
        let ran = self.sprag(args, stdin.as_bytes())?;
        self.actor("agent", Tone::Plain, "runs:", &format!("sprag {}", args.join(" ")));
        let printed = [&ran.stdout, &ran.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        self.actor("sprag", Tone::Plain, "", printed.concat().trim_end());
        if ran.succeeded() { Ok(()) } else { Err(Failure::demo(format!("`sprag {}` failed", args[0]))) }
    }

    /// Prints the output of a `sprag` command.
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
            dir: &self.project,
            env: &env,
            stdin,
            cap: 1 << 20,
            ..ProcessSpec::new(program, &args, deadline)
        };
        Ok(exec::run(&run)?)
    }
}

/// Reports whether a line of a message belongs into the short demo: the fact, the learning, the next step.
fn is_decisive(line: &str) -> bool {
    const LONGEST_STEP: usize = 60;
    let is_long_step = line.starts_with("  next:") && line.chars().count() > LONGEST_STEP;
    let is_more = ["start the agent", "details: ", "also open", "- reflection is due"];
    !is_long_step && !is_more.iter().any(|start| line.starts_with(start))
}
