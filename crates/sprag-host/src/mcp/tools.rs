//! The tools of the broker. A tool that writes sends a report through the same pipeline as a hook event.

use std::path::Path;

use serde_json::{Map, Value, json};

use sprag_base::text::Text;
use sprag_govern::report::{AnswerReport, Report};
use sprag_intent::DeclaredClass;
use sprag_memory::learning::{self, Category};

use super::role::{McpRight, McpRole};
use super::{McpContext, ToolReply, messages, search as find};
use crate::report::submit::{SubmitError, Submitter, hand_in};
use crate::report::{self, Delivery};
use crate::store::new_record;

pub struct McpTool {
    pub name: &'static str,
    pub about: &'static str,
    pub right: McpRight,
    /// The schema of the arguments.
    pub schema: fn() -> Map<String, Value>,
    pub call: fn(&McpContext<'_>, &Map<String, Value>) -> ToolReply,
}

pub const TOOLS: &[McpTool] = &[
    McpTool {
        name: "search",
        about: "Find learnings of earlier sessions of this project. Returns quoted notes, best first.",
        right: McpRight::Search,
        schema: search_schema,
        call: search,
    },
    McpTool {
        name: "record",
        about: "Submit learnings as candidates. The same checks apply as for `sprag reflect`.",
        right: McpRight::Record,
        schema: record_schema,
        call: record,
    },
    McpTool {
        name: "record_lesson",
        about: "Store a lesson as a learning: what failed, how to fix it, and the command that shows it.",
        right: McpRight::Record,
        schema: lesson_schema,
        call: record_lesson,
    },
    McpTool {
        name: "observe",
        about: "Note something for the session. The agent that reflects on the work sees it.",
        right: McpRight::Observe,
        schema: observe_schema,
        call: observe,
    },
    McpTool {
        name: "answer",
        about: "Store a question with its answer and the source of the answer.",
        right: McpRight::Answer,
        schema: answer_schema,
        call: answer,
    },
    McpTool {
        name: "outcome",
        about: "Report that learnings were used, and whether the work succeeded.",
        right: McpRight::Outcome,
        schema: outcome_schema,
        call: outcome,
    },
    McpTool {
        name: "select_active_intent",
        about: "Select the intent of your next changes. Returns its meaning and the paths that you may change.",
        right: McpRight::Select,
        schema: select_schema,
        call: select,
    },
];

const QUERY: usize = 1000;
const LIMIT: u64 = 5;
const LIMIT_MOST: u64 = 10;
const IDS: usize = 20;
const LESSON: usize = 1500;
const CHECK: usize = 150;

fn search_schema() -> Map<String, Value> {
    object(
        json!({
            "query": {"type": "string", "maxLength": QUERY, "description": "what you are about to do or look for"},
            "files": {"type": "array", "items": {"type": "string"}, "description": "paths in the repository that the query is about"},
            "category": {"type": "string", "enum": Category::ALL.iter().map(|it| it.name()).collect::<Vec<_>>()},
            "tag": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_MOST, "default": LIMIT},
        }),
        &["query"],
    )
}

fn search(desk: &McpContext<'_>, arguments: &Map<String, Value>) -> ToolReply {
    let category = match arguments.get("category").filter(|category| !category.is_null()) {
        None => None,
        Some(given) => Some(given.as_str().and_then(Category::read).ok_or_else(|| {
            let known: Vec<&str> = Category::ALL.iter().map(|category| category.name()).collect();
            format!("`category` must be one of {}", known.join(", "))
        })?),
    };
    let query = find::Query {
        text: text::<QUERY>(arguments, "query")?.to_string(),
        limit: arguments.get("limit").and_then(Value::as_u64).unwrap_or(LIMIT).clamp(1, LIMIT_MOST) as usize,
        category,
        tag: arguments.get("tag").and_then(Value::as_str).map(str::to_owned),
        files: texts::<300>(arguments, "files", 20)?.iter().map(ToString::to_string).collect(),
    };
    let found = find::found(desk, &query).map_err(|error| format!("cannot read the records: {error}"))?;
    if found.is_empty() {
        return Ok("sprag: no matching learnings".to_owned());
    }
    let notes: Vec<String> = found.iter().map(messages::note).collect();
    Ok(format!("sprag: {} found, {}\n\n{}", found.len(), messages::FRAME, notes.join("\n\n")))
}

