//! Canonical forms of literals: quotes, letter case of digits and prefixes. Only spellings that cannot change
//! a value are unified. Escapes other than those of quotes stay unchanged.

use crate::lang::Lang;

/// Returns the common form of all spellings of a literal, or `None` to keep it unchanged.
pub(crate) fn canonical(lang: Lang, kind: &str, text: &str) -> Option<String> {
    match (lang, kind) {
        (Lang::Python, "string") => python_string(text),
        (Lang::Python, "integer" | "float") => Some(text.to_ascii_lowercase().replace('_', "")),
        (Lang::JavaScript | Lang::TypeScript | Lang::Tsx, "string") => script_string(text),
        (Lang::JavaScript | Lang::TypeScript | Lang::Tsx, "number") => Some(text.to_ascii_lowercase()),
        (Lang::Go, "int_literal" | "float_literal" | "imaginary_literal") => Some(text.to_ascii_lowercase()),
        (Lang::Java, "hex_integer_literal" | "decimal_integer_literal") => Some(text.to_ascii_lowercase()),
        _ => None,
    }
}

/// Returns the start of an f-string: its prefix without the quotes.
pub(crate) fn python_start(text: &str) -> String {
    prefix_of(text).0
}

/// Returns the inside of a string without escapes of quotes, because the quotes may differ.
pub(crate) fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(quote @ ('\'' | '"'))) => {
                out.push(quote);
                chars.next();
            }
            ('\\', Some(other)) => {
                out.push(c);
                out.push(other);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

fn prefix_of(text: &str) -> (String, &str) {
    let end = text.find(['"', '\'']).unwrap_or(0);
    // Sorted, so that `Rb` and `bR` are the same prefix.
    let mut prefix: Vec<char> = text[..end].to_ascii_lowercase().chars().filter(|c| *c != 'u').collect();
    prefix.sort_unstable();
    (prefix.into_iter().collect(), &text[end..])
}

fn python_string(text: &str) -> Option<String> {
    let (prefix, rest) = prefix_of(text);
    let quote = match rest {
        _ if rest.starts_with("\"\"\"") || rest.starts_with("'''") => 3,
        _ => 1,
    };
    let inner = rest.get(quote..rest.len().checked_sub(quote)?)?;
    let inner = if prefix.contains('r') { inner.to_owned() } else { unquoted(inner) };
    Some(format!("{prefix}'{inner}"))
}

fn script_string(text: &str) -> Option<String> {
    Some(format!("'{}", unquoted(text.get(1..text.len().checked_sub(1)?)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(lang: Lang, kind: &str, left: &str, right: &str) -> bool {
        canonical(lang, kind, left) == canonical(lang, kind, right)
    }

    #[test]
    fn quotes_do_not_matter_and_contents_do() {
        assert!(same(Lang::Python, "string", "'it'", "\"it\""));
        assert!(same(Lang::Python, "string", "'a\"b'", "\"a\\\"b\""));
        assert!(same(Lang::Python, "string", "'''x'''", "\"x\""));
        assert!(same(Lang::Python, "string", "Rb'x'", "bR\"x\""));
        assert!(!same(Lang::Python, "string", "r'\\''", "'\\''"));
        assert!(!same(Lang::Python, "string", "b'x'", "'x'"));
        assert!(!same(Lang::Python, "string", "'\\\\\"'", "'\\\\\\\\\"'"));
        assert!(!same(Lang::JavaScript, "string", "'a '", "'a'"));
    }

    #[test]
    fn digits_have_no_case() {
        assert!(same(Lang::Python, "integer", "0XAB", "0xab"));
        assert!(same(Lang::Go, "float_literal", "1E5", "1e5"));
        assert!(!same(Lang::JavaScript, "number", "010", "10"));
    }
}
