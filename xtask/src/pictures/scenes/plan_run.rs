//! A run of a plan with scripted agents: some stages are merged, some run, one asks, and the rest waits.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, bail};
use serde_json::Value;

use sprag_base::result::Discard as _;

use super::{Picture, git, sprag};
use crate::pictures::fixed::{self, Rule};
use crate::pictures::graph::{self, Graph};
use crate::pictures::svg::{self, Caption};
use crate::pictures::terminal::{Terminal, quoted};
use crate::place::Place;

const SIZE: (u16, u16) = (100, 34);
/// Time between two looks at the run.
const LOOK: Duration = Duration::from_millis(100);
/// A run without a new record for this long waits for its agents.
const QUIET: Duration = Duration::from_secs(1);
/// The longest time that a step of the run may take.
const PATIENCE: Duration = Duration::from_secs(90);

const QUESTION: &str = "Do internal callers keep their old limits?";
/// The stage with the question; the screen shows its details.
const ASKING: &str = "middleware";

struct Stage {
    id: &'static str,
    needs: &'static [&'static str],
    /// Tokens in the context of its agent.
    tokens: u32,
    tool: &'static str,
    cost: &'static str,
    /// The duration in the pictures; the real one differs from run to run.
    duration: &'static str,
}

const STAGES: &[Stage] = &[
    Stage { id: "schema", needs: &[], tokens: 52_000, tool: "Edit", cost: "0.84", duration: "3m12s" },
    Stage {
        id: "limiter",
        needs: &["schema"],
        tokens: 71_000,
        tool: "Bash",
        cost: "1.37",
        duration: "6m48s",
    },
    Stage { id: "store", needs: &["schema"], tokens: 96_000, tool: "Edit", cost: "0", duration: "11m09s" },
    Stage { id: "docs", needs: &["schema"], tokens: 38_000, tool: "Write", cost: "0.52", duration: "4m30s" },
    Stage { id: ASKING, needs: &["limiter"], tokens: 45_000, tool: "Read", cost: "0", duration: "4m20s" },
    Stage { id: "metrics", needs: &["limiter"], tokens: 61_000, tool: "Bash", cost: "0", duration: "4m21s" },
    Stage {
        id: "integration",
        needs: &["store", ASKING, "metrics"],
        tokens: 0,
        tool: "Bash",
        cost: "0",
        duration: "0s",
    },
    Stage {
        id: "release",
        needs: &["integration", "docs"],
        tokens: 0,
        tool: "Bash",
        cost: "0",
        duration: "0s",
    },
];
/// The duration of the whole run in the pictures.
const DURATION: &str = "14m23s";

/// The agent of every stage. It prints the lines of a client, works when the scene lets it, and commits.
const AGENT: &str = r#"stage=$1 tokens=$2 tool=$3 cost=$4
await() { while [ ! -e "GO/$1" ]; do sleep 0.1; done; }
echo '{"type":"system","subtype":"init","session_id":"'$stage'","model":"claude-sonnet-4-5"}'
echo '{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m-1","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t-1","name":"'$tool'","input":{}}],"usage":{"input_tokens":'$tokens',"output_tokens":0}}}'
await "$stage"
if [ "$stage" = ASKING ]; then
    sprag stage ask 'QUESTION' >&2
    await answer
fi
mkdir -p src
echo "$stage" >"src/$stage.rs"
git add -A
git commit -qm "$stage"
echo '{"type":"result","is_error":false,"result":"done","total_cost_usd":'$cost'}'
"#;

/// The head of the plan. Agents have no sandbox: they wait for files outside of their worktrees.
const HEAD: &str = "\
# Rate limits for the API

