//! Splits code of other languages into names, literal texts and marks. This is enough to see which literal
//! reaches a call, without parsing the languages.

use crate::expand::escapes::{self, EscapeDialect};
use crate::expand::unknown::{self, HOLE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    JavaScript,
    Perl,
    Ruby,
    Php,
    Awk,
    Lua,
    R,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CodeToken {
    /// One part of a dotted name, without sigils.
    Name(String),
    /// A literal; unknown parts are holes.
    Text(String),
    /// A literal that is a shell command: backticks, `qx()`.
    Exec(String),
    Mark(char),
}

/// Maximum number of tokens.
const MOST: usize = 4096;

/// Returns the tokens, and whether they are complete.
pub(crate) fn tokens(code: &str, language: Language) -> (Vec<CodeToken>, bool) {
    let mut lexer = Lexer { code, at: 0, language, out: Vec::new() };
    while lexer.at < code.len() && lexer.out.len() < MOST {
        lexer.token();
    }
    let whole = lexer.at >= code.len();
    (lexer.out, whole)
}

struct Lexer<'c> {
    code: &'c str,
    at: usize,
    language: Language,
    out: Vec<CodeToken>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.code[self.at..]
    }

    fn token(&mut self) {
        use Language::{Awk, JavaScript, Lua, Perl, Php, Python, R, Ruby};
        let language = self.language;
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return };
        let comment = match c {
            '#' => !matches!(language, JavaScript | Lua),
            '/' => rest.starts_with("//") && matches!(language, JavaScript | Php),
            '-' => rest.starts_with("--") && language == Lua,
            _ => false,
        };
        if comment {
            self.at += rest.find('\n').unwrap_or(rest.len());
            return;
        }
        if rest.starts_with("/*") && matches!(language, JavaScript | Php) {
            self.at += rest.find("*/").map_or(rest.len(), |at| at + 2);
            return;
        }
        match c {
            '\n' => self.mark('\n'),
            _ if c.is_whitespace() => self.at += c.len_utf8(),
            '\'' if language == Awk => self.mark(c),
            '"' | '\'' => self.text(c, ""),
            '`' => match language {
                JavaScript => self.text(c, ""),
                Perl | Ruby | Php => self.exec_text(c),
                Python | Awk | Lua | R => self.mark(c),
            },
            '[' if language == Lua && rest.starts_with("[[") => {
                let end = rest.find("]]").unwrap_or(rest.len());
                let text = rest[2..end.max(2)].to_owned();
                self.at += (end + 2).min(rest.len());
                self.out.push(CodeToken::Text(text));
            }
            '%' if language == Ruby => self.percent(),
            '/' if matches!(language, JavaScript | Awk | Perl | Ruby) && self.expects_value() => self.regex(),
            _ if c.is_alphabetic() || c == '_' || unknown::is_hole(c) => self.name(),
            '$' | '@' if rest[1..].starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                self.at += 1;
                self.name();
            }
            _ => self.mark(c),
        }
    }

    fn mark(&mut self, c: char) {
        self.at += c.len_utf8();
        self.out.push(CodeToken::Mark(c));
    }

    /// Reports whether a `/` here starts a regular expression instead of a division.
    fn expects_value(&self) -> bool {
        match self.out.last() {
            None => true,
            // Digits are marks.
            Some(CodeToken::Mark(c)) => !matches!(c, ')' | ']' | '0'..='9'),
            Some(CodeToken::Name(name)) => {
                matches!(name.as_str(), "return" | "if" | "unless" | "and" | "or" | "not" | "split" | "BEGIN")
            }
            Some(CodeToken::Text(_) | CodeToken::Exec(_)) => false,
        }
    }

    fn regex(&mut self) {
        let rest = self.rest();
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '/' => {
                    self.at += at + 1;
                    self.out.push(CodeToken::Mark('/'));
                    return;
                }
                _ => {}
            }
        }
        self.mark('/');
    }

    fn name(&mut self) {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || unknown::is_hole(c)))
            .unwrap_or(rest.len());
        let name = rest[..length].to_owned();
        let next = rest[length..].chars().next();
        let quote = next.filter(|c| matches!(c, '\'' | '"'));
        if self.language == Language::Python
            && let Some(quote) = quote
            && name.len() <= 2
            && name.chars().all(|c| "rRbBfFuU".contains(c))
        {
            self.at += length;
            self.text(quote, &name.to_ascii_lowercase());
            return;
        }
        if self.language == Language::Perl
            && matches!(name.as_str(), "q" | "qq" | "qx" | "qw" | "m" | "qr" | "s" | "tr" | "y")
        {
            let delimiter = next.filter(|c| {
                !c.is_alphanumeric() && !c.is_whitespace() && !matches!(c, ',' | ';' | ')' | '=')
            });
            if let Some(delimiter) = delimiter {
                self.at += length;
                self.perl_quote(&name, delimiter);
                return;
            }
        }
        self.at += length.max(1);
        self.out.push(CodeToken::Name(name));
    }

    fn perl_quote(&mut self, kind: &str, open: char) {
        let Some(text) = self.delimited(open) else {
            self.mark(open);
            return;
        };
        match kind {
            "q" => self.out.push(CodeToken::Text(text)),
            "qq" => {
                let text = interpolated(&text, self.language);
                self.out.push(CodeToken::Text(text));
            }
            "qx" => {
                let text = interpolated(&text, self.language);
                self.out.push(CodeToken::Exec(text));
            }
            "qw" => self.words(&text),
            "s" | "tr" | "y" => {
                // The second half; with the flag `e` it is code.
                let close = closing(open);
                let start = self.at;
                let half = if close == open {
                    self.at -= open.len_utf8();
                    self.delimited(open)
                } else {
                    self.rest().chars().next().and_then(|open| self.delimited(open))
                };
                if half.is_none() {
                    self.at = start;
                }
                let flags = self.rest().find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest().len());
                if kind == "s" && self.rest()[..flags].contains('e') && self.out.len() < MOST {
                    let inner = tokens(&half.unwrap_or_default(), self.language).0;
                    self.out.push(CodeToken::Mark('\n'));
                    self.out.extend(inner);
                    self.out.push(CodeToken::Mark('\n'));
                }
                self.at += flags;
            }
            _ => self.out.push(CodeToken::Mark('/')),
        }
    }

    /// Returns the text from the current delimiter to its end.
    fn delimited(&mut self, open: char) -> Option<String> {
        let close = closing(open);
        let rest = self.rest();
        let mut depth = 0;
        let mut escaped = false;
        for (at, c) in rest.char_indices() {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == open && (open != close || at == 0) {
                depth += 1;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    let text = rest[open.len_utf8()..at].to_owned();
                    self.at += at + c.len_utf8();
                    return Some(text);
                }
            }
        }
        None
    }

    fn words(&mut self, text: &str) {
        self.out.push(CodeToken::Mark('['));
        for word in text.split_whitespace() {
            self.out.push(CodeToken::Text(word.to_owned()));
            self.out.push(CodeToken::Mark(','));
        }
        self.out.push(CodeToken::Mark(']'));
    }

    /// Reads `%x(…)`, `%w[…]` and `%q{…}` of Ruby.
    fn percent(&mut self) {
        let rest = self.rest();
        let mut chars = rest.chars().skip(1);
        let kind = chars.next().unwrap_or(' ');
        let open = chars.next().unwrap_or(' ');
        if !matches!(kind, 'x' | 'w' | 'W' | 'q' | 'Q')
            || !matches!(open, '(' | '[' | '{' | '<' | '|' | '!' | '/')
        {
            self.mark('%');
            return;
        }
        self.at += 2;
        match self.delimited(open) {
            Some(text) => match kind {
                'x' => {
                    let text = interpolated(&text, self.language);
                    self.out.push(CodeToken::Exec(text));
                }
                'w' | 'W' => self.words(&text),
                _ => self.out.push(CodeToken::Text(text)),
            },
            None => self.mark('%'),
        }
    }

    fn exec_text(&mut self, quote: char) {
        match self.delimited(quote) {
            Some(text) => {
                let text = interpolated(&text, self.language);
                self.out.push(CodeToken::Exec(text));
            }
            None => self.mark(quote),
        }
    }

    fn text(&mut self, quote: char, prefix: &str) {
        let rest = self.rest();
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let text = if self.language == Language::Python && rest.starts_with(&triple) {
            let end = rest[3..].find(&triple).map_or(rest.len(), |at| at + 3);
            let text = rest[3..end].to_owned();
            self.at += (end + 3).min(rest.len());
            text
        } else {
            match self.delimited(quote) {
                Some(text) => text,
                None => {
                    self.mark(quote);
                    return;
                }
            }
        };
        let text = match self.language {
            Language::Python if prefix.contains('r') => text,
            Language::Python => {
                let text = escapes::decode(&text, EscapeDialect::Ansi).0;
                if prefix.contains('f') { holes(&text, "{", '}') } else { text }
            }
            Language::JavaScript => {
                let text = if quote == '`' { holes(&text, "${", '}') } else { text };
                escapes::decode(&text, EscapeDialect::Ansi).0
            }
            Language::Awk | Language::Lua | Language::R => escapes::decode(&text, EscapeDialect::Ansi).0,
            Language::Perl | Language::Ruby | Language::Php if quote == '\'' => {
                text.replace("\\'", "'").replace("\\\\", "\\")
            }
            Language::Perl | Language::Ruby | Language::Php => {
                let text = interpolated(&text, self.language);
                escapes::decode(&text, EscapeDialect::Ansi).0
            }
        };
        self.out.push(CodeToken::Text(text));
    }
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        _ => open,
    }
}

