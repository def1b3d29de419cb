//! `sprag reflect`: what a session has learned, for those that come after it.

use std::io::{self, IsTerminal as _, Read as _};

use serde_json::{Value, json};
use sprag_core::event::Report;
use sprag_core::log::Record;
use sprag_core::memory::kinds::{self, Done, Rejection};
use sprag_core::memory::learning::{self, Submission};
use sprag_core::memory::propose::Resolution;
use sprag_core::memory::redact;
use sprag_core::text::{Text, one_line};
use sprag_host::reports::{self, Delivery, Told};
use sprag_host::{learnings, records};

use super::{Cx, Ending, Outcome, delivered, show, words};
use crate::failure::Failure;
use crate::output;

/// Hand in what was learned: candidates as JSON on stdin
///
/// What is in form, borne out by its text, about this project and not known yet is kept; the rest is told what
/// to change. A candidate that resembles a learning waits until `--merge`, `--supersede` or `--distinct` says
/// what it is. The same submission twice is stored once.
#[derive(clap::Args)]
pub struct Args {
    /// Print the form of a submission, with an example
    #[arg(long)]
    schema: bool,
    /// What resembles this learning says the same: its words become that one's
    #[arg(long, value_name = "ID", group = "resolution")]
    merge: Option<String>,
    /// It takes the place of this learning
    #[arg(long, value_name = "ID", group = "resolution")]
    supersede: Option<String>,
    /// It says something else, and this is what, at most 500 characters
    #[arg(long, value_name = "WHY", group = "resolution")]
    distinct: Option<String>,
    /// The session, by id or its start (default: the one of this worktree)
    #[arg(long)]
    session: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    if args.schema {
        let schema = serde_json::to_string_pretty(&learning::schema()).map_err(io::Error::other)?;
        output::line(schema);
        return Ok(Ending::Done);
    }
    let resolution = resolution(&args)?;
    let text = read_stdin(resolution.is_some())?;
    let submission = match text.trim().is_empty() && resolution.is_some() {
        true => Submission::default(),
        false => learning::submission(&text).map_err(|unreadable| Failure::bad_reflection(&unreadable))?,
    };
    let world = cx.world()?;
    let session = reports::find_session(&world, args.session.as_deref(), cx.now)?;
    let count = submission.accepted.len() + submission.rejected.len();
    let ids: Vec<Text<64>> = (0..count).map(|_| Text::new(records::new_id(cx.now))).collect();
    let report = Report::Reflected { submission: cleaned(&text, &submission), ids: ids.clone(), resolution };
    let told = reports::tell(&world, &session, report, &cx.cwd, cx.now)?;
    let how = delivered(&told.delivery)?;
    learnings::after_change(&world, cx.now);
    let came = Came::of(&submission, &ids, &told);
    show(
        args.json,
        || {
            json!({
                "session": session, "delivery": how, "accepted": came.accepted, "rejected": came.rejected,
                "similar": came.similar, "notes": told.notes,
            })
        },
        || came.tell(&told, how),
    )
}

fn resolution(args: &Args) -> Result<Option<Resolution>, Failure> {
    let id = |id: &String| words("an id", id, "reflect");
    Ok(match (&args.merge, &args.supersede, &args.distinct) {
        (Some(old), _, _) => Some(Resolution::Merge(id(old)?)),
        (_, Some(old), _) => Some(Resolution::Supersede(id(old)?)),
        (_, _, Some(why)) => Some(Resolution::Distinct(words("`--distinct`", why, "reflect")?)),
        (None, None, None) => None,
    })
}

/// More than a submission may have is read only as far as it takes to say so.
fn read_stdin(may_be_empty: bool) -> Result<String, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return if may_be_empty { Ok(String::new()) } else { Err(Failure::no_submission()) };
    }
    let mut bytes = Vec::new();
    stdin.lock().take(learning::BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The submission as it may be left on a disk: without secrets, which only what is in form has lost yet.
fn cleaned(text: &str, submission: &Submission) -> String {
    let Ok(Value::Array(mut candidates)) =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map(|value| match value {
            Value::Object(mut members) => members.remove("candidates").unwrap_or_default(),
            other => other,
        })
    else {
        return String::new();
    };
    for (index, candidate) in &submission.accepted {
        candidates[*index] = json!(candidate);
    }
    redact::value(json!({ "candidates": candidates })).into_inner().to_string()
}

/// What became of the candidates, for whoever handed them in.
#[derive(Default)]
struct Came {
    accepted: Vec<Value>,
    rejected: Vec<Value>,
    similar: Vec<Value>,
}

impl Came {
    fn of(submission: &Submission, ids: &[Text<64>], told: &Told) -> Came {
        let mut came = Came::default();
        if let Delivery::Left(_) = told.delivery {
            let kept = submission.accepted.iter();
            came.accepted =
                kept.map(|(index, it)| json!({"id": ids.get(*index), "summary": it.summary})).collect();
            came.rejected = submission.rejected.iter().map(|it| json!(it)).collect();
            return came;
        }
        for record in &told.written {
            came.take(record, submission);
        }
        came
    }

    fn take(&mut self, record: &Record, submission: &Submission) {
        match record.kind.as_str() {
            kinds::ACCEPTED | kinds::CORRECTED => {
                self.accepted.push(json!({"id": record.body["id"], "summary": record.body["summary"]}));
            }
            kinds::REJECTED => {
                if let Ok(it) = serde_json::from_value::<Rejection>(record.body.clone()) {
                    self.rejected.push(json!({"index": it.index, "stage": it.stage, "reason": it.reason}));
                }
            }
            kinds::REFLECTED => {
                let Ok(done) = serde_json::from_value::<Done>(record.body.clone()) else { return };
                self.similar.extend(done.similar.iter().map(|it| json!(it)));
                let is_rejected = |index: u32| self.rejected.iter().any(|it| it["index"] == json!(index));
                let known: Vec<Value> = done
                    .repeated
                    .iter()
                    .filter(|it| !is_rejected(it.index))
                    .map(|it| {
                        let said = submission.accepted.iter().find(|(index, _)| *index as u32 == it.index);
                        json!({"id": it.id, "summary": said.map(|(_, candidate)| &candidate.summary)})
                    })
                    .collect();
                self.accepted.extend(known);
            }
            _ => {}
        }
    }

    fn tell(&self, told: &Told, how: &str) {
        let text = |value: &Value| one_line(value.as_str().unwrap_or_default());
        for it in &self.accepted {
            output::line(format!("kept `{}` ({how}): {}", text(&it["id"]), text(&it["summary"])));
        }
        for it in &self.rejected {
            output::line(format!("not kept, candidate {}: {}", it["index"], text(&it["reason"])));
        }
        told.notes.iter().for_each(output::line);
        if self.rejected.iter().any(|it| it["stage"] != "duplicate") {
            output::line("  next: hand those in again, changed as told");
        }
    }
}
