//! `sprag memory export`: prints learnings for other programs and people.

use serde_json::{Value, json};

use sprag_host::memory;
use sprag_memory::learning::{Learning, LearningScope, LearningStatus};
use sprag_memory::learnings::LearningEntry;

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::output;

/// Print the learnings in use, oldest first
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Output format
    #[arg(long, value_enum, default_value = "jsonl")]
    format: Format,
    /// Include personal learnings
    #[arg(long)]
    personal: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// One JSON object per line
    Jsonl,
    /// One section per learning
    Markdown,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let all = memory::load(&cx.places()?)?;
    let entries = all.entries().map(|(_, entry)| entry);
    let in_use =
        entries.filter(|entry| matches!(entry.status(), LearningStatus::Active | LearningStatus::Stale));
    for entry in in_use.filter(|entry| is_wanted(&entry.learning, &args)) {
        match args.format {
            Format::Jsonl => output::line(object(entry).to_string()),
            Format::Markdown => output::line(section(&entry.learning)),
        }
    }
    Ok(CommandEnd::Done)
}

/// Reports whether the output includes a learning. Ephemeral learnings belong to one session only.
fn is_wanted(learning: &Learning, args: &Args) -> bool {
    match learning.candidate.scope {
        LearningScope::Project | LearningScope::Team => true,
        LearningScope::Personal => args.personal,
        LearningScope::Ephemeral => false,
    }
}

fn object(entry: &LearningEntry) -> Value {
    let mut object = json!(entry.learning);
    object["status"] = json!(entry.status());
    object["v"] = json!(1);
    object
}

fn section(learning: &Learning) -> String {
    let candidate = &learning.candidate;
    let tags: Vec<&str> = candidate.tags.iter().map(sprag_base::text::Text::as_str).collect();
    // A line of the text must not become a heading of the document.
    let detail = candidate.detail.as_str().replace("\n#", "\n\\#");
    format!(
        "## {}\n\n- id: {}\n- {}, {}, confidence {}\n- tags: {}\n\n{detail}\n",
        candidate.summary,
        learning.id,
        candidate.category.name(),
        candidate.scope.name(),
        candidate.confidence.name(),
        tags.join(", "),
    )
}
