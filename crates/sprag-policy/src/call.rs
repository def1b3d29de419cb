//! A tool call: its name, its possible effect and the paths that it names. Each client's file has the table
//! of its tools and their effects.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::redact;
use sprag_base::text::Text;
use sprag_shell::{Doubt, DoubtKind, Script, ShellStart};

#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that the client gives the call, if any.
    pub id: Option<Text<128>>,
    pub name: Text<128>,
    pub effect: ToolEffect,
    /// Paths that the call names, as written.
    pub paths: Vec<String>,
    /// The command line of a shell tool.
    pub command: Option<String>,
    pub input: Value,
    /// Whether `input` is complete. Sprag cuts over-long payloads when it reads them.
    pub whole: InputCompleteness,
}

/// The strongest effect that a call can have. A tool that is not in a table is `Exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolEffect {
    Read,
    /// Gives work to another agent. Sprag judges each call of that agent separately.
    Delegate,
    Net,
    Write,
    Exec,
}

sprag_base::names! {
    pub fn name(ToolEffect):
    Read = "read", Delegate = "delegate", Net = "net", Write = "write", Exec = "exec"
}

impl ToolEffect {
    pub fn changes_the_world(self) -> bool {
        matches!(self, ToolEffect::Write | ToolEffect::Exec)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputCompleteness {
    Yes,
    /// Too long: strings were shortened and members may be missing.
    Cut {
        names_us: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    Ok,
    Failed {
        error: Text<500>,
    },
    /// The client does not report the outcome; a later event may.
    Unknown,
    /// The call only started a process that still runs.
    Launched,
}

impl ToolOutcome {
    pub fn name(&self) -> &'static str {
        match self {
            ToolOutcome::Ok => "ok",
            ToolOutcome::Failed { .. } => "failed",
            ToolOutcome::Unknown => "unknown",
            ToolOutcome::Launched => "launched",
        }
    }
}

/// One row of a client's tool table.
pub struct ToolRow {
    pub name: &'static str,
    pub effect: ToolEffect,
    /// Members of the input that hold a path.
    pub paths: &'static [&'static str],
    /// Member of the input that holds a command line.
    pub command: Option<&'static str>,
}

impl ToolCall {
    /// Classifies a call by the table of its client. A tool that is not in the table, such as an MCP tool, is
    /// `Exec`.
    pub fn new(
        table: &[ToolRow],
        name: &str,
        input: Value,
        id: Option<&str>,
        whole: InputCompleteness,
    ) -> ToolCall {
        let row = table.iter().find(|tool| tool.name == name);
        let member = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        ToolCall {
            id: id.map(Text::from),
            name: Text::from(name),
            effect: row.map_or(ToolEffect::Exec, |tool| tool.effect),
            paths: row.map_or(&[][..], |tool| tool.paths).iter().filter_map(|key| member(key)).collect(),
            command: match row {
                Some(tool) => {
                    let line = tool.command.and_then(|key| command_line(input.get(key)?));
                    line.map(|line| within_dir(&input, line))
                }
                None => unlisted(&input),
            },
            whole,
            input,
        }
    }

    /// Reports whether the call waits for an answer of the user.
    pub fn asks_the_user(&self) -> bool {
        is_question(self.name.as_str())
    }

    /// Parses the command line.
    pub fn parse_script(&self, start: &ShellStart) -> Option<Script> {
        let mut script = Script::parse(self.command.as_ref()?, start);
        if self.whole != InputCompleteness::Yes {
            let about = Text::from("a call too long to be read in full");
            script.doubts.push(Doubt { kind: DoubtKind::Limit, about, command: None });
        }
        Some(script)
    }

    /// Describes the call for people, without secrets.
    pub fn summary(&self) -> Text<200> {
        match (&self.command, self.paths.is_empty()) {
            (Some(command), _) => redact::short(command),
            (None, false) => redact::short(&self.paths.join(" ")),
            // Redact before writing JSON, because an escape would hide where a word starts.
            (None, true) => redact::short(&redact::value(self.input.clone()).into_inner().to_string()),
        }
    }

    /// Reports whether `name` occurs in a text of the call that could hold a path.
    pub fn mentions(&self, name: &str) -> bool {
        self.texts().iter().any(|text| text.contains(name))
    }

    /// Returns all texts in the input.
    pub fn values(&self) -> Vec<&str> {
        let mut found = Vec::new();
        texts(&self.input, &mut found);
        found
    }

    fn texts(&self) -> Vec<&str> {
        let mut found: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        match &self.command {
            Some(command) => found.push(command),
            None if self.paths.is_empty() => texts(&self.input, &mut found),
            None => {}
        }
        found
    }

