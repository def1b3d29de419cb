//! Secrets over several lines: private keys and text between `<private>` tags.

use super::{SecretSpan, starts_like};

/// Finds a private key in PEM format. If its end is missing, all text after its start counts as the key.
pub(crate) fn pem(text: &str, at: usize) -> SecretSpan {
    let rest = &text.as_bytes()[at..];
    if !starts_like(rest, b"-----BEGIN ") {
        return None;
    }
    let label = &text[at + 11..];
    let label = label[..label.find("-----")?].to_ascii_uppercase();
    if !label.ends_with("PRIVATE KEY") && !label.ends_with("PRIVATE KEY BLOCK") {
        return None;
    }
    let close = rest.windows(9).position(|window| window.eq_ignore_ascii_case(b"-----END "));
    let end = close.map(|close| {
        let tail = &text[at + close + 9..];
        tail.find("-----").map_or(rest.len(), |tail| close + 9 + tail + 5)
    });
    Some((at, at + end.unwrap_or(rest.len()), "private_key"))
}

/// Finds `<private>...</private>`.
pub(crate) fn private(text: &str, at: usize) -> SecretSpan {
    let (open, close) = ("<private>", "</private>");
    let rest = &text.as_bytes()[at..];
    if !starts_like(rest, open.as_bytes()) {
        return None;
    }
    let end = rest.windows(close.len()).position(|window| window.eq_ignore_ascii_case(close.as_bytes()));
    Some((at, at + end.map_or(rest.len(), |end| end + close.len()), "private"))
}
