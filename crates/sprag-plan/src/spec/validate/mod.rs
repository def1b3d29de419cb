//! Turns a draft into a plan: all problems are found at once, and only a draft without errors becomes a
//! plan.

mod check;
mod dependencies;
mod setting;
mod stage;

use sprag_base::document::{DocumentNode, Position};
use sprag_base::text::Text;
use sprag_intent::IntentSet;

use super::problem::{ProblemCode, ProblemList, ValueProblem};
use super::reader::{PlanReader, shown};
use super::values::{Readable as _, Slug};
use super::{MergeMode, Plan, PlanHead, STAGES, SandboxSettings, fields, usual_backoff};
use crate::ids::StageId;

/// The contents of a plan file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanDraft {
    /// The text around the fence.
    pub overview: String,
    /// The position of the fence.
    pub at: Position,
    /// The contents of the fence; `None` if it is empty.
    pub root: Option<DocumentNode>,
}

/// Facts from outside of the file.
#[derive(Clone, Copy, Debug)]
pub struct ValidateInput<'a> {
    pub intents: PlanIntents<'a>,
    /// Stages of active plans, each with the name of its plan.
    pub taken: &'a [(StageId, Slug)],
}

/// The intents of the repository.
#[derive(Clone, Copy, Debug)]
pub enum PlanIntents<'a> {
    Known(&'a IntentSet),
    /// The intent files are broken: another command reports that, and names of intents are not checked
    /// here.
    Unreadable,
}

/// Result of the validation.
#[derive(Clone, Debug, PartialEq)]
pub enum Validated {
    Good { plan: Box<Plan>, warnings: ProblemList },
    Bad { found: ProblemList },
}

pub fn validate(draft: &PlanDraft, around: &ValidateInput<'_>) -> Validated {
    let mut reader = PlanReader::default();
    let plan = root(&mut reader, draft, around);
    let has_errors = reader.problems.has_errors();
    match plan.filter(|_| !has_errors) {
        Some(plan) => Validated::Good { plan: Box::new(plan), warnings: reader.problems.sorted() },
        None => {
            if !has_errors {
                reader.say(
                    draft.at,
                    ProblemCode::BadValue,
                    "this is not a plan",
                    "start from `sprag plan new NAME`",
                );
            }
            Validated::Bad { found: reader.problems.sorted() }
        }
    }
}

fn root(reader: &mut PlanReader, draft: &PlanDraft, around: &ValidateInput<'_>) -> Option<Plan> {
    let Some(root) = &draft.root else {
        reader.say(draft.at, ProblemCode::MissingField, "the fence is empty", "begin with `version: 1`");
        return None;
    };
    let fields = reader.fields(root, &fields::ROOT)?;
    if let Some(node) = reader.required(&fields, "version")
        && let Some(text) = reader.text(node, "version")
        && text != "1"
    {
        let what = format!("this Sprag reads plans of version 1, not `{}`", shown(text));
        reader.say(node.at, ProblemCode::BadValue, what, "write `version: 1`, or use a newer Sprag");
    }
    let name: Option<Slug> = reader.required(&fields, "name").and_then(|node| reader.value(node, "name"));
    let head = PlanHead {
        // A plan without a valid name is never made, but the rest is still checked.
        name: name.unwrap_or_else(|| Slug::read("plan").expect("it is an id")),
        target: reader.optional(&fields, "target"),
        gates: check::checks(reader, &fields, "gates", check::USUAL),
        slots: reader.number(&fields, "slots", (1, 64), 4),
        backoff: reader.optional(&fields, "backoff").unwrap_or(usual_backoff()),
        budget: setting::budget(reader, &fields),
        sandbox: setting::sandbox(reader, &fields).unwrap_or(SandboxSettings::USUAL),
        overview: Text::from(draft.overview.as_str()),
    };
    let usual = stage::StageDefaults {
        sandbox: &head.sandbox,
        merge: match reader.flag(&fields, "auto_merge") {
            Some(false) => MergeMode::Person,
            Some(true) | None => MergeMode::Auto,
        },
        intents: around.intents,
    };
    let list = reader.required(&fields, "stages")?;
    let items = reader.items_up_to(&fields, "stages", STAGES);
    if items.is_empty() {
        reader.say(list.at, ProblemCode::MissingField, "there are no stages", "write at least one");
    }
    let read: Vec<stage::StageDraft> =
        items.iter().filter_map(|item| stage::stage(reader, item, &usual)).collect();
    reader.whose.clear();
    dependencies::check(reader, &read, around);
    // Ids and dependencies were checked above.
    Plan::new(head, read.into_iter().map(|read| read.spec).collect())
}

impl ValueProblem {
    fn refused(code: ProblemCode, what: impl Into<String>, fix: impl Into<String>) -> ValueProblem {
        ValueProblem { code, what: what.into(), fix: fix.into() }
    }
}
