//! Candidates and their schema. The schema is the first check: its faults name the fix, so that the agent can
//! submit again. Later checks decide whether a statement is worth keeping.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use sprag_base::digest::Digest;
use sprag_base::redact;
use sprag_base::text::{Text, one_line, plain, quoted, quoted_list};

pub use schema::{brief_schema, schema};
pub use stored::{Evidence, Learning, LearningOrigin, SCHEMA_VERSION};
pub use vocabulary::{
    Category, Confidence, KeepReason, LearningKind, LearningReaders, LearningScope, LearningStatus,
};

mod schema;
mod stored;
#[cfg(test)]
mod tests;
mod vocabulary;

/// The limit on bytes of a submission.
pub const BYTES: usize = 256 * 1024;
/// The limit on candidates. More would be a dump, not a reflection.
pub const CANDIDATES: usize = 20;

// Counted in characters, not bytes, so that all scripts have the same room.
pub const SUMMARY_LEAST: usize = 10;
pub const SUMMARY_MOST: usize = 200;
pub const DETAIL_LEAST: usize = 20;
pub const DETAIL_MOST: usize = 2000;
pub const TAGS_MOST: usize = 10;
pub const TAG_MOST: usize = 100;
pub const FILES_MOST: usize = 20;
pub const FILE_MOST: usize = 300;
pub const TRIGGER_MOST: usize = 200;
pub const EVIDENCE_MOST: usize = 10;

/// Extra characters that a text may have before secrets are removed. Beyond that it is too long in any case.
const SECRETS: usize = 4000;

/// A well-formed statement with secrets removed. [`Candidate::read`] is the only constructor, also for
/// records, because other users write to a shared log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
#[non_exhaustive]
pub struct Candidate {
    pub category: Category,
    pub summary: Text<SUMMARY_MOST>,
    pub detail: Text<DETAIL_MOST>,
    pub tags: Vec<Text<TAG_MOST>>,
    pub scope: LearningScope,
    pub criteria_met: Vec<KeepReason>,
    pub confidence: Confidence,
    /// Paths relative to the repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<Text<FILE_MOST>>,
    #[serde(skip_serializing_if = "LearningKind::is_fact")]
    pub kind: LearningKind,
    #[serde(skip_serializing_if = "Trigger::is_empty")]
    pub trigger: Trigger,
    /// The evidence: `path`, `path:10-20`, `commit HASH`. The host reads its content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Text<FILE_MOST>>,
}

/// Situations in which a learning helps, and in which it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trigger {
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub when: Text<TRIGGER_MOST>,
    #[serde(skip_serializing_if = "Text::is_empty")]
    pub when_not: Text<TRIGGER_MOST>,
}

impl Trigger {
    pub fn is_empty(&self) -> bool {
        self.when.is_empty() && self.when_not.is_empty()
    }
}

/// The candidates of one submission, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    pub accepted: Vec<(usize, Candidate)>,
    pub rejected: Vec<RejectedCandidate>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedCandidate {
    pub index: usize,
    pub stage: Text<32>,
    /// The required change.
    pub reason: Text<1000>,
    /// Summary and scope, as far as they can be read.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub summary: Text<200>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<LearningScope>,
}

/// The reason why a submission has no candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmissionError {
    TooLarge { bytes: usize },
    NotJson { what: Text<200> },
    WrongShape { found: Text<200> },
    Empty,
}

impl fmt::Display for SubmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubmissionError::TooLarge { bytes } => {
                write!(f, "the submission has {bytes} bytes; the limit is {BYTES}")
            }
            SubmissionError::NotJson { what } => write!(f, "the submission is not JSON: {what}"),
            SubmissionError::WrongShape { found } => {
                write!(f, "the submission needs a list `candidates`, but it is {found}")
            }
            SubmissionError::Empty => f.write_str("the submission has no candidates"),
        }
    }
}

impl std::error::Error for SubmissionError {}

/// Reads `{"candidates": [..]}`, or only the list. A bad candidate does not affect the others.
pub fn submission(text: &str) -> Result<Submission, SubmissionError> {
    Ok(read_all(&candidates(text)?))
}

/// Reads a submission and returns its JSON without secrets too, for storage on disk. Only well-formed
/// candidates are redacted before this.
pub fn redacted_submission(text: &str) -> Result<(Submission, String), SubmissionError> {
    let mut candidates = candidates(text)?;
    let submission = read_all(&candidates);
    for (index, candidate) in &submission.accepted {
        candidates[*index] = json!(candidate);
    }
    let redacted = redact::value(json!({ "candidates": candidates })).into_inner().to_string();
    Ok((submission, redacted))
}

fn candidates(text: &str) -> Result<Vec<Value>, SubmissionError> {
    if text.len() > BYTES {
        return Err(SubmissionError::TooLarge { bytes: text.len() });
    }
    let value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| SubmissionError::NotJson { what: Text::new(error.to_string()) })?;
    let wrong = |found: String| SubmissionError::WrongShape { found: Text::new(found) };
    let candidates = match value {
        Value::Array(candidates) => candidates,
        Value::Object(mut members) => match members.remove("candidates") {
            Some(Value::Array(candidates)) => candidates,
            Some(other) => return Err(wrong(format!("an object whose `candidates` is {}", shown(&other)))),
            None => return Err(wrong("an object without `candidates`".to_owned())),
        },
        other => return Err(wrong(shown(&other))),
    };
    if candidates.is_empty() { Err(SubmissionError::Empty) } else { Ok(candidates) }
}

