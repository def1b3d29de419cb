//! Secrets that are recognized by their name: `PASSWORD=...`, `--token ...`, `<password>...`, the user in a
//! URL. Code and sentences after such a name stay.

use super::{JUDGED, SecretSpan, has_digit, is_placeholder, is_token, just_before, starts_like};

/// Endings of names whose value is a secret, in lower case and without `_` and `-`.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accountkey",
    "privatekey",
    "secretkey",
    "credential",
    "credentials",
];

/// Names that count only as the whole last word of a name.
const WHOLE: &[&str] = &["pass", "pwd", "auth"];

/// Names of passwords. Their value may be short and may consist of letters only.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pass", "pwd"];

/// The kind of value that a name promises.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretValueKind {
    Password,
    /// A key or token: it always has a digit.
    Key,
}

fn kind(name: &str) -> Option<SecretValueKind> {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>().to_ascii_lowercase();
    let last = name.rsplit(['_', '-']).next().unwrap_or(name).to_ascii_lowercase();
    let is_whole = WHOLE.contains(&last.as_str());
    if !is_whole && !NAMES.iter().any(|ending| plain.ends_with(ending)) {
        return None;
    }
    let is_password =
        PASSWORDS.iter().any(|ending| last == *ending || (ending.len() > 4 && plain.ends_with(ending)));
    Some(if is_password { SecretValueKind::Password } else { SecretValueKind::Key })
}

/// Maximum length of a name, in bytes.
const NAME: usize = 100;

fn name_length(before: &[u8]) -> usize {
    before.iter().rev().take(NAME).take_while(|byte| is_token(**byte)).count()
}

/// Reports whether a byte may stand between name, assignment sign and value.
fn is_filler(byte: u8) -> bool {
    b" \t\"'\\".contains(&byte)
}

/// Finds `SECRET_NAME = value`, `name: value`, `name := value`, `name => value`, also inside escaped JSON.
pub(crate) fn assigned(text: &str, at: usize) -> SecretSpan {
    let bytes = text.as_bytes();
    let filled =
        |end: usize| bytes[..end].iter().rev().take(NAME).take_while(|byte| is_filler(**byte)).count();
    let mut name_end = at - filled(at);
    if bytes[at] == b'=' && bytes[..name_end].ends_with(b":") {
        name_end -= 1;
        name_end -= filled(name_end);
    }
    let name_start = name_end - name_length(&bytes[..name_end]);
    let kind = kind(&text[name_start..name_end])?;
    let after = at + 1 + usize::from(bytes[at] == b'=' && bytes.get(at + 1) == Some(&b'>'));
    value(text, after, kind, bytes[at])
}

/// Finds `--password VALUE`, `machine h login u password VALUE`, `the password is VALUE`.
pub(crate) fn find_after_word(text: &str, at: usize) -> SecretSpan {
    let bytes = text.as_bytes();
    let word = |end: usize| end - name_length(&bytes[..end]);
    let start = word(at);
    // Most spaces follow a short word; this check is cheap.
    if at - start < 2 {
        return None;
    }
    let name = &text[start..at];
    if name.starts_with("--") {
        return value(text, at + 1, kind(name)?, b' ');
    }
    if name == "is" && start > 0 {
        let kind = kind(&text[word(start - 1)..start - 1])?;
        return value(text, at + 1, kind, b':').filter(|(from, to, _)| has_digit(&text[*from..*to]));
    }
    let is_netrc = name == "password"
        && just_before(text, start).rsplit('\n').next().is_some_and(|line| line.contains("login "));
    if is_netrc { value(text, at + 1, SecretValueKind::Password, b'=') } else { None }
}

/// Finds `mysql -pVALUE`.
pub(crate) fn flag(text: &str, at: usize) -> SecretSpan {
    let rest = &text.as_bytes()[at..];
    if !rest.starts_with(b"-p") || at == 0 || !text.as_bytes()[at - 1].is_ascii_whitespace() {
        return None;
    }
    let command = just_before(text, at).rsplit(['\n', ';', '|', '&']).next()?;
    if !command.trim_start().starts_with("mysql") {
        return None;
    }
    value(text, at + 2, SecretValueKind::Password, b'=').filter(|(from, ..)| *from == at + 2)
}

/// Finds `<password>VALUE</password>`.
pub(crate) fn element(text: &str, at: usize) -> SecretSpan {
    let rest = &text.as_bytes()[at + 1..];
    let length = rest.iter().take(NAME).take_while(|byte| is_token(**byte)).count();
    if length < 4 || rest.get(length) != Some(&b'>') {
        return None;
    }
    let kind = kind(&text[at + 1..at + 1 + length])?;
    let from = at + length + 2;
    let end =
        text.as_bytes()[from..].iter().take(JUDGED).position(|byte| *byte == b'<').filter(|end| *end >= 6)?;
    let is_one = kind == SecretValueKind::Password || has_digit(&text[from..from + end]);
    (is_one && !is_placeholder(&text[from..from + end])).then_some((from, from + end, "secret"))
}

