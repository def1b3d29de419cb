//! `sprag handoff`: writes the state of a stage for its next agent, and shows it.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use serde_json::{Map, Value, json};

use sprag_base::text::{Text, plain};
use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::layout::worktree_of;
use sprag_orchestrator::session_dir::SessionDir;
use sprag_orchestrator::stage_session::{handoffs, notes};
use sprag_plan::brief::BriefInput;
use sprag_plan::handoff::{BYTES, Completed, Handoff, HandoffDecision};
use sprag_plan::notes::StageNote;

use super::note::stage_of;
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Write the state of a stage for its next agent
///
/// Reads the options, else YAML or plain text from stdin. Sprag adds commits, files, decisions and open
/// questions from git and from the notes of the stage.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:\n  \
    sprag handoff --done 'The parser reads all files' --next 'Add tests for errors'\n  \
    sprag handoff show")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Finished task (may be repeated)
    #[arg(long, value_name = "TEXT")]
    done: Vec<String>,
    /// Decision (may be repeated)
    #[arg(long, value_name = "TEXT")]
    decided: Vec<String>,
    /// Fact that the next agent needs (may be repeated)
    #[arg(long, value_name = "TEXT")]
    fact: Vec<String>,
    /// Open question (may be repeated)
    #[arg(long, value_name = "TEXT")]
    open: Vec<String>,
    /// Next step (may be repeated)
    #[arg(long, value_name = "TEXT")]
    next: Vec<String>,
    /// Stage id (default: the stage of this agent)
    #[arg(long)]
    stage: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show the last handoff and the notes of a stage
    Show(ShowArgs),
}

#[derive(clap::Args)]
struct ShowArgs {
    /// Stage id (default: the stage of this agent)
    stage: Option<String>,
    /// Number of an earlier handoff
    #[arg(long)]
    number: Option<u32>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match &args.command {
        Some(Command::Show(args)) => tell(args, cx),
        None => write(&args, cx),
    }
}

fn write(args: &Args, cx: &CommandCx) -> CommandResult {
    let (run, active, stage) = stage_of(cx, args.stage.as_deref(), "handoff --next TEXT --stage STAGE")?;
    let said = said(args)?;
    if said.is_empty() {
        return Err(Failure::empty_handoff());
    }
    let plan = active.plan().head.name.to_string();
    let told =
        BriefInput::from_run(&active, &stage).ok_or_else(|| Failure::stage_not_run(stage.as_str(), &[]))?;
    let session = cx.env.text(sprag_orchestrator::layout::SESSION_VARIABLE).unwrap_or_default();
    let places = cx.places()?;
    let root = places.worktree.clone().ok_or_else(Failure::no_repository)?;
    // Always the worktree of the stage: changes of a person in another checkout do not belong to the stage.
    let is_there = root.ends_with(worktree_of(Path::new(""), &stage));
    let worktree = if is_there { root } else { worktree_of(&root, &stage) };
    let noted = notes::of_stage(&run, &plan, &stage)?;
    let sketch = handoffs::sketch(&handoffs::HandoffSubject {
        told: &told,
        notes: &noted,
        worktree: &worktree,
        session: &session,
        site: &SessionDir::at(&run.join("s").join(session.replace('/', "."))),
        store: &cx.world()?.store(),
    });
    // Only Sprag fills in the session and the stage.
    let whole = Handoff { session_id: Text::default(), stage_id: Text::default(), ..said }.filled(sketch);
    let number = handoffs::write(&run, &plan, &stage, &RealDisk, &whole)?;
    let path = handoffs::path(&run, &plan, &stage, number);
    show(
        args.format,
        || json!({"plan": plan, "stage": stage, "number": number, "path": path}),
        || output::line(format!("wrote the handoff of stage `{}` to `{}`", stage.as_str(), path.display())),
    )
}

/// Reads the handoff from the options, else from stdin.
fn said(args: &Args) -> Result<Handoff, Failure> {
    let texts = |all: &[String]| all.iter().map(|text| Text::new(plain(text))).collect::<Vec<Text<500>>>();
    let by_options = Handoff {
        completed_tasks: texts(&args.done)
            .into_iter()
            .map(|description| Completed { description, files: Vec::new() })
            .collect(),
        key_decisions: texts(&args.decided)
            .into_iter()
            .map(|decision| HandoffDecision { decision, rationale: Text::default() })
            .collect(),
        discovered_facts: texts(&args.fact),
        open_questions: texts(&args.open),
        next_actions: texts(&args.next),
        ..Handoff::default()
    };
    let stdin = io::stdin();
    if !by_options.is_empty() || stdin.is_terminal() {
        // Parsing the rendered form removes secrets.
        return handoffs::parse(&by_options.text()).map_err(|unreadable| Failure::bad_handoff(&unreadable));
    }
    let mut bytes = Vec::new();
    stdin.lock().take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    handoffs::parse(&text).map_err(|unreadable| Failure::bad_handoff(&unreadable))
}

fn tell(args: &ShowArgs, cx: &CommandCx) -> CommandResult {
    let (run, active, stage) = stage_of(cx, args.stage.as_deref(), "handoff show STAGE")?;
    let plan = active.plan().head.name.to_string();
    let found = match args.number {
        Some(number) => handoffs::read(&handoffs::path(&run, &plan, &stage, number)).map(|it| (number, it)),
        None => handoffs::latest(&run, &plan, &stage),
    };
    let noted = notes::of_stage(&run, &plan, &stage)?;
    match args.number {
        Some(number) if found.is_none() => {
            let last = handoffs::numbers(&run, &plan, &stage).last().copied();
            return Err(Failure::no_handoff_numbered(stage.as_str(), number, last));
        }
        None if found.is_none() && noted.is_empty() => return Err(Failure::no_handoff(stage.as_str())),
        Some(_) | None => {}
    }
    show(
        args.format,
        || {
            let handoff = found.as_ref().map(|(number, it)| {
                let mut keys: Map<String, Value> = it.keys().into_iter().collect();
                keys.insert("prose".to_owned(), json!(it.prose));
                json!({"number": number, "keys": keys})
            });
            json!({"plan": plan, "stage": stage, "handoff": handoff, "notes": noted})
        },
        || {
            if let Some((_, it)) = &found {
                output::line(it.text().trim_end());
            }
            for note in noted.iter() {
                output::line(line(note));
            }
        },
    )
}

fn line(note: &StageNote) -> String {
    format!("{} {}", note.at, note.said.line())
}
