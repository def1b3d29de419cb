//! Commands whose program is known only at run time.

use sprag_shell::{Carrier, Word};

use crate::pattern::command::{ArgumentKind, CommandItem, CommandLine, ProgramPattern};
use crate::pattern::location::KnownPaths;
use crate::pattern::word_glob::GlobFit;
use crate::pattern::{CommandPattern, FlagTest, PatternSense, PatternSlot};

/// A longer option names its program well enough.
const LONG_OPTION: usize = 10;

impl CommandLine<'_> {
    /// Reports whether an unknown program may be the one of the pattern. If other words are known, one of them
    /// must speak for it: `$X push --force` may be git, but `$X test` is not `git checkout -- test`.
    pub(super) fn shown_by_other_words(&self, tokens: &CommandPattern) -> GlobFit {
        let is_known = |item: &CommandItem<'_>| matches!(item.word, Word::Known(_));
        let others = self.items.get(1..).unwrap_or_default();
        if !others.iter().any(is_known) || tokens.slots.is_empty() {
            return GlobFit::Yes;
        }
        let by_word = tokens.slots.iter().skip(1).any(|slot| {
            matches!(
                slot,
                PatternSlot::Word { sense: PatternSense::Is, .. }
                    | PatternSlot::Class { sense: PatternSense::Is, .. }
            )
        });
        // A short option belongs to many programs.
        let is_named = |item: &CommandItem<'_>, test: &FlagTest| {
            matches!(item.word, Word::Known(text) if text.len() > LONG_OPTION && test.any.iter().any(|flag| {
                flag.name.fits(text.split_once('=').map_or(text.as_str(), |(name, _)| name))
            }))
        };
        let by_option = tokens
            .flags
            .iter()
            .any(|test| test.sense == PatternSense::Is && others.iter().any(|item| is_named(item, test)));
        let speaks = |slot: &PatternSlot| match slot {
            PatternSlot::Word { any, sense: PatternSense::Is } => {
                others.iter().any(|item| any.iter().any(|glob| glob.fit_word(item.word) != GlobFit::No))
            }
            _ => true,
        };
        ((by_word || by_option) && tokens.slots.iter().skip(1).all(speaks)).into()
    }

    /// Reports whether an unknown program may do harm: no other word is known, or an operand lies outside the
    /// worktree.
    pub(super) fn computed(&self, ground: &KnownPaths) -> GlobFit {
        if !matches!(self.program(), ProgramPattern::Unnamed) {
            return GlobFit::No;
        }
        let others = self.items.get(1..).unwrap_or_default();
        let is_known = |item: &&CommandItem<'_>| matches!(item.word, Word::Known(_));
        let harms = |item: &CommandItem<'_>| {
            item.kind == ArgumentKind::Operand
                && (ground.root(item.word, &self.command.cwd) == GlobFit::Yes
                    || ground.outside(item.word, &self.command.cwd) == GlobFit::Yes)
        };
        // Code of another language that runs a program from outside gives control away.
        let is_controlled = self.command.via.iter().any(|via| matches!(via, Carrier::Interpreter(_)));
        (is_controlled || !others.iter().any(|item| is_known(&item)) || others.iter().any(harms)).into()
    }
}
