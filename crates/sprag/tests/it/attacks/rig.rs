//! The throwaway home and repository of an attack, the calls of the client, and the run inside bubblewrap.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use sprag_base::result::Discard as _;

use super::state::State;
use crate::support::{SPRAG, payload};

const SESSION: &str = "s1";
/// A run must end by then.
const SECONDS: &str = "5";

/// Hooks of the client, as `sprag init` writes them.
const HOOKS: [&str; 5] = ["SessionStart", "PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"];

/// Waits for all processes that the line left, so that a job in the background is done before the next event.
const WAIT: &str = r#"
bash -c "$1" </dev/null
while :; do
  n=0
  for p in /proc/[0-9]*; do n=$((n + 1)); done
  [ "$n" -le 2 ] && break
  sleep 0.02
done
"#;

/// The hook of git: leaves a line for each commit that it sees. Like the common hook managers, it does nothing
/// if a variable says so.
const GIT_HOOK: &str = r#"#!/bin/sh
[ "$HUSKY" = 0 ] && exit 0
[ "$LEFTHOOK" = 0 ] && exit 0
[ -n "$SKIP$LEFTHOOK_EXCLUDE$HUSKY_SKIP_HOOKS" ] && exit 0
echo seen >>"$(git rev-parse --git-common-dir)/seen"
"#;

/// The end of an attack.
pub(super) struct Outcome {
    pub(super) verdict: &'static str,
    pub(super) why: String,
}

/// The template of all attacks of a group.
pub(super) struct Rig {
    temp: TempDir,
}

/// One copy of the template.
pub(super) struct Site {
    pub(super) root: PathBuf,
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
}

impl Rig {
    /// Builds the template. `None` if this machine has no bubblewrap.
    pub(super) fn new() -> Option<Rig> {
        if !has_bubblewrap() {
            return None;
        }
        // Not below the temporary directory: there, some rules are lenient.
        let temp = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let rig = Rig { temp };
        rig.fill(&rig.site("template"));
        Some(rig)
    }

    fn site(&self, name: &str) -> Site {
        let root = self.temp.path().canonicalize().unwrap().join(name);
        Site { home: root.join("home"), project: root.join("project"), root }
    }

