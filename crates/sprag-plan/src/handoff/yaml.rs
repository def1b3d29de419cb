//! Writes plain data as YAML that every reader understands in the same way: maps and lists on separate
//! lines, and every text in the quotes of JSON. So no text passes for a number, a tag or the end of the
//! document.

use serde_json::Value;

/// Values that are nested deeper stand on one line as JSON, which is valid YAML.
const DEPTH: usize = 8;

pub fn yaml(members: &[(String, Value)]) -> String {
    let mut out = String::new();
    map(&mut out, members.iter().map(|(name, value)| (name, value)), 0);
    out
}

fn map<'a>(out: &mut String, members: impl Iterator<Item = (&'a String, &'a Value)>, depth: usize) {
    for (name, value) in members {
        out.push_str(&"  ".repeat(depth));
        out.push_str(&key(name));
        out.push(':');
        below(out, value, depth);
    }
}

fn list(out: &mut String, items: &[Value], depth: usize) {
    for item in items {
        out.push_str(&"  ".repeat(depth));
        out.push('-');
        below(out, item, depth);
    }
}

/// Writes a value after its name or its dash.
fn below(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(members) if !members.is_empty() && depth < DEPTH => {
            out.push('\n');
            map(out, members.iter(), depth + 1);
        }
        Value::Array(items) if !items.is_empty() && depth < DEPTH => {
            out.push('\n');
            list(out, items, depth + 1);
        }
        value => {
            out.push(' ');
            out.push_str(&printable(&value.to_string()));
            out.push('\n');
        }
    }
}

fn key(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    // Without quotes these three are values, not names.
    if is_plain && !matches!(name, "null" | "true" | "false") {
        return name.to_owned();
    }
    printable(&Value::String(name.to_owned()).to_string())
}

/// Escapes the characters that JSON allows and YAML does not. They occur only in texts.
fn printable(json: &str) -> String {
    let is_printable = |c: char| {
        !matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_printable(c) { out.push(c) } else { out.push_str(&format!("\\u{:04x}", u32::from(c))) }
    }
    out
}
