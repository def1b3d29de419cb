//! Finds words that mark unfinished work.

use sprag_base::text::{Text, one_line};

const WORDS: &[&[u8]] = &[b"TODO", b"FIXME"];

/// A marked line of a known file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarkedLine {
    pub line: Option<u32>,
    pub text: Text<200>,
}

pub(crate) fn spot(line: &[u8], at: Option<u32>) -> Option<MarkedLine> {
    // No person writes a line of a megabyte.
    let line = line.get(..4096).unwrap_or(line);
    let is_marked = WORDS.iter().any(|word| has_word(line, word));
    is_marked
        .then(|| MarkedLine { line: at, text: Text::new(one_line(String::from_utf8_lossy(line).trim())) })
}

fn has_word(line: &[u8], word: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    memchr::memmem::find_iter(line, word).any(|at| {
        let before = at.checked_sub(1).and_then(|before| line.get(before));
        let after = line.get(at + word.len());
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_a_word() {
        let is_marked = |line: &str| spot(line.as_bytes(), None).is_some();
        assert!(["// TODO: x", "TODO", "#FIXME(me)", "xTODO TODO"].iter().all(|line| is_marked(line)));
        assert!(!["todo", "TODOS", "MY_TODO", "TODO1", ""].iter().any(|line| is_marked(line)));
        assert_eq!(spot(b"\t// FIXME \xff ", Some(3)).unwrap().text.as_str(), "// FIXME \u{fffd}");
    }
}
