//! Matches options: their position, their spelling and the options that a pattern asks for.

use sprag_shell::{Carrier, Word};

use crate::pattern::command::{
    ArgumentKind, CommandItem, CommandLine, MatchPurpose, ProgramPattern, in_sense,
};
use crate::pattern::word_glob::GlobFit;
use crate::pattern::{CommandPattern, Flag, FlagTest, PatternSense};

/// The spellings of an option that count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Anything that could abbreviate it: `--open-files-in` for `--open-files-in-pager`.
    Start,
    /// Also abbreviations such as `--forc`, and letters anywhere in a cluster.
    Any,
    Full,
    /// The full spelling, also in clusters of any length.
    Written,
}

/// Options that never take a value, in all programs for which rules have exemptions.
const LONE: &[&str] = &[
    "--all",
    "--amend",
    "--archive",
    "--atomic",
    "--branches",
    "--cached",
    "--del",
    "--delete",
    "--delete-after",
    "--delete-before",
    "--delete-during",
    "--delete-excluded",
    "--detach",
    "--discard-changes",
    "--dry-run",
    "--follow-tags",
    "--force",
    "--force-if-includes",
    "--force-with-lease",
    "--hard",
    "--help",
    "--interactive",
    "--list",
    "--merge",
    "--mirror",
    "--porcelain",
    "--progress",
    "--prune",
    "--quiet",
    "--recursive",
    "--set-upstream",
    "--staged",
    "--tags",
    "--verbose",
    "--version",
    "--worktree",
    "--yes",
];

/// Letters of options that never take a value.
const LETTERS: &str = "adfhinpqruvxzADRSWX46";

/// Programs that on some systems accept options only before their operands.
const FIRST: &[&str] = &["rm", "grm", "chmod", "chown", "chgrp", "mv", "shred", "srm", "setfacl"];

/// Returns the letters of a git command that take a value.
fn git_values(verb: &str) -> &'static [char] {
    match verb {
        "checkout" => &['b', 'B'],
        "switch" => &['c', 'C'],
        "commit" => &['m', 'F', 'C', 'c', 't'],
        "tag" => &['m', 'F', 'u'],
        "branch" => &['u'],
        "push" => &['o'],
        "clean" => &['e'],
        _ => &[],
    }
}

