//! Secrets that are recognized by their shape.

use serde_json::Value;

use super::{SecretSpan, has_digit, is_token, is_word, run_end, starts_like, starts_word, whole_run};
use crate::base64;

/// The characters that must follow a prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenTail {
    /// At least this many letters and digits: ordinary names have marks between their words.
    Plain(usize),
    /// At least this many characters, marks included, with at least one digit.
    Marked(usize),
}

use TokenTail::{Marked, Plain};

/// Prefixes that only start secrets, in order of their first letters.
const PREFIXES: &[(&str, TokenTail, &str)] = &[
    ("AGE-SECRET-KEY-", Marked(20), "age_key"),
    ("AIza", Marked(35), "google_key"),
    ("AKIA", Plain(16), "aws_key"),
    ("ASIA", Plain(16), "aws_key"),
    ("ATATT", Marked(20), "api_key"),
    ("SG.", Marked(16), "api_key"),
    ("dckr_pat_", Marked(20), "api_key"),
    ("dop_v1_", Plain(32), "api_key"),
    ("gho_", Plain(20), "github_token"),
    ("ghp_", Plain(20), "github_token"),
    ("ghr_", Plain(20), "github_token"),
    ("ghs_", Plain(20), "github_token"),
    ("ghu_", Plain(20), "github_token"),
    ("github_pat_", Marked(20), "github_token"),
    ("glcbt-", Marked(16), "gitlab_token"),
    ("gldt-", Marked(16), "gitlab_token"),
    ("glpat-", Marked(16), "gitlab_token"),
    ("glptt-", Marked(16), "gitlab_token"),
    ("glrt-", Marked(16), "gitlab_token"),
    ("hf_", Plain(20), "api_key"),
    ("hvs.", Marked(20), "api_key"),
    ("lin_api_", Plain(20), "api_key"),
    ("npm_", Plain(36), "npm_token"),
    ("pypi-AgE", Marked(16), "pypi_token"),
    ("rk_live_", Plain(16), "api_key"),
    ("shpat_", Plain(20), "api_key"),
    ("shpss_", Plain(20), "api_key"),
    ("sk-", Marked(20), "api_key"),
    ("sk_live_", Plain(16), "api_key"),
    ("sk_test_", Plain(16), "api_key"),
    // Sprag's own token, which identifies a reviewer.
    ("sprt_", Plain(32), "review_token"),
    ("whsec_", Plain(20), "api_key"),
    ("xapp-", Marked(10), "slack_token"),
    ("xoxa-", Marked(10), "slack_token"),
    ("xoxb-", Marked(10), "slack_token"),
    ("xoxc-", Marked(10), "slack_token"),
    ("xoxd-", Marked(10), "slack_token"),
    ("xoxe-", Marked(10), "slack_token"),
    ("xoxe.", Marked(10), "slack_token"),
    ("xoxp-", Marked(10), "slack_token"),
    ("xoxr-", Marked(10), "slack_token"),
    ("xoxs-", Marked(10), "slack_token"),
    ("ya29.", Marked(20), "google_key"),
];

/// Finds a token that starts with a known prefix, at the start of a word.
pub(crate) fn starting(text: &str, at: usize) -> SecretSpan {
    let rest = &text.as_bytes()[at..];
    match rest.first()? {
        b'b' | b'B' => credentials(text, at),
        first if b"ASdghlnprswxy".contains(first) => {
            let (prefix, tail, kind) =
                PREFIXES.iter().find(|(prefix, ..)| rest.starts_with(prefix.as_bytes()))?;
            let from = at + prefix.len();
            let end = match tail {
                Plain(least) => {
                    let is_in = |byte: u8| byte.is_ascii_alphanumeric();
                    let is_long = run_end(text, from, is_in) - from >= *least;
                    is_long.then(|| whole_run(text, from, is_in))
                }
                Marked(least) => {
                    let judged = run_end(text, from, is_token);
                    let is_one = judged - from >= *least && has_digit(&text[from..judged]);
                    is_one.then(|| whole_run(text, from, is_token))
                }
            };
            end.map(|end| (at, end, *kind))
        }
        _ => None,
    }
}

/// Finds `Bearer TOKEN` and `Basic BASE64`. Sentences use both words too, so the value must look like a
/// token.
fn credentials(text: &str, at: usize) -> SecretSpan {
    let rest = &text.as_bytes()[at..];
    let scheme = [&b"bearer"[..], b"basic"].into_iter().find(|scheme| starts_like(rest, scheme))?;
    let gap = rest[scheme.len()..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let gap = if gap == 0 && rest[scheme.len()..].starts_with(b"%20") { 3 } else { gap };
    if !(1..=4).contains(&gap) {
        return None;
    }
    let from = at + scheme.len() + gap;
    let is_in = |byte: u8| is_word(byte) || b"-._~+/=".contains(&byte);
    let value = &text[from..run_end(text, from, is_in)];
    let is_one = match scheme {
        b"basic" => base64::decoded(value).is_some_and(|it| it.contains(&b':')),
        _ => has_digit(value),
    };
    (value.len() >= 12 && is_one).then(|| (from, whole_run(text, from, is_in), "bearer"))
}

/// Finds a JSON web token: three parts, the first of which decodes to JSON with the key `alg`.
pub(crate) fn jwt(text: &str, at: usize) -> SecretSpan {
    let bytes = text.as_bytes();
    let starts = starts_word(bytes, at) || bytes[at - 1] == b'_';
    if !starts || !(bytes[at..].starts_with(b"ey") || bytes[at..].starts_with(b"ew")) {
        return None;
    }
    let header = run_end(text, at, is_token);
    let mut end = header;
    for _ in 0..2 {
        if bytes.get(end) != Some(&b'.') {
            return None;
        }
        let gap = bytes[end + 1..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        end = run_end(text, end + 1 + gap, is_token);
    }
    let header: Value = serde_json::from_slice(&base64::decoded(&text[at..header])?).ok()?;
    header.get("alg").map(|_| (at, whole_run(text, end, is_token), "jwt"))
}