/// Replaces every `open…close` by a hole.
fn holes(text: &str, open: &str, close: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        out.push_str(&rest[..at]);
        out.push(HOLE);
        match rest[at..].find(close) {
            Some(length) => rest = &rest[at + length + close.len_utf8()..],
            None => return out,
        }
    }
    out.push_str(rest);
    out
}

/// Replaces variables within a text by holes.
fn interpolated(text: &str, language: Language) -> String {
    match language {
        Language::Ruby => holes(text, "#{", '}'),
        Language::Perl | Language::Php => {
            let mut out = String::with_capacity(text.len());
            let mut chars = text.chars().peekable();
            while let Some(c) = chars.next() {
                let sigil = c == '$' || c == '@' && language == Language::Perl;
                match chars.peek() {
                    _ if c == '\\' => {
                        let next = chars.next();
                        if !next.is_some_and(|next| matches!(next, '$' | '@')) {
                            out.push(c);
                        }
                        out.extend(next);
                    }
                    Some(next) if sigil && (next.is_alphanumeric() || matches!(next, '_' | '{' | '$')) => {
                        while chars
                            .peek()
                            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '{' | '}' | '$'))
                        {
                            chars.next();
                        }
                        out.push(HOLE);
                    }
                    _ => out.push(c),
                }
            }
            out
        }
        Language::Python | Language::JavaScript | Language::Awk | Language::Lua | Language::R => {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &str, language: Language) -> Vec<String> {
        let texts = tokens(code, language).0.into_iter().filter_map(|token| match token {
            CodeToken::Text(text) => Some(text),
            CodeToken::Exec(text) => Some(format!("!{text}")),
            CodeToken::Name(_) | CodeToken::Mark(_) => None,
        });
        texts.map(|text| text.replace(crate::expand::unknown::is_hole, "_")).collect()
    }

    #[test]
    fn literals_are_found_in_each_language() {
        for (code, language, found) in [
            ("f('a', \"b\") # 'c'", Language::Python, &["a", "b"][..]),
            ("x = '''a\nb'''; r'\\n' f'q{z}'", Language::Python, &["a\nb", "\\n", "q_"]),
            ("f('a'); // 'b'\n/'/; `c${d}`", Language::JavaScript, &["a", "c_"]),
            ("system 'a'; `b`; s/'/\"/g; qx{c} . \"d $e\"", Language::Perl, &["a", "!b", "!c", "d _"]),
            ("`a #{b}`; %x(c) ; %w[d e]", Language::Ruby, &["!a _", "!c", "d", "e"]),
            ("echo `a`; // 'b'", Language::Php, &["!a"]),
            ("/x'/ { print \"a\" }", Language::Awk, &["a"]),
            ("f('unclosed", Language::Python, &[]),
        ] {
            assert_eq!(texts(code, language), found, "{code}");
        }
    }
}
