//! Takes secrets out of text before it is written down. Only shapes that are secrets for certain
//! count: a hash, a UUID or a long word stays, because a log full of holes helps nobody.

use crate::text::Text;
use std::borrow::Cow;

use serde_json::Value;

/// Something that has been through [`value`] or [`text`]: the store takes nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Redacted<T>(T);

impl<T> Redacted<T> {
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// The start of a text. Redacted before it is cut, since half a secret is not known for one, and read
/// no further than that needs.
pub fn short<const N: usize>(text: &str) -> Text<N> {
    let end = text.char_indices().nth(N + 4000).map_or(text.len(), |(at, _)| at);
    Text::new(self::text(&text[..end]).into_inner().into_owned())
}

/// Redacts every string of a JSON value.
pub fn value(mut value: Value) -> Redacted<Value> {
    redact_in(&mut value);
    Redacted(value)
}

pub fn text(text: &str) -> Redacted<Cow<'_, str>> {
    Redacted(clean(text))
}

fn redact_in(value: &mut Value) {
    match value {
        Value::String(string) => {
            if let Cow::Owned(clean) = clean(string) {
                *string = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_in),
        Value::Object(members) => members.values_mut().for_each(redact_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Prefixes that only ever start a secret, with the fewest characters that must follow.
const PREFIXES: &[(&str, usize, &str)] = &[
    ("AKIA", 16, "aws_key"),
    ("ASIA", 16, "aws_key"),
    ("AIza", 35, "google_key"),
    ("ghp_", 20, "github_token"),
    ("gho_", 20, "github_token"),
    ("ghu_", 20, "github_token"),
    ("ghs_", 20, "github_token"),
    ("ghr_", 20, "github_token"),
    ("github_pat_", 20, "github_token"),
    ("glpat-", 20, "gitlab_token"),
    ("npm_", 36, "npm_token"),
    ("pypi-", 16, "pypi_token"),
    ("hf_", 20, "api_key"),
    ("rk_live_", 16, "api_key"),
    ("sk-", 20, "api_key"),
    ("sk_live_", 16, "api_key"),
    ("sk_test_", 16, "api_key"),
    // Our own: what tells a reviewer from the author.
    ("sprt_", 32, "review_token"),
    ("xoxa-", 10, "slack_token"),
    ("xoxb-", 10, "slack_token"),
    ("xoxp-", 10, "slack_token"),
    ("xoxr-", 10, "slack_token"),
    ("xoxs-", 10, "slack_token"),
];

/// Names whose value is a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "_pass",
];

/// Of these even a short value is one.
const SHORT: &[&str] = &["password", "passwd", "_pass"];

/// Values that stand for a secret without being one.
const PLACEHOLDERS: &[&str] = &["example", "changeme", "placeholder", "your", "xxxx", "****", "redacted"];

fn clean(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let found = found_at(text, at);
        match found {
            Some((from, to, kind)) if from >= copied => {
                out.push_str(&text[copied..from]);
                out.push_str("[redacted:");
                out.push_str(kind);
                out.push(']');
                copied = to;
                at = to;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// What kind of secret a text has in it, if any.
pub fn kind(text: &str) -> Option<&'static str> {
    (0..text.len()).find_map(|at| found_at(text, at)).map(|(_, _, kind)| kind)
}

/// A secret starts where a word starts, or at a mark of its own; the rest is passed over.
fn found_at(text: &str, at: usize) -> Found {
    let bytes = text.as_bytes();
    let byte = bytes[at];
    match byte {
        b'-' => pem(text, at),
        b'<' => private_span(text, at),
        b':' => url_password(text, at).or_else(|| assigned(text, at)),
        b'=' => assigned(text, at),
        b' ' if follows_flag(text, at) => assigned(text, at),
        b'A' | b'B' | b'a'..=b'z' if starts_word(bytes, at) => match byte {
            b'b' | b'B' => bearer(text, at),
            b'e' => jwt(text, at),
            _ => prefixed(text, at),
        },
        _ => None,
    }
}

/// Where a secret is and what it is.
type Found = Option<(usize, usize, &'static str)>;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Behind a written-out `\n`, `\t` or `\r` a word starts, although a letter stands before it.
fn starts_word(bytes: &[u8], at: usize) -> bool {
    let follows_escape = || at >= 2 && bytes[at - 2] == b'\\' && b"ntr".contains(&bytes[at - 1]);
    at == 0 || !is_word(bytes[at - 1]) || follows_escape()
}

/// End of the run of token characters that starts at `at`.
fn token_end(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    at + rest.iter().take_while(|&&byte| is_word(byte) || byte == b'-').count()
}

fn prefixed(text: &str, at: usize) -> Found {
    let rest = &text.as_bytes()[at..];
    let first = rest.first()?;
    if !b"Aaghnprsx".contains(first) {
        return None;
    }
    let (prefix, least, kind) = PREFIXES.iter().find(|(prefix, _, _)| rest.starts_with(prefix.as_bytes()))?;
    let end = token_end(text, at + prefix.len());
    (end - at - prefix.len() >= *least).then_some((at, end, *kind))
}

fn bearer(text: &str, at: usize) -> Found {
    let rest = &text.as_bytes()[at..];
    let scheme = [&b"bearer "[..], b"basic "]
        .into_iter()
        .find(|scheme| rest.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))?;
    let from = at + scheme.len();
    let value = &text.as_bytes()[from..];
    let length = value.iter().take_while(|&&byte| is_word(byte) || b"-._~+/=".contains(&byte)).count();
    (length >= 12).then_some((from, from + length, "bearer"))
}

fn jwt(text: &str, at: usize) -> Found {
    if !text.as_bytes()[at..].starts_with(b"eyJ") {
        return None;
    }
    let header = token_end(text, at);
    let mut end = header;
    for _ in 0..2 {
        if text.as_bytes().get(end) != Some(&b'.') {
            return None;
        }
        end = token_end(text, end + 1);
    }
    let decoded = base64url(&text.as_bytes()[at..header])?;
    let header: Value = serde_json::from_slice(&decoded).ok()?;
    header.get("alg").map(|_| (at, end, "jwt"))
}

fn base64url(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0u32, 0);
    for &byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Some(out)
}

fn pem(text: &str, at: usize) -> Found {
    let rest = &text[at..];
    let label = rest.strip_prefix("-----BEGIN ")?;
    let label_end = label.find("-----")?;
    if !label[..label_end].ends_with("PRIVATE KEY") {
        return None;
    }
    let end = match rest.find("-----END ") {
        Some(close) => rest[close + 9..].find("-----").map_or(rest.len(), |tail| close + 9 + tail + 5),
        // Cut off: all that follows may be key.
        None => rest.len(),
    };
    Some((at, at + end, "private_key"))
}

fn private_span(text: &str, at: usize) -> Found {
    let inner = text[at..].strip_prefix("<private>")?;
    let end = inner.find("</private>").map_or(inner.len(), |close| close + "</private>".len());
    Some((at, at + "<private>".len() + end, "private"))
}

/// `scheme://user:PASSWORD@host`
fn url_password(text: &str, at: usize) -> Found {
    let rest = text[at..].strip_prefix("://")?;
    let authority =
        &rest[..rest.find(|c: char| c == '/' || c.is_whitespace() || c == '"').unwrap_or(rest.len())];
    let (userinfo, _) = authority.rsplit_once('@')?;
    let colon = userinfo.find(':')?;
    let from = at + 3 + colon + 1;
    let to = at + 3 + userinfo.len();
    (to > from && !is_placeholder(&text[from..to])).then_some((from, to, "password"))
}

/// `--password VALUE`: the space assigns.
fn follows_flag(text: &str, at: usize) -> bool {
    let before = &text.as_bytes()[..at];
    let word = before.iter().rev().take_while(|&&byte| is_word(byte) || byte == b'-').count();
    before[at - word..].starts_with(b"--")
}

/// `SECRET_NAME = value`, also inside escaped JSON.
fn assigned(text: &str, at: usize) -> Found {
    let filler = |byte: &u8| b" \t\"'\\".contains(byte);
    let bytes = text.as_bytes();
    let name_end = at - bytes[..at].iter().rev().take_while(|byte| filler(byte)).count();
    let name_start =
        name_end - bytes[..name_end].iter().rev().take_while(|&&byte| is_word(byte) || byte == b'-').count();
    let name = text[name_start..name_end].to_ascii_lowercase().replace('-', "_");
    if !NAMES.iter().any(|secret| name.ends_with(secret)) {
        return None;
    }
    let from = at + 1 + bytes[at + 1..].iter().take_while(|byte| filler(byte)).count();
    let value = text[from..].split(|c: char| c.is_whitespace() || "\"'\\,;&|)}]<>".contains(c)).next()?;
    // A call or a path of names is code that fetches a secret, not the secret.
    let is_code =
        value.contains('(') || value.contains("::") || value.starts_with('$') || value.starts_with('{');
    let least = if bytes[at] == b'=' && SHORT.iter().any(|short| name.ends_with(short)) { 6 } else { 12 };
    if value.chars().count() < least || is_code || is_placeholder(value) {
        return None;
    }
    Some((from, from + value.len(), "secret"))
}

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.starts_with(['$', '<', '{', '[', '%'])
        || PLACEHOLDERS.iter().any(|placeholder| lower.contains(placeholder))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_of_every_kind_are_taken_out() {
        for (given, kept) in [
            ("key AKIAABCDEFGHIJKLMNOP end", "key [redacted:aws_key] end"),
            ("ghp_0123456789abcdefghij0123456789abcdef", "[redacted:github_token]"),
            (
                "curl -H 'Authorization: Bearer abcdef0123456789'",
                "curl -H 'Authorization: Bearer [redacted:bearer]'",
            ),
            ("git clone https://me:hunter2secret@host/x", "git clone https://me:[redacted:password]@host/x"),
            ("export DB_PASSWORD=correcthorsebattery && run", "export DB_PASSWORD=[redacted:secret] && run"),
            (r#"{\"api_key\": \"0123456789abcdef\"}"#, r#"{\"api_key\": \"[redacted:secret]\"}"#),
            ("a <private>my notes</private> b", "a [redacted:private] b"),
            ("mysql --password correcthorsebattery x", "mysql --password [redacted:secret] x"),
            ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted:secret] psql"),
            ("-H 'Authorization: Basic dXNlcjpwYXNzd29yZA=='", "-H 'Authorization: Basic [redacted:bearer]'"),
            (r"echo 'a\nghp_0123456789abcdefghij0123456789abcdef'", r"echo 'a\n[redacted:github_token]'"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest",
                "[redacted:private_key]\nrest",
            ),
            ("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl y", "x [redacted:jwt] y"),
        ] {
            assert_eq!(text(given).into_inner(), kept);
        }
    }

    #[test]
    fn what_only_looks_secret_stays() {
        for kept in [
            "commit 3f786850e387550fdab836ed7e6dc881de23001b",
            "0190f3c1-7c7e-7b3a-9f0e-2d5b7a1c4e6f",
            "\"integrity\": \"sha512-abcdefghijklmnopqrstuvwxyz0123456789==\"",
            "let token = self.next_token();",
            "password: $DB_PASSWORD_FROM_ENV",
            "API_KEY=<your-api-key-goes-here>",
            "the sk- prefix, the token and the secret",
            "http://localhost:8080/path@2x.png",
            "eyJub3QiOiJhIn0 is no token",
        ] {
            assert_eq!(text(kept).into_inner(), kept);
        }
    }

    /// What lock files and logs are full of: hashes, ids, base64, words about tokens. None of it is a secret.
    #[test]
    fn nothing_is_taken_out_of_lock_files_and_logs() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 16
        };
        let mut word = |alphabet: &str, length: usize| -> String {
            let letters: Vec<char> = alphabet.chars().collect();
            (0..length).map(|_| letters[(random() % letters.len() as u64) as usize]).collect()
        };
        const HEX: &str = "0123456789abcdef";
        const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for at in 0..5000 {
            let (hex, base64) = (word(HEX, 64), word(BASE64, 88));
            let uuid =
                format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30]);
            let line = match at % 12 {
                0 => format!("      \"integrity\": \"sha512-{base64}==\","),
                1 => format!("checksum = \"{hex}\""),
                2 => format!("    resolved \"https://registry.example/x/-/x-{at}.0.1.tgz#{}\"", &hex[..40]),
                3 => format!("2026-11-15T09:01:{:02}Z INFO request id={uuid} status=200 bytes={at}", at % 60),
                4 => format!("github.com/a/b v0.{at}.0 h1:{}=", &base64[..43]),
                5 => format!("  --hash=sha256:{hex} \\"),
                6 => format!("commit {} (HEAD -> main, tag: v1.{at})", &hex[..40]),
                7 => format!("[worker-{at}] token bucket refilled: {} tokens, key={}", at, at % 97),
                8 => format!("DEBUG session {uuid}: password check passed in {at} ms"),
                9 => format!("digest: sha256:{hex} size: {at}"),
                10 => format!("W/\"{}\" etag for /static/app.{}.js", &hex[..16], &hex[..8]),
                _ => format!("- name: cache key {} restored from secret-scanning step {at}", &hex[..32]),
            };
            assert_eq!(text(&line).into_inner(), line);
        }
    }

    #[test]
    fn strings_inside_a_value_are_reached() {
        let given = serde_json::json!({"a": [{"b": "ghp_0123456789abcdefghij0123456789abcdef"}], "n": 3});
        assert_eq!(
            value(given).into_inner(),
            serde_json::json!({"a": [{"b": "[redacted:github_token]"}], "n": 3})
        );
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC*") {
            clean(&text);
        }

        #[test]
        fn redacting_twice_changes_nothing(text in "(password=|Bearer |://a:b@|ghp_|[a-z0-9 =:]){0,12}") {
            let once = clean(&text).into_owned();
            prop_assert_eq!(clean(&once).into_owned(), once);
        }
    }
}
