//! Commands that messages advise: what is pasted has to be understood. Builds for tests ask the real command line of
//! every one that is told, so that whatever tells another is found by the story that comes by.

#[cfg(test)]
mod tests;

use std::path::Path;

use clap::error::ErrorKind;

use sprag_base::text::shell_word;

use crate::commands;

/// Whether the command line takes it, in builds for tests.
pub(crate) fn check(command: &str) {
    if cfg!(debug_assertions) && command.starts_with("sprag ") {
        let wrong = wrong(command, AdviceForm::Yes);
        debug_assert!(wrong.is_none(), "`{command}` is advised and not understood: {wrong:?}");
    }
}

/// Whether a command has to have all that it needs. In a sentence `sprag note` is the name of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AdviceForm {
    Yes,
    Named,
}

/// A file as an argument: one whose name begins as an option does is none.
pub(crate) fn file_word(path: &Path) -> String {
    let name = path.display().to_string();
    shell_word(&if name.starts_with('-') { format!("./{name}") } else { name })
}

/// What the command line says against it.
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

/// As a shell would part it: quotes and backslashes, and nothing that it would expand.
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
