//! Makes record ids and records, and redacts every record.

use serde_json::Value;

use sprag_base::ids::SessionId;
use sprag_base::record::{Record, RecordAuthor};
use sprag_base::record_kinds::TypedRecord;
use sprag_base::redact;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Actor, Input};

/// Reports whether foreign text is a valid id. Records and files are found by their ids.
pub fn is_id(text: &str) -> bool {
    (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns a UUIDv7: unique without coordination, and sorted by time.
pub fn new_id(now: Timestamp) -> String {
    let mut random = [0u8; 10];
    // Short reads happen only above 256 bytes. A failure leaves the time and the process id.
    if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).is_err() {
        random[..4].copy_from_slice(&std::process::id().to_le_bytes());
    }
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string()
}

/// Returns a new secret, in a form that redaction removes from all records. `None`: no random source.
pub fn new_token() -> Option<String> {
    let mut random = [0u8; 16];
    let count = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).ok()?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    (count == random.len()).then(|| format!("sprt_{hex}"))
}

pub fn record(
    record: &impl TypedRecord,
    at: Timestamp,
    session: Option<&SessionId>,
    actor: Option<RecordAuthor>,
) -> Record {
    from_parts(record.kind(), at, session, actor, record.body())
}

pub fn from_parts(
    kind: &str,
    at: Timestamp,
    session: Option<&SessionId>,
    actor: Option<RecordAuthor>,
    body: Value,
) -> Record {
    Record {
        id: new_id(at),
        session: session.cloned(),
        actor,
        ..Record::new(kind, at, redact::value(body).into_inner())
    }
}

/// Returns the author of an input.
pub fn by(input: &Input) -> RecordAuthor {
    let (agent, role) = match &input.actor {
        Actor::Main => (None, None),
        Actor::Subagent { id, kind } => (Some(id.clone()), Some(kind.clone())),
    };
    RecordAuthor { client: Text::from(input.client.as_str()), agent, role }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time() {
        let (early, late) = (new_id(Timestamp::from_millis(1_000)), new_id(Timestamp::from_millis(2_000)));
        assert!(early < late, "{early} {late}");
        assert_ne!(new_id(Timestamp::from_millis(1)), new_id(Timestamp::from_millis(1)));
    }

    #[test]
    fn no_record_keeps_a_token() {
        let token = new_token().unwrap();
        assert!(sprag_govern::gates::review::case::is_token(&token));
        assert_ne!(Some(&token), new_token().as_ref());
        let body = serde_json::json!({"notes": [format!("decide with --token {token}\nor `{token}`")]});
        let record = from_parts("x", Timestamp::from_millis(0), None, None, body);
        assert!(!record.body.to_string().contains(&token), "{}", record.body);
    }

    #[test]
    fn no_record_keeps_a_secret() {
        let body = serde_json::json!({"input": "login ghp_0123456789abcdefghij0123456789abcdef"});
        let record = from_parts("x", Timestamp::from_millis(0), None, None, body);
        assert_eq!(record.body["input"], "login [redacted:github_token]");
    }
}