    /// Returns the words of the call among which a path could be. For a tool that is not in a table these are
    /// the words of every text in its input.
    pub fn words(&self) -> Vec<&str> {
        let is_mark = |c: char| c.is_whitespace() || "\"'`;|&<>()={},".contains(c);
        self.texts()
            .into_iter()
            .flat_map(|text| text.split(is_mark))
            .filter(|word| !word.is_empty())
            .collect()
    }
}

/// Members of unlisted tools that hold a command line.
const LINES: &[&str] = &[
    "command",
    "cmd",
    "script",
    "shell",
    "shell_command",
    "command_line",
    "commandLine",
    "commands",
    "argv",
    "chars",
];

/// Members of unlisted tools that hold code.
const CODE: &[&str] = &["code", "python", "javascript", "source_code"];

/// Members of tools that name the directory of a command line.
const DIRS: &[&str] = &["workdir", "cwd", "working_directory", "workingDirectory"];

/// Returns the command line of a tool that is not in a table. Code becomes the command line that would run it.
fn unlisted(input: &Value) -> Option<String> {
    let line = LINES.iter().find_map(|key| command_line(input.get(*key)?));
    let code = || {
        let text = CODE.iter().find_map(|key| input.get(*key)?.as_str())?;
        let language = ["language", "lang", "kernel"].iter().find_map(|key| input.get(*key)?.as_str());
        Some(match language.map(str::to_ascii_lowercase).as_deref() {
            Some("bash" | "sh" | "shell" | "zsh") => text.to_owned(),
            Some("javascript" | "js" | "node" | "typescript" | "ts") => format!("node -e {}", quoted(text)),
            Some("python" | "python3" | "py" | "ipython") => format!("python3 -c {}", quoted(text)),
            Some("perl" | "ruby") => format!("{} -e {}", language?.to_ascii_lowercase(), quoted(text)),
            // The language is unknown: the readings of both cost nothing.
            _ => format!("python3 -c {0}; node -e {0}", quoted(text)),
        })
    };
    line.or_else(code).map(|line| within_dir(input, line))
}

/// Returns the line as it runs in the directory that the input names.
fn within_dir(input: &Value, line: String) -> String {
    match DIRS.iter().find_map(|key| input.get(*key)?.as_str()).filter(|dir| !dir.is_empty()) {
        Some(dir) => format!("cd {} && {{ {line}\n}}", quoted(dir)),
        None => line,
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Reads the command line of a tool that is not in a table: a text or a list of words.
fn command_line(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.into_iter().map(quoted).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

fn texts<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => members.values().for_each(|member| texts(member, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reports whether a tool of this name waits for an answer of the user.
pub fn is_question(name: &str) -> bool {
    ["AskUserQuestion", "request_user_input", "ask_user"].contains(&name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: &[ToolRow] = &[
        ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
        ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ];

    #[test]
    fn a_call_is_classified_by_the_table() {
        let call = ToolCall::new(
            TABLE,
            "Write",
            json!({"file_path": "a", "content": "b"}),
            Some("t1"),
            InputCompleteness::Yes,
        );
        assert_eq!((call.effect, call.paths), (ToolEffect::Write, vec!["a".to_owned()]));
        let call = ToolCall::new(TABLE, "Bash", json!({"command": "ls"}), None, InputCompleteness::Yes);
        assert_eq!(call.command.as_deref(), Some("ls"));
    }

    #[test]
    fn an_unknown_tool_can_do_anything() {
        let call = ToolCall::new(TABLE, "mcp__x__y", json!({"file_path": 3}), None, InputCompleteness::Yes);
        assert_eq!((call.effect, call.paths.len()), (ToolEffect::Exec, 0));
        let shell =
            |input: Value| ToolCall::new(TABLE, "Monitor", input, None, InputCompleteness::Yes).command;
        assert_eq!(shell(json!({"command": "ls -l"})).as_deref(), Some("ls -l"));
        assert_eq!(shell(json!({"cmd": ["bash", "-c", "it's"]})).as_deref(), Some(r"'bash' '-c' 'it'\''s'"));
        assert_eq!(shell(json!({"command": [1]})), None);
        assert_eq!(shell(json!({"script": "ls", "workdir": "a b"})).as_deref(), Some("cd 'a b' && { ls\n}"));
        assert_eq!(shell(json!({"code": "x", "language": "python"})).as_deref(), Some("python3 -c 'x'"));
        assert_eq!(shell(json!({"code": "ls", "language": "bash"})).as_deref(), Some("ls"));
        assert_eq!(shell(json!({"code": "x"})).as_deref(), Some("python3 -c 'x'; node -e 'x'"));
    }
}
