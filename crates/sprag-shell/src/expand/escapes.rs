//! Backslash escapes of `$'…'`, `echo -e` and `printf`.

/// The dialect of escapes; dialects differ in octal numbers and in `\c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EscapeDialect {
    /// `$'…'`: `\'`, `\nnn`, `\cX`.
    Ansi,
    /// `echo -e`, `%b`: `\0nnn`; `\c` ends the output.
    Echo,
    /// A format of `printf`: `\nnn`.
    Format,
}

/// Decodes a text; also returns whether `\c` ended it.
pub(crate) fn decode(text: &str, dialect: EscapeDialect) -> (String, bool) {
    if !text.contains('\\') {
        return (text.to_owned(), false);
    }
    // Bytes, because `\xc3\xa9` is one character.
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 1;
        let Some(&kind) = bytes.get(at) else {
            out.push(b'\\');
            break;
        };
        at += 1;
        match kind {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'e' | b'E' => out.push(0x1b),
            b'f' => out.push(0x0c),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(0x0b),
            b'\\' => out.push(b'\\'),
            b'\'' | b'"' | b'?' if dialect != EscapeDialect::Echo => out.push(kind),
            b'c' => match dialect {
                EscapeDialect::Ansi => {
                    out.extend(bytes.get(at).map(|byte| byte & 0x1f));
                    at += 1;
                }
                EscapeDialect::Echo | EscapeDialect::Format => return (text_of(out), true),
            },
            b'x' => {
                let (value, length) = number(&bytes[at..], 16, 2);
                at += length;
                out.extend(u8::try_from(value & 0xff));
            }
            b'u' | b'U' => {
                let (value, length) = number(&bytes[at..], 16, if kind == b'u' { 4 } else { 8 });
                at += length;
                let mut buffer = [0; 4];
                let c = char::from_u32(value).unwrap_or('\u{FFFD}');
                out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            }
            b'0'..=b'7' => {
                // `echo` expects a zero before up to three digits, but also accepts digits without it.
                let most = if dialect == EscapeDialect::Echo && kind == b'0' { 4 } else { 3 };
                let (value, length) = number(&bytes[at - 1..], 8, most);
                at += length - 1;
                out.extend(u8::try_from(value & 0xff));
            }
            _ => {
                out.push(b'\\');
                out.push(kind);
            }
        }
    }
    (text_of(out), false)
}

fn number(bytes: &[u8], radix: u32, most: usize) -> (u32, usize) {
    let mut value = 0_u32;
    let mut length = 0;
    while length < most
        && let Some(digit) = bytes.get(length).and_then(|byte| char::from(*byte).to_digit(radix))
    {
        value = value.wrapping_mul(radix).wrapping_add(digit);
        length += 1;
    }
    (value, length)
}

/// Converts computed bytes to text.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_by_dialect() {
        for (text, dialect, read) in [
            (r"\x67\150", EscapeDialect::Ansi, "gh"),
            (r"it\'s", EscapeDialect::Ansi, "it's"),
            (r"\u00e9\U0001F600", EscapeDialect::Ansi, "é😀"),
            (r"\0147h\n", EscapeDialect::Echo, "gh\n"),
            (r"\147h", EscapeDialect::Format, "gh"),
            (r"a\cb", EscapeDialect::Echo, "a"),
            (r"\q\", EscapeDialect::Ansi, r"\q\"),
            (r"\xc3\xa9", EscapeDialect::Ansi, "é"),
        ] {
            assert_eq!(decode(text, dialect).0, read, "{text}");
        }
    }
}
