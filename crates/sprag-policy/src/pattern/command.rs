//! Matches a command with the words of a pattern. One algorithm serves two questions. A rule that forbids
//! must find the command in any spelling. A rule that allows must find this command and nothing else.

use sprag_shell::{Carrier, Command, Host, Word, WorkingDir};

use crate::pattern::location::KnownPaths;
use crate::pattern::word_glob::{GlobFit, Letter, WordGlob, letters};
use crate::pattern::{
    AssignTest, CommandPattern, OperandClass, OperandTrait, PatternSense, PatternSlot, TrailingWords,
};

/// The question that a match answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchPurpose {
    /// Could this be the command? The match skips options before a word, and their values.
    Find,
    /// Is this the command and nothing more? The match skips nothing that the pattern does not name.
    Cover,
    /// Does this exempt a command? Only literal words count.
    Exempt,
}

/// A command, split once for all patterns.
#[derive(Debug)]
pub(crate) struct CommandLine<'a> {
    pub command: &'a Command,
    pub(super) items: Vec<CommandItem<'a>>,
    program: ProgramPattern<'a>,
    /// Whether options are letters after one dash, which can be joined.
    pub(super) clusters: bool,
    /// Whether the command gets code from elsewhere at run time.
    pub(super) fed: bool,
}

#[derive(Debug)]
pub(crate) struct CommandItem<'a> {
    pub kind: ArgumentKind,
    pub word: &'a Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    Operand,
    /// A word that is known to start with a dash.
    Flag,
    /// `--`
    End,
}

#[derive(Debug)]
pub(crate) enum ProgramPattern<'a> {
    /// The base name of the program, and the word as written.
    Named {
        base: &'a str,
        written: Option<&'a str>,
        /// The base name in lower case, if that differs: some file systems treat `GIT` and `git` as the same
        /// name.
        folded: Option<String>,
    },
    Unnamed,
    None,
}

/// Programs whose options are words after a single dash.
const WORDY: &[&str] = &[
    "convert",
    "dscl",
    "duckdb",
    "ffmpeg",
    "ffprobe",
    "find",
    "gfind",
    "go",
    "hdiutil",
    "ip",
    "java",
    "javac",
    "lipo",
    "magick",
    "networksetup",
    "openssl",
    "packer",
    "plutil",
    "profiles",
    "qemu-img",
    "sample",
    "sqlite3",
    "terraform",
    "terragrunt",
    "textutil",
    "tofu",
    "xcodebuild",
];

/// Directories of system programs. A program of the same name elsewhere is a different program.
const STANDARD: &[&str] = &[
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
    "/usr/local/sbin/",
];

impl<'a> CommandLine<'a> {
    pub(crate) fn new(command: &'a Command) -> CommandLine<'a> {
        let program = match command.argv.first() {
            None => ProgramPattern::None,
            Some(Word::Known(word)) => {
                ProgramPattern::Named { base: base(word), written: Some(word), folded: folded(base(word)) }
            }
            Some(Word::Partly(parts)) => match parts.last() {
                // `$DIR/rm` is `rm`.
                Some(Some(last)) if last.contains('/') => {
                    ProgramPattern::Named { base: base(last), written: None, folded: folded(base(last)) }
                }
                _ => ProgramPattern::Unnamed,
            },
            Some(Word::Many) => ProgramPattern::Unnamed,
        };
        let clusters = match &program {
            ProgramPattern::Named { base, .. } => !WORDY.contains(base),
            ProgramPattern::Unnamed | ProgramPattern::None => true,
        };
        let mut options = true;
        let items = command.argv.iter().enumerate().map(|(at, word)| {
            let kind = match word {
                _ if at == 0 || !options => ArgumentKind::Operand,
                Word::Known(text) if text == "--" => {
                    options = false;
                    ArgumentKind::End
                }
                Word::Known(text) if is_flag(text) => ArgumentKind::Flag,
                Word::Partly(parts) if matches!(parts.first(), Some(Some(text)) if text.starts_with('-')) => {
                    ArgumentKind::Flag
                }
                _ => ArgumentKind::Operand,
            };
            CommandItem { kind, word }
        });
        CommandLine { items: items.collect(), program, clusters, fed: false, command }
    }

    pub(crate) fn program(&self) -> &ProgramPattern<'a> {
        &self.program
    }

