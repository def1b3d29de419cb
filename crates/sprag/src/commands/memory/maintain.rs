//! `sprag memory maintain`: runs all maintenance of the memory now.

use serde_json::{Value, json};

use sprag_base::text::Text;
use sprag_host::upkeep::{self, STEPS, StepResult, UpkeepMode, UpkeepStep};

use crate::commands::{CommandCx, CommandResult, show, warn};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Archive, index and deliver learnings
///
/// Sessions do the urgent part automatically, once a day.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: OutputFormat,
}

/// Maximum number of lines that one step prints.
const LINES: usize = 20;

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    warn(&world);
    let store = world.store();
    let mode = if args.dry_run { UpkeepMode::Rehearsal } else { UpkeepMode::Real };
    let lock = if args.dry_run { None } else { Some(upkeep::try_lock(&store, &world)?) };
    if matches!(lock, Some(None)) {
        return Err(Failure::busy("memory maintain"));
    }
    let bar = output::progress(STEPS.len() as u64, "maintaining");
    let mut done = Vec::new();
    for step in STEPS {
        bar.set_message(step.name);
        done.push((*step, step.execute(&world, mode, cx.now)?));
        bar.inc(1);
    }
    bar.finish_and_clear();
    drop(lock);
    show(args.format, || data(&done, mode), || tell(&done, mode))
}

fn data(done: &[(&UpkeepStep, StepResult)], mode: UpkeepMode) -> Value {
    let steps: Vec<Value> = done
        .iter()
        .map(|(step, done)| json!({"step": step.name, "count": done.count, "lines": done.lines}))
        .collect();
    json!({"dry_run": mode == UpkeepMode::Rehearsal, "steps": steps})
}

fn tell(done: &[(&UpkeepStep, StepResult)], mode: UpkeepMode) {
    for (step, done) in done {
        output::line(format!("{:<9}{:>6} {}", step.name, done.count, step.about));
        for line in done.lines.iter().take(LINES) {
            output::line(format!("  {}", Text::<300>::from(line.as_str())));
        }
        if let Some(more) = done.lines.len().checked_sub(LINES).filter(|more| *more > 0) {
            output::line(format!("  and {more} more"));
        }
    }
    if mode == UpkeepMode::Rehearsal {
        output::line("nothing was changed\n  next: sprag memory maintain");
    }
}
