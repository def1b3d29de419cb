//! A session of an agent, as the hook sees it: a refused command, a held stop, and a stop after the fix.

use std::fs;

use anyhow::{bail, ensure};
use serde_json::json;

use super::agent::{Agent, Answer};
use super::{Picture, git, sprag};
use crate::pictures::fixed::{self, Rule};
use crate::pictures::folded::folded;
use crate::pictures::svg::{self, Caption};
use crate::pictures::terminal::{Terminal, quoted};
use crate::place::Place;

const COLUMNS: usize = 104;
/// Wide enough for every line, and high enough for all of them.
const CAPTURED: (u16, u16) = (600, 80);

const PROGRAM: &str = "# Prints the slug of a title.\nprintf '%s' \"$1\" | tr ' ' '-'\n";
const TEST: &str = "\
slug=$(sh slug.sh 'Hello  World')
if [ \"$slug\" = hello-world ]; then echo 'slug: ok'; else echo \"slug: expected hello-world, found $slug\"; exit 1; fi
";
const CHECKS: &str = r#"[{name = "tests", command = "sh test.sh"}]"#;
const PUSH: &str = "git push --force origin main";

const CAPTION: Caption<'_> = Caption {
    title: "a session of a coding agent with Sprag",
    description: "Sprag refuses a forced push, holds a stop while a check fails, and allows it after the fix.",
};

pub fn play(place: &Place) -> anyhow::Result<Vec<Picture>> {
    prepare(place)?;
    let agent = Agent { place, session: "session-1" };
    let terminal = Terminal::open(place, CAPTURED.0, CAPTURED.1)?;
    let screen = Transcript { place, terminal: &terminal };

    agent.send("SessionStart", json!({}))?;
    let prompt = "Slugs are lower case and have no double dashes. Fix slug.sh and push it.";
    agent.send("UserPromptSubmit", json!({"prompt": prompt}))?;
    screen.line("user", "asks", prompt)?;
    agent.edit("slug.sh", "tr ' ' '-'", "tr 'A-Z ' 'a-z-'")?;
    screen.line("agent", "edits", "slug.sh")?;

    let call = json!({"tool_input": {"command": PUSH, "description": "Push the fix"}});
    let Answer::Refused { message, suggestion } = agent.send("PreToolUse.Bash", call)? else {
        bail!("`{PUSH}` is not refused");
    };
    screen.line("agent", "runs", PUSH)?;
    screen.line("sprag", "refuses", &format!("{message}\nnext: {suggestion}"))?;

    let done = json!({"last_assistant_message": "The slugs are fixed and all tests pass."});
    let Answer::Held { reason } = agent.send("Stop", done.clone())? else { bail!("the stop is not held") };
    screen.line("agent", "stops", "The slugs are fixed and all tests pass.")?;
    screen.line("sprag", "holds", &reason)?;
    screen.command("sprag status")?;

    agent.edit("slug.sh", "tr 'A-Z ' 'a-z-'", "tr 'A-Z ' 'a-z-' | tr -s '-'")?;
    screen.blank()?;
    screen.line("agent", "edits", "slug.sh")?;
    let answer = agent.send("Stop", done)?;
    ensure!(answer == Answer::Allowed, "the stop is not allowed after the fix: {answer:?}");
    screen.line("agent", "stops", "The slugs are fixed and all tests pass.")?;
    screen.line("sprag", "allows", "the stop")?;
    screen.command("sprag session explain")?;

    let mut shown = terminal.showing(|_| true)?.without_empty_end();
    ensure!(shown.rows.len() < usize::from(CAPTURED.1), "the session does not fit into the terminal");
    let mut rules = fixed::usual()?;
    rules.push(Rule::path(&place.project(), "~/slugs")?);
    fixed::fix(&mut shown, &rules);
    let text = svg::terminal(&folded(&shown, COLUMNS), &CAPTION);
    Ok(vec![Picture { name: "held-stop.svg", text }])
}

/// Makes a project with a pushed branch and a test, and a user who wants the test to pass before a stop.
fn prepare(place: &Place) -> anyhow::Result<()> {
    fs::write(place.project().join("slug.sh"), PROGRAM)?;
    fs::write(place.project().join("test.sh"), TEST)?;
    git(place, &["add", "."])?;
    git(place, &["commit", "--quiet", "--message", "slugs"])?;
    git(place, &["branch", "--move", "main"])?;
    let origin = place.root.join("origin.git").display().to_string();
    git(place, &["init", "--quiet", "--bare", &origin])?;
    git(place, &["remote", "add", "origin", &origin])?;
    git(place, &["push", "--quiet", "--set-upstream", "origin", "main"])?;
    sprag(place, &["config", "set", "completion.check", CHECKS])?;
    Ok(())
}

/// The lines of the session in the terminal.
struct Transcript<'a> {
    place: &'a Place,
    terminal: &'a Terminal<'a>,
}

impl Transcript<'_> {
    /// Shows who does what. Further lines of a text stay below its first.
    fn line(&self, who: &str, what: &str, text: &str) -> anyhow::Result<()> {
        let colour = match what {
            "refuses" => 31,
            "holds" => 33,
            "allows" => 32,
            _ => 36,
        };
        let text = text.strip_prefix("sprag: ").unwrap_or(text);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let text = lines.join(&format!("\n{:16}", ""));
        self.show(&format!("\u{1b}[2m{who:<5}\u{1b}[0m  \u{1b}[1;{colour}m{what:<7}\u{1b}[0m  {text}\n"))
    }

    fn blank(&self) -> anyhow::Result<()> {
        self.show("\n")
    }

    fn show(&self, text: &str) -> anyhow::Result<()> {
        let file = self.place.root.join("shown");
        fs::write(&file, text)?;
        self.terminal.run(&format!("cat {}", quoted(&file)))
    }

    /// Runs a command as a user does at a prompt.
    fn command(&self, command: &str) -> anyhow::Result<()> {
        self.show(&format!("\n\u{1b}[32m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m\n"))?;
        self.terminal.run(command)
    }
}
