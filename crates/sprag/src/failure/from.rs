//! Converts the failures of other crates into failures of commands.

use std::io;

use sprag_base::ids::SessionId;
use sprag_base::text::{quoted, quoted_list};
use sprag_host::config::edit::EditError;
use sprag_host::config::rule_import::ImportError;
use sprag_host::report::ReportError;
use sprag_host::report::submit::SubmitError;
use sprag_host::setup::install::InstallError;
use sprag_host::sys::human::NotHuman;
use sprag_host::sys::locations::NoHome;
use sprag_orchestrator::daemon::start_run::StartError;

use super::{ExitKind, Failure};

impl From<NoHome> for Failure {
    fn from(_: NoHome) -> Self {
        Failure::new(
            ExitKind::Usage,
            "no_home",
            "no home directory for the records of Sprag: `HOME` and `SPRAG_HOME` are not set",
        )
        .next("export SPRAG_HOME=/a/directory")
    }
}

impl From<StartError> for Failure {
    fn from(reason: StartError) -> Self {
        let (kind, code, message, next) = match reason {
            StartError::NoRepository => return Failure::no_repository(),
            StartError::NoBranch => (
                ExitKind::Usage,
                "no_target",
                "no branch is checked out, and the plan has no `target`".to_owned(),
                "git switch BRANCH",
            ),
            StartError::NoTarget { name } => (
                ExitKind::Usage,
                "no_target",
                format!("branch `{name}` does not exist or has no commit"),
                "git branch --list",
            ),
            StartError::StageTaken { stage, plan } => (
                ExitKind::No,
                "stage_taken",
                format!(
                    "an unfinished run of plan `{plan}` already uses the stage name `{}`",
                    stage.as_str()
                ),
                "sprag status",
            ),
            StartError::Unproven { trunk } => (
                ExitKind::No,
                "unproven",
                format!(
                    "trunk `{trunk}` is missing or lacks commits of merged stages, so the run cannot resume"
                ),
                "git fsck --lost-found",
            ),
            StartError::NoSandbox { stage, why } => (
                ExitKind::Usage,
                "no_sandbox",
                format!("stage `{}` needs a sandbox, which is not available here: {why}", stage.as_str()),
                "sprag doctor",
            ),
            StartError::AtWork { pid, plan } => {
                let plan = plan.map_or("a plan".to_owned(), |plan| format!("plan `{}`", quoted(&plan)));
                (
                    ExitKind::No,
                    "at_work",
                    format!("{plan} already runs in this clone, in process `{pid}`"),
                    "sprag status",
                )
            }
            StartError::NoRun { name } => (
                ExitKind::No,
                "no_run",
                format!("this clone has no run of plan `{name}`"),
                "sprag run plan.md",
            ),
            StartError::Git(why) => (ExitKind::Ours, "git", format!("git failed: {why}"), "sprag doctor"),
            StartError::Io(error) => {
                (ExitKind::Ours, "io", format!("cannot write the run's records: {error}"), "sprag doctor")
            }
        };
        Failure::new(kind, code, message).next(next)
    }
}

impl From<NotHuman> for Failure {
    fn from(reason: NotHuman) -> Self {
        match reason {
            NotHuman::NoTerminal => Failure::new(
                ExitKind::No,
                "not_a_person",
                "people only: this command needs a terminal on stdin",
            )
            .next("run it yourself in a terminal"),
            NotHuman::BelowAgent { pid } => Failure::new(
                ExitKind::No,
                "not_a_person",
                format!("people only: an agent started this command (process {pid})"),
            )
            .next("run it yourself in another terminal"),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        let list = |ids: &[SessionId]| quoted_list(ids.iter().map(SessionId::as_str));
        match error {
            ReportError::NoSession => {
                Failure::new(ExitKind::No, "no_session", "no live session in this worktree")
                    .next("sprag session list")
            }
            ReportError::Unknown(id) => {
                Failure::new(ExitKind::No, "not_found", format!("there is no session `{}`", id.as_str()))
                    .next("sprag session list")
            }
            ReportError::Ambiguous(ids) => {
                let failure = Failure::new(
                    ExitKind::No,
                    "ambiguous",
                    format!("several sessions match: {}; give the id of one", list(&ids)),
                );
                failure.next("sprag session list")
            }
            ReportError::OfOther(id) => Failure::new(
                ExitKind::No,
                "other_session",
                format!(
                    "session `{}` belongs to another agent; an agent reports for its own session",
                    id.as_str()
                ),
            )
            .next("sprag session list"),
            ReportError::Io(error) => Failure::from(error),
        }
    }
}

impl From<SubmitError> for Failure {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Unreadable(unreadable) => Failure::bad_reflection(&unreadable),
            SubmitError::Report(error) => Failure::from(error),
        }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Wrong(problems) => Failure::config(&problems),
            EditError::Io(error) => Failure::from(error),
        }
    }
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::NotSettings { path, what } => Failure::new(
                ExitKind::No,
                "not_settings",
                format!("`{}` is not a settings file: {what}", path.display()),
            )
            .next("sprag doctor"),
            InstallError::Changed { path } => Failure::new(
                ExitKind::No,
                "changed",
                format!("another program changed `{}` at the same time; nothing was written", path.display()),
            )
            .next("sprag init"),
            InstallError::Protected { path } => {
                Failure::new(ExitKind::No, "protected", format!("`{}` is write-protected", path.display()))
                    .next(format!("ls -l {}", path.display()))
            }
            InstallError::Io(error) => Failure::from(error),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::NoFiles { title } => {
                Failure::new(ExitKind::No, "not_found", format!("no permission rules of {title} were found"))
                    .next("name the file; see `sprag policy import --help`")
            }
            ImportError::Unreadable { path, error } => {
                Failure::new(ExitKind::Usage, "bad_import", format!("`{}`: {error}", path.display()))
                    .next(format!("ls -l {}", path.display()))
            }
            ImportError::Broken { path, line, what } => {
                Failure::new(ExitKind::Usage, "bad_import", format!("{}:{line}: {what}", path.display()))
                    .next("fix the file, or name the files to import")
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::new(ExitKind::Ours, "io", error.to_string()).next("sprag doctor")
    }
}
