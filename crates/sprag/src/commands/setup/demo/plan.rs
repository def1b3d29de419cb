//! The demo of a plan: four stages with scripted agents, of which one crashes and two change the same line.

use std::fs;
use std::path::Path;

use sprag_base::time::Timestamp;

use super::world::DemoWorld;
use crate::failure::Failure;
use crate::output;

const PLAN: &str = r#"# Greetings in two languages

```yaml sprag
version: 1
name: greetings
target: main
slots: 2
backoff: 1s
gates: ["! grep -rq '^<<<<<<<' ."]
stages:
  - id: words
    description: "Writes the words."
    working_dir: .
    client: {command: [sh, AGENTS/words.sh]}
    acceptance: ["test -s words.txt"]
  - id: english
    description: "Greets in English. Its agent crashes the first time."
    working_dir: .
    dependencies: [words]
    client: {command: [sh, AGENTS/english.sh]}
    acceptance: ["grep -q Hello english.txt"]
  - id: german
    description: "Greets in German. It changes the same line as the English stage."
    working_dir: .
    dependencies: [words]
    client: {command: [sh, AGENTS/german.sh]}
    acceptance: ["grep -q Hallo german.txt"]
  - id: both
    description: "Uses the files of both."
    working_dir: .
    dependencies: [english, german]
    client: {command: [sh, AGENTS/both.sh]}
    acceptance: ["grep -q Hello both.txt", "grep -q Hallo both.txt"]
```
"#;

const TRUNK: &str = "refs/sprag/greetings/trunk";

/// Script of the two agents that greet: both change the only line of the list.
const GREETER: &str = r#"set -e
if grep -q '^## Conflict' "$SPRAG_BRIEF"; then
    git merge -q refs/sprag/greetings/trunk >/dev/null 2>&1 || true
    grep -hv '^[<=>]' list.txt | sort -u >list.new && mv list.new list.txt
else
    FIRST
    echo "WORD" >LANGUAGE.txt
    echo "LANGUAGE: WORD" >list.txt
fi
git add -A && git commit -qm "LANGUAGE"
"#;

pub(crate) fn play(stage: &DemoWorld, root: &Path) -> Result<(), Failure> {
    let agents = root.join("agents");
    fs::create_dir_all(&agents)?;
    // The marker is in the worktree, because the sandbox allows no other place and the next attempt finds it there.
    let crash = "if [ ! -e .crashed ]; then touch .crashed; echo 'cannot go on' >&2; exit 1; fi; rm .crashed";
    let greeter = |language: &str, word: &str, first: &str| {
        GREETER.replace("FIRST", first).replace("LANGUAGE", language).replace("WORD", word)
    };
    for (name, script) in [
        (
            "words",
            "set -e; echo 'hello, hallo' >words.txt; echo none >list.txt; git add -A; git commit -qm words"
                .to_owned(),
        ),
        ("english", greeter("english", "Hello", crash)),
        ("german", greeter("german", "Hallo", ":")),
        ("both", "set -e; cat english.txt german.txt >both.txt; git add -A; git commit -qm both".to_owned()),
    ] {
        fs::write(agents.join(format!("{name}.sh")), script)?;
    }
    let plan = root.join("plan.md");
    fs::write(&plan, PLAN.replace("AGENTS", &agents.display().to_string()))?;
    let plan = plan.display().to_string();
    for (key, value) in [("user.name", "an agent"), ("user.email", "agent@localhost")] {
        stage.git(&["config", key, value])?;
    }
    stage.say("A plan with four stages. Each stage has an agent (here: a script) in its own git worktree.");
    stage.title("Stage graph (sprag plan graph)");
    stage.show(&["plan", "graph", &plan])?;
    stage.title("The run (sprag run --foreground)");
    let ran = stage.sprag(&["run", &plan, "--trust", "--foreground"], b"")?;
    if !ran.succeeded() {
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        return Err(Failure::demo(format!("the run failed: {said}")).next("sprag doctor"));
    }
    tell(&happened(stage)?);
    stage.title("Merged commits, each tested before it landed (git log --first-parent)");
    let merges = ["log", "--first-parent", "--format=%h %s", "--max-count=4", TRUNK];
    stage.git_says(&merges)?.lines().for_each(|line| output::line(format!("  {line}")));
    stage.title("Both changes of the conflicting line are kept (git show TRUNK:list.txt)");
    let list = stage.git_says(&["show", &format!("{TRUNK}:list.txt")])?;
    list.lines().for_each(|line| output::line(format!("  {line}")));
    stage.title("Your branch moves when you say so (sprag run land)");
    stage.show(&["run", "land", "greetings"])
}

/// One line of `sprag run logs`.
#[derive(serde::Deserialize)]
struct LogLine {
    at: Timestamp,
    stage_id: Option<String>,
    text: String,
}

#[derive(serde::Deserialize)]
struct Logs {
    lines: Vec<LogLine>,
}

fn happened(stage: &DemoWorld) -> Result<Vec<LogLine>, Failure> {
    let ran = stage.sprag(&["run", "logs", "--json"], b"")?;
    let logs: Logs = serde_json::from_slice(&ran.stdout)
        .map_err(|error| Failure::demo(format!("cannot read the log of the run: {error}")))?;
    Ok(logs.lines)
}

/// Prints the decisive records of the run, and a summary.
fn tell(lines: &[LogLine]) {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return };
    let count = |fits: fn(&str) -> bool| lines.iter().filter(|line| fits(&line.text)).count();
    for line in lines.iter().filter(|line| is_telling(&line.text)) {
        let millis = line.at.millis() - first.at.millis();
        let (seconds, tenths) = (millis / 1000, millis % 1000 / 100);
        // The seconds since the start are more useful here than the time of day.
        let text = match line.text.split(" at 20").next().unwrap_or_default() {
            text if is_start(text) => "an agent starts",
            text if is_landed(text) => "landed",
            text => text,
        };
        let whose = line.stage_id.as_deref().unwrap_or_default();
        output::line(format!("  {seconds:>2}.{tenths}s  {whose:<8} {text}"));
    }
    let millis = last.at.millis() - first.at.millis();
    output::line(format!(
        "  {} stages in {}.{} s by {} agents: {} crashed and was replaced, {} resolved a conflict, {} merges were tested",
        count(is_landed),
        millis / 1000,
        millis % 1000 / 100,
        count(is_start),
        count(is_crash),
        count(is_conflict),
        count(is_test),
    ));
}

fn is_telling(text: &str) -> bool {
    is_start(text) || text.contains("it is tried again") || is_conflict(text) || is_landed(text)
}

fn is_start(text: &str) -> bool {
    text == "start of its agent: started"
}

fn is_crash(text: &str) -> bool {
    text.ends_with("ended: its agent has crashed")
}

fn is_conflict(text: &str) -> bool {
    text.starts_with("merge: ") && text.contains("conflict")
}

fn is_test(text: &str) -> bool {
    text == "test of the merge: done"
}

fn is_landed(text: &str) -> bool {
    text == "landing: done"
}
