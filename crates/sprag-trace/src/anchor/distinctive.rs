//! Distinctive lines. Other lines, such as a closing brace, occur in every file and prove nothing about their
//! origin.

/// Words that often stand alone on a line.
const STOCK: &[&str] = &[
    "begin", "break", "case", "catch", "continue", "default", "defer", "done", "else", "elif", "end",
    "endif", "esac", "except", "false", "finally", "loop", "none", "null", "pass", "return", "self",
    "static", "then", "this", "true", "unsafe", "yield", "async", "final", "public", "private",
];

/// A line with fewer letters and digits is never distinctive.
const LEAST: usize = 4;
/// A line with this many letters rarely occurs twice.
pub const LETTERS: usize = 8;

/// Reports whether another line is unlikely to have the same text by chance.
pub fn is_telling(line: &[u8]) -> bool {
    if letters(line) < LEAST {
        return false;
    }
    let words = line.split(|byte| !is_letter(*byte)).filter(|word| !word.is_empty());
    let is_stock =
        |word: &[u8]| word.len() < 3 || STOCK.iter().any(|stock| word.eq_ignore_ascii_case(stock.as_bytes()));
    !words.into_iter().all(is_stock)
}

pub fn count(lines: &[&[u8]]) -> usize {
    lines.iter().filter(|line| is_telling(line)).count()
}

/// Counts letters and digits of any script, in bytes.
pub fn letters(line: &[u8]) -> usize {
    line.iter().filter(|byte| is_letter(**byte)).count()
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Returns a line without its line ending, which differs between systems.
pub fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_and_stock_words_tell_nothing() {
        for line in
            ["}", "", "    });", "} else {", "return;", "  end", "\treturn nil, ok", "});  // 1", "if x {"]
        {
            assert_eq!(is_telling(line.as_bytes()), line.contains("nil"), "{line}");
        }
        for line in ["let total = 3;", "return total", "größe", "import os.path"] {
            assert!(is_telling(line.as_bytes()), "{line}");
        }
    }
}
