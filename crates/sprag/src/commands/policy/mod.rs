//! `sprag policy`: shows, explains and tests the permission rules.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use sprag_host::clients::claude::TOOLS;
use sprag_host::config::rule_files::{self, Packs, Sourced};
use sprag_host::config::{self, ConfigProblem};
use sprag_host::sys::locations;
use sprag_policy::call::{InputCompleteness, ToolCall};
use sprag_policy::{KnownPaths, Rule, RuleDecision, RuleSet, RuleVerdict, Strictness, Subject};
use sprag_shell::{
    Carrier, Command as ShellCommand, DoubtKind, PathUse, Script, ShellStart, Word, WorkingDir,
};

use super::{CommandCx, CommandEnd, CommandResult, show};
use crate::failure::Failure;
use crate::input::{InputLine, next_line};
use crate::output::{self, OutputFormat};

mod import;

/// Show, explain and test the permission rules
///
/// Uses the rules in force here: built-in packs and the rules of the configuration. `--packs` and `--config`
/// choose other rules. Hooks apply the same rules to every tool call of an agent.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag policy explain 'rm -rf build'\n  \
    sprag policy test")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Apply the rules to calls, one JSON object per line
    ///
    /// Prints one answer per line, in order. Reads neither the disk nor the environment; without `--packs` it
    /// uses the default packs.
    Check {
        /// Read from stdin, one JSON object per line: `cmd`, or `tool_name` and `tool_input`
        #[arg(long, required = true)]
        jsonl: bool,
        #[command(flatten)]
        which: PackArgs,
        /// Also answer `ask` for script files and build targets that Sprag does not read
        #[arg(long)]
        strict: bool,
        /// Also print the parse time of each command line: `read_ns`
        #[arg(long)]
        timed: bool,
    },
    /// Show how Sprag reads a command line, and which rule applies
    Explain {
        /// Command line, in quotes
        cmd: String,
        #[command(flatten)]
        which: PackArgs,
        #[command(flatten)]
        format: OutputFormat,
    },
    /// Test every rule on its own examples
    Test {
        #[command(flatten)]
        which: PackArgs,
        #[command(flatten)]
        format: OutputFormat,
    },
    /// Import the permission rules of a client
    Import(import::Args),
    /// List the permission rules
    List {
        #[command(flatten)]
        which: PackArgs,
        #[command(flatten)]
        format: OutputFormat,
    },
}

#[derive(clap::Args)]
struct PackArgs {
    /// Packs: `default`, `all`, or names separated by commas
    #[arg(long)]
    packs: Option<String>,
    /// File with more rules
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl PackArgs {
    /// Returns the rules that the options name, else the default packs.
    fn named(&self) -> Result<Vec<Sourced>, Failure> {
        let packs = Packs::read(self.packs.as_deref().unwrap_or("default"));
        rule_files::rules(&packs, self.config.as_deref()).map_err(|error| Failure::rules(&error))
    }

    /// Returns the rules that the options name, else the rules in force here.
    fn here(&self, cx: &CommandCx) -> Result<(Vec<Sourced>, Vec<ConfigProblem>), Failure> {
        if self.packs.is_some() || self.config.is_some() {
            return Ok((self.named()?, Vec::new()));
        }
        let resolved = config::load(&cx.places()?, &cx.env);
        Ok((resolved.rules, resolved.problems))
    }

    fn good(&self, cx: &CommandCx) -> Result<Vec<Sourced>, Failure> {
        match self.here(cx)? {
            (rules, problems) if problems.is_empty() => Ok(rules),
            (_, problems) => Err(Failure::config(&problems)),
        }
    }
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::Check { jsonl: _, which, strict, timed } => {
            let strictness = if strict { Strictness::Strict } else { Strictness::Usual };
            let timing = if timed { ReadTiming::Shown } else { ReadTiming::Hidden };
            check(&which, strictness, timing)
        }
        Command::Explain { cmd, which, format } => explain(&cmd, &which, format, cx),
        Command::Test { which, format } => test(&which, format, cx),
        Command::List { which, format } => list(&which, format, cx),
        Command::Import(args) => import::run(args, cx),
    }
}

fn set(rules: &[Sourced], strictness: Strictness) -> Result<RuleSet, Failure> {
    RuleSet::new(rules.iter().map(|sourced| &sourced.rule), strictness)
        .map_err(|bad| Failure::rules(&rule_files::RulesError::Bad(bad)))
}

/// Longest line in bytes; longer lines are skipped.
const LINE: usize = 1024 * 1024;

/// Whether an answer contains the parse time of the command line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadTiming {
    Shown,
    Hidden,
}

fn check(which: &PackArgs, strictness: Strictness, timing: ReadTiming) -> CommandResult {
    let rules = set(&which.named()?, strictness)?;
    let mut input = io::stdin().lock();
    let mut stdout = io::stdout().lock();
    while let Some(line) = next_line(&mut input, LINE)? {
        let answer = match line {
            InputLine::Long => bad(None, "limit: the line is longer than 1 MB"),
            InputLine::Whole(bytes) => answer(&bytes, &rules, strictness, timing),
        };
        // The caller may wait for this line before it sends the next one.
        writeln!(stdout, "{answer}").and_then(|()| stdout.flush())?;
    }
    Ok(CommandEnd::Done)
}

