//! `sprag debt`: lists and clears debts: obligations that sessions did not meet.

use serde_json::json;

use sprag_base::record::RecordAuthor;
use sprag_base::text::{Text, shell_word};
use sprag_govern::obligation::records::{ClearedDebts, DebtRecord};
use sprag_govern::obligation::{Debt, DebtCause, Debts, Duty};
use sprag_host::store::{new_record, projections};
use sprag_host::sys::disk::RealDisk;

use crate::commands::{CommandCx, CommandEnd, CommandResult, check_not_agent, check_person, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// List open debts, or clear one
///
/// A debt is an obligation that a session did not meet, such as a failed check.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag debt list\n  \
    sprag debt clear 4f2a1c --reason 'Checked by hand'")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List open debts
    List {
        #[command(flatten)]
        format: OutputFormat,
    },
    /// Clear a debt (people only)
    Clear {
        /// Debt id from `sprag debt list`
        id: String,
        /// Reason for clearing it
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        format: OutputFormat,
    },
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::List { format } => list(format, cx),
        Command::Clear { id, reason, format } => clear(&id, &reason, format, cx),
    }
}

fn list(format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let debts = projections::load::<Debts>(&cx.world()?.store())?.state;
    show(
        format,
        || {
            let debts: Vec<_> = debts
                .open()
                .iter()
                .map(|open| {
                    let mut debt = json!(open.debt);
                    debt["shown"] = json!(open.shown);
                    debt
                })
                .collect();
            json!({ "debts": debts })
        },
        || {
            if debts.open().is_empty() {
                output::line("no open debts");
            }
            for open in debts.open() {
                let debt = &open.debt;
                let cause = match debt.cause {
                    DebtCause::Released => "released by the breaker",
                    DebtCause::Ended => "open when the session ended",
                    DebtCause::Disputed => "reviewers disagree",
                    DebtCause::Unjudged => "no hook judged a call",
                };
                output::line(format!(
                    "{}  {}  {}  {cause}\n  {}",
                    debt.id,
                    debt.duty.name(),
                    debt.since,
                    debt.why
                ));
                output::next(settles(debt));
                output::next(format!("sprag debt clear {} --reason TEXT", debt.id));
            }
        },
    )
}

/// Returns the step that still meets the debt.
fn settles(debt: &Debt) -> String {
    let session = shell_word(debt.session.as_str());
    match debt.duty {
        Duty::Reflect => format!("sprag reflect --session {session}"),
        Duty::Verify => format!("sprag verify --session {session}"),
        Duty::Review => "ask for a review with a prompt that starts with `#review`".to_owned(),
        Duty::Commit => "commit the files".to_owned(),
        Duty::Handoff => "write the handoff".to_owned(),
        Duty::Integrity if debt.cause == DebtCause::Unjudged => {
            "check what the call changed; an agent may have stopped the hook".to_owned()
        }
        Duty::Integrity => "fix the files in a session".to_owned(),
        Duty::Trace => {
            "declare the class of the change in a session: sprag intent select ID --class INTENT_EVOLUTION"
                .to_owned()
        }
        Duty::Scope => "in a session: restore the files, or let an intent own them".to_owned(),
    }
}

fn clear(id: &str, reason: &str, format: OutputFormat, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let store = world.store();
    let debts = projections::load::<Debts>(&store)?.state;
    let debt = debts.open().iter().map(|open| &open.debt).find(|debt| debt.id.as_str() == id);
    let debt = debt.ok_or_else(|| Failure::no_debt(id))?;
    match debt.duty {
        Duty::Review | Duty::Verify => check_person(&world.places)?,
        _ => check_not_agent(&world.places)?,
    }
    let cleared = ClearedDebts { ids: vec![id.to_owned()], reason: Text::from(reason) };
    let by = RecordAuthor::reporter();
    store.log(
        &RealDisk,
        &[new_record::record(&DebtRecord::Cleared(cleared), cx.now, Some(&debt.session), Some(by))],
    )?;
    show(format, || json!({ "cleared": [id] }), || output::line(format!("cleared `{id}`")))?;
    Ok(CommandEnd::Done)
}
