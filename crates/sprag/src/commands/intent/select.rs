//! `sprag intent select`: selects the intent of the next changes.

use serde_json::json;

use sprag_base::text::Text;
use sprag_govern::report::Report;
use sprag_host::report;
use sprag_intent::DeclaredClass;

use super::{all, one};
use crate::commands::{CommandCx, CommandResult, delivered, show};
use crate::output::{self, OutputFormat};

/// Select the intent of the next changes
///
/// Prints the text of the intent, the files it owns, recent work for it, and other sessions that work on it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Intent id
    id: String,
    /// Kind of the changes: AST_REFACTOR (same behaviour) or INTENT_EVOLUTION (new behaviour)
    #[arg(long, value_parser = class, default_value = "INTENT_EVOLUTION")]
    class: DeclaredClass,
    /// Session id, or its first characters (default: the only live session)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

fn class(text: &str) -> Result<DeclaredClass, String> {
    DeclaredClass::read(text).ok_or_else(|| "expected AST_REFACTOR or INTENT_EVOLUTION".to_owned())
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let set = all(&world)?;
    let intent = one(&set, &args.id)?;
    let session = report::find_session::find_session(&world, args.session.as_deref(), cx.now)?;
    let report = Report::IntentSelected { id: Text::from(args.id.as_str()), class: args.class };
    let how = delivered(&report::send(&world, &session, report, &cx.cwd, cx.now)?)?;
    let context = sprag_host::intents::context::context_of(&world, intent.id.as_str(), &session, cx.now)?;
    let context = context.map(|context| context.to_string()).unwrap_or_default();
    show(
        args.format,
        || {
            json!({
                "session": session,
                "intent": intent.id,
                "class": args.class,
                "delivery": how,
                "context": context,
            })
        },
        || output::line(&context),
    )
}