fn read_all(candidates: &[Value]) -> Submission {
    let mut submission = Submission::default();
    for (index, candidate) in candidates.iter().enumerate() {
        let read = if index < CANDIDATES {
            Candidate::read(candidate)
        } else {
            Err(Faults(vec![format!("too many candidates: submit the best {CANDIDATES}")]))
        };
        match read {
            Ok(candidate) => submission.accepted.push((index, candidate)),
            Err(faults) => submission.rejected.push(RejectedCandidate {
                index,
                stage: Text::from("schema"),
                reason: Text::new(faults.to_string()),
                summary: redact::short(&one_line(candidate["summary"].as_str().unwrap_or_default())),
                scope: candidate["scope"].as_str().and_then(LearningScope::read),
            }),
        }
    }
    submission
}

/// All faults of a candidate, so that one correction is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<String>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl TryFrom<Value> for Candidate {
    type Error = Faults;

    fn try_from(value: Value) -> Result<Candidate, Faults> {
        Candidate::read(&value)
    }
}

impl Candidate {
    /// Reads a candidate. Unknown members are ignored.
    pub fn read(value: &Value) -> Result<Candidate, Faults> {
        let Some(members) = value.as_object() else {
            return Err(Faults(vec![format!("the candidate is {}: give an object", shown(value))]));
        };
        let mut reader = CandidateReader { members, faults: Vec::new() };
        let category = reader.category();
        let summary = reader.text("summary", SUMMARY_LEAST, SUMMARY_MOST, one_line);
        let detail = reader.text("detail", DETAIL_LEAST, DETAIL_MOST, plain);
        let tags = reader.tags();
        let criteria_met = reader.criteria();
        let context_files = reader.files("context_files");
        let trigger = reader.trigger();
        let evidence = reader.evidence();
        let named = |name: &str| members.get(name).and_then(Value::as_str);
        if let (Some(summary), Some(detail)) = (&summary, &detail)
            && summary.to_lowercase() == detail.to_lowercase()
        {
            reader.fault("`detail` repeats `summary`: add what the summary leaves out".to_owned());
        }
        match (category, summary, detail) {
            (Some(category), Some(summary), Some(detail)) if reader.faults.is_empty() => Ok(Candidate {
                category,
                summary: Text::new(summary),
                detail: Text::new(detail),
                tags,
                // An unknown scope or confidence falls back to the default and rejects nothing.
                scope: named("scope").and_then(LearningScope::read).unwrap_or(LearningScope::Project),
                confidence: named("confidence").and_then(Confidence::read).unwrap_or(Confidence::Medium),
                criteria_met,
                context_files,
                kind: named("kind").and_then(LearningKind::read).unwrap_or(LearningKind::Fact),
                trigger,
                evidence,
            }),
            _ => Err(Faults(reader.faults)),
        }
    }

    /// Returns a digest of statement, category and scope. Spaces, case and tags do not matter, so that a
    /// repeated submission adds no second learning.
    pub fn digest(&self) -> Digest {
        let normal = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        let (summary, detail) = (normal(self.summary.as_str()), normal(self.detail.as_str()));
        Digest::hash_parts([self.category.name(), self.scope.name(), &summary, &detail])
    }
}

/// The members of a candidate, and the faults found so far.
struct CandidateReader<'a> {
    members: &'a Map<String, Value>,
    faults: Vec<String>,
}

impl<'a> CandidateReader<'a> {
    /// Returns a member; `null` counts as missing.
    fn member(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    fn fault(&mut self, what: String) {
        self.faults.push(what);
    }

    fn category(&mut self) -> Option<Category> {
        let given = self.member("category");
        let category = given.and_then(Value::as_str).and_then(Category::read);
        if category.is_none() {
            let found = given.map_or("missing".to_owned(), shown);
            self.fault(format!("`category` is {found}: give one of {}", list(Category::ALL, Category::name)));
        }
        category
    }

    /// Returns a trimmed text without secrets and hidden characters, if its length is right.
    fn text(&mut self, name: &str, least: usize, most: usize, clean: fn(&str) -> String) -> Option<String> {
        let Some(given) = self.member(name).and_then(Value::as_str) else {
            let found = self.member(name).map_or("missing".to_owned(), shown);
            self.fault(format!("`{name}` is {found}: give a text of {least} to {most} characters"));
            return None;
        };
        let (text, length) = cleaned(given, most, clean);
        if !(least..=most).contains(&length) {
            self.fault(format!(
                "`{name}` has {length} characters ({}): give {least} to {most}",
                shown_text(&text)
            ));
            return None;
        }
        Some(text)
    }

    /// Returns the texts of a list, or `None` if the value is not a list. Reports the faults of items.
    fn texts<const N: usize>(&mut self, name: &str, given: &Value, most: usize) -> Option<Vec<Text<N>>> {
        let items = given.as_array()?;
        if items.len() > most {
            self.fault(format!("`{name}` has {} items: keep at most {most}", items.len()));
            return Some(Vec::new());
        }
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            let (text, length) =
                item.as_str().map_or_else(Default::default, |text| cleaned(text, N, one_line));
            match item {
                Value::String(_) if length == 0 => {
                    self.fault(format!("`{name}` has an empty item: leave it out"));
                }
                Value::String(_) if length > N => self.fault(format!(
                    "`{name}` has an item of {length} characters ({}): keep at most {N}",
                    shown_text(&text)
                )),
                Value::String(_) => texts.push(Text::new(text)),
                other => self.fault(format!("`{name}` has an item that is {}: give texts", shown(other))),
            }
        }
        Some(texts)
    }

