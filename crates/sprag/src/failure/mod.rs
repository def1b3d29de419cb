//! Every failure of a command, with its message and the commands to run next. All messages of the program are
//! in this module or in the reason of a gate.

mod from;
mod plan;
mod run;
mod trace;
mod view;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use sprag_base::glob::BadGlob;
use sprag_base::ids::SessionId;
use sprag_base::text::{quoted, quoted_list, shell_word};
use sprag_govern::reason::Reason;
use sprag_host::config::ConfigProblem;
use sprag_host::config::rule_files::RulesError;
use sprag_host::memory::NotFound;
use sprag_host::memory::judge::JudgeError;
use sprag_host::report::review::Reviewed;
use sprag_intent::{Intent, IntentFileError};
use sprag_memory::learning::{Faults, SubmissionError};

use crate::advice::{self, file_word};

#[derive(Debug)]
pub(crate) struct Failure {
    pub kind: ExitKind,
    /// Stable name for programs.
    pub code: Cow<'static, str>,
    pub message: String,
    /// Commands that work when pasted.
    pub next: Vec<String>,
}

/// The meaning of an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// The answer is no.
    No = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// Sprag itself failed.
    Ours = 4,
}

impl Failure {
    pub(crate) fn new(
        kind: ExitKind,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Failure {
        Failure { kind, code: code.into(), message: message.into(), next: Vec::new() }
    }

    pub(crate) fn next(mut self, command: impl Into<String>) -> Failure {
        let command = command.into();
        advice::check(&command);
        self.next.push(command);
        self
    }

    /// Returns the failure for a command line that does not parse, for programs.
    pub(crate) fn usage(error: &clap::Error) -> Failure {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Failure::new(ExitKind::Usage, "usage", first).next("sprag help")
    }

    /// Returns the failure for a first word that is not a command, with the nearest commands.
    pub(crate) fn unknown_command<'a>(name: &str, near: impl Iterator<Item = &'a str>) -> Failure {
        let message = format!("unknown command `{}`", quoted(name));
        let failure = Failure::new(ExitKind::Usage, "unknown_command", message);
        near.fold(failure, |failure, path| failure.next(format!("sprag help {path}"))).next("sprag help")
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!("sprag: {}", self.message);
        for next in &self.next {
            text.push_str(&format!("\n  next: {next}"));
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message, "next": self.next}})
    }

    pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> Failure {
        Failure::new(ExitKind::Ours, "io", format!("cannot {doing} `{}`: {error}", path.display()))
            .next("sprag doctor")
    }

    pub(crate) fn config(problems: &[ConfigProblem]) -> Failure {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::new(ExitKind::Usage, "bad_config", told.join("\n       "))
            .next("sprag config show --defaults")
    }

    /// Returns the failure for an objection of a gate, in the words of the gate.
    pub(crate) fn refused(reason: &Reason) -> Failure {
        Failure::new(ExitKind::No, reason.code.to_string(), reason.why.as_str()).next(reason.next.as_str())
    }

    pub(crate) fn bad_reflection(unreadable: &SubmissionError) -> Failure {
        Failure::new(ExitKind::No, "unreadable", unreadable.to_string()).next("sprag reflect --schema")
    }

    pub(crate) fn no_submission() -> Failure {
        Failure::new(ExitKind::Usage, "no_submission", "no candidates on stdin")
            .next("sprag reflect --schema")
    }

    pub(crate) fn not_reviewer() -> Failure {
        let message =
            "only the reviewer of this session (with its token) or a person (with `--human`) can decide";
        Failure::new(ExitKind::No, "not_reviewer", message).next("sprag review list")
    }

    pub(crate) fn bad_session(owner: &SessionId) -> Failure {
        let message = format!("this token is for the review of session `{}`", owner.as_str());
        Failure::new(ExitKind::No, "bad_session", message)
            .next(format!("decide again with `--session {}`", owner.as_str()))
    }

    pub(crate) fn no_program(program: &str) -> Failure {
        Failure::new(ExitKind::No, "not_found", format!("`{program}` is not on PATH"))
            .next("sprag config clients")
    }

    pub(crate) fn no_agent(program: &str, error: &io::Error) -> Failure {
        let message = format!("cannot start the agent `{program}`: {error}");
        Failure::new(ExitKind::No, "no_agent", message).next("sprag doctor")
    }

    pub(crate) fn not_trusted(plan: &Path) -> Failure {
        let file = file_word(plan);
        Failure::new(ExitKind::No, "not_trusted", "the plan was not run: its programs were not allowed")
            .next(format!("sprag plan show {file}"))
            .next(format!("sprag run {file} --trust"))
    }

    pub(crate) fn no_verdict(title: &str, reviewed: &Reviewed) -> Failure {
        let said = &reviewed.said;
        let how = if reviewed.is_timed_out { "took too long" } else { "ended without a decision" };
        let said = if said.is_empty() { String::new() } else { format!("; last output: {said}") };
        Failure::new(ExitKind::No, "no_verdict", format!("the reviewer ({title}) {how}{said}"))
            .next("sprag review list")
    }

    pub(crate) fn nothing_to_verify() -> Failure {
        Failure::new(ExitKind::Usage, "nothing_to_verify", "no check is configured")
            .next("add a check to `config.toml` (see `sprag config path`):\n[[completion.check]]\nname = \"tests\"\ncommand = \"make test\"")
    }

    pub(crate) fn verify_within_check() -> Failure {
        let message = "a check started this command, which would start the same check again without end";
        Failure::new(ExitKind::Usage, "within_check", message)
            .next("remove `sprag verify` and `sprag intent done` from the command of the check")
    }

    pub(crate) fn no_refusal(code: &str) -> Failure {
        let message = format!("no refused call in this repository has the code `{}`", quoted(code));
        Failure::new(ExitKind::No, "no_refusal", message).next("sprag approve")
    }

    pub(crate) fn same_code(code: &str) -> Failure {
        let message =
            format!("refused calls of two sessions have the code `{}`; name the session", quoted(code));
        Failure::new(ExitKind::Usage, "same_code", message).next(format!("sprag approve {code} --session ID"))
    }

    pub(crate) fn no_intents() -> Failure {
        Failure::new(ExitKind::No, "no_intents", "this repository has no intents")
            .next("sprag intent new ID --name TEXT --scope 'src/**'")
    }

    pub(crate) fn no_repository() -> Failure {
        Failure::new(ExitKind::No, "no_repository", "this directory is not in a git repository")
            .next("git init")
    }

    pub(crate) fn bad_intents(bad: &[IntentFileError]) -> Failure {
        let told: Vec<String> = bad.iter().map(ToString::to_string).collect();
        Failure::new(ExitKind::No, "bad_intents", told.join("\n       "))
            .next("fix the file, then run `sprag intent check`")
    }

    pub(crate) fn no_intent(id: &str, near: &[&Intent]) -> Failure {
        let failure =
            Failure::new(ExitKind::No, "intent_not_found", format!("intent `{}` does not exist", quoted(id)));
        match near.first() {
            Some(near) => failure.next(format!("sprag intent show {}", near.id)),
            None => failure.next("sprag intent list"),
        }
    }

    pub(crate) fn no_criterion(id: &str, key: &str) -> Failure {
        let message = format!("intent `{id}` has no criterion `{}` for a person to accept", quoted(key));
        Failure::new(ExitKind::No, "not_found", message).next(format!("sprag intent show {id}"))
    }

    pub(crate) fn bad_pattern(pattern: &str, bad: &BadGlob) -> Failure {
        Failure::new(ExitKind::Usage, "bad_pattern", format!("`{}`: {bad}", quoted(pattern)))
            .next("give a path or pattern relative to the repository, as in 'src/**'")
    }

    pub(crate) fn bad_intent_id(id: &str) -> Failure {
        let message = format!("`{}` is not an id: use 1 to 64 letters, digits, `.`, `_` and `-`", quoted(id));
        Failure::new(ExitKind::Usage, "bad_id", message).next("sprag intent new INT-1 --name TEXT")
    }

    pub(crate) fn intent_exists(id: &str) -> Failure {
        Failure::new(ExitKind::No, "intent_exists", format!("intent `{id}` already exists"))
            .next(format!("sprag intent show {id}"))
    }

    /// Returns the failure for a file that Sprag could only change by writing all of it again.
    pub(crate) fn not_editable(path: &str) -> Failure {
        let message = format!("Sprag cannot edit `{path}` in place");
        Failure::new(ExitKind::No, "not_editable", message)
            .next("edit the file, then run `sprag intent check`")
    }

    pub(crate) fn checks_failed(id: &str, told: &[String]) -> Failure {
        let message = format!("intent `{id}` is not done: {}", told.join("; "));
        Failure::new(ExitKind::No, "checks_failed", message).next(format!("sprag intent done {id}"))
    }

    pub(crate) fn check_forbidden(id: &str, command: &str, rule: &str) -> Failure {
        let message = format!(
            "a check of intent `{id}` did not run: rule `{}` forbids `{}`",
            quoted(rule),
            quoted(command)
        );
        Failure::new(ExitKind::No, "check_forbidden", message).next(format!("sprag intent show {id}"))
    }

    pub(crate) fn rules(error: &RulesError) -> Failure {
        Failure::new(ExitKind::Usage, "bad_rules", error.to_string()).next("sprag policy list --packs all")
    }

    pub(crate) fn unknown_key(key: &str, suggestion: Option<&str>) -> Failure {
        let failure = Failure::new(ExitKind::Usage, "unknown_key", format!("unknown key `{key}`"));
        match suggestion {
            Some(suggestion) => failure.next(format!("sprag config get {suggestion}")),
            None => failure.next("sprag config show"),
        }
    }

    pub(crate) fn no_debt(id: &str) -> Failure {
        Failure::new(ExitKind::No, "not_found", format!("there is no open debt `{id}`"))
            .next("sprag debt list")
    }

    pub(crate) fn no_memory_judge() -> Failure {
        Failure::new(ExitKind::Usage, "no_judge", "`memory.judge` is not configured")
            .next("sprag config set memory.judge '[\"PROGRAM\", \"ARGUMENT\"]'")
    }

    pub(crate) fn unanswered(why: &JudgeError) -> Failure {
        match why {
            JudgeError::Nobody => Failure::no_memory_judge(),
            JudgeError::Bad(what) => {
                Failure::new(ExitKind::No, "no_answer", format!("the judge gave no answer: {what}"))
                    .next("sprag config get memory.judge")
            }
            JudgeError::Io(error) => {
                Failure::new(ExitKind::Ours, "io", error.to_string()).next("sprag doctor")
            }
        }
    }

    pub(crate) fn nothing_to_revert() -> Failure {
        Failure::new(ExitKind::No, "nothing_to_revert", "no change to revert").next("sprag memory stats")
    }

    pub(crate) fn no_learning(prefix: &str, error: &NotFound) -> Failure {
        let prefix = quoted(prefix);
        match error {
            NotFound::TooShort => {
                let message = format!("`{prefix}` is too short: give at least six characters of the id");
                Failure::new(ExitKind::Usage, "too_short", message)
            }
            NotFound::None => {
                Failure::new(ExitKind::No, "not_found", format!("there is no learning `{prefix}`"))
            }
            NotFound::Several(ids) => {
                let ids = quoted_list(ids.iter().take(5).map(|id| quoted(id)));
                let message = format!("`{prefix}` matches several learnings: {ids}");
                Failure::new(ExitKind::No, "ambiguous", message)
            }
        }
        .next("sprag memory list --status all")
    }

    /// Returns the failure for a change of a learning that ends with its session.
    pub(crate) fn passing() -> Failure {
        Failure::new(
            ExitKind::No,
            "ephemeral",
            "cannot change an ephemeral learning, which ends with its session",
        )
        .next("sprag memory promote ID --to project")
    }

    pub(crate) fn wrong_status(id: &str, status: &str, done: &str) -> Failure {
        Failure::new(
            ExitKind::No,
            "wrong_status",
            format!("`{}` is {status} and cannot be {done}", quoted(id)),
        )
        .next(format!("sprag memory show {}", quoted(id)))
    }

    pub(crate) fn other_scope(old: &str, new: &str) -> Failure {
        let message = format!("learnings `{}` and `{}` are in different stores", quoted(old), quoted(new));
        Failure::new(ExitKind::No, "other_scope", message)
            .next(format!("sprag memory promote {} --to SCOPE", quoted(new)))
    }

    pub(crate) fn not_promoted(id: &str, to: &str, why: &str) -> Failure {
        Failure::new(ExitKind::No, "not_promoted", format!("cannot promote `{}` to {to}: {why}", quoted(id)))
            .next(format!("sprag memory show {}", quoted(id)))
    }

    pub(crate) fn bad_learning(faults: &Faults) -> Failure {
        Failure::new(ExitKind::Usage, "bad_learning", faults.to_string()).next("sprag reflect --schema")
    }

    pub(crate) fn no_members() -> Failure {
        let message =
            "the input is not a JSON object with the members to change, such as `{\"summary\": \"..\"}`";
        Failure::new(ExitKind::Usage, "no_members", message).next("sprag reflect --schema")
    }

    pub(crate) fn unknown_name(what: &str, name: &str, known: &[&str], command: &str) -> Failure {
        let message = format!("unknown {what} `{}`; known: {}", quoted(name), known.join(", "));
        Failure::new(ExitKind::Usage, "unknown_name", message).next(format!("sprag help {command}"))
    }

    pub(crate) fn busy(command: &str) -> Failure {
        Failure::new(ExitKind::Ours, "busy", "another `sprag` process is already running this command")
            .next(format!("sprag {command}"))
    }

    pub(crate) fn no_store(path: &Path) -> Failure {
        let message = format!("there is no store in `{}`", path.display());
        let load = format!("sprag memory load --store {} --jsonl", shell_word(&path.to_string_lossy()));
        Failure::new(ExitKind::Usage, "no_store", message).next(load)
    }

    pub(crate) fn no_data(path: &Path) -> Failure {
        let message = format!("no data for an evaluation in `{}`", path.display());
        Failure::new(ExitKind::Usage, "no_data", message).next("sprag help memory eval")
    }

    pub(crate) fn bad_span(text: &str) -> Failure {
        Failure::new(ExitKind::Usage, "bad_span", format!("`{text}` is not a duration such as `2h` or `30d`"))
            .next("sprag help")
    }

    pub(crate) fn bad_text(what: &str, count: usize, bound: usize, command: &str) -> Failure {
        let is_long = count > bound;
        let fault = if is_long { format!("has {count} characters") } else { "is empty".to_owned() };
        let message = format!("{what} {fault}; allowed are 1 to {bound}");
        Failure::new(ExitKind::Usage, "bad_text", message).next(format!("sprag help {command}"))
    }

    pub(crate) fn unknown_client(name: &str, known: &[&str]) -> Failure {
        let known = known.join(", ");
        Failure::new(ExitKind::Usage, "unknown_client", format!("unknown client `{name}`; known: {known}"))
            .next("sprag config clients")
    }

    pub(crate) fn nothing_to_install() -> Failure {
        Failure::new(ExitKind::No, "no_client", "no client was found on this machine")
            .next("sprag init --client claude")
    }

    pub(crate) fn not_confirmed(command: &str) -> Failure {
        Failure::new(ExitKind::No, "not_confirmed", "nothing was changed").next(command)
    }

    pub(crate) fn not_in_git(what: &str) -> Failure {
        Failure::new(ExitKind::No, "not_in_git", format!("{what} needs a git repository")).next("git init")
    }

    pub(crate) fn nothing_to_classify() -> Failure {
        Failure::new(ExitKind::Usage, "usage", "no change given").next("sprag trace classify HEAD")
    }

    pub(crate) fn no_revision(range: &str) -> Failure {
        let message = format!("git cannot read the changes of `{}`", quoted(range));
        Failure::new(ExitKind::No, "no_revision", message).next("git log --oneline")
    }

    pub(crate) fn nothing_to_trust() -> Failure {
        Failure::new(ExitKind::No, "not_found", "this project has no configuration to trust")
            .next("sprag init")
    }

    pub(crate) fn no_memory(title: &str, path: &Path) -> Failure {
        let message = format!("no memory of {title} in `{}`", path.display());
        Failure::new(ExitKind::No, "not_found", message).next("name the file; see `sprag help memory import`")
    }

    pub(crate) fn nothing_to_import(path: &Path, from: &str) -> Failure {
        let message = format!("`{}` does not exist", path.display());
        Failure::new(ExitKind::Usage, "no_file", message).next(format!("sprag memory import {from} ."))
    }

    pub(crate) fn no_trace(id: &str) -> Failure {
        Failure::new(ExitKind::No, "not_found", format!("there is no record `{id}`")).next("sprag trace log")
    }

    pub(crate) fn ambiguous_trace(id: &str, count: usize) -> Failure {
        Failure::new(
            ExitKind::No,
            "ambiguous",
            format!("`{id}` matches {count} records; give more characters of the id"),
        )
        .next("sprag trace log")
    }

    pub(crate) fn demo(what: impl Into<String>) -> Failure {
        Failure::new(ExitKind::Ours, "demo", what)
    }
}
