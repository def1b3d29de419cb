//! A command against the words of a pattern. Two ways of asking share one walk: a rule that
//! forbids looks for the pattern in whatever spelling, a rule that allows must find nothing else.

use sprag_shell::{Carrier, Command, Word};

use crate::pattern::location::Ground;
use crate::pattern::word_glob::{Fit, Glob, Letter, letters};
use crate::pattern::{Class, Rest, Sense, Slot, Tokens, Trait};

/// Why it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Could this be the command? Options before a word, and their values, are passed over.
    Find,
    /// Is this the command and nothing more? What is not named is not passed over.
    Cover,
    /// Is this what exempts a command? Only what is written out counts.
    Exempt,
}

/// A command, taken apart once for all patterns.
#[derive(Debug)]
pub struct Line<'a> {
    pub command: &'a Command,
    pub(super) items: Vec<Item<'a>>,
    program: Program<'a>,
    /// Options are letters after one dash, which may be written together.
    pub(super) clusters: bool,
    fed: bool,
}

#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub kind: Kind,
    pub word: &'a Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Operand,
    /// Known to start with a dash.
    Flag,
    /// `--`
    End,
}

#[derive(Debug)]
pub enum Program<'a> {
    /// Its base name, and the word as it is written.
    Named {
        base: &'a str,
        written: Option<&'a str>,
        /// The base name in small letters, if it has others: some file systems do not tell `GIT`
        /// from `git`.
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

/// Where programs of the system live. A program of the same name elsewhere is another program.
const STANDARD: &[&str] = &[
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
    "/usr/local/sbin/",
];

impl<'a> Line<'a> {
    pub fn new(command: &'a Command, fed: bool) -> Line<'a> {
        let program = match command.argv.first() {
            None => Program::None,
            Some(Word::Known(word)) => {
                Program::Named { base: base(word), written: Some(word), folded: folded(base(word)) }
            }
            Some(Word::Partly(parts)) => match parts.last() {
                // `$DIR/rm` is rm.
                Some(Some(last)) if last.contains('/') => {
                    Program::Named { base: base(last), written: None, folded: folded(base(last)) }
                }
                _ => Program::Unnamed,
            },
            Some(Word::Many) => Program::Unnamed,
        };
        let clusters = match &program {
            Program::Named { base, .. } => !WORDY.contains(base),
            Program::Unnamed | Program::None => true,
        };
        let mut options = true;
        let items = command.argv.iter().enumerate().map(|(at, word)| {
            let kind = match word {
                _ if at == 0 || !options => Kind::Operand,
                Word::Known(text) if text == "--" => {
                    options = false;
                    Kind::End
                }
                Word::Known(text) if is_flag(text) => Kind::Flag,
                Word::Partly(parts) if matches!(parts.first(), Some(Some(text)) if text.starts_with('-')) => {
                    Kind::Flag
                }
                _ => Kind::Operand,
            };
            Item { kind, word }
        });
        Line { items: items.collect(), program, clusters, fed, command }
    }

    pub fn program(&self) -> &Program<'a> {
        &self.program
    }

    pub fn fit(&self, tokens: &Tokens, ground: &Ground, look: Look) -> Fit {
        if self.lacks_a_word(tokens) {
            return Fit::No;
        }
        let mut fit = Fit::Yes;
        for wanted in &tokens.traits {
            fit = fit.min(self.has(*wanted));
        }
        for flag in &tokens.flags {
            if fit == Fit::No {
                return fit;
            }
            fit = fit.min(self.flag_test(flag, look));
        }
        if let Some(only) = &tokens.only {
            fit = fit.min(self.only(only, tokens, look));
        }
        if fit == Fit::No {
            return fit;
        }
        fit.min(self.slots(tokens, ground, look))
    }

    /// Most patterns of a program are about another subcommand: one look tells.
    fn lacks_a_word(&self, tokens: &Tokens) -> bool {
        tokens.slots.iter().skip(1).any(|slot| match slot {
            Slot::Word { any, sense: Sense::Is } => {
                !self.items.iter().any(|item| any.iter().any(|glob| glob.fit_word(item.word) != Fit::No))
            }
            Slot::Word { .. } | Slot::Class { .. } | Slot::Gap | Slot::End => false,
        })
    }

    fn has(&self, wanted: Trait) -> Fit {
        match wanted {
            Trait::Fed => (self.fed && matches!(self.program, Program::Named { .. })).into(),
            Trait::Again => match &self.program {
                Program::Named { base, .. } => {
                    let inside = |via: &Carrier| matches!(via, Carrier::Function(name) if name == base);
                    self.command.via.iter().any(inside).into()
                }
                Program::Unnamed | Program::None => Fit::No,
            },
        }
    }

    /// The words of the pattern in order, from its end to its start: `row[j]` is how well what is
    /// left of the pattern fits what is left of the command from word `j` on.
    fn slots(&self, tokens: &Tokens, ground: &Ground, look: Look) -> Fit {
        let mut row: Vec<Fit> = self.ends(tokens);
        for (i, slot) in tokens.slots.iter().enumerate().rev() {
            let mut new = vec![Fit::No; row.len()];
            for j in (0..row.len()).rev() {
                new[j] = match self.items.get(j) {
                    None => {
                        if *slot == Slot::Gap {
                            row[j]
                        } else {
                            Fit::No
                        }
                    }
                    Some(item) => {
                        self.slot(slot, item, At { i, j, row: &row, new: &new }, tokens, ground, look)
                    }
                };
            }
            row = new;
        }
        row.first().copied().unwrap_or(Fit::No)
    }

    fn slot(
        &self,
        slot: &Slot,
        item: &Item<'_>,
        at: At<'_>,
        tokens: &Tokens,
        ground: &Ground,
        look: Look,
    ) -> Fit {
        let At { i, j, row, new } = at;
        let taken = row[j + 1];
        let passed = if i == 0 { Fit::No } else { new[j + 1] };
        if *slot == Slot::Gap {
            return row[j].max(new[j + 1]);
        }
        match item.kind {
            Kind::End if *slot == Slot::End => taken,
            Kind::End => passed,
            Kind::Flag => match look {
                Look::Cover if self.named(item.word, tokens) => passed,
                Look::Cover => Fit::No,
                // Its value is passed over with it.
                Look::Find | Look::Exempt => match self.items.get(j + 1) {
                    Some(Item { kind: Kind::Operand, .. }) if i > 0 => passed.max(new[j + 2]),
                    _ => passed,
                },
            },
            Kind::Operand if *slot == Slot::End => Fit::No,
            Kind::Operand => {
                let fit = if j == 0 {
                    self.program_fit(slot, look)
                } else {
                    self.word_fit(slot, item.word, ground)
                };
                match item.word {
                    // Not to know whether there is an operand is not to know the operand.
                    Word::Many if matches!(slot, Slot::Class { class: Class::Unknown, sense: Sense::Is }) => {
                        fit.min(taken)
                    }
                    // Any number of words: none, this one, or this one and more.
                    Word::Many => Fit::Maybe.min(taken.min(fit).max(row[j].min(fit)).max(passed)),
                    // One unknown word may also be an option.
                    Word::Partly(parts) if matches!(parts.first(), Some(None)) && look == Look::Find => {
                        fit.min(taken).max(Fit::Maybe.min(passed))
                    }
                    _ => fit.min(taken),
                }
            }
        }
    }

    /// How well nothing more fits what is left from each word on.
    fn ends(&self, tokens: &Tokens) -> Vec<Fit> {
        let mut ends = vec![Fit::Yes; self.items.len() + 1];
        if tokens.rest == Rest::Anything {
            return ends;
        }
        for (j, item) in self.items.iter().enumerate().rev() {
            let alone = match item.kind {
                Kind::End => Fit::Yes,
                Kind::Flag => self.named(item.word, tokens).into(),
                Kind::Operand if *item.word == Word::Many => Fit::Maybe,
                Kind::Operand => Fit::No,
            };
            ends[j] = ends[j + 1].min(alone);
        }
        ends
    }

    fn program_fit(&self, slot: &Slot, look: Look) -> Fit {
        let Slot::Word { any, sense } = slot else {
            return Fit::No;
        };
        let best = |fit: &dyn Fn(&Glob) -> Fit| any.iter().map(fit).max().unwrap_or(Fit::No);
        let fit = match &self.program {
            Program::None => Fit::No,
            Program::Unnamed if look == Look::Cover => Fit::No,
            Program::Unnamed => best(&|glob| match glob {
                Glob::Any => Fit::Yes,
                _ => self.command.argv.first().map_or(Fit::No, |word| match word {
                    // `/bin/r?` is in a directory, and known by what it is called there.
                    Word::Partly(parts) => {
                        let whole = letters(parts);
                        let from = whole.iter().rposition(|letter| *letter == Letter::Char('/'));
                        let named = from.map_or(Fit::No, |at| glob.fit(&whole[at + 1..]));
                        Fit::Maybe.min(named).max(glob.fit(&whole))
                    }
                    word => glob.fit_word(word),
                }),
            }),
            Program::Named { base, written, folded } => {
                let path = written.filter(|written| written.contains('/'));
                let standard = path.is_none_or(|path| {
                    STANDARD
                        .iter()
                        .any(|place| path.strip_prefix(place).is_some_and(|name| !name.contains('/')))
                });
                let by_name = look != Look::Cover || (standard && written.is_some());
                let folded = folded.as_deref().filter(|_| look == Look::Find);
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

    fn word_fit(&self, slot: &Slot, word: &Word, ground: &Ground) -> Fit {
        match slot {
            Slot::Word { any, sense } => {
                in_sense(*sense, any.iter().map(|glob| glob.fit_word(word)).max().unwrap_or(Fit::No))
            }
            Slot::Class { class: Class::Root, sense } => {
                in_sense(*sense, ground.root(word, &self.command.cwd))
            }
            Slot::Class { class: Class::System, sense } => {
                in_sense(*sense, ground.system(word, &self.command.cwd))
            }
            Slot::Class { class: Class::Unknown, sense } => {
                in_sense(*sense, ground.unknown(word, &self.command.cwd))
            }
            Slot::Gap | Slot::End => Fit::No,
        }
    }
}

/// Where the walk is: pattern word, command word, the rows of the next and of this pattern word.
struct At<'a> {
    i: usize,
    j: usize,
    row: &'a [Fit],
    new: &'a [Fit],
}

pub(crate) fn in_sense(sense: Sense, fit: Fit) -> Fit {
    match sense {
        Sense::Is => fit,
        Sense::IsNot => fit.negated(),
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

pub fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
