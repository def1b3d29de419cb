//! A plan that is run: four stages, agents that are scripts, one that crashes and two that change the same line.

use std::fs;
use std::path::Path;

use super::stage::Stage;
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
    description: "The words that are used."
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
    description: "Greets in German, and writes to the same line of the list as the other."
    working_dir: .
    dependencies: [words]
    client: {command: [sh, AGENTS/german.sh]}
    acceptance: ["grep -q Hallo german.txt"]
  - id: both
    description: "Uses what the others have made."
    working_dir: .
    dependencies: [english, german]
    client: {command: [sh, AGENTS/both.sh]}
    acceptance: ["grep -q Hello both.txt", "grep -q Hallo both.txt"]
```
"#;

/// What an agent does that greets: the list has one line, which both of them want.
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

pub fn play(stage: &Stage, root: &Path) -> Result<(), Failure> {
    let agents = root.join("agents");
    fs::create_dir_all(&agents)?;
    // Its worktree is all it may write to, and the next attempt finds it as it was.
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
    stage.say("A plan of four stages, each worked at in a worktree of its own by an agent that is a script.");
    stage.title("1. The plan, as it would run: sprag plan graph");
    stage.show(&["plan", "graph", &plan])?;
    stage.title("2. It runs; one agent crashes, two change the same line: sprag run --foreground");
    stage.show(&["run", &plan, "--trust", "--foreground"])?;
    stage.title("3. What landed, each merge tested as exactly that commit: git log");
    for line in stage.git_says(&["log", "--oneline", "--graph", "refs/sprag/greetings/trunk"])?.lines() {
        output::line(format!("  {line}"));
    }
    stage.title("4. The line that both wanted: git show TRUNK:list.txt");
    for line in stage.git_says(&["show", "refs/sprag/greetings/trunk:list.txt"])?.lines() {
        output::line(format!("  {line}"));
    }
    Ok(())
}
