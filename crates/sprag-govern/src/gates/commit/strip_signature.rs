//! Removes signatures from the messages of a command line. It cuts the text that the agent wrote. The cut
//! counts only if the new text parses to the same commands with no difference except the message.

use std::borrow::Cow;

use sprag_shell::{Carrier, Command, DoubtKind, Host, Script, ShellStart, StdinSource, Word};

use crate::gates::commit::arguments::{Arguments, HOLE, Spec, ValuePosition, text_of};
use crate::gates::commit::attribution::{first_cut, is_trailer_option};
use crate::gates::commit::git_writes::{COMMIT, GIT};

/// Maximum number of signatures in one command line, and of positions for each.
const CUTS: usize = 16;
const PLACES: usize = 8;

/// The result of searching a command line for signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stripped {
    Nothing,
    /// The command line without the signatures.
    To {
        command: String,
        gone: Vec<String>,
    },
    Not(Obstacle),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A signature exists, but it cannot be removed exactly.
    Inexact {
        line: String,
    },
    /// The message would be empty.
    Empty,
    File {
        name: String,
    },
    Unknown,
}

/// A program option that takes a message.
struct MessageOption {
    program: &'static str,
    verbs: &'static [&'static str],
    text: &'static [&'static str],
    file: &'static [&'static str],
    spec: &'static Spec,
}

const MESSAGE: &[&str] = &["-m", "--message"];
const FILE: &[&str] = &["-F", "--file"];
const BODY: &[&str] = &["-b", "--body"];
const BODY_FILE: &[&str] = &["-F", "--body-file"];

const fn git(verbs: &'static [&'static str], spec: &'static Spec) -> MessageOption {
    MessageOption { program: GIT, verbs, text: MESSAGE, file: FILE, spec }
}

const fn gh(verbs: &'static [&'static str]) -> MessageOption {
    MessageOption { program: "gh", verbs, text: BODY, file: BODY_FILE, spec: &PULL }
}

const TAKERS: &[MessageOption] = &[
    git(&["commit"], &COMMIT),
    git(&["commit-tree"], &Spec { letters: "mFp", attached: "S", long: &[] }),
    git(
        &["merge"],
        &Spec {
            letters: "mFsX",
            attached: "S",
            long: &["--message", "--file", "--strategy", "--strategy-option", "--into-name", "--cleanup"],
        },
    ),
    git(
        &["tag"],
        &Spec {
            letters: "mFu",
            attached: "n",
            long: &["--message", "--file", "--local-user", "--cleanup", "--trailer", "--sort", "--format"],
        },
    ),
    gh(&["pr", "create"]),
    gh(&["pr", "new"]),
    gh(&["pr", "edit"]),
    gh(&["pr", "merge"]),
];

const PULL: Spec = Spec {
    letters: "abBFHlmprRtTA",
    attached: "",
    long: &[
        "--add-assignee",
        "--add-label",
        "--add-project",
        "--add-reviewer",
        "--assignee",
        "--author-email",
        "--base",
        "--body",
        "--body-file",
        "--head",
        "--label",
        "--match-head-commit",
        "--milestone",
        "--project",
        "--recover",
        "--remove-assignee",
        "--remove-label",
        "--remove-project",
        "--remove-reviewer",
        "--repo",
        "--reviewer",
        "--subject",
        "--template",
        "--title",
    ],
};

/// A part of a message, by its source.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MessagePiece {
    Word {
        at: ValuePosition,
        text: String,
    },
    Stdin {
        text: String,
    },
    /// A whole option: its first word, and the word after it.
    Trailer {
        first: usize,
        end: usize,
        value: String,
    },
    File {
        name: String,
    },
    Unknown,
}

impl MessagePiece {
    fn text(&self) -> Option<&str> {
        match self {
            MessagePiece::Word { text, .. } | MessagePiece::Stdin { text } => Some(text),
            MessagePiece::Trailer { .. } | MessagePiece::File { .. } | MessagePiece::Unknown => None,
        }
    }
}

/// Removes every signature from every message.
pub(crate) fn strip<'a>(command: &'a str, script: &'a Script, start: &ShellStart) -> Stripped {
    let mut text = Cow::Borrowed(command);
    let mut script = Cow::Borrowed(script);
    let mut gone = Vec::new();
    while let Some((at, piece, line)) = signed(&script) {
        let is_broken =
            script.doubts.iter().any(|doubt| matches!(doubt.kind, DoubtKind::Parse | DoubtKind::Limit));
        let Some((next, read)) =
            (!is_broken && gone.len() < CUTS).then(|| without(&text, &script, at, &piece, start)).flatten()
        else {
            return Stripped::Not(Obstacle::Inexact { line });
        };
        if is_empty(&read.commands[at]) {
            return Stripped::Not(Obstacle::Empty);
        }
        gone.push(line);
        (text, script) = (Cow::Owned(next), Cow::Owned(read));
    }
    let unseen = script.commands.iter().flat_map(pieces).find_map(|piece| match piece {
        MessagePiece::File { name } => Some(Obstacle::File { name }),
        MessagePiece::Unknown => Some(Obstacle::Unknown),
        MessagePiece::Word { .. } | MessagePiece::Stdin { .. } | MessagePiece::Trailer { .. } => None,
    });
    match unseen {
        Some(obstacle) => Stripped::Not(obstacle),
        None if gone.is_empty() => Stripped::Nothing,
        None => Stripped::To { command: text.into_owned(), gone },
    }
}