/// Returns the value after a secret name, if it looks like a secret.
fn value(text: &str, after: usize, kind: SecretValueKind, assigns: u8) -> SecretSpan {
    let bytes = text.as_bytes();
    let mut from = after + bytes[after..].iter().take(NAME).take_while(|byte| is_filler(**byte)).count();
    // A line continuation.
    if bytes[..from].ends_with(b"\\") && bytes.get(from) == Some(&b'\n') {
        from += 1;
    }
    let quote = bytes[after..from].last().copied().filter(|byte| matches!(byte, b'"' | b'\''));
    // Between quotes anything may stand; a backslash ends a value that is quoted twice.
    let is_end = |c: char| match quote {
        Some(quote) => c == char::from(quote) || matches!(c, '\n' | '\\'),
        None => c.is_whitespace() || "\"'\\,;&|)}]<>".contains(c),
    };
    let judged = text[from..].char_indices().take(JUDGED).take_while(|(_, c)| !is_end(*c)).last();
    let value = &text[from..judged.map_or(from, |(at, c)| from + at + c.len_utf8())];
    let is_enough = match kind {
        SecretValueKind::Password if assigns == b'=' || has_digit(value) => value.chars().count() >= 6,
        SecretValueKind::Password => value.chars().count() >= 12,
        SecretValueKind::Key => value.chars().count() >= 12 && has_digit(value),
    };
    let is_literal = quote == Some(b'\'') && value.starts_with('$');
    let is_other = !is_literal && (is_code(value) || is_placeholder(value));
    let is_one = is_enough && !is_other && !is_sentence(value);
    is_one.then(|| (from, text[from..].find(is_end).map_or(text.len(), |end| from + end), "secret"))
}

/// Reports whether a value is a call, a path of names, a variable or a file path. Such code fetches a secret
/// but does not contain it.
fn is_code(value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    value.contains("::")
        || value.ends_with("()")
        || value.starts_with(['$', '{', '/', '.', '~'])
        || value.split_once('(').is_some_and(|(called, _)| called.split('.').all(is_name) && called.len() > 3)
        || (value.contains('.') && value.split('.').all(is_name))
}

/// Reports whether a value has too many words for a passphrase.
fn is_sentence(value: &str) -> bool {
    value.split(' ').filter(|word| !word.is_empty()).count() > 6
}

/// URL schemes of data stores, where a password may contain a slash.
const STORES: &[&str] = &[
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "redis",
    "rediss",
    "amqp",
    "amqps",
];

/// Finds `scheme://user:PASSWORD@host`.
pub(crate) fn in_url(text: &str, at: usize) -> SecretSpan {
    let rest = text[at..].strip_prefix("://")?;
    let is_mark = |c: char| c.is_ascii_alphanumeric() || c == '+';
    let scheme =
        just_before(text, at).rsplit(|c: char| !is_mark(c)).next().unwrap_or_default().to_ascii_lowercase();
    let is_store = STORES.contains(&scheme.as_str());
    let end =
        rest.find(|c: char| (c == '/' && !is_store) || c.is_whitespace() || c == '"').unwrap_or(rest.len());
    let (user, _) = rest[..end].rsplit_once('@')?;
    let colon = user.find(':')?;
    let (from, to) = (at + 3 + colon + 1, at + 3 + user.len());
    (to > from && !is_placeholder(&text[from..to])).then_some((from, to, "password"))
}

/// Finds `curl -u user:PASSWORD`.
pub(crate) fn login(text: &str, at: usize) -> SecretSpan {
    let before = just_before(text, at);
    let flag = before.trim_end_matches(|c: char| !c.is_whitespace() && c != '=');
    let word = flag.trim_end_matches([' ', '=', '"', '\'']).rsplit([' ', '\t', '\n']).next()?;
    let is_flag = word == "-u" || word == "--user" || starts_like(word.as_bytes(), b"--proxy-user");
    if flag.len() == before.len() || !is_flag {
        return None;
    }
    let judged = text[at + 1..].char_indices().take(JUDGED);
    let end = judged.take_while(|(_, c)| !c.is_whitespace() && !matches!(c, '"' | '\'')).last();
    let value = &text[at + 1..end.map_or(at + 1, |(end, c)| at + 1 + end + c.len_utf8())];
    (value.len() >= 6 && !is_placeholder(value)).then_some((at + 1, at + 1 + value.len(), "password"))
}
