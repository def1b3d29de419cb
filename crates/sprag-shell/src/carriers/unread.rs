//! Code in languages that the evaluator does not read, and the commands of programs for transfers.

use super::embedded::values;
use crate::eval::{Evaluator, StdinText};
use crate::paths::options::{self, ProgramOptions};

impl Evaluator {
    /// Walks what can be seen of code in a language that the evaluator does not read.
    pub(super) fn unread(&mut self, name: &str, words: &[String], command: Option<usize>) {
        let mut code: String = words.iter().skip(1).filter(|word| word.contains([' ', '(', '"'])).fold(
            String::new(),
            |mut code, word| {
                code.push_str(word);
                code.push('\n');
                code
            },
        );
        if let StdinText::Text(text) = &self.input {
            code.push_str(text);
        }
        self.reached_by_unread_code(name, &code, command);
        if name == "m4" {
            for call in ["syscmd(", "esyscmd("] {
                for (at, _) in code.match_indices(call).take(16) {
                    let inner = code[at + call.len()..].trim_start_matches('`');
                    let end = inner.find(['\'', ')']).unwrap_or(inner.len());
                    self.by_program(name, &inner[..end]);
                }
            }
        }
    }

    /// Records the files that a program for transfers sends or deletes: `put x`, `mirror -R x`.
    pub(super) fn transfers(&mut self, name: &str, words: &[String]) {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "cefubBPUi", long: &[] };
        let (split, _) = options::anywhere(words, 1, &OPTIONS);
        let mut lines: Vec<String> = values(&split, &["-c", "-e"]).map(str::to_owned).collect();
        if let StdinText::Text(text) = &self.input {
            lines.extend(text.lines().take(256).map(str::to_owned));
        }
        if name == "sftp" {
            self.by_option(name, words);
        }
        for statement in lines.iter().flat_map(|line| line.split([';', '\n'])) {
            let parts: Vec<&str> = statement.split_whitespace().collect();
            let Some((verb, rest)) = parts.split_first() else { continue };
            let sends = matches!(*verb, "put" | "mput" | "send" | "append" | "reput")
                || *verb == "mirror" && rest.iter().any(|word| word.starts_with('-') && word.contains('R'));
            for path in rest.iter().filter(|word| sends && !word.starts_with('-')) {
                self.reads(path, name);
            }
            if let Some(code) = statement.trim().strip_prefix('!') {
                self.by_program(name, code);
            }
        }
    }
}