impl CommandLine<'_> {
    /// Reports whether the pattern asks for this option.
    pub(super) fn named(&self, word: &Word, tokens: &CommandPattern) -> bool {
        let asked =
            tokens.flags.iter().filter(|test| test.sense == PatternSense::Is).flat_map(|test| &test.any);
        let wanted = asked.chain(tokens.only.iter().flatten());
        let Word::Known(text) = word else {
            return false;
        };
        wanted.into_iter().any(|flag| self.is(flag, text, Spelling::Full) != GlobFit::No)
    }

    pub(super) fn flag_test(&self, test: &FlagTest, look: MatchPurpose) -> GlobFit {
        // For an option that forbids, a missed match is worse than a false one; for an option that permits,
        // the opposite holds.
        let spelling = match (look, test.sense) {
            (MatchPurpose::Cover, PatternSense::IsNot) => Spelling::Start,
            (MatchPurpose::Find, _) => Spelling::Any,
            (MatchPurpose::Cover, PatternSense::Is) => Spelling::Full,
            // `flag` skips words that may be values.
            (MatchPurpose::Exempt, _) => Spelling::Written,
        };
        // `--dry-run --no-dry-run` is not a dry run.
        let from = match look {
            MatchPurpose::Exempt => {
                test.any.iter().filter_map(|flag| self.taken_back(flag)).max().unwrap_or(0)
            }
            MatchPurpose::Find | MatchPurpose::Cover => 0,
        };
        // An exemption that an option takes back must not miss the option.
        let (look, spelling) = match (look, test.sense) {
            (MatchPurpose::Exempt, PatternSense::IsNot) => (MatchPurpose::Find, Spelling::Any),
            _ => (look, spelling),
        };
        let fit = test.any.iter().map(|flag| self.flag(flag, look, spelling, from)).max();
        in_sense(test.sense, fit.unwrap_or(GlobFit::No))
    }

    fn flag(&self, flag: &Flag, look: MatchPurpose, spelling: Spelling, from: usize) -> GlobFit {
        // A pattern of several letters matches one word, or letters spread over several clusters.
        if self.clusters
            && flag.value.is_none()
            && let Some(letters) = flag.text.as_deref().and_then(short)
            && letters.chars().count() > 1
            && letters.chars().all(|letter| self.has_letter(letter))
        {
            return GlobFit::Yes;
        }
        let mut best = GlobFit::No;
        for (j, item) in self.items.iter().enumerate().skip(from) {
            if look == MatchPurpose::Exempt && !self.is_option(flag, j) {
                continue;
            }
            let fit = match (item.kind, item.word) {
                (ArgumentKind::Flag, Word::Known(text)) => match self.is(flag, text, spelling) {
                    GlobFit::No => GlobFit::No,
                    _ => self.value(flag, text, j),
                },
                (ArgumentKind::Flag, Word::Partly(parts)) => self.partly(flag, parts),
                // The word after a remote is a branch.
                (ArgumentKind::Operand, Word::Many) if look == MatchPurpose::Find && self.is_branch(j) => {
                    GlobFit::No
                }
                // Names of files from the input of `xargs` are rarely options.
                (ArgumentKind::Operand, Word::Many) if look == MatchPurpose::Find && self.is_listed() => {
                    GlobFit::No
                }
                (ArgumentKind::Operand, Word::Many) if j > 0 && self.options_at(j) => GlobFit::Maybe,
                // A quoted variable is rarely an option, but can be one.
                (ArgumentKind::Operand, Word::Partly(parts))
                    if j > 0 && matches!(parts.first(), Some(None)) && self.options_at(j) =>
                {
                    match look {
                        MatchPurpose::Find | MatchPurpose::Exempt => GlobFit::No,
                        MatchPurpose::Cover => GlobFit::Maybe,
                    }
                }
                _ => GlobFit::No,
            };
            best = best.max(fit);
        }
        best
    }

    /// Returns the last position of the opposite of an option (`--no-…`).
    fn taken_back(&self, flag: &Flag) -> Option<usize> {
        let name = flag.text.as_deref()?.strip_prefix("--")?;
        let opposite = |item: &CommandItem<'_>| match item.word {
            Word::Known(text) if item.kind == ArgumentKind::Flag => {
                let taken = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
                taken.strip_prefix("--no-").is_some_and(|taken| name.starts_with(taken))
            }
            Word::Known(_) | Word::Partly(_) | Word::Many => false,
        };
        self.items.iter().rposition(opposite)
    }

    /// Reports whether a word is certainly an option. It must not be the value of the option before it,
    /// inside or outside a cluster, nor an operand that only looks like an option.
    fn is_option(&self, flag: &Flag, at: usize) -> bool {
        let Word::Known(text) = self.items[at].word else {
            return false;
        };
        if let (Some(wanted), Some(cluster)) = (flag.text.as_deref().and_then(short), short(text))
            && self.clusters
            && let Some((before, _)) = cluster.split_once(wanted)
            && !self.takes_no_value(before)
        {
            return false;
        }
        let before = &self.items[1.min(at)..at];
        let behind = match before.last() {
            Some(CommandItem { kind: ArgumentKind::Flag, word: Word::Known(text) }) => match short(text) {
                Some(cluster) => self.clusters && self.takes_no_value(cluster),
                None => text.contains('=') || text.starts_with("--no-") || LONE.contains(&text.as_str()),
            },
            Some(CommandItem { kind: ArgumentKind::Flag, .. }) => false,
            Some(_) | None => true,
        };
        // Some programs accept no options after their operands.
        let strict = self.command.assigns.iter().any(|(name, _)| name == "POSIXLY_CORRECT")
            || matches!(self.program(), ProgramPattern::Named { base, .. } if FIRST.contains(base));
        behind && !(strict && before.iter().any(|item| item.kind == ArgumentKind::Operand))
    }

    /// Reports whether a word stands at the position of the branch in `git push REMOTE BRANCH`.
    fn is_branch(&self, at: usize) -> bool {
        let operands = |item: &&CommandItem<'_>| item.kind == ArgumentKind::Operand;
        let mut before = self.items[..at].iter().filter(operands).skip(1);
        let mut known = || match before.next().map(|item| item.word) {
            Some(Word::Known(text)) => Some(text.as_str()),
            Some(Word::Partly(_) | Word::Many) | None => None,
        };
        matches!(self.program(), ProgramPattern::Named { base: "git", .. })
            && known() == Some("push")
            && known().is_some()
    }

    /// Reports whether none of these letters takes a value.
    fn takes_no_value(&self, letters: &str) -> bool {
        let values = match self.program() {
            ProgramPattern::Named { base: "rsync", .. } => "f",
            ProgramPattern::Named { .. } | ProgramPattern::Unnamed | ProgramPattern::None => "",
        };
        letters.chars().all(|letter| LETTERS.contains(letter) && !values.contains(letter))
    }

    /// Reports whether the command has only these options and options that the pattern asks for.
    pub(super) fn only(&self, allowed: &[Flag], tokens: &CommandPattern, look: MatchPurpose) -> GlobFit {
        let known = |text: &str| {
            let wanted =
                tokens.flags.iter().filter(|test| test.sense == PatternSense::Is).flat_map(|test| &test.any);
            let all = allowed.iter().chain(wanted);
            let whole = all.clone().any(|flag| {
                let name = text.split_once('=').map_or(text, |(name, _)| name);
                flag.name.fits(name)
                    && (flag.value.is_none() || self.is(flag, text, Spelling::Full) == GlobFit::Yes)
            });
            // In a cluster every letter counts, and the rest must not look like another letter.
            whole
                || (self.clusters
                    && short(text).is_some_and(|cluster| {
                        let letters = letters(cluster);
                        let value = &cluster[letters.len()..];
                        let mut named = |letter: char| {
                            all.clone().any(|flag| {
                                flag.text.as_deref().and_then(short).is_some_and(|name| {
                                    name.len() == letter.len_utf8() && name.starts_with(letter)
                                })
                            })
                        };
                        !letters.is_empty()
                            && letters.chars().all(&mut named)
                            && !value.contains(char::is_alphabetic)
                    }))
        };
        let mut fit = GlobFit::Yes;
        for (j, item) in self.items.iter().enumerate().skip(1) {
            let one = match (item.kind, item.word) {
                (ArgumentKind::Flag, Word::Known(text)) => known(text).into(),
                (ArgumentKind::Flag, Word::Partly(parts)) => match parts.first() {
                    Some(Some(start)) if start.contains('=') && known(start) => GlobFit::Yes,
                    _ => GlobFit::Maybe,
                },
                (ArgumentKind::Operand, Word::Many) if self.options_at(j) => GlobFit::Maybe,
                (ArgumentKind::Operand, Word::Partly(parts))
                    if matches!(parts.first(), Some(None))
                        && look == MatchPurpose::Cover
                        && self.options_at(j) =>
                {
                    GlobFit::Maybe
                }
                _ => GlobFit::Yes,
            };
            fit = fit.min(one);
        }
        fit
    }

    /// Reports whether a word at this position can be an option.
    fn options_at(&self, at: usize) -> bool {
        !self.items.iter().take(at).any(|item| item.kind == ArgumentKind::End)
    }

    /// Reports whether the unknown operands are names of files from the input of `xargs`.
    fn is_listed(&self) -> bool {
        let by_xargs = |via: &Carrier| matches!(via, Carrier::Program(name) if name == "xargs");
        self.command.via.iter().any(by_xargs)
            && matches!(
                self.program(),
                ProgramPattern::Named { base: "rm" | "chmod" | "cp" | "mv" | "touch", .. }
            )
    }

    fn has_letter(&self, letter: char) -> bool {
        let known = self.items.iter().filter(|item| item.kind == ArgumentKind::Flag);
        known
            .filter_map(|item| if let Word::Known(text) = item.word { short(text) } else { None })
            .any(|cluster| letters(cluster).contains(letter))
    }

    /// Returns the letters of a cluster up to the first that takes the rest as its value: `-bfeature`.
    fn without_value<'l>(&self, letters: &'l str) -> &'l str {
        let operand = |item: &&CommandItem<'_>| item.kind == ArgumentKind::Operand;
        let verb = self.items.iter().filter(operand).nth(1).map(|item| item.word);
        let values: &[char] = match (self.program(), verb) {
            (ProgramPattern::Named { base: "git", .. }, Some(Word::Known(verb))) => git_values(verb),
            _ => &[],
        };
        letters.find(values).map_or(letters, |at| &letters[..=at])
    }

    /// Reports how well a word of the command matches this option, ignoring its value.
    fn is(&self, flag: &Flag, text: &str, spelling: Spelling) -> GlobFit {
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        if flag.name.fits(name) {
            return GlobFit::Yes;
        }
        let Some(wanted) = flag.text.as_deref() else {
            return GlobFit::No;
        };
        match (wanted.strip_prefix("--"), name.strip_prefix("--")) {
            (Some(wanted), Some(name)) if !name.is_empty() && spelling == Spelling::Start => {
                wanted.starts_with(name).into()
            }
            // `--forc` means `--force`, but `--force` does not mean `--force-with-lease`.
            (Some(wanted), Some(name)) if !name.is_empty() && spelling == Spelling::Any => {
                wanted.strip_prefix(name).is_some_and(|rest| !rest.starts_with('-')).into()
            }
            (None, None) if self.clusters => match (short(wanted), short(text)) {
                // A long cluster may be a letter with its value: `-enode_modules`.
                (Some(_), Some(cluster)) if spelling == Spelling::Full && cluster.len() > 4 => GlobFit::No,
                (Some(wanted), Some(cluster)) if wanted.chars().count() == 1 => {
                    self.without_value(letters(cluster)).contains(wanted).into()
                }
                _ => GlobFit::No,
            },
            _ => GlobFit::No,
        }
    }

    /// Reports how well the value of a found option matches the value in the pattern.
    fn value(&self, flag: &Flag, text: &str, at: usize) -> GlobFit {
        let Some(wanted) = &flag.value else {
            return GlobFit::Yes;
        };
        if let Some((_, value)) = text.split_once('=')
            && wanted.fits(value)
        {
            return GlobFit::Yes;
        }
        if let (Some(letter), Some(cluster)) = (flag.text.as_deref().and_then(short), short(text))
            && let Some((_, value)) = cluster.split_once(letter)
            && !value.is_empty()
        {
            return wanted.fits(value).into();
        }
        match self.items.get(at + 1) {
            Some(next) if !text.contains('=') => wanted.fit_word(next.word),
            _ => GlobFit::No,
        }
    }

    fn partly(&self, flag: &Flag, parts: &[Option<String>]) -> GlobFit {
        let word = Word::Partly(parts.to_vec());
        let Some(Some(start)) = parts.first() else {
            return GlobFit::No;
        };
        // `--output=$X` is known except for its value.
        if let Some((name, value)) = start.split_once('=') {
            return match &flag.value {
                _ if self.is(flag, name, Spelling::Any) == GlobFit::No => GlobFit::No,
                None => GlobFit::Yes,
                Some(wanted) => {
                    let mut rest = parts.to_vec();
                    rest[0] = Some(value.to_owned());
                    wanted.fit_word(&Word::Partly(rest))
                }
            };
        }
        if self.is(flag, start, Spelling::Any) == GlobFit::Yes && self.clusters && short(start).is_some() {
            return if flag.value.is_none() { GlobFit::Yes } else { GlobFit::Maybe };
        }
        let single =
            flag.text.as_deref().and_then(short).is_some() && short(start).is_some() && self.clusters;
        if single { GlobFit::Maybe } else { GlobFit::Maybe.min(flag.name.fit_word(&word)) }
    }
}

/// Returns the text after a single dash.
fn short(text: &str) -> Option<&str> {
    text.strip_prefix('-').filter(|rest| !rest.is_empty() && !rest.starts_with('-'))
}

/// Returns the letters of a cluster before its value. A number is one option.
fn letters(cluster: &str) -> &str {
    if cluster.bytes().all(|byte| byte.is_ascii_digit()) {
        return if cluster.len() == 1 { cluster } else { "" };
    }
    // `-4` and `-6` count as letters.
    let end = cluster.find(|c: char| !(c.is_ascii_alphabetic() || matches!(c, '4' | '6')));
    &cluster[..end.unwrap_or(cluster.len())]
}