/// Returns the first part of a message with a signature, and the signature.
fn signed(script: &Script) -> Option<(usize, MessagePiece, String)> {
    let all = script.commands.iter().enumerate();
    all.flat_map(|(at, command)| pieces(command).into_iter().map(move |piece| (at, piece))).find_map(
        |(at, piece)| {
            let line = match &piece {
                MessagePiece::Word { text, .. } | MessagePiece::Stdin { text } => {
                    text[first_cut(text)?].trim().to_owned()
                }
                MessagePiece::Trailer { value, .. } if is_trailer_option(value) => value.clone(),
                MessagePiece::Trailer { .. } | MessagePiece::File { .. } | MessagePiece::Unknown => {
                    return None;
                }
            };
            Some((at, piece, line))
        },
    )
}

/// Returns the parts of the message in a command.
fn pieces(command: &Command) -> Vec<MessagePiece> {
    let Some(taker) = TAKERS.iter().find(|taker| taker.takes(command)) else {
        return Vec::new();
    };
    let words = Arguments::read(command, 1 + taker.verbs.len(), taker.spec);
    let given = words.options.iter().filter_map(|given| {
        let at = given.value?;
        let text = words.text(at);
        let is_unknown = text.chars().all(|c| c == HOLE) && !text.is_empty();
        Some(if taker.text.contains(&given.name.as_str()) {
            if is_unknown { MessagePiece::Unknown } else { MessagePiece::Word { at, text: text.to_owned() } }
        } else if given.name == "--trailer" {
            MessagePiece::Trailer { first: given.word, end: at.word + 1, value: text.to_owned() }
        } else if taker.file.contains(&given.name.as_str()) {
            match (&command.stdin, text) {
                (StdinSource::Text(text), "-" | "/dev/stdin") => MessagePiece::Stdin { text: text.clone() },
                (StdinSource::File(name), "-" | "/dev/stdin") => MessagePiece::File { name: text_of(name) },
                (StdinSource::Unknown, "-" | "/dev/stdin") => MessagePiece::Unknown,
                (StdinSource::Inherited, "-" | "/dev/stdin") => return None,
                (_, name) if is_unknown || name.contains(HOLE) => MessagePiece::Unknown,
                (_, name) => MessagePiece::File { name: name.to_owned() },
            }
        } else {
            return None;
        })
    });
    given.collect()
}

impl MessageOption {
    fn takes(&self, command: &Command) -> bool {
        let is_verb = |(at, verb): (usize, &&str)| matches!(command.argv.get(at + 1), Some(Word::Known(word)) if word == verb);
        command.host == Host::Local
            && command.program() == Some(self.program)
            && self.verbs.iter().enumerate().all(is_verb)
    }
}

fn is_empty(command: &Command) -> bool {
    let pieces = pieces(command);
    let mut texts = pieces.iter().filter_map(MessagePiece::text).peekable();
    texts.peek().is_some() && texts.all(|text| text.trim().is_empty())
}

/// Returns the text without the first signature of a part, if nothing else changes.
fn without(
    text: &str,
    script: &Script,
    at: usize,
    piece: &MessagePiece,
    start: &ShellStart,
) -> Option<(String, Script)> {
    for needle in needles(piece) {
        for (place, _) in text.match_indices(needle.as_str()).take(PLACES) {
            let next = format!("{}{}", &text[..place], &text[place + needle.len()..]);
            let read = Script::parse(&next, start);
            if is_same_but(script, &read, at, piece, &needle) {
                return Some((next, read));
            }
        }
    }
    None
}

/// Returns the spellings of the signature that may occur in the text.
fn needles(piece: &MessagePiece) -> Vec<String> {
    match piece {
        MessagePiece::Word { text, .. } | MessagePiece::Stdin { text } => {
            let Some(cut) = first_cut(text) else {
                return Vec::new();
            };
            let plain = &text[cut];
            let escaped = plain.replace('\r', "\\r").replace('\n', "\\n");
            if escaped == plain { vec![escaped] } else { vec![plain.to_owned(), escaped] }
        }
        MessagePiece::Trailer { value, .. } => ["--trailer ", "--trailer="]
            .iter()
            .flat_map(|option| {
                ["\"", "'", ""].iter().map(move |quote| format!(" {option}{quote}{value}{quote}"))
            })
            .chain(["\"", "'"].iter().map(|quote| format!(" {quote}--trailer={value}{quote}")))
            .collect(),
        MessagePiece::File { .. } | MessagePiece::Unknown => Vec::new(),
    }
}

