//! Questions that were answered before. Sprag shows an agent that asks again the known answer, with date and
//! source. The user still answers, unless the user lets Sprag answer.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::learning::Evidence;
use crate::records::MemoryRecord;

/// Two questions with at least this similarity count as the same.
pub const SAME: f32 = 0.72;
/// Sprag shows an answer with at least this confidence.
const SURE: f32 = 0.85;
pub const TTL_DAYS: u32 = 30;
/// The confidence of a user's answer. Users may be wrong about their own code, too.
pub const USERS_WORD: f32 = 0.9;
/// The limit on stored answers, newest last.
const ANSWERS: usize = 500;
/// The limit on questions of one call.
pub const QUESTIONS: usize = 4;

/// A question with its answer, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnsweredQuestion {
    pub question: Text<1000>,
    pub answer: Text<2000>,
    /// The source of the answer: `user`, a file, a command.
    #[serde(default)]
    pub source: Text<300>,
    /// From 0 to 1.
    pub confidence: f32,
    /// The days for which the answer is valid; [`TTL_DAYS`] by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_days: Option<u32>,
    /// The files behind the answer, with their state at that time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownAnswer {
    pub id: Text<64>,
    pub at: Timestamp,
    pub answered: AnsweredQuestion,
}

impl KnownAnswer {
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        let days = now.seconds_since(self.at) / 86_400;
        days < i64::from(self.answered.ttl_days.unwrap_or(TTL_DAYS).min(3650))
    }
}

/// All answers. Only the last answer to a question counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnsweredQuestions {
    kept: Vec<KnownAnswer>,
}

impl AnsweredQuestions {
    pub fn iter(&self) -> impl Iterator<Item = &KnownAnswer> {
        self.kept.iter()
    }
}

impl Projection for AnsweredQuestions {
    const NAME: &'static str = "answers";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["qa.answered"];

    fn apply(&mut self, record: &Record) {
        let Some(MemoryRecord::Answered(answered)) = MemoryRecord::read(record) else { return };
        let question = plain(answered.question.as_str());
        self.kept.retain(|kept| plain(kept.answered.question.as_str()) != question);
        if self.kept.len() >= ANSWERS {
            self.kept.remove(0);
        }
        self.kept.push(KnownAnswer { id: Text::from(record.id.as_str()), at: record.at, answered });
    }
}

/// A known answer that may fit a new question, with facts from the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    pub question: Text<1000>,
    pub kept: KnownAnswer,
    /// The similarity of the two questions.
    pub score: f32,
    /// The questions differ in numbers, names, negations or similar words.
    pub differs: bool,
    /// The evidence of the answer is unchanged.
    pub holds: bool,
}

/// Returns the answer to give, if it is valid, certain and not contradicted.
pub fn choose<'a>(question: &str, matches: &'a [Match], now: Timestamp) -> Option<&'a KnownAnswer> {
    if is_permission(question) {
        return None;
    }
    let is_same = |it: &&Match| it.question.as_str() == question && it.score >= SAME && !it.differs;
    let same: Vec<&Match> = matches.iter().filter(is_same).filter(|it| it.kept.is_fresh(now)).collect();
    let best =
        same.iter().copied().max_by(|a, b| a.score.total_cmp(&b.score).then(a.kept.at.cmp(&b.kept.at)))?;
    // Two different answers to one question cancel each other.
    let answer = plain(best.kept.answered.answer.as_str());
    let is_contradicted = same.iter().any(|it| plain(it.kept.answered.answer.as_str()) != answer);
    let is_sound = best.holds && best.kept.answered.confidence >= SURE && !is_contradicted;
    is_sound.then_some(&best.kept)
}

/// Reports whether a question asks for permission. The user must give permission each time.
pub fn is_permission(question: &str) -> bool {
    let question = plain(question);
    let starts = [
        "may i",
        "can i",
        "could i",
        "shall i",
        "should i",
        "do you want me to",
        "is it ok",
        "ok to",
        "okay to",
    ];
    let names = [
        "permission",
        "permit",
        "allow",
        "approve",
        "approval",
        "authorize",
        "authorise",
        "go ahead",
        "proceed",
        "confirm",
        "force push",
        "delete",
        "deploy",
        "overwrite",
        "credential",
        "password",
        "secret",
        "token",
    ];
    starts.iter().any(|start| question.starts_with(start)) || names.iter().any(|name| question.contains(name))
}

/// Returns a digest of a question that ignores case, spaces and final punctuation.
pub fn digest(question: &str) -> Digest {
    Digest::hash_parts([plain(question)])
}

fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches(['?', '.', '!']).to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ASKED: &str = "Which database do the tests use?";

    fn day(days: i64) -> Timestamp {
        Timestamp::from_millis(0).plus_seconds(days * 86_400)
    }

    fn found(answer: &str, score: f32) -> Match {
        let body =
            json!({"question": "which database is used by the tests", "answer": answer, "confidence": 0.9});
        let answered = serde_json::from_value(body).unwrap();
        let kept = KnownAnswer { id: Text::from("q1"), at: day(0), answered };
        Match { question: Text::from(ASKED), kept, score, differs: false, holds: true }
    }

    fn says(matches: &[Match], days: i64) -> Option<String> {
        choose(ASKED, matches, day(days)).map(|kept| kept.answered.answer.to_string())
    }

    #[test]
    fn a_question_asked_again_has_its_answer_for_a_month() {
        let matches = [found("sqlite", 0.8)];
        assert_eq!(says(&matches, 29).as_deref(), Some("sqlite"));
        assert_eq!(says(&matches, 30), None);
    }

    #[test]
    fn any_doubt_leaves_it_to_the_user() {
        assert_eq!(says(&[found("sqlite", 0.71)], 1), None, "another question");
        assert_eq!(says(&[Match { differs: true, ..found("sqlite", 0.9) }], 1), None, "other numbers");
        assert_eq!(says(&[Match { holds: false, ..found("sqlite", 0.9) }], 1), None, "the evidence changed");
        assert_eq!(says(&[found("sqlite", 0.9), found("postgres", 0.8)], 1), None, "a contradiction");
        assert_eq!(says(&[found("sqlite", 0.9), found("SQLite.", 0.8)], 1).as_deref(), Some("sqlite"));
        let mut unsure = found("sqlite", 0.9);
        unsure.kept.answered.confidence = 0.8;
        assert_eq!(says(&[unsure], 1), None);
    }

    #[test]
    fn leave_is_never_given_from_memory() {
        for question in ["May I push to main?", "Should I delete the old table?", "Do you approve the plan?"]
        {
            let mut it = found("yes", 1.0);
            it.question = Text::from(question);
            assert_eq!(choose(question, &[it], day(1)), None, "{question}");
        }
    }

    #[test]
    fn the_last_answer_counts() {
        let mut answers = AnsweredQuestions::default();
        for answer in ["sqlite", "postgres"] {
            let body = json!({"question": ASKED, "answer": answer, "source": "user", "confidence": 0.9});
            answers.apply(&Record::new("qa.answered", day(0), body));
        }
        let kept: Vec<&str> = answers.iter().map(|kept| kept.answered.answer.as_str()).collect();
        assert_eq!(kept, ["postgres"]);
    }
}