fn record_schema() -> Map<String, Value> {
    match learning::schema() {
        Value::Object(schema) => schema,
        _ => object(json!({"candidates": {"type": "array"}}), &["candidates"]),
    }
}

fn record(desk: &McpContext<'_>, arguments: &Map<String, Value>) -> ToolReply {
    let submission = Value::Object(arguments.clone()).to_string();
    let (world, caller) = (desk.world, desk.caller);
    let hand = Submitter { session: &caller.session, actor: &caller.actor, cwd: place(desk), now: desk.now };
    let handed_in = hand_in(world, &hand, &submission, None).map_err(in_words)?;
    let how = delivered(&handed_in.delivery)?;
    Ok(handed_in.lines(how).join("\n"))
}

fn lesson_schema() -> Map<String, Value> {
    object(
        json!({
            "text": {"type": "string", "maxLength": LESSON, "description": "what went wrong, and what to do about it"},
            "check": {"type": "string", "maxLength": CHECK, "description": "the command that failed and now passes"},
        }),
        &["text"],
    )
}

fn record_lesson(desk: &McpContext<'_>, arguments: &Map<String, Value>) -> ToolReply {
    let lesson: Text<LESSON> = text(arguments, "text")?;
    let check = match arguments.get("check") {
        None | Some(Value::Null) => None,
        Some(_) => Some(text::<CHECK>(arguments, "check")?),
    };
    let (world, caller) = (desk.world, desk.caller);
    let hand = Submitter { session: &caller.session, actor: &caller.actor, cwd: place(desk), now: desk.now };
    let check = check.as_ref().map(|check| check.as_str());
    let recorded = crate::report::lesson::record(world, &hand, lesson.as_str(), check).map_err(in_words)?;
    let how = delivered(&recorded.handed_in.delivery)?;
    Ok([recorded.handed_in.lines(how), recorded.warnings].concat().join("\n"))
}

fn in_words(error: SubmitError) -> String {
    match error {
        SubmitError::Unreadable(unreadable) => unreadable.to_string(),
        SubmitError::Report(error) => format!("cannot record this: {error:?}"),
    }
}

fn observe_schema() -> Map<String, Value> {
    object(json!({"note": {"type": "string", "maxLength": 2000}}), &["note"])
}

fn observe(desk: &McpContext<'_>, arguments: &Map<String, Value>) -> ToolReply {
    let how = send(desk, Report::Observed { note: text(arguments, "note")? })?;
    Ok(format!("noted ({how})"))
}

fn answer_schema() -> Map<String, Value> {
    object(
        json!({
            "question": {"type": "string", "maxLength": 1000},
            "answer": {"type": "string", "maxLength": 2000},
            "source": {"type": "string", "maxLength": 300, "description": "`user`, a path, a command"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        }),
        &["question", "answer", "source"],
    )
}

fn answer(desk: &McpContext<'_>, arguments: &Map<String, Value>) -> ToolReply {
    let confidence = match arguments.get("confidence") {
        None | Some(Value::Null) => 0.5,
        Some(given) => given
            .as_f64()
            .filter(|given| (0.0..=1.0).contains(given))
            .ok_or("`confidence` must be a number from 0 to 1")?,
    };
    let answered = AnswerReport {
        question: text(arguments, "question")?,
        answer: text(arguments, "answer")?,
        source: text(arguments, "source")?,
        confidence: confidence as f32,
    };
    let how = send(desk, Report::Answered(answered))?;
    Ok(format!("kept ({how})"))
}

fn outcome_schema() -> Map<String, Value> {
    object(
        json!({
            "ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": IDS},
            "success": {"type": "boolean", "description": "omit it if not known yet"},
            "what": {"type": "string", "maxLength": 500, "description": "what the learnings were used for"},
        }),
        &["ids", "what"],
    )
}