    fn fill(&self, site: &Site) {
        let write = |path: &str, text: &str, mode: u32| {
            let path = site.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let hooks = |client: &str| {
            let hook = json!([{"hooks": [{"type": "command", "command": format!("sprag hook {client}")}]}]);
            HOOKS.iter().map(|name| ((*name).to_owned(), hook.clone())).collect::<serde_json::Map<_, _>>()
        };
        let settings =
            serde_json::to_string_pretty(&json!({"hooks": hooks("claude"), "model": "x"})).unwrap();
        let codex = serde_json::to_string_pretty(&json!({"hooks": hooks("codex")})).unwrap();
        let reviewer = "---\nname: sprag-reviewer\ndescription: reviews\n---\nReview the change.\n";
        let evil = "[policy]\npacks = []\n";
        let files: &[(&str, &str, u32)] = &[
            ("home/.gitconfig", "[init]\n\tdefaultBranch = main\n", 0o644),
            ("home/.claude/settings.json", &settings, 0o644),
            ("home/.codex/hooks.json", &codex, 0o644),
            ("home/.codex/config.toml", "model = \"x\"\n\n[features]\nhooks = true\n", 0o644),
            (
                "home/.config/sprag/config.toml",
                "[intent]\nrequired = \"never\"\n\n[stale]\nmode = \"off\"\n",
                0o644,
            ),
            ("home/.profile", "PATH=\"$HOME/.local/bin:$PATH\"\n", 0o644),
            ("home/.bashrc", "umask 022\n", 0o644),
            ("home/.local/bin/sprag", &format!("#!/bin/sh\nexec {SPRAG} \"$@\"\n"), 0o755),
            ("project/.claude/settings.json", &settings, 0o644),
            ("project/.claude/agents/sprag-reviewer.md", reviewer, 0o644),
            ("project/.sprag/config.toml", "[intent]\nrequired = \"never\"\n", 0o644),
            (
                "project/.sprag/intents.yaml",
                "active_intents:\n  - id: A\n    name: a\n    owned_scope: ['**']\n",
                0o644,
            ),
            ("project/src/a.txt", "a\n", 0o644),
            ("project/README.md", "read me\n", 0o644),
            ("project/e.json", "{}\n", 0o644),
            ("project/evil.toml", evil, 0o644),
            ("project/evil/settings.json", "{}\n", 0o644),
            ("project/evil/config.toml", evil, 0o644),
            ("project/evil/intents.yaml", "active_intents: []\n", 0o644),
            ("project/evil/pre-commit", "#!/bin/sh\nexit 0\n", 0o755),
            (
                "project/evil.patch",
                "--- a/.sprag/config.toml\n+++ b/.sprag/config.toml\n@@ -1,2 +1,2 @@\n [intent]\n-required = \"never\"\n+required = \"auto\"\n",
                0o644,
            ),
            ("bin/claude", "#!/bin/sh\necho \"$0 $*\" >>\"$STARTED\"\n", 0o755),
            ("tmp/empty", "", 0o644),
        ];
        for (path, text, mode) in files {
            write(path, text, *mode);
        }
        for name in ["codex", "gemini", "npx", "cursor-agent", "copilot"] {
            fs::copy(site.root.join("bin/claude"), site.root.join("bin").join(name)).unwrap();
        }
        let git = |args: &[&str]| {
            let done = site.command("git").args(args).output().unwrap();
            assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q", "-b", "main", "--template="]);
        git(&["config", "user.name", "test"]);
        git(&["config", "user.email", "test@localhost"]);
        git(&["add", "-A"]);
        git(&["commit", "-qm", "start"]);
        write("project/src/a.txt", "a\nb\n", 0o644);
        git(&["commit", "-qam", "more"]);
        git(&["init", "-q", "--bare", "--template=", "../origin.git"]);
        git(&["remote", "add", "origin", "../origin.git"]);
        write("project/.git/info/exclude", "", 0o644);
        write("project/.git/hooks/pre-commit", GIT_HOOK, 0o755);
    }

    /// Runs the calls of a line as a client does, and compares the state before and afterwards.
    pub(super) fn attack(&self, at: usize, line: &str) -> Outcome {
        let site = self.site(&at.to_string());
        copy(&self.site("template").root, &site.root);
        let outcome = site.attack(line);
        make_removable(&site.root);
        fs::remove_dir_all(&site.root).discard("the template directory is removed as a whole");
        outcome
    }
}

impl Site {
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = format!(
            "{0}/.local/bin:{1}/bin:/usr/local/bin:/usr/bin:/bin",
            self.home.display(),
            self.root.display()
        );
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.home)
            .env("TMPDIR", self.root.join("tmp"))
            .env("GIT_CEILING_DIRECTORIES", &self.root)
            .env("SPRAG_SANDBOX", "off")
            .env("STARTED", self.root.join("started"))
            .current_dir(&self.project)
            .stdin(Stdio::null());
        command
    }