    pub(crate) fn fit(&self, tokens: &CommandPattern, ground: &KnownPaths, look: MatchPurpose) -> GlobFit {
        if self.lacks_a_word(tokens) {
            return GlobFit::No;
        }
        let mut fit = GlobFit::Yes;
        for wanted in &tokens.traits {
            fit = fit.min(self.has(*wanted, ground));
        }
        if !tokens.assigns.is_empty() {
            let set = |test: &AssignTest, (name, value): &(String, Word)| {
                GlobFit::from(test.name.fits(name)).min(test.value.fit_word(value))
            };
            let best = tokens
                .assigns
                .iter()
                .flat_map(|test| self.command.assigns.iter().map(move |assign| set(test, assign)))
                .max();
            fit = fit.min(best.unwrap_or(GlobFit::No));
        }
        if matches!(self.program, ProgramPattern::Unnamed) && look == MatchPurpose::Find {
            fit = fit.min(self.shown_by_other_words(tokens));
        }
        for flag in &tokens.flags {
            if fit == GlobFit::No {
                return fit;
            }
            fit = fit.min(self.flag_test(flag, look));
        }
        if let Some(only) = &tokens.only {
            fit = fit.min(self.only(only, tokens, look));
        }
        if fit == GlobFit::No {
            return fit;
        }
        fit.min(self.slots(tokens, ground, look))
    }

    /// Reports whether the command certainly lacks a word of the pattern. This cheap check excludes most
    /// patterns, which are about another subcommand.
    fn lacks_a_word(&self, tokens: &CommandPattern) -> bool {
        tokens.slots.iter().skip(1).any(|slot| match slot {
            PatternSlot::Word { any, sense: PatternSense::Is } => {
                !self.items.iter().any(|item| any.iter().any(|glob| glob.fit_word(item.word) != GlobFit::No))
            }
            PatternSlot::Word { .. } | PatternSlot::Class { .. } | PatternSlot::Gap | PatternSlot::End => {
                false
            }
        })
    }

    fn has(&self, wanted: OperandTrait, ground: &KnownPaths) -> GlobFit {
        match wanted {
            OperandTrait::Scratch => {
                // Git also works in a directory that a variable or an option names.
                let elsewhere = |(name, _): &(String, Word)| name.starts_with("GIT_");
                let place = self.entered().unwrap_or_else(|| self.command.cwd.clone());
                (ground.is_scratch(&place) && !self.command.assigns.iter().any(elsewhere)).into()
            }
            OperandTrait::Away => ground.is_away(&self.command.cwd),
            OperandTrait::Remote => (self.command.host != Host::Local).into(),
            OperandTrait::Computed => self.computed(ground),
            OperandTrait::Fed => (self.fed && matches!(self.program, ProgramPattern::Named { .. })).into(),
            OperandTrait::Again => match &self.program {
                ProgramPattern::Named { base, .. } => {
                    let inside = |via: &Carrier| matches!(via, Carrier::Function(name) if name == base);
                    self.command.via.iter().any(inside).into()
                }
                ProgramPattern::Unnamed | ProgramPattern::None => GlobFit::No,
            },
        }
    }

    /// Returns the directory of `git -C DIR`; a repository that an option names is unknown.
    fn entered(&self) -> Option<WorkingDir> {
        let known = |word: &Word| match word {
            Word::Known(text) => Some(text.clone()),
            Word::Partly(_) | Word::Many => None,
        };
        let named = |text: &str| text.starts_with("--git-dir") || text.starts_with("--work-tree");
        let at = self.items.iter().position(|item| {
            item.kind == ArgumentKind::Flag
                && known(item.word).is_some_and(|text| text == "-C" || named(&text))
        })?;
        let place = self.items.get(at + 1).and_then(|item| known(item.word));
        let is_entered = known(self.items[at].word).is_some_and(|text| text == "-C");
        Some(match place.filter(|place| is_entered && place.starts_with('/')) {
            Some(place) => WorkingDir::At(place),
            None => WorkingDir::Unknown,
        })
    }

