//! The last section: the open tasks. A session gets it again after its context was compacted.

use sprag_base::text::quoted;

use super::section::{SectionPart, fit, items, quote_agent};
use super::{BriefInput, RECITATION};
use crate::notes::RECITED;
use crate::spec::{RunBudget, StageKind};

/// Tasks that are listed.
const TASKS: usize = 12;

pub fn recitation(told: &BriefInput) -> String {
    let part = |rank, most, head, body| SectionPart { rank, most, head, body };
    let parts = vec![
        part(0, 2 * 1024, "## Open tasks", tasks(told)),
        part(1, 2 * 1024, "## Latest notes", notes(told)),
        part(2, 512, "## Budget", budget(&told.spec.budget, told.spec.context_budget)),
        part(0, 512, "## When you are done", end(told.spec.kind)),
    ];
    fit("# Now\n", parts, RECITATION)
}

fn tasks(told: &BriefInput) -> String {
    let is_open = |id: &str| !told.ticked.iter().any(|ticked| ticked.as_str() == id);
    let open: Vec<String> = told
        .spec
        .tasks
        .iter()
        .filter(|task| is_open(task.id.as_str()))
        .map(|task| format!("`{}`: {}", task.id.as_str(), quoted(task.text.as_str())))
        .collect();
    items(open.into_iter(), TASKS)
}

fn notes(told: &BriefInput) -> String {
    let from = told.notes.len().saturating_sub(RECITED);
    let lines: Vec<String> = told.notes[from..].iter().map(|note| quote_agent(&note.said.line())).collect();
    lines.join("\n")
}

fn budget(budget: &RunBudget, context: u8) -> String {
    let mut parts = vec![format!("{context}% of the context, then hand over")];
    parts.extend(budget.tokens.map(|tokens| format!("{tokens} tokens")));
    parts.extend(budget.cost.map(|cost| format!("a cost of {cost}")));
    parts.extend(budget.time.map(|time| format!("{time} of time")));
    items(parts.into_iter(), 10)
}

fn end(kind: StageKind) -> String {
    match kind {
        StageKind::Knowledge => "Note your findings, then run `sprag stage complete`. Commit nothing.",
        StageKind::Standard | StageKind::IntegrationVerify | StageKind::KnowledgeDistill => {
            "Commit, run the checks, report each task, then run `sprag stage complete`. A program that cannot run \
             commands reports it with exit code 0."
        }
    }
    .to_owned()
}