/// Reports whether two scripts are equal except for this part of a message.
fn is_same_but(before: &Script, after: &Script, at: usize, piece: &MessagePiece, needle: &str) -> bool {
    let count = before.commands.len();
    if after.commands.len() != count
        || before.doubts != after.doubts
        || before.writes != after.writes
        || before.reads != after.reads
    {
        return false;
    }
    let is_wanted = wanted(&before.commands[at], piece);
    let commands = before.commands.iter().zip(&after.commands).enumerate();
    let commands_fit = commands.into_iter().all(|(i, (old, new))| {
        if i == at {
            is_wanted.as_ref().is_some_and(|wanted| is_equal(wanted, new))
        } else {
            is_equal(old, new) || (!writes(before, i) && hands_on(old, new, piece))
        }
    });
    let wrappers = before.wrappers.iter().zip(&after.wrappers);
    commands_fit
        && before.wrappers.len() == after.wrappers.len()
        && wrappers.into_iter().all(|(old, new)| {
            let bare = |command: &Command| Command {
                argv: Vec::new(),
                stdin: StdinSource::Inherited,
                ..command.clone()
            };
            is_equal(&bare(old), &bare(new))
                && is_wrapper_of(&old.argv, &new.argv, piece, needle)
                && (old.stdin == new.stdin || is_input_of(&old.stdin, &new.stdin, needle))
        })
}

/// Returns the command as planned, without the signature.
fn wanted(command: &Command, piece: &MessagePiece) -> Option<Command> {
    let mut command = command.clone();
    match piece {
        MessagePiece::Word { at, text } => {
            let cut = first_cut(text)?;
            let mut whole = text_of(&command.argv[at.word]);
            whole.replace_range(at.from + cut.start..at.from + cut.end, "");
            command.argv[at.word] = word_of(&whole, &command.argv[at.word]);
        }
        MessagePiece::Stdin { text } => {
            let mut text = text.clone();
            text.replace_range(first_cut(&text)?, "");
            command.stdin = StdinSource::Text(text);
        }
        MessagePiece::Trailer { first, end, .. } => {
            command.argv.drain(*first..*end);
        }
        MessagePiece::File { .. } | MessagePiece::Unknown => return None,
    }
    Some(command)
}

fn word_of(text: &str, like: &Word) -> Word {
    match like {
        Word::Known(_) | Word::Many => Word::Known(text.to_owned()),
        Word::Partly(_) => {
            let mut parts = Vec::new();
            for (i, part) in text.split(HOLE).enumerate() {
                if i > 0 {
                    parts.push(None);
                }
                if !part.is_empty() {
                    parts.push(Some(part.to_owned()));
                }
            }
            Word::Partly(parts)
        }
    }
}

/// Reports whether two commands are equal, at any position in the text.
fn is_equal(one: &Command, other: &Command) -> bool {
    Command { span: (0, 0), ..one.clone() } == Command { span: (0, 0), ..other.clone() }
}

/// Reports whether a command is `cat` with the message as its input, which only passes it on.
fn hands_on(old: &Command, new: &Command, piece: &MessagePiece) -> bool {
    let Some(message) = piece.text() else {
        return false;
    };
    let is_for_it = match piece {
        MessagePiece::Word { .. } => old.via.last() == Some(&Carrier::Substitution),
        _ => true,
    };
    let (StdinSource::Text(was), Some(cut)) = (&old.stdin, first_cut(message)) else {
        return false;
    };
    let mut left = was.clone();
    if was.trim_end_matches('\n') != message.trim_end_matches('\n') {
        return false;
    }
    left.replace_range(cut, "");
    let wanted = Command { stdin: StdinSource::Text(left), ..old.clone() };
    is_for_it && old.program() == Some("cat") && is_equal(&wanted, new)
}

fn writes(script: &Script, command: usize) -> bool {
    script.writes.iter().any(|path| path.command == Some(command))
}

/// Reports whether a wrapper differs only by the removed text.
fn is_wrapper_of(old: &[Word], new: &[Word], piece: &MessagePiece, needle: &str) -> bool {
    if let (MessagePiece::Trailer { .. }, true) = (piece, new.len() < old.len()) {
        let kept: Vec<&Word> = old.iter().filter(|word| new.contains(word)).collect();
        return kept.iter().zip(new).all(|(one, other)| *one == other) && kept.len() == new.len();
    }
    let is_word = |old: &Word, new: &Word| old == new || lacks(&text_of(old), &text_of(new), needle);
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_word(old, new))
}

fn is_input_of(old: &StdinSource, new: &StdinSource, needle: &str) -> bool {
    matches!((old, new), (StdinSource::Text(old), StdinSource::Text(new)) if lacks(old, new, needle))
}

/// Reports whether the second text is the first one without the needle.
fn lacks(old: &str, new: &str, needle: &str) -> bool {
    old.match_indices(needle).any(|(at, _)| {
        new.len() + needle.len() == old.len()
            && new.starts_with(&old[..at])
            && new.ends_with(&old[at + needle.len()..])
    })
}

#[cfg(test)]
#[path = "strip_signature_tests.rs"]
mod tests;