    /// Matches the words of the pattern in order, from the last to the first. `row[j]` is the fit of the rest
    /// of the pattern with the command from word `j` on.
    fn slots(&self, tokens: &CommandPattern, ground: &KnownPaths, look: MatchPurpose) -> GlobFit {
        let mut row: Vec<GlobFit> = self.ends(tokens);
        for (i, slot) in tokens.slots.iter().enumerate().rev() {
            let mut new = vec![GlobFit::No; row.len()];
            for j in (0..row.len()).rev() {
                new[j] = match self.items.get(j) {
                    None => {
                        if *slot == PatternSlot::Gap {
                            row[j]
                        } else {
                            GlobFit::No
                        }
                    }
                    Some(item) => self.slot(
                        slot,
                        item,
                        MatchPosition { i, j, row: &row, new: &new },
                        tokens,
                        ground,
                        look,
                    ),
                };
            }
            row = new;
        }
        row.first().copied().unwrap_or(GlobFit::No)
    }

    fn slot(
        &self,
        slot: &PatternSlot,
        item: &CommandItem<'_>,
        at: MatchPosition<'_>,
        tokens: &CommandPattern,
        ground: &KnownPaths,
        look: MatchPurpose,
    ) -> GlobFit {
        let MatchPosition { i, j, row, new } = at;
        let taken = row[j + 1];
        let passed = if i == 0 { GlobFit::No } else { new[j + 1] };
        if *slot == PatternSlot::Gap {
            return row[j].max(new[j + 1]);
        }
        match item.kind {
            ArgumentKind::End if *slot == PatternSlot::End => taken,
            ArgumentKind::End => passed,
            ArgumentKind::Flag => match look {
                MatchPurpose::Cover if self.named(item.word, tokens) => passed,
                MatchPurpose::Cover => GlobFit::No,
                // Skip the value of the option as well.
                MatchPurpose::Find | MatchPurpose::Exempt => match self.items.get(j + 1) {
                    Some(CommandItem { kind: ArgumentKind::Operand, .. }) if i > 0 => passed.max(new[j + 2]),
                    _ => passed,
                },
            },
            ArgumentKind::Operand if *slot == PatternSlot::End => GlobFit::No,
            ArgumentKind::Operand => {
                let fit = if j == 0 {
                    self.program_fit(slot, look)
                } else {
                    self.word_fit(slot, item.word, ground)
                };
                match item.word {
                    // One unknown word stands for the program if other words are known.
                    Word::Many if j == 0 && look == MatchPurpose::Find && self.has_known_operand() => {
                        fit.min(taken)
                    }
                    // If the existence of an operand is unknown, the operand itself is unknown.
                    Word::Many
                        if matches!(
                            slot,
                            PatternSlot::Class { class: OperandClass::Unknown, sense: PatternSense::Is }
                        ) =>
                    {
                        fit.min(taken)
                    }
                    // Any number of words: none, this one, or this one and more.
                    Word::Many => GlobFit::Maybe.min(taken.min(fit).max(row[j].min(fit)).max(passed)),
                    // An unknown word may also be an option.
                    Word::Partly(parts)
                        if matches!(parts.first(), Some(None)) && look == MatchPurpose::Find =>
                    {
                        fit.min(taken).max(GlobFit::Maybe.min(passed))
                    }
                    _ => fit.min(taken),
                }
            }
        }
    }

    fn has_known_operand(&self) -> bool {
        self.items.iter().skip(1).any(|item| matches!(item.word, Word::Known(_)))
    }

    /// Returns for each word how well the command from there on fits the end of the pattern.
    fn ends(&self, tokens: &CommandPattern) -> Vec<GlobFit> {
        let mut ends = vec![GlobFit::Yes; self.items.len() + 1];
        if tokens.rest == TrailingWords::Anything {
            return ends;
        }
        for (j, item) in self.items.iter().enumerate().rev() {
            let alone = match item.kind {
                ArgumentKind::End => GlobFit::Yes,
                ArgumentKind::Flag => self.named(item.word, tokens).into(),
                ArgumentKind::Operand if *item.word == Word::Many => GlobFit::Maybe,
                ArgumentKind::Operand => GlobFit::No,
            };
            ends[j] = ends[j + 1].min(alone);
        }
        ends
    }