    fn tags(&mut self) -> Vec<Text<TAG_MOST>> {
        let given = self.member("tags");
        let tags = given.and_then(|given| self.texts("tags", given, TAGS_MOST));
        let found = match (given, &tags) {
            (None, _) => "missing".to_owned(),
            (Some(Value::Array(items)), _) if items.is_empty() => "empty".to_owned(),
            (Some(given), None) => shown(given),
            (Some(_), Some(_)) => return unique(tags.unwrap_or_default()),
        };
        self.fault(format!("`tags` is {found}: give a list of 1 to {TAGS_MOST} words"));
        Vec::new()
    }

    fn criteria(&mut self) -> Vec<KeepReason> {
        let given = self.member("criteria_met");
        let items = given.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let criteria: Vec<KeepReason> =
            items.iter().filter_map(Value::as_str).filter_map(KeepReason::read).collect();
        if criteria.is_empty() {
            let found = given.map_or("missing".to_owned(), shown);
            self.fault(format!(
                "`criteria_met` is {found}: give a list with one or more of {}",
                list(KeepReason::ALL, KeepReason::name)
            ));
        }
        unique(criteria)
    }

    fn trigger(&mut self) -> Trigger {
        let Some(given) = self.member("trigger") else {
            return Trigger::default();
        };
        let Some(members) = given.as_object() else {
            self.fault(format!("`trigger` is {}: give an object with `when` and `when_not`", shown(given)));
            return Trigger::default();
        };
        let mut part = |name: &str| {
            let text = members.get(name).and_then(Value::as_str).unwrap_or_default();
            let (text, length) = cleaned(text, TRIGGER_MOST, one_line);
            if length > TRIGGER_MOST {
                self.fault(format!("`trigger.{name}` has {length} characters: keep at most {TRIGGER_MOST}"));
            }
            Text::new(text)
        };
        Trigger { when: part("when"), when_not: part("when_not") }
    }

    fn evidence(&mut self) -> Vec<Text<FILE_MOST>> {
        let mut evidence = self.files("evidence");
        evidence.truncate(EVIDENCE_MOST);
        evidence
    }

    fn files(&mut self, name: &str) -> Vec<Text<FILE_MOST>> {
        let Some(given) = self.member(name) else {
            return Vec::new();
        };
        let Some(files) = self.texts::<FILE_MOST>(name, given, FILES_MOST) else {
            self.fault(format!("`{name}` is {}: give a list of paths", shown(given)));
            return Vec::new();
        };
        // A learning goes to other machines, where an absolute path names nothing or something else.
        for file in files.iter().filter(|file| !is_inside(file.as_str())) {
            let found = shown_text(file.as_str());
            self.fault(format!("`{name}` has {found}: give paths relative to the repository"));
        }
        unique(files)
    }
}

fn is_inside(path: &str) -> bool {
    !path.starts_with(['/', '~', '\\']) && !path.split(['/', '\\']).any(|part| part == "..")
}

/// Returns the text without secrets, and its number of characters.
fn cleaned(given: &str, most: usize, clean: fn(&str) -> String) -> (String, usize) {
    let length = given.trim().chars().count();
    if length > most + SECRETS {
        return (redact::short::<SHOWN>(given.trim()).to_string(), length);
    }
    // Secrets are searched in the cleaned text, so that no hidden character separates a secret from its name.
    let text = clean(given);
    let text = redact::text(text.trim()).into_inner().trim().to_owned();
    let length = text.chars().count();
    (text, length)
}

fn unique<T: PartialEq>(items: Vec<T>) -> Vec<T> {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

/// The limit on characters of a value quoted in a message.
const SHOWN: usize = 60;

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "`null`".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(number) => shown_text(&number.to_string()),
        Value::String(text) => shown_text(text),
        Value::Array(items) => match items.first() {
            Some(Value::String(first)) => format!("a list that begins with {}", shown_text(first)),
            Some(_) => format!("a list of {}", items.len()),
            None => "an empty list".to_owned(),
        },
        Value::Object(_) => "an object".to_owned(),
    }
}

fn shown_text(text: &str) -> String {
    format!("`{}`", quoted(redact::short::<SHOWN>(text.trim()).as_str()))
}

fn list<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> String {
    quoted_list(all.iter().map(|&one| name(one)))
}