fn bad(id: Option<&Value>, what: &str) -> Value {
    let mut answer = json!({"verdict": "ask", "rule": null, "reason": null, "matched": false, "uncertain": true, "error": what});
    if let Some(id) = id {
        answer["id"] = id.clone();
    }
    answer
}

fn answer(line: &[u8], rules: &RuleSet, strictness: Strictness, timing: ReadTiming) -> Value {
    let Ok(asked) = serde_json::from_slice::<Value>(line) else {
        return bad(None, "not JSON");
    };
    let id = asked.get("id");
    match judge(&asked, rules, strictness) {
        Err(what) => bad(id, &what),
        Ok((judged, script, read)) => {
            let mut answer = to_json(&judged, script.as_ref());
            if timing == ReadTiming::Shown {
                answer["read_ns"] = json!(u64::try_from(read.as_nanos()).unwrap_or(u64::MAX));
            }
            if let Some(id) = id {
                answer["id"] = id.clone();
            }
            answer
        }
    }
}

type RuleAnswers = (RuleVerdict, Option<Script>, Duration);

fn judge(asked: &Value, rules: &RuleSet, strictness: Strictness) -> Result<RuleAnswers, String> {
    let text = |key: &str| match asked.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("`{key}` is not a string")),
    };
    if !asked.is_object() {
        return Err("not an object".to_owned());
    }
    let (cmd, tool, cwd, home) = (text("cmd")?, text("tool_name")?, text("cwd")?, text("home")?);
    let call = match (cmd, tool) {
        (Some(_), Some(_)) => return Err("both `cmd` and `tool_name`".to_owned()),
        (None, None) => return Err("neither `cmd` nor `tool_name`".to_owned()),
        (Some(cmd), None) => {
            ToolCall::new(TOOLS, "Bash", json!({ "command": cmd }), None, InputCompleteness::Yes)
        }
        (None, Some(tool)) => {
            let input = asked.get("tool_input").filter(|input| input.is_object());
            let input = input.ok_or("`tool_input` is not an object")?;
            ToolCall::new(TOOLS, tool, input.clone(), None, InputCompleteness::Yes)
        }
    };
    let start = ShellStart { cwd: cwd.map(str::to_owned), home: home.map(str::to_owned) };
    let started = Instant::now();
    let script = call.command.as_deref().map(|command| Script::parse(command, &start));
    let read = started.elapsed();
    let ground = KnownPaths::new(cwd, home);
    let subject = Subject::call(&call, script.as_ref(), &ground);
    let judged = match text("pattern")? {
        None => rules.judge(&subject),
        Some(pattern) => {
            let gate = RuleSet::new([&Rule::gate(pattern)], strictness).map_err(|bad| bad.to_string())?;
            gate.judge(&subject)
        }
    };
    Ok((judged, script, read))
}

fn to_json(judged: &RuleVerdict, script: Option<&Script>) -> Value {
    let mut answer = json!({
        "verdict": judged.verdict.name(),
        "rule": judged.rule,
        "reason": judged.reason,
        "next": judged.next,
        "matched": judged.matched,
        "uncertain": judged.uncertain,
        "decision": judged.decision.map(|decision| decision.name()),
    });
    if let Some(script) = script {
        answer["commands"] =
            json!(script.commands.iter().map(|command| words(&command.argv)).collect::<Vec<_>>());
        answer["doubts"] =
            json!(script.doubts.iter().map(|doubt| doubt_name(doubt.kind)).collect::<Vec<_>>());
    }
    answer
}

fn explain(cmd: &str, which: &PackArgs, format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let rules = which.good(cx)?;
    let place = |path: Option<PathBuf>| path.map(|path| path.to_string_lossy().into_owned());
    let (cwd, home) = (place(Some(cx.cwd.clone())), place(locations::home(&cx.env)));
    let mut ground = KnownPaths::new(cwd.as_deref(), home.as_deref());
    if let Some(root) = place(cx.places()?.worktree) {
        ground = ground.in_repo(&root);
    }
    let script = Script::parse(cmd, &ShellStart { cwd, home });
    let judged = set(&rules, Strictness::Usual)?.judge(&Subject::script(&script, &ground));
    show(format, || to_json(&judged, Some(&script)), || tell(&script, &judged, &rules, &cx.cwd))
}