    fn program_fit(&self, slot: &PatternSlot, look: MatchPurpose) -> GlobFit {
        let PatternSlot::Word { any, sense } = slot else {
            return GlobFit::No;
        };
        let best = |fit: &dyn Fn(&WordGlob) -> GlobFit| any.iter().map(fit).max().unwrap_or(GlobFit::No);
        let fit = match &self.program {
            ProgramPattern::None => GlobFit::No,
            ProgramPattern::Unnamed if look == MatchPurpose::Cover => GlobFit::No,
            ProgramPattern::Unnamed => best(&|glob| match glob {
                WordGlob::Any => GlobFit::Yes,
                _ => self.command.argv.first().map_or(GlobFit::No, |word| match word {
                    // `/bin/r?` stands in a directory, so the pattern compares only its last part.
                    Word::Partly(parts) => {
                        let whole = letters(parts);
                        let from = whole.iter().rposition(|letter| *letter == Letter::Char('/'));
                        let named = from.map_or(GlobFit::No, |at| glob.fit(&whole[at + 1..]));
                        GlobFit::Maybe.min(named).max(glob.fit(&whole))
                    }
                    word => glob.fit_word(word),
                }),
            }),
            ProgramPattern::Named { base, written, folded } => {
                let path = written.filter(|written| written.contains('/'));
                let standard = path.is_none_or(|path| {
                    STANDARD
                        .iter()
                        .any(|place| path.strip_prefix(place).is_some_and(|name| !name.contains('/')))
                });
                let by_name = look != MatchPurpose::Cover || (standard && written.is_some());
                let folded = folded.as_deref().filter(|_| look == MatchPurpose::Find);
                best(&|glob| {
                    (folded.is_some_and(|folded| glob.fits(folded))
                        || by_name
                            && (glob.fits(base)
                                || base.strip_suffix(".exe").is_some_and(|base| glob.fits(base)))
                        || path.is_some_and(|path| glob.fits(path)))
                    .into()
                })
            }
        };
        in_sense(*sense, fit)
    }

    fn word_fit(&self, slot: &PatternSlot, word: &Word, ground: &KnownPaths) -> GlobFit {
        match slot {
            PatternSlot::Word { any, sense } => {
                in_sense(*sense, any.iter().map(|glob| glob.fit_word(word)).max().unwrap_or(GlobFit::No))
            }
            PatternSlot::Class { class: OperandClass::Root, sense } => {
                in_sense(*sense, ground.root(word, &self.command.cwd))
            }
            PatternSlot::Class { class: OperandClass::System, sense } => {
                in_sense(*sense, ground.system(word, &self.command.cwd))
            }
            PatternSlot::Class { class: OperandClass::Partial, sense } => {
                in_sense(*sense, matches!(word, Word::Partly(_) | Word::Many).into())
            }
            PatternSlot::Class { class: OperandClass::Outside, sense } => {
                in_sense(*sense, ground.outside(word, &self.command.cwd))
            }
            PatternSlot::Class { class: OperandClass::Unknown, sense } => {
                in_sense(*sense, ground.unknown(word, &self.command.cwd))
            }
            PatternSlot::Gap | PatternSlot::End => GlobFit::No,
        }
    }
}

/// The position of the match: pattern word, command word, and the rows of the next and of this pattern word.
struct MatchPosition<'a> {
    i: usize,
    j: usize,
    row: &'a [GlobFit],
    new: &'a [GlobFit],
}

pub(crate) fn in_sense(sense: PatternSense, fit: GlobFit) -> GlobFit {
    match sense {
        PatternSense::Is => fit,
        PatternSense::IsNot => fit.negated(),
    }
}

fn is_flag(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

pub(crate) fn folded(base: &str) -> Option<String> {
    base.bytes().any(|byte| byte.is_ascii_uppercase()).then(|| {
        let lower = base.to_ascii_lowercase();
        lower.strip_suffix(".exe").map(str::to_owned).unwrap_or(lower)
    })
}

pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
