//! Whether an agent waits for a person, from what its hooks have written down: it has asked whether it may do something, or
//! what it should do, and nothing has happened since. Only a client with a terminal waits; without one it is refused.

use serde_json::Value;

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_policy::call;

use crate::event_records::{EventRecord, RecordedEvent, RulingName};

/// A client tells so that it shows such a question, some seconds after it was asked.
const SHOWN: &str = "permission_prompt";

/// What it asks, from its last records, the newest first. Those that are no event of its client say nothing.
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
    /// It is no event.
    Nothing,
    Shown(Text<1000>),
    Asked(Text<1000>),
    /// Its agent does something.
    Went,
}

fn read_sign(record: &Record) -> PromptSign {
    let Some(EventRecord { event, ruling }) = EventRecord::read(record) else { return PromptSign::Nothing };
    // What was answered for the person is asked nobody.
    let is_open = !matches!(ruling.verdict, RulingName::Allow | RulingName::Hold);
    match event {
        RecordedEvent::PermissionAsked(call) if is_open => {
            PromptSign::Asked(Text::new(format!("may it use `{}`: {}", call.tool, call.input)))
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

/// The questions of a call in words; as it stands there, where it is cut or has another form.
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

    /// The newest last, as they are written.
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
        let asks_rm = Some("may it use `Bash`: rm x".to_owned());
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
