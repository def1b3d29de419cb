//! `sprag approve`: allows one refused call once.

use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_govern::approval::RefusedCall;
use sprag_govern::report::Report;
use sprag_host::report;
use sprag_host::store::journal;

use crate::commands::{CommandCx, CommandResult, check_person, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Allow one refused call once (people only)
///
/// Without a code, lists the refused calls with their codes. After an approval, the agent must make the same
/// call again within ten minutes. Some rules do not allow an approval.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag approve\n  \
    sprag approve 4f2a1c")]
pub(crate) struct Args {
    /// Code of the refused call
    code: Option<String>,
    /// Refuse the call for good; the agent must find another way
    #[arg(long, requires = "code")]
    reject: bool,
    /// Session id, or its first characters (default: all sessions)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let is_asked =
        |id: &SessionId| args.session.as_ref().is_none_or(|session| id.as_str().starts_with(session));
    let refused: Vec<(SessionId, RefusedCall)> =
        refused(&world.store()).into_iter().filter(|(id, _)| is_asked(id)).collect();
    let Some(code) = args.code else {
        return list(args.format, &refused);
    };
    check_person(&world.places)?;
    let mut meant = refused.iter().filter(|(_, refused)| refused.code.as_str() == code);
    let (session, call) = match (meant.next(), meant.next()) {
        (Some(one), None) => one,
        (None, _) => return Err(Failure::no_refusal(&code)),
        (Some(_), Some(_)) => return Err(Failure::same_code(&code)),
    };
    let named = Text::from(code.as_str());
    if args.reject {
        report::send(&world, session, Report::Rejected { code: named }, &cx.cwd, cx.now)?;
        return show(
            args.format,
            || json!({"rejected": code, "session": session, "rule": call.rule, "call": call.what}),
            || output::line(format!("`{}` stays refused", call.what)),
        );
    }
    report::send(&world, session, Report::Approved { code: named }, &cx.cwd, cx.now)?;
    show(
        args.format,
        || json!({"approved": code, "session": session, "rule": call.rule, "call": call.what}),
        || {
            output::line(format!(
                "`{}` may run once within ten minutes; tell the agent to try again",
                call.what
            ))
        },
    )
}

fn list(format: OutputFormat, refused: &[(SessionId, RefusedCall)]) -> CommandResult {
    let row = |(session, refused): &(SessionId, RefusedCall)| json!({"code": refused.code, "rule": refused.rule, "call": refused.what, "session": session});
    show(
        format,
        || json!({ "refused": refused.iter().map(row).collect::<Vec<_>>() }),
        || {
            if refused.is_empty() {
                output::line("no refused calls to approve");
            }
            for (session, refused) in refused {
                let RefusedCall { code, rule, what, .. } = refused;
                output::line(format!(
                    "{code}  {rule}  `{what}`\n  next: sprag approve {code} --session {}",
                    session.as_str()
                ));
            }
        },
    )
}

/// Returns the refused calls of open sessions, the latest last.
fn refused(store: &sprag_host::store::Store) -> Vec<(SessionId, RefusedCall)> {
    let journals = journal::all(store).into_iter().filter_map(|path| journal::read(&path).ok());
    let of_session = journals.filter_map(|(loaded, records)| {
        let session = records.iter().rev().find_map(|record| record.session.clone())?;
        Some((session, loaded.session.open_refusals().collect::<Vec<_>>()))
    });
    of_session
        .flat_map(|(session, refused)| {
            refused.into_iter().map(move |refused| (session.clone(), refused)).collect::<Vec<_>>()
        })
        .collect()
}