/// Reports the use of learnings, and the success if it is known.
fn outcome(desk: &McpContext<'_>, arguments: &Map<String, Value>) -> ToolReply {
    let ids = texts::<64>(arguments, "ids", IDS)?;
    if ids.is_empty() {
        return Err("`ids` is empty".to_owned());
    }
    if let Some(bad) = ids.iter().find(|id| !new_record::is_id(id.as_str())) {
        return Err(format!("`{}` is not the id of a learning", sprag_base::text::quoted(bad.as_str())));
    }
    let what: Text<500> = text(arguments, "what")?;
    let success = match arguments.get("success") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(success)) => Some(*success),
        Some(_) => return Err("`success` must be true or false".to_owned()),
    };
    let mut how = send(desk, Report::Referred { ids: ids.clone(), how: what.clone() })?;
    if let Some(is_success) = success {
        how = send(desk, Report::Went { ids, is_success, what })?;
    }
    Ok(format!("noted ({how})"))
}

fn select_schema() -> Map<String, Value> {
    object(
        json!({
            "intent_id": {"type": "string", "maxLength": 64, "description": "an id from `sprag intent list`"},
            "mutation_class": {"type": "string", "enum": DeclaredClass::ALL.map(DeclaredClass::name)},
        }),
        &["intent_id"],
    )
}

fn select(desk: &McpContext<'_>, arguments: &Map<String, Value>) -> ToolReply {
    let id: Text<64> = text(arguments, "intent_id")?;
    let class = match arguments.get("mutation_class") {
        None | Some(Value::Null) => DeclaredClass::default(),
        Some(named) => named
            .as_str()
            .and_then(DeclaredClass::read)
            .ok_or("`mutation_class` must be `AST_REFACTOR` or `INTENT_EVOLUTION`")?,
    };
    if let Delivery::Refused(reason) = tell(desk, Report::IntentSelected { id: id.clone(), class })? {
        return Err(reason.refusal_text().to_string());
    }
    let session = &desk.caller.session;
    let context = crate::intents::context::context_of(desk.world, id.as_str(), session, desk.now)
        .map_err(|error| format!("cannot read the records: {error}"))?;
    context.map(|context| context.to_string()).ok_or_else(|| format!("there is no intent `{id}`"))
}

fn send(desk: &McpContext<'_>, report: Report) -> Result<&'static str, String> {
    delivered(&tell(desk, report)?)
}

fn tell(desk: &McpContext<'_>, report: Report) -> Result<Delivery, String> {
    let (world, caller) = (desk.world, desk.caller);
    let told = report::tell(world, &caller.session, &caller.actor, report, place(desk), desk.now);
    told.map(|told| told.delivery).map_err(|error| format!("cannot record this: {error:?}"))
}

/// Returns the directory of a report. It is empty for an unknown caller, who must not count as the live
/// session of this directory.
fn place<'a>(desk: &'a McpContext<'_>) -> &'a Path {
    if desk.caller.role == McpRole::Unknown { Path::new("") } else { desk.cwd }
}

fn delivered(delivery: &Delivery) -> Result<&'static str, String> {
    match delivery {
        Delivery::Recorded => Ok("recorded"),
        Delivery::Left(_) => Ok("queued for the next hook"),
        Delivery::Refused(reason) => Err(reason.why.to_string()),
    }
}

fn object(properties: Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema
}

/// Reads a text argument and refuses one that is too long, because a silent cut would lose content.
fn text<const N: usize>(arguments: &Map<String, Value>, name: &str) -> Result<Text<N>, String> {
    let given =
        arguments.get(name).and_then(Value::as_str).ok_or_else(|| format!("`{name}` must be a text"))?;
    checked(name, given)
}

fn checked<const N: usize>(name: &str, given: &str) -> Result<Text<N>, String> {
    let count = given.chars().count();
    if given.trim().is_empty() || count > N {
        Err(format!("`{name}` has {count} characters; allowed are 1 to {N}"))
    } else {
        Ok(Text::from(given))
    }
}

fn texts<const N: usize>(
    arguments: &Map<String, Value>,
    name: &str,
    most: usize,
) -> Result<Vec<Text<N>>, String> {
    let items = match arguments.get(name) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) if items.len() <= most => items,
        Some(_) => return Err(format!("`{name}` must be a list of at most {most} items")),
    };
    let one = |item: &Value| {
        item.as_str()
            .ok_or_else(|| format!("`{name}` has an item that is not a text"))
            .and_then(|text| checked(name, text))
    };
    items.iter().map(one).collect()
}
