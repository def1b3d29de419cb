//! File names in git's quoted form: in double quotes with C escapes, if a name has special characters.

/// Parses a quoted name. Returns the name and the text after it; `None` if the text is not a quoted name.
pub(crate) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::with_capacity(rest.len());
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((name, rest)),
            b'\\' => {
                let (&escape, after) = rest.split_first()?;
                rest = after;
                name.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let (digits, after) = rest.split_at_checked(2)?;
                        rest = after;
                        digits.iter().try_fold(escape - b'0', |value, digit| {
                            matches!(digit, b'0'..=b'7').then(|| (value << 3) | (digit - b'0'))
                        })?
                    }
                    _ => return None,
                });
            }
            byte => name.push(byte),
        }
    }
}

/// Quotes a name of any bytes.
pub(crate) fn quote(name: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in name {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            byte => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_git_writes() {
        assert_eq!(unquote(br#""a\tb\n\"\\\303\244" x"#), Some(("a\tb\n\"\\ä".into(), &b" x"[..])));
        for bad in [&b"plain"[..], b"", b"\"open", b"\"\\", b"\"\\9\"", b"\"\\18", b"\"\\477\""] {
            assert_eq!(unquote(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    proptest! {
        #[test]
        fn a_quoted_name_is_read_back(name: Vec<u8>) {
            let text = quote(&name);
            prop_assert_eq!(unquote(text.as_bytes()), Some((name, &b""[..])));
        }

        #[test]
        fn any_bytes_can_be_tried(text: Vec<u8>) {
            unquote(&text);
        }
    }
}
