//! Decides the meaning of an opening bracket by the text after it.

/// Maximum number of bytes searched for the end of `(( ))`; real ones are shorter.
const MAX_ARITHMETIC: usize = 512;

/// Reports whether the parenthesis at `at`, which follows another one, starts `(( ))`.
pub(crate) fn is_arithmetic(text: &[u8], at: usize) -> bool {
    is_arithmetic_within(text, at, &mut { MAX_ARITHMETIC })
}

/// Reports the same within a budget: it subtracts the bytes that it reads from `left` and returns false when
/// none are left.
pub(super) fn is_arithmetic_within(text: &[u8], at: usize, left: &mut usize) -> bool {
    if text.get(at) != Some(&b'(') {
        return false;
    }
    let mut depth = 1;
    let window = MAX_ARITHMETIC.min(*left);
    let mut quote = None;
    let mut bytes = text[at + 1..].iter().copied().enumerate().take(window);
    while let Some((offset, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(b'\''), b'\\') => {}
            (_, b'\\') => drop(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => depth -= 1,
            (None, _) => {}
        }
        if depth == 0 {
            *left -= offset;
            return text.get(at + 2 + offset) == Some(&b')');
        }
    }
    *left -= window;
    false
}

/// Reports whether `${text` continues with an operator whose operand is a pattern.
pub(super) fn takes_pattern(text: &[u8]) -> bool {
    let name = text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_!@*".contains(byte)).count();
    let mut rest = &text[name.min(text.len())..];
    if rest.first() == Some(&b'[') {
        let end = rest.iter().position(|byte| *byte == b']').map_or(rest.len(), |at| at + 1);
        rest = &rest[end..];
    }
    rest.first().is_some_and(|byte| b"#%^,/".contains(byte))
}