```yaml sprag
version: 1
name: rate-limits
target: main
slots: 4
sandbox: {confine: off}
stages:
";

const SCREEN: Caption<'_> = Caption {
    title: "sprag status --live",
    description: "The live screen of a run: three stages are merged, two run, one asks a question, two wait.",
};
const GRAPH: Caption<'_> = Caption {
    title: "plan rate-limits",
    description: "The stages of the same run as a graph, with state and duration.",
};

pub fn play(place: &Place) -> anyhow::Result<Vec<Picture>> {
    let run = Run::start(place)?;
    run.until(&["schema"], "running")?;
    run.let_go("schema")?;
    run.until(&["schema"], "done")?;
    run.let_go("limiter")?;
    run.until(&["limiter"], "done")?;
    run.until(&["store", ASKING, "metrics", "docs"], "running")?;
    // One after the other from here on: the log on the screen shows the last events in their order.
    run.until_quiet()?;
    run.let_go("docs")?;
    run.until(&["docs"], "done")?;
    run.until_quiet()?;
    run.let_go(ASKING)?;
    run.until(&[ASKING], "asking")?;
    run.until_quiet()?;

    let stages = run.stages()?;
    let row = stages.iter().position(|row| row["stage_id"] == ASKING).unwrap_or_default();
    let screen = live_screen(place, row)?;
    let graph: Graph = serde_json::from_str(&sprag(place, &["run", "graph", "--json"])?)?;
    let duration = |id: &str| {
        let row = stages.iter().find(|row| row["stage_id"] == id)?;
        // A stage that has not begun has no duration.
        row["elapsed_seconds"].as_u64()?;
        Some(STAGES.iter().find(|stage| stage.id == id)?.duration.to_owned())
    };
    let graph = graph::draw(&graph, &GRAPH, duration);
    Ok(vec![
        Picture { name: "live-screen.svg", text: screen },
        Picture { name: "run-graph.svg", text: graph },
    ])
}

/// Shows the run in a terminal and chooses the stage with the question, which is in this row.
fn live_screen(place: &Place, row: usize) -> anyhow::Result<String> {
    let terminal = Terminal::open(place, SIZE.0, SIZE.1)?;
    terminal.start("exec sprag status --live")?;
    terminal.showing(|text| text.contains(QUESTION))?;
    for _ in 0..row {
        terminal.key("Down")?;
    }
    let title = format!("┌{ASKING}─");
    let mut screen = terminal.showing(|text| text.contains(&title))?;
    let mut rules = fixed::usual()?;
    for stage in STAGES {
        // Its row: a sign, the level, the stage and its cells.
        rules.push(Rule::same(&format!(r"^│\S +\d+ +{}\b.* (\d+[smh]\S*) ", stage.id), stage.duration)?);
    }
    rules.push(Rule::same(r"plan rate-limits +\S+ +(\d+[smh]\S*)", DURATION)?);
    rules.push(Rule::same(r"\b(\d+[smh]\S*) ago", "38s")?);
    rules.push(Rule::path(&place.project(), "~/api")?);
    fixed::fix(&mut screen, &rules);
    Ok(svg::terminal(&screen, &SCREEN))
}

/// The run in the background. It ends with the scene.
struct Run<'a> {
    place: &'a Place,
}

impl<'a> Run<'a> {
    fn start(place: &'a Place) -> anyhow::Result<Run<'a>> {
        let go = place.root.join("go");
        fs::create_dir_all(&go)?;
        let agent = place.root.join("agent.sh");
        let script = AGENT.replace("QUESTION", QUESTION).replace("ASKING", ASKING);
        fs::write(&agent, script.replace("GO", &go.display().to_string()))?;
        let plan = place.root.join("plan.md");
        fs::write(&plan, plan_text(&agent))?;
        git(place, &["branch", "--move", "main"])?;
        for (key, value) in [("user.name", "agent"), ("user.email", "agent@localhost")] {
            git(place, &["config", key, value])?;
        }
        let run = Run { place };
        sprag(place, &["run", &plan.display().to_string(), "--trust"])?;
        Ok(run)
    }

    /// Lets the agent of a stage do its work.
    fn let_go(&self, stage: &str) -> anyhow::Result<()> {
        let file = self.place.root.join("go").join(stage);
        fs::write(&file, "").with_context(|| format!("cannot write `{}`", file.display()))
    }

    fn status(&self) -> anyhow::Result<Value> {
        let status: Value = serde_json::from_str(&sprag(self.place, &["status", "--json"])?)?;
        Ok(status["run"].clone())
    }

    fn stages(&self) -> anyhow::Result<Vec<Value>> {
        Ok(self.status()?["stages"].as_array().cloned().unwrap_or_default())
    }

    /// Waits until no new record is written for a while: a new state has records after it, too.
    fn until_quiet(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let (mut moved, mut since) = (self.status()?["moved"].clone(), Instant::now());
        while since.elapsed() < QUIET {
            if Instant::now() >= deadline {
                bail!("the run writes records without an end");
            }
            thread::sleep(LOOK);
            let now = self.status()?["moved"].clone();
            if now != moved {
                (moved, since) = (now, Instant::now());
            }
        }
        Ok(())
    }

    /// Waits until these stages have this state.
    fn until(&self, ids: &[&str], state: &str) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let stages = self.stages()?;
            let has = |id: &&str| stages.iter().any(|row| row["stage_id"] == **id && row["state"] == state);
            if ids.iter().all(has) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                bail!("the stages {ids:?} are not `{state}`: {}", Value::from(stages));
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        sprag(self.place, &["run", "stop", "--kill"]).discard("a run that has ended needs no end");
    }
}

fn plan_text(agent: &Path) -> String {
    let mut plan = HEAD.to_owned();
    for Stage { id, needs, tokens, tool, cost, .. } in STAGES {
        let needs = needs.join(", ");
        let agent = quoted(agent);
        plan.push_str(&format!(
            "  - id: {id}\n    description: \"Adds the part {id}.\"\n    working_dir: .\n    files: [\"src/{id}.rs\"]\n    dependencies: [{needs}]\n    client: {{command: [sh, {agent}, {id}, \"{tokens}\", {tool}, \"{cost}\"], stream: claude}}\n    acceptance: [\"test -s src/{id}.rs\"]\n",
        ));
    }
    plan.push_str("```\n");
    plan
}
