//! Old sessions as a source of learnings: reads a client's transcript, cuts it for a judge, and turns the
//! answer into a submission.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use sprag_base::redact;
use sprag_base::text::{Text, plain};

/// Transcripts with fewer turns of the user are skipped.
pub const TURNS: usize = 3;
/// The limit on candidates from one session.
pub const CANDIDATES: usize = 5;
/// The limit on characters of one turn, and on bytes of a whole question.
const TURN: usize = 2000;
const QUESTION: usize = 48 * 1024;

/// A transcript that was read, so that Sprag does not read it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillRecord {
    /// A digest of its name and size.
    pub transcript: Text<64>,
    pub candidates: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TranscriptTurn {
    pub role: TurnRole,
    pub text: Text<TURN>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnRole {
    User,
    Agent,
}

/// Reads the turns of a transcript, in the formats of all clients. Skips results of tools, because they are
/// data.
pub fn turns(transcript: &str) -> Vec<TranscriptTurn> {
    transcript.lines().filter_map(turn).collect()
}

fn turn(line: &str) -> Option<TranscriptTurn> {
    let line: Value = serde_json::from_str(line).ok()?;
    let said = [&line["message"], &line["payload"], &line].into_iter().find(|it| it["role"].is_string())?;
    let role = match said["role"].as_str()? {
        "user" => TurnRole::User,
        "assistant" => TurnRole::Agent,
        _ => return None,
    };
    let text = match &said["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let is_talk =
                |part: &&Value| matches!(part["type"].as_str(), Some("text" | "input_text" | "output_text"));
            parts
                .iter()
                .filter(is_talk)
                .filter_map(|part| part["text"].as_str())
                .collect::<Vec<_>>()
                .join("\n")
        }
        _ => return None,
    };
    let text = text.trim();
    // Clients also write messages in the role of the user; those do not count as turns.
    let is_clients = role == TurnRole::User && (text.starts_with('<') || text.starts_with("sprag:"));
    (!text.is_empty() && !is_clients).then(|| TranscriptTurn { role, text: redact::short(&plain(text)) })
}

pub fn user_turns(turns: &[TranscriptTurn]) -> usize {
    turns.iter().filter(|turn| turn.role == TurnRole::User).count()
}

/// Builds the question for a judge. A long session loses its middle.
pub fn question(turns: &[TranscriptTurn]) -> Vec<u8> {
    let body = |turns: &[&TranscriptTurn]| {
        json!({
            "v": 1,
            "task": "Read this session of a coding agent. List learnings for later sessions in the same \
                     repository: pitfalls with their fix, conventions, decisions with their reason. Give \
                     only specific statements that the session confirms. Answer with at most 5 \
                     candidates, or an empty list.",
            "turns": turns,
            "answer": {"candidates": [{
                "category": "pattern | pitfall | convention | dependency | process | domain | debugging",
                "summary": "10 to 200 characters", "detail": "20 to 2000 characters", "tags": [".."],
                "criteria_met": ["behavior_changing | decision_rationale | stable_fact"],
            }]},
        })
        .to_string()
        .into_bytes()
    };
    let mut kept: Vec<&TranscriptTurn> = turns.iter().collect();
    loop {
        let question = body(&kept);
        if question.len() <= QUESTION || kept.len() <= 2 {
            return question;
        }
        let middle = kept.len() / 2;
        let out = (kept.len() / 8).max(1);
        kept.drain(middle - out / 2..(middle - out / 2 + out).min(kept.len()));
    }
}

/// Turns an answer into a submission: few candidates, all with low confidence.
pub fn submission(answer: &[u8]) -> Result<Value, String> {
    let mut answer: Value = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
    let candidates = match answer.get_mut("candidates").map(Value::take) {
        Some(Value::Array(candidates)) => candidates,
        _ => return Err("list `candidates` is missing".to_owned()),
    };
    let unsure = |mut candidate: Value| {
        if candidate.is_object() {
            candidate["confidence"] = json!("low");
            // The user did not ask for this learning, even if the judge claims so.
            if let Some(criteria) = candidate["criteria_met"].as_array_mut() {
                criteria.retain(|criterion| criterion != "explicit_request");
            }
        }
        candidate
    };
    let candidates: Vec<Value> = candidates.into_iter().take(CANDIDATES).map(unsure).collect();
    Ok(json!({ "candidates": candidates }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_clients_are_read_and_tools_are_not() {
        let claude = [
            r#"{"type":"user","message":{"role":"user","content":"fix the cache"}}"#,
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"It is keyed by path."},{"type":"tool_use","name":"Bash"}]}}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"lots"}]}}"#,
            r#"{"type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>"}}"#,
            r#"{"type":"summary","summary":"x"}"#,
            "torn {",
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"no, by inode"}]}}"#,
        ];
        let turns = turns(&claude.join("\n"));
        let told: Vec<(TurnRole, &str)> = turns.iter().map(|turn| (turn.role, turn.text.as_str())).collect();
        let expected = [
            (TurnRole::User, "fix the cache"),
            (TurnRole::Agent, "It is keyed by path."),
            (TurnRole::User, "no, by inode"),
        ];
        assert_eq!((told.as_slice(), user_turns(&turns)), (&expected[..], 2));
    }

    #[test]
    fn a_long_session_keeps_its_beginning_and_its_end() {
        let turns: Vec<TranscriptTurn> = (0..500)
            .map(|at| TranscriptTurn {
                role: TurnRole::User,
                text: Text::new(format!("turn {at} {}", "x".repeat(900))),
            })
            .collect();
        let question = String::from_utf8(question(&turns)).unwrap();
        assert!(question.len() <= QUESTION);
        assert!(
            question.contains("turn 0 ") && question.contains("turn 499 ") && !question.contains("turn 250 ")
        );
    }

    #[test]
    fn an_answer_is_never_sure_and_never_long() {
        let candidate = json!({"summary": "x", "confidence": "high", "criteria_met": ["explicit_request", "stable_fact"]});
        let answer = json!({ "candidates": vec![candidate; 9] }).to_string();
        let read = submission(answer.as_bytes()).unwrap();
        let candidates = read["candidates"].as_array().unwrap();
        assert_eq!((candidates.len(), &candidates[0]["confidence"]), (5, &json!("low")));
        assert_eq!(candidates[0]["criteria_met"], json!(["stable_fact"]));
        for bad in ["", "[]", "{}", "{\"candidates\": 3}", "Sure!"] {
            assert!(submission(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_transcript_is_read(text in "\\PC{0,300}") {
            let _some_or_none = turns(&text);
            let _read_or_not = submission(text.as_bytes());
        }
    }
}
