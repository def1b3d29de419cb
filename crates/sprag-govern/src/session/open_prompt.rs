//! Finds out from the records of a session whether its agent waits for a person. That is so if the agent
//! asked for permission or asked a question, and nothing happened since. Only a client with a terminal waits;
//! without one the call is refused.

use serde_json::Value;

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_policy::call;

use crate::event_records::{EventRecord, RecordedEvent, RulingName};

/// Notice of a client some seconds after it showed a question.
const SHOWN: &str = "permission_prompt";

/// Returns the open question of the agent, from its last records, newest first. Records that are not events
/// of the client are skipped.
pub fn asked<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Text<1000>> {
    let mut shown = None;
    for record in records {
        match read_sign(record) {
            PromptSign::Nothing => {}
            PromptSign::Shown(message) => shown = shown.or(Some(message)),
            PromptSign::Asked(question) => return Some(question),
            PromptSign::Went => break,
        }
    }
    shown
}

enum PromptSign {
    /// The record is not an event.
    Nothing,
    Shown(Text<1000>),
    Asked(Text<1000>),
    /// The agent continued.
    Went,
}

fn read_sign(record: &Record) -> PromptSign {
    let Some(EventRecord { event, ruling }) = EventRecord::read(record) else { return PromptSign::Nothing };
    // Sprag answered the question, so no person has to.
    let is_open = !matches!(ruling.verdict, RulingName::Allow | RulingName::Hold);
    match event {
        RecordedEvent::PermissionAsked(call) if is_open => {
            PromptSign::Asked(Text::new(format!("may the agent use `{}`: {}", call.tool, call.input)))
        }
        RecordedEvent::ToolRequested(call) if is_open && call::is_question(call.tool.as_str()) => {
            PromptSign::Asked(question(call.input.as_str()))
        }
        RecordedEvent::Noticed(notice) if notice.what.as_str() == SHOWN => {
            PromptSign::Shown(Text::from(notice.message.as_str()))
        }
        RecordedEvent::SessionStarted(_)
        | RecordedEvent::Prompted(_)
        | RecordedEvent::ToolRequested(_)
        | RecordedEvent::PermissionAsked(_)
        | RecordedEvent::ToolFinished(_)
        | RecordedEvent::StopRequested(_)
        | RecordedEvent::SubagentStarted(_)
        | RecordedEvent::SubagentStopped(_)
        | RecordedEvent::TaskCompleting(_)
        | RecordedEvent::Compacting(_)
        | RecordedEvent::SessionEnded(_) => PromptSign::Went,
        _ => PromptSign::Nothing,
    }
}

/// Returns the questions of a call as text, or the input unchanged if it is cut or has another form.
fn question(input: &str) -> Text<1000> {
    let read: Value = serde_json::from_str(input).unwrap_or_default();
    let all = read["questions"].as_array().into_iter().flatten();
    let asked: Vec<&str> = all.filter_map(|one| one["question"].as_str()).collect();
    Text::new(if asked.is_empty() { input.to_owned() } else { asked.join(" ") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_base::time::Timestamp;

    use super::*;

    /// Records in the order of writing, newest last.
    fn asks(records: &[(&str, Value)]) -> Option<String> {
        let at = Timestamp::from_millis(0);
        let records: Vec<Record> =
            records.iter().map(|(kind, body)| Record::new(kind, at, body.clone())).collect();
        asked(records.iter().rev()).map(|question| question.to_string())
    }

    fn call(tool: &str, input: &str, verdict: &str) -> Value {
        json!({"tool": tool, "effect": "exec", "input": input, "verdict": verdict})
    }

    #[test]
    fn who_has_asked_and_done_nothing_since_waits() {
        let permission = ("permission.asked", call("Bash", "rm x", "pass"));
        let shown =
            ("noticed", json!({"what": "permission_prompt", "message": "needs you", "verdict": "pass"}));
        let went = ("tool.finished", call("Bash", "rm x", "pass"));
        let asks_rm = Some("may the agent use `Bash`: rm x".to_owned());
        assert_eq!(asks(std::slice::from_ref(&permission)), asks_rm);
        assert_eq!(asks(&[permission.clone(), shown.clone()]), asks_rm, "what is asked says more");
        assert_eq!(asks(&[permission.clone(), ("snapshot", json!({}))]), asks_rm);
        assert_eq!(asks(&[permission.clone(), went.clone()]), None);
        assert_eq!(asks(&[went, shown]), Some("needs you".to_owned()));
        assert_eq!(
            asks(&[("noticed", json!({"what": "idle_prompt", "message": "m", "verdict": "pass"}))]),
            None
        );
        assert_eq!(asks(&[]), None);
        for answered in ["allow", "hold"] {
            assert_eq!(asks(&[("permission.asked", call("Bash", "rm x", answered))]), None);
        }
    }

    #[test]
    fn a_question_is_told_in_its_words() {
        let input = json!({"questions": [{"question": "Which one?"}, {"question": "And why?"}]}).to_string();
        let one = |input: &str| asks(&[("tool.requested", call("AskUserQuestion", input, "pass"))]);
        assert_eq!(one(&input), Some("Which one? And why?".to_owned()));
        assert_eq!(one("{\"questions\":[{\"que"), Some("{\"questions\":[{\"que".to_owned()));
        assert_eq!(asks(&[("tool.requested", call("Bash", "ls", "pass"))]), None);
    }
}