fn tell(script: &Script, judged: &RuleVerdict, rules: &[Sourced], cwd: &Path) {
    output::heading("reachable commands");
    for command in &script.commands {
        output::line(format!("  {}{}", words(&command.argv), around(command, cwd)));
    }
    for (name, uses) in [("writes", &script.writes), ("reads", &script.reads)] {
        if !uses.is_empty() {
            output::heading(name);
            for path in uses.iter() {
                output::line(format!("  {}", path_use(path)));
            }
        }
    }
    if !script.doubts.is_empty() {
        output::heading("doubts");
        for doubt in &script.doubts {
            output::line(format!("  {}: {}", doubt_name(doubt.kind), doubt.about));
        }
    }
    output::heading("verdict");
    match &judged.rule {
        None => output::line(format!("  {}: no rule applies", judged.verdict.name())),
        Some(rule) => {
            let source =
                rules.iter().find(|sourced| sourced.rule.id == *rule).map_or("?", |sourced| &sourced.source);
            output::line(format!("  {} by rule `{rule}` (from `{source}`)", judged.verdict.name()));
        }
    }
    if let Some(reason) = &judged.reason {
        output::line(format!("  {reason}"));
    }
    if let Some(next) = judged.next.as_ref().filter(|next| !next.is_empty()) {
        output::next(next);
    }
    if let (Some(rule), RuleDecision::Ask | RuleDecision::Deny) = (&judged.rule, judged.verdict) {
        let past = if judged.is_final { "" } else { "; for one call: sprag approve CODE" };
        output::line(format!(
            "  a person may turn the rule off: sprag config set policy.off '[\"{rule}\"]'{past}"
        ));
    }
}

/// Returns the words of a command as a person would write them. `?` is an unknown part, `…` any number of
/// words.
fn words(argv: &[Word]) -> String {
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(word: &Word) -> String {
    match word {
        Word::Known(text) if text.is_empty() || text.contains(char::is_whitespace) => format!("'{text}'"),
        Word::Known(text) => text.clone(),
        Word::Partly(parts) => parts.iter().map(|part| part.as_deref().unwrap_or("?")).collect(),
        Word::Many => "…".to_owned(),
    }
}

fn around(command: &ShellCommand, cwd: &Path) -> String {
    let mut told = String::new();
    if !command.via.is_empty() {
        let via: Vec<String> = command.via.iter().map(carrier).collect();
        told.push_str(&format!("  (in {})", via.join(", ")));
    }
    match &command.cwd {
        WorkingDir::At(dir) if dir != "." && Path::new(dir) != cwd => told.push_str(&format!("  (at {dir})")),
        WorkingDir::Unknown => told.push_str("  (in an unknown directory)"),
        WorkingDir::At(_) => {}
    }
    told
}

fn carrier(carrier: &Carrier) -> String {
    match carrier {
        Carrier::Program(name) | Carrier::Shell(name) | Carrier::Interpreter(name) => name.clone(),
        Carrier::Substitution => "a substitution".to_owned(),
        Carrier::Function(name) => format!("function {name}"),
        Carrier::Alias(name) => format!("alias {name}"),
        Carrier::Trap => "a trap".to_owned(),
    }
}

fn path_use(used: &PathUse) -> String {
    format!("{} by {}", word(&used.path), used.by)
}

fn doubt_name(kind: DoubtKind) -> &'static str {
    match kind {
        DoubtKind::Dynamic => "dynamic",
        DoubtKind::Parse => "parse",
        DoubtKind::Limit => "limit",
        DoubtKind::OddChar => "odd_char",
        DoubtKind::Opaque => "opaque",
    }
}

fn test(which: &PackArgs, format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let (rules, problems) = which.here(cx)?;
    let failed = rule_files::failed_examples(&rules).map_err(|error| Failure::rules(&error))?;
    let examples: usize =
        rules.iter().map(|sourced| sourced.rule.matching.len() + sourced.rule.not_match.len()).sum();
    show(
        format,
        || {
            let failed: Vec<Value> = failed
                .iter()
                .map(|failed| json!({"rule": failed.rule, "example": failed.example, "why": failed.why}))
                .collect();
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            json!({"rules": rules.len(), "examples": examples, "failed": failed, "problems": problems})
        },
        || {
            for problem in problems.iter() {
                output::line(problem.to_string());
            }
            for failed in &failed {
                output::line(format!("rule `{}`, example `{}`: {}", failed.rule, failed.example, failed.why));
            }
            output::line(format!("{} rules, {examples} examples, {} failed", rules.len(), failed.len()));
        },
    )?;
    Ok(if failed.is_empty() && problems.is_empty() { CommandEnd::Done } else { CommandEnd::No })
}

fn list(which: &PackArgs, format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let rules = which.good(cx)?;
    show(
        format,
        || {
            let rules: Vec<Value> = rules
                .iter()
                .map(|Sourced { source, rule }| {
                    json!({"id": rule.id, "source": source, "decision": rule.decision.name(), "any": rule.any, "reason": rule.reason})
                })
                .collect();
            json!({ "rules": rules })
        },
        || {
            let rows: Vec<Vec<String>> = rules
                .iter()
                .map(|Sourced { rule, .. }| {
                    vec![rule.id.clone(), rule.decision.name().to_owned(), rule.reason.clone()]
                })
                .collect();
            output::table(&["rule", "decision", "reason"], &rows);
        },
    )
}
