//! The subset of JSON Schema that the schemas of Agent Trace use. An unknown keyword is an error, because an
//! unchecked rule must not count as met.

use anyhow::{bail, ensure};
use serde_json::Value;

/// Keywords that are only documentation, or that other keywords refer to.
const TOLD: &[&str] = &["$schema", "$id", "$defs", "definitions", "title", "description"];
/// The maximum depth; real schemas are less deep.
const DEEPEST: usize = 64;

pub struct Schema {
    root: Value,
}

impl Schema {
    pub fn new(root: Value) -> Schema {
        Schema { root }
    }

    /// Returns the faults of a value, each with its place. Fails if the schema has an unknown keyword.
    pub fn faults(&self, value: &Value) -> anyhow::Result<Vec<String>> {
        let mut faults = Vec::new();
        self.check(&self.root, value, "$", &mut faults, 0)?;
        Ok(faults)
    }

    fn check(
        &self,
        schema: &Value,
        value: &Value,
        place: &str,
        faults: &mut Vec<String>,
        depth: usize,
    ) -> anyhow::Result<()> {
        ensure!(depth < DEEPEST, "the schema is recursive at {place}");
        let Some(words) = schema.as_object() else { bail!("{place}: the schema is not an object") };
        for (word, rule) in words {
            match word.as_str() {
                "$ref" => self.check(self.named(rule)?, value, place, faults, depth + 1)?,
                "properties" => {
                    for (name, rule) in rule.as_object().into_iter().flatten() {
                        if let Some(member) = value.get(name) {
                            self.check(rule, member, &format!("{place}.{name}"), faults, depth + 1)?;
                        }
                    }
                }
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{place}[{at}]"), faults, depth + 1)?;
                    }
                }
                "additionalProperties" => additional(schema, rule, value, place, faults)?,
                word if TOLD.contains(&word) => {}
                word => {
                    if !holds(word, rule, value)? {
                        faults.push(format!("{place}: {word} {rule}"));
                    }
                }
            }
        }
        Ok(())
    }

    fn named(&self, rule: &Value) -> anyhow::Result<&Value> {
        let path = rule.as_str().and_then(|path| path.strip_prefix('#'));
        match path.and_then(|path| self.root.pointer(path)) {
            Some(found) => Ok(found),
            None => bail!("the schema refers to {rule}, which is missing"),
        }
    }
}

fn additional(
    schema: &Value,
    rule: &Value,
    value: &Value,
    place: &str,
    faults: &mut Vec<String>,
) -> anyhow::Result<()> {
    match rule {
        Value::Bool(false) => {}
        Value::Bool(true) => return Ok(()),
        Value::Object(any) if any.is_empty() => return Ok(()),
        _ => bail!("{place}: `additionalProperties` {rule} is not supported"),
    }
    for name in value.as_object().into_iter().flat_map(|object| object.keys()) {
        if schema["properties"].get(name).is_none() {
            faults.push(format!("{place}: `{name}` is not allowed"));
        }
    }
    Ok(())
}

/// Reports whether a value meets one rule. A rule about texts accepts every other type.
fn holds(word: &str, rule: &Value, value: &Value) -> anyhow::Result<bool> {
    let text = value.as_str();
    Ok(match word {
        "type" => match rule.as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("integer") => value.is_i64() || value.is_u64(),
            _ => bail!("type {rule} is not supported"),
        },
        "required" => {
            let names = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
            !value.is_object() || names.into_iter().all(|name| value.get(name).is_some())
        }
        "enum" => rule.as_array().is_some_and(|allowed| allowed.contains(value)),
        "maxLength" => {
            text.is_none_or(|text| rule.as_u64().is_some_and(|most| text.chars().count() as u64 <= most))
        }
        "minimum" => value.as_f64().is_none_or(|value| rule.as_f64().is_some_and(|least| value >= least)),
        "pattern" => match rule.as_str() {
            Some(r"^[0-9]+\.[0-9]+\.[0-9]+$") => text.is_none_or(is_version),
            _ => bail!("pattern {rule} is not supported"),
        },
        "format" => match rule.as_str() {
            Some("uuid") => text.is_none_or(is_uuid),
            Some("date-time") => text.is_none_or(is_time),
            Some("uri") => text.is_none_or(is_uri),
            _ => bail!("format {rule} is not supported"),
        },
        _ => bail!("`{word}` is not supported"),
    })
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| is_number(part))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Reports whether a text is a time in the form of RFC 3339.
fn is_time(text: &str) -> bool {
    let like = "0000-00-00T00:00:00";
    let Some((head, tail)) = text.split_at_checked(like.len()) else { return false };
    let is_like = head.bytes().zip(like.bytes()).all(|(byte, like)| match like {
        b'0' => byte.is_ascii_digit(),
        like => byte == like,
    });
    let zone = match tail.strip_prefix('.') {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => tail,
    };
    let is_offset = |zone: &str| {
        let bytes = zone.as_bytes();
        bytes.len() == 6 && matches!(bytes[0], b'+' | b'-') && bytes[3] == b':' && is_number(&zone[1..3])
    };
    is_like && (zone == "Z" || is_offset(zone))
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    is_scheme && !rest.is_empty() && rest.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::new(json!({
            "$ref": "#/definitions/A",
            "definitions": {"A": {
                "type": "object", "required": ["id"], "additionalProperties": false,
                "properties": {
                    "id": {"type": "string", "format": "uuid"},
                    "list": {"type": "array", "items": {"type": "integer", "minimum": 1}},
                    "kind": {"enum": ["a", "b"]},
                },
            }},
        }))
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let id = "6f1c2a7e-2b1d-4c3e-9a5b-0d6f7e8a9b10";
        let faults = |value: Value| schema().faults(&value).unwrap();
        assert_eq!(faults(json!({"id": id, "list": [1, 2], "kind": "a"})), [""; 0]);
        assert_eq!(faults(json!({})).len(), 1);
        assert_eq!(faults(json!({"id": id, "list": [1, 0]})), ["$.list[1]: minimum 1"]);
        assert_eq!(faults(json!({"id": "x", "kind": "c", "more": 1})).len(), 3);
    }

    #[test]
    fn what_is_not_known_is_no_pass() {
        for odd in [
            json!({"oneOf": []}),
            json!({"format": "email"}),
            json!({"pattern": "x"}),
            json!({"$ref": "#/no"}),
            json!({"type": "number"}),
            json!({"additionalProperties": {"type": "string"}}),
        ] {
            assert!(Schema::new(odd.clone()).faults(&json!({})).is_err(), "{odd}");
        }
        assert!(Schema::new(json!({"$ref": "#"})).faults(&json!({})).is_err());
    }

    #[test]
    fn forms_of_text() {
        assert!(is_time("2026-11-15T07:00:00Z") && is_time("2026-11-15T07:00:00.123+01:00"));
        assert!(!is_time("2026-11-15 07:00:00Z") && !is_time("2026-11-15T07:00:00"));
        assert!(is_uri("urn:uuid:x") && is_uri("intent:INT-1"));
        assert!(!is_uri("INT-1") && !is_uri("a b:c") && !is_uri("x:a b"));
        assert!(is_version("0.1.0") && !is_version("0.1") && !is_version("a.1.0"));
    }
}
