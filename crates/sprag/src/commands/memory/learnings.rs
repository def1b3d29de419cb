//! Arguments and context that the commands for learnings share.

use sprag_base::record::{Record, RecordAuthor};
use sprag_base::text::Text;
use sprag_host::memory::{self, AllLearnings};
use sprag_host::store::new_record;
use sprag_host::world::World;
use sprag_memory::destination::Destination;
use sprag_memory::learning::{Category, LearningScope, LearningStatus};
use sprag_memory::learnings::LearningEntry;
use sprag_memory::lifecycle::promote::Asker;
use sprag_memory::records::MemoryRecord;

use crate::commands::{CommandCx, check_person};
use crate::failure::Failure;
use crate::output::OutputFormat;

#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// Status: `active`, `stale`, `archived`, `superseded` or `all` (default: active and stale)
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Category: `pattern`, `pitfall`, `convention`, `dependency`, `process`, `domain` or `debugging`
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// Scope: `project`, `team`, `personal` or `ephemeral`
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Tag of the learnings
    #[arg(long)]
    pub(crate) tag: Option<String>,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(clap::Args)]
pub(crate) struct OneArgs {
    /// Learning id, or at least its first six characters
    pub id: String,
    #[command(flatten)]
    pub format: OutputFormat,
}

#[derive(clap::Args)]
pub(crate) struct SomeArgs {
    /// Learning ids, or at least their first six characters
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
    /// Reason, at most 500 characters
    #[arg(long)]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(clap::Args)]
pub(crate) struct RateArgs {
    /// Learning id, or at least its first six characters
    pub(crate) id: String,
    /// The learning helped
    #[arg(long, group = "rating", required_unless_present = "useless")]
    pub(crate) useful: bool,
    /// The learning did not help or was misleading
    #[arg(long, group = "rating")]
    useless: bool,
    /// Reason, at most 500 characters
    #[arg(long)]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(clap::Args)]
pub(crate) struct SupersedeArgs {
    /// Id of the learning to replace
    pub(crate) id: String,
    /// Id of the learning that replaces it
    #[arg(long, value_name = "ID")]
    pub(crate) by: String,
    /// Reason, at most 500 characters
    #[arg(long)]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(clap::Args)]
pub(crate) struct PromoteArgs {
    /// Learning id, or at least its first six characters
    pub(crate) id: String,
    /// New scope: `team`, `project` or `personal`
    #[arg(long)]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

/// The world and the learnings that a command works with.
pub(crate) struct LearningsContext<'a> {
    pub(crate) world: World<'a>,
    pub(crate) all: AllLearnings,
    cx: &'a CommandCx,
}

impl<'a> LearningsContext<'a> {
    pub(crate) fn open(cx: &'a CommandCx) -> Result<LearningsContext<'a>, Failure> {
        let world = cx.world()?;
        let all = memory::load(&world.places)?;
        Ok(LearningsContext { world, all, cx })
    }

    pub(crate) fn find(&self, prefix: &str) -> Result<(Destination, &LearningEntry), Failure> {
        self.all.find(prefix).map_err(|error| Failure::no_learning(prefix, &error))
    }

    pub(crate) fn asker(&self) -> Asker {
        match check_person(&self.world.places) {
            Ok(()) => Asker::Person,
            Err(_) => Asker::Agent,
        }
    }

    /// Returns a record with the caller as its author: a person, or an agent or script.
    pub(crate) fn record(&self, record: &MemoryRecord) -> Record {
        let role = match self.asker() {
            Asker::Person => "person",
            Asker::Agent => "agent",
        };
        let by = RecordAuthor { role: Some(Text::from(role)), ..RecordAuthor::reporter() };
        new_record::record(record, self.cx.now, None, Some(by))
    }

    /// Writes records to the store of their learning.
    pub(crate) fn write(&self, place: Destination, records: &[Record]) -> Result<(), Failure> {
        match place {
            Destination::Session => Err(Failure::passing()),
            Destination::Project | Destination::Personal => {
                Ok(memory::write(&self.world, place, records, self.cx.now)?)
            }
        }
    }

    pub(crate) fn short(&self, entry: &LearningEntry) -> String {
        self.all.short(entry.learning.id.as_str())
    }
}

/// Parses a name; the failure lists the known names.
fn named<T>(
    what: &str,
    text: Option<&str>,
    read: fn(&str) -> Option<T>,
    all: &[&str],
) -> Result<Option<T>, Failure> {
    match text {
        None => Ok(None),
        Some(text) => match read(text) {
            Some(found) => Ok(Some(found)),
            None => Err(Failure::unknown_name(what, text, all, "memory list")),
        },
    }
}

pub(crate) fn scope(text: Option<&str>) -> Result<Option<LearningScope>, Failure> {
    named(
        "--scope",
        text,
        LearningScope::read,
        &LearningScope::ALL.iter().map(|it| it.name()).collect::<Vec<_>>(),
    )
}

pub(crate) fn category(text: Option<&str>) -> Result<Option<Category>, Failure> {
    named("--category", text, Category::read, &Category::ALL.iter().map(|it| it.name()).collect::<Vec<_>>())
}

pub(crate) fn status(text: Option<&str>) -> Result<Option<LearningStatus>, Failure> {
    named(
        "--status",
        text,
        LearningStatus::read,
        &LearningStatus::ALL.iter().map(|it| it.name()).collect::<Vec<_>>(),
    )
}
