//! Finds lines that were only reformatted: the same tokens with other line breaks and indentation. Only whole
//! lines count. A word that survives in a rewritten line belongs to the writer of the new line.

use std::collections::{HashMap, HashSet};

use super::distinctive::letters;
use crate::blocks;

/// Returns for each new line the old lines that it consists of. The list is empty if more than the layout
/// changed.
pub fn made_of(old: &[&[u8]], new: &[&[u8]]) -> Vec<Vec<usize>> {
    let mut made = vec![Vec::new(); new.len()];
    let (from, to) = (LineTokens::tokenize(old), LineTokens::tokenize(new));
    if from.tokens.len() > MOST || to.tokens.len() > MOST {
        return made;
    }
    let hunks = blocks::diff(&from.texts(), &to.texts());
    let own = own_words(&from, &to);
    let (mut at, mut there) = (0, 0);
    let ends = (from.tokens.len()..from.tokens.len(), to.tokens.len()..to.tokens.len());
    for (gone, come) in hunks.iter().map(|hunk| (hunk.old.clone(), hunk.new.clone())).chain([ends]) {
        same(&from, at, &to, there, gone.start - at, &own, &mut made);
        (at, there) = (gone.end, come.end);
    }
    made
}

/// The limit on tokens. Longer texts are not compared.
const MOST: usize = 100_000;

/// The number of letters of a word that can identify a line.
const WORD: usize = 6;

/// Returns words that occur exactly once on each side.
fn own_words(from: &LineTokens, to: &LineTokens) -> HashSet<Vec<u8>> {
    let once = |tokens: &LineTokens| {
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        let words = tokens.tokens.iter().filter(|token| letters(&token.text) >= WORD);
        words.for_each(|token| *counts.entry(token.text.clone()).or_default() += 1);
        counts.into_iter().filter(|(_, count)| *count == 1).map(|(word, _)| word).collect::<HashSet<_>>()
    };
    once(from).intersection(&once(to)).cloned().collect()
}

/// Matches lines within equal tokens: `at..at + count` equals `there..there + count`. Lines that start and
/// end together match if they hold a unique word or follow lines that hold one.
fn same(
    from: &LineTokens,
    at: usize,
    to: &LineTokens,
    there: usize,
    count: usize,
    own: &HashSet<Vec<u8>>,
    made: &mut [Vec<usize>],
) {
    let begins: Vec<usize> =
        (0..=count).filter(|&on| from.is_start(at + on) && to.is_start(there + on)).collect();
    let mut is_known = false;
    for pair in begins.windows(2) {
        is_known |= from.tokens[at + pair[0]..at + pair[1]].iter().any(|token| own.contains(&token.text));
        if !is_known {
            continue;
        }
        for on in pair[0]..pair[1] {
            let (line, source) = (to.tokens[there + on].line, from.tokens[at + on].line);
            if made[line].last() != Some(&source) {
                made[line].push(source);
            }
        }
    }
}

struct LineToken {
    text: Vec<u8>,
    line: usize,
}

struct LineTokens {
    tokens: Vec<LineToken>,
}

impl LineTokens {
    fn tokenize(lines: &[&[u8]]) -> LineTokens {
        let mut tokens: Vec<LineToken> = Vec::new();
        for (line, text) in lines.iter().enumerate() {
            let mut rest = *text;
            while let Some((token, after)) = next(rest) {
                // A comma before a closing bracket comes and goes with the layout.
                if matches!(token.as_slice(), b")" | b"]" | b"}")
                    && tokens.last().is_some_and(|last| last.text == b",")
                {
                    tokens.pop();
                }
                tokens.push(LineToken { text: token, line });
                rest = after;
            }
        }
        LineTokens { tokens }
    }

    fn texts(&self) -> Vec<&[u8]> {
        self.tokens.iter().map(|token| token.text.as_slice()).collect()
    }

    /// Reports whether a line starts at this token. The position after the last token counts as a start.
    fn is_start(&self, at: usize) -> bool {
        let line = |at: usize| self.tokens.get(at).map(|token| token.line);
        at == 0 || line(at) != line(at - 1)
    }
}

/// Returns the next token of a line: a word, a quoted text or a single character.
fn next(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let text = &text[start..];
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let word = text.iter().take_while(|byte| is_word(byte)).count();
    if word > 0 {
        return Some((text[..word].to_vec(), &text[word..]));
    }
    if matches!(text[0], b'"' | b'\'' | b'`')
        && let Some(len) = quoted(text)
    {
        // Formatters choose between single and double quotes.
        let mut token = text[..len].to_vec();
        if token[0] == b'\'' && !token.contains(&b'"') {
            (token[0], token[len - 1]) = (b'"', b'"');
        }
        return Some((token, &text[len..]));
    }
    Some((text[..1].to_vec(), &text[1..]))
}

/// Returns the length of a quoted text, which ends on its line.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == text[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(old: &str, new: &str) -> Vec<Vec<usize>> {
        let lines = |text: &'static str| text.lines().map(str::as_bytes).collect::<Vec<_>>();
        let (old, new): (&'static str, &'static str) =
            (String::leak(old.to_owned()), String::leak(new.to_owned()));
        made_of(&lines(old), &lines(new))
    }

    #[test]
    fn indentation_and_breaks_are_layout() {
        assert_eq!(
            made("call_it(alpha, beta)", "  call_it(\n    alpha,\n    beta,\n  )"),
            [[0], [0], [0], [0]]
        );
        assert_eq!(made("call_it(\n  alpha,\n  beta,\n)", "call_it(alpha, beta)"), [[0, 1, 2, 3]]);
        assert_eq!(made("number = 'one'", "number   =  \"one\""), [[0]]);
    }

    #[test]
    fn a_word_more_or_less_is_not() {
        assert_eq!(made("call(alpha, beta)", "call(\n  alpha,\n  gamma)"), vec![Vec::<usize>::new(); 3]);
        assert_eq!(made("total = alpha + beta", "alpha"), [Vec::<usize>::new()]);
        assert_eq!(made("say(\"a b\")", "say(\"a  b\")"), [Vec::<usize>::new()]);
    }

    #[test]
    fn a_new_line_between_reformatted_ones_is_nobodys() {
        let made = made("first_of(one)\nsecond(two)", "  first_of(one)\n  third_of(three)\n  second(two)");
        assert_eq!(made, [vec![0], vec![], vec![1]]);
    }

    #[test]
    fn what_every_call_has_is_not_known_by_itself() {
        let made = made("old_call(\n  alpha,\n)", "  new_call(\n    alpha,\n  )");
        assert_eq!(made, vec![Vec::<usize>::new(); 3]);
    }

    #[test]
    fn braces_alone_tell_nothing() {
        assert_eq!(made("}\n}", "  }"), [Vec::<usize>::new()]);
    }
}
