//! `sprag memory consolidate`: merges learnings that say the same.

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::record::RecordAuthor;
use sprag_base::text::{Text, one_line};
use sprag_govern::event::Actor;
use sprag_host::memory;
use sprag_host::memory::judge::consult;
use sprag_host::report::submit::{Submitter, hand_in};
use sprag_host::store::new_record;
use sprag_host::world::World;
use sprag_memory::destination::place;
use sprag_memory::index::analysis::table;
use sprag_memory::index::dedup::{PreparedStatement, SIMILAR};
use sprag_memory::learning;
use sprag_memory::learnings::LearningEntry;
use sprag_memory::lifecycle::consolidate;
use sprag_memory::records::{MemoryRecord, Superseded};
use sprag_memory::write_gate::SimilarResolution;

use crate::commands::{CommandCx, CommandEnd, CommandResult, check_person, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// List learnings that say the same, or merge them
///
/// Without `--apply`, prints the groups and changes nothing.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Let the judge (`memory.judge`) merge each group, and confirm each merge (people only)
    #[arg(long, conflicts_with = "json")]
    apply: bool,
    #[command(flatten)]
    format: OutputFormat,
}

/// Maximum number of learnings to compare; more would take too long.
const MOST: usize = 3000;

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let all = memory::load(&world.places)?;
    let entries: Vec<&LearningEntry> = all.project.in_use().chain(all.personal.in_use()).take(MOST).collect();
    let groups = groups(&entries);
    if args.apply {
        return apply(&world, &groups, cx);
    }
    show(
        args.format,
        || {
            let groups: Vec<Value> = groups
                .iter()
                .map(|group| json!(group.iter().map(|it| member(it)).collect::<Vec<_>>()))
                .collect();
            json!({ "groups": groups })
        },
        || {
            for (at, group) in groups.iter().enumerate() {
                output::line(format!("group {}", at + 1));
                for entry in group.iter() {
                    output::line(format!("  {}", line(entry)));
                }
            }
            if groups.is_empty() {
                output::line("no learnings say the same")
            } else {
                output::next("sprag memory consolidate --apply")
            }
        },
    )
}

fn groups<'a>(entries: &[&'a LearningEntry]) -> Vec<Vec<&'a LearningEntry>> {
    let table = table::built_in();
    let statements: Vec<PreparedStatement> = entries
        .iter()
        .map(|entry| PreparedStatement::new(entry.learning.candidate.summary.as_str(), &table))
        .collect();
    let bar = output::progress(entries.len() as u64, "comparing");
    let alike = |one: usize, other: usize| {
        bar.set_position(one as u64);
        let found = statements[one].compare(&statements[other], &table);
        found.score >= SIMILAR && found.differs.is_none()
    };
    let groups = consolidate::groups(entries, alike);
    bar.finish_and_clear();
    groups.into_iter().map(|group| group.into_iter().map(|at| entries[at]).collect()).collect()
}

fn member(entry: &LearningEntry) -> Value {
    json!({"id": entry.learning.id, "summary": entry.learning.candidate.summary})
}

fn line(entry: &LearningEntry) -> String {
    let id: Text<14> = Text::from(entry.learning.id.as_str());
    format!("`{id}` {}", one_line(entry.learning.candidate.summary.as_str()))
}

fn apply(world: &World<'_>, groups: &[Vec<&LearningEntry>], cx: &CommandCx) -> CommandResult {
    check_person(&world.places)?;
    if world.config.settings.memory.judge.is_empty() {
        return Err(Failure::no_memory_judge());
    }
    let mut merged = 0;
    for group in groups {
        for entry in group.iter() {
            output::line(line(entry));
        }
        let question = consolidate::question(group).to_string();
        let answer = consult(world, question.as_bytes()).map_err(|why| Failure::unanswered(&why))?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let Some(candidate) =
            learning::submission(&answer).ok().and_then(|it| it.accepted.into_iter().next())
        else {
            output::line("  the judge keeps them separate");
            continue;
        };
        output::line(format!("+ {}\n  {}", candidate.1.summary, candidate.1.detail));
        if output::confirm("replace them by this learning?") {
            merged += usize::from(put(world, group, &json!(candidate.1), cx)?);
        }
    }
    output::line(format!("merged {merged} of {} groups", groups.len()));
    Ok(CommandEnd::Done)
}

/// Submits the merged learning as a candidate. If it is kept, it supersedes its sources.
fn put(
    world: &World<'_>,
    group: &[&LearningEntry],
    candidate: &Value,
    cx: &CommandCx,
) -> Result<bool, Failure> {
    let Some(first) = group.first() else { return Ok(false) };
    let session = SessionId::new("consolidate");
    let hand = Submitter { session: &session, actor: &Actor::Main, cwd: &cx.cwd, now: cx.now };
    let submission = json!({ "candidates": [candidate] }).to_string();
    let resolution = SimilarResolution::Supersede(first.learning.id.clone());
    let came = hand_in(world, &hand, &submission, Some(resolution))?;
    let Some(kept) = came.accepted.first() else {
        came.lines("refused").iter().for_each(output::line);
        return Ok(false);
    };
    let by = RecordAuthor::reporter();
    for entry in group.iter().skip(1) {
        let (id, by_id) = (entry.learning.id.clone(), kept.id.clone());
        let superseded = Superseded { id, by: by_id, why: Text::from("consolidated") };
        let superseded = MemoryRecord::Superseded(superseded);
        let record = new_record::record(&superseded, cx.now, Some(&session), Some(by.clone()));
        memory::write(world, place(entry.learning.candidate.scope), &[record], cx.now)?;
    }
    Ok(true)
}