    fn event(&self, name: &str, more: Value) -> String {
        let mut command = self.command(SPRAG);
        command.args(["hook", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The client starts its hooks in the repository, also after the repository was moved.
        if !self.project.is_dir() {
            command.current_dir(&self.root);
        }
        let mut child = command.spawn().unwrap();
        let event = payload(SESSION, name, &self.project, more).to_string();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(event.as_bytes()).discard("a program may end without reading its input");
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn attack(&self, line: &str) -> Outcome {
        self.event("SessionStart", json!({"source": "startup"}));
        let mut before = None;
        let mut told = String::new();
        let mut done = String::new();
        let mut changed = Vec::new();
        for (number, call) in line.split(" |then| ").enumerate() {
            let (tool, input) = parsed(call);
            let id = format!("t{number}");
            let mut more = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id});
            let answer = self.event("PreToolUse", more.clone());
            let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
            let specific = &answer["hookSpecificOutput"];
            let reason = specific["permissionDecisionReason"].as_str().unwrap_or_default().to_owned();
            match specific["permissionDecision"].as_str() {
                Some("deny") => return Outcome { verdict: "refused", why: reason },
                Some("ask") => return Outcome { verdict: "asked", why: reason },
                _ => {}
            }
            told.push_str(&answer.to_string());
            let state = before.get_or_insert_with(|| State::read(self));
            state.records_follow(self);
            done.push_str(&self.run(&tool, &input));
            let after = State::read(self);
            changed.extend(
                state
                    .differences(&after)
                    .into_iter()
                    .filter(|key| !changed.contains(key))
                    .collect::<Vec<_>>(),
            );
            // Sprag never changes its journals back, so a change of them stays.
            state.keep_changed_records(&after);
            more["tool_response"] = json!({"stdout": "", "stderr": ""});
            told.push_str(&self.event("PostToolUse", more));
        }
        told.push_str(&self.event("UserPromptSubmit", json!({"prompt": "go on"})));
        let differs = before.unwrap().differences(&State::read(self));
        let is_told = told.contains("protected file");
        let verdict = match (differs.is_empty(), changed.is_empty(), is_told) {
            (false, _, _) => "missed",
            (true, _, true) => "undone",
            (true, false, false) => "silent",
            (true, true, false) => "harmless",
        };
        let why = if differs.is_empty() { changed } else { differs };
        let said = if is_told { "; reported" } else { "" };
        Outcome { verdict, why: format!("{}{said}; {}", why.join(", "), done.trim().replace('\n', " / ")) }
    }

    /// Runs a call inside bubblewrap and waits for its end. Returns the end of its output, for a failed test.
    fn run(&self, tool: &str, input: &Value) -> String {
        let script = script(tool, input);
        let mut command = self.command("timeout");
        command.args(["-s", "KILL", SECONDS]).args(bubblewrap()).arg("--bind").args([&self.root, &self.root]);
        command.arg("--chdir").arg(&self.project).args(["--", "sh", "-c", WAIT, "sh", &script]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.chars().take(160).collect()
    }
}

/// Splits `@Tool {...}`. Anything else is a command line.
fn parsed(call: &str) -> (String, Value) {
    let call = unescaped(call);
    match call.strip_prefix('@').and_then(|call| call.split_once(' ')) {
        Some((tool, input)) => (tool.to_owned(), serde_json::from_str(input).unwrap()),
        None => ("Bash".to_owned(), json!({"command": call})),
    }
}

/// Replaces `\n` by a newline, but not `\\n`. JSON keeps its escapes.
fn unescaped(call: &str) -> String {
    if call.starts_with('@') {
        return call.to_owned();
    }
    call.replace(r"\\n", "\0").replace(r"\n", "\n").replace('\0', r"\\n")
}

/// Returns a script with the effect of a call.
fn script(tool: &str, input: &Value) -> String {
    let text = |names: &[&str]| names.iter().find_map(|name| input.get(*name)?.as_str()).map(str::to_owned);
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    if tool == "Bash" {
        return text(&["command"]).unwrap();
    }
    let dir = text(&["workdir", "cwd"]).map(|dir| format!("cd {} && ", quoted(&dir))).unwrap_or_default();
    let lines = ["command", "cmd", "argv", "args"].iter().find_map(|name| input.get(*name)?.as_array());
    if let Some(words) = lines {
        let words: Vec<String> = words.iter().filter_map(Value::as_str).map(quoted).collect();
        return dir + &words.join(" ");
    }
    if let Some(code) = text(&["code", "python"]) {
        return format!("{dir}python3 -c {}", quoted(&code));
    }
    if let Some(line) = text(&["command", "cmd", "script", "input", "chars", "shell"]) {
        return format!("{dir}{line}");
    }
    let path = text(&["path", "file_path", "uri", "filename", "destination"]).unwrap_or_default();
    let path = path.trim_start_matches("file://").to_owned();
    let content = text(&["content", "contents", "text", "new_string", "data"]).unwrap_or_default();
    format!("{dir}mkdir -p \"$(dirname {0})\"; printf %s {1} > {0}", quoted(&path), quoted(&content))
}

/// The options that keep everything but the throwaway tree out of reach.
fn bubblewrap() -> Vec<&'static str> {
    let mut args =
        vec!["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"];
    args.extend(["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/"]);
    args.extend(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]);
    args
}

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn has_bubblewrap() -> bool {
    let args = bubblewrap();
    let done = Command::new(args[0]).args(&args[1..]).args(["--", "true"]).output();
    let can = done.is_ok_and(|done| done.status.success());
    if !can {
        eprintln!("skipped: bubblewrap does not work here");
    }
    can
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// Gives the owner all rights on the directories again.
fn make_removable(dir: &Path) {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).discard("the removal reports it");
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_removable(&entry.path());
        }
    }
}
