//! Commands that messages advise. Users paste them, so each one must parse. Debug builds parse every command
//! that a message advises, so that a test which prints a wrong one fails.

#[cfg(test)]
mod tests;

use std::path::Path;

use clap::error::ErrorKind;

use sprag_base::text::shell_word;

use crate::commands;

/// Panics in debug builds if an advised command does not parse.
pub(crate) fn check(command: &str) {
    if cfg!(debug_assertions) && command.starts_with("sprag ") {
        let wrong = wrong(command, AdviceForm::Yes);
        debug_assert!(wrong.is_none(), "advised command `{command}` does not parse: {wrong:?}");
    }
}

/// Whether a command must have all its arguments. A sentence may name just `sprag note`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AdviceForm {
    Yes,
    Named,
}

/// Returns a path as a shell word. A name that starts with `-` gets `./` in front, or it would be an option.
pub(crate) fn file_word(path: &Path) -> String {
    let name = path.display().to_string();
    shell_word(&if name.starts_with('-') { format!("./{name}") } else { name })
}

/// Returns the error with which the command line rejects a command.
fn wrong(command: &str, whole: AdviceForm) -> Option<String> {
    let error = commands::cli().try_get_matches_from(words(command)).err()?;
    let is_named = whole == AdviceForm::Named
        && matches!(
            error.kind(),
            ErrorKind::MissingRequiredArgument
                | ErrorKind::MissingSubcommand
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        );
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    (!is_named && !is_help).then(|| error.to_string())
}

/// Splits a command as a shell does, with quotes and backslashes but without expansion.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
