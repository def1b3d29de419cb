//! All rules at once: which of them a call meets, and the one answer that follows.
pub(crate) mod shards;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_shell::{Carrier, Command, Host, Script};

use crate::pattern::command::{Line, Look, Program};
use crate::pattern::location::Ground;
use crate::pattern::subject::{Outcome, Subject};
use crate::pattern::word_glob::Fit;
use crate::pattern::{Access, PathPattern, Pattern};
use crate::prefilter::Watch;
use crate::rule::{BadRule, Decision, OnDoubt, Ready, Rule};

/// What the rules say about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub verdict: Said,
    /// The decision behind the verdict: a review is held like a deny.
    pub decision: Option<Decision>,
    /// The deciding rule.
    pub rule: Option<String>,
    pub reason: Option<String>,
    pub next: Option<String>,
    /// No approval of a single call gets past the deciding rule.
    pub is_final: bool,
    /// The deciding rule has found a known command.
    pub matched: bool,
    /// Something unknown concerns the rules that were asked, also where they say nothing.
    pub uncertain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Allow,
    Ask,
    Deny,
    None,
}

impl Said {
    pub fn name(self) -> &'static str {
        match self {
            Said::Allow => "allow",
            Said::Ask => "ask",
            Said::Deny => "deny",
            Said::None => "none",
        }
    }
}

/// How files that are not looked into are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strictness {
    /// As each rule says.
    #[default]
    Usual,
    /// Every rule asks.
    Strict,
}

/// The union of all layers. Order only decides which of two equally strict rules is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    rules: Vec<Ready>,
    strictness: Strictness,
    restricting: Index,
    allowing: Index,
}

/// Patterns by the program they are about: most rules say nothing about most commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Index {
    by_program: BTreeMap<String, Vec<Entry>>,
    /// Patterns of commands that name no program.
    any_program: Vec<Entry>,
    /// Patterns of paths and tools.
    others: Vec<Entry>,
}

/// A pattern by its place in `any` of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    rule: usize,
    pattern: usize,
}

impl Index {
    fn add(&mut self, entry: Entry, pattern: &Pattern) {
        match pattern {
            Pattern::Path(_) | Pattern::Tool(_) => self.others.push(entry),
            Pattern::Shell(tokens) | Pattern::Via(tokens) => match tokens.programs() {
                None => self.any_program.push(entry),
                Some(programs) => {
                    for program in programs {
                        let entries = self.by_program.entry(program.to_owned()).or_default();
                        if entries.last() != Some(&entry) {
                            entries.push(entry);
                        }
                    }
                }
            },
        }
    }

    /// The patterns of commands that can fit this one, in no order.
    fn about<'s>(&'s self, line: &'s Line<'_>) -> impl Iterator<Item = Entry> + 's {
        let named = |name: &str| self.by_program.get(name).into_iter().flatten();
        let (all, base, bare, path) = match line.program() {
            Program::Unnamed => (true, "", None, None),
            Program::None => (false, "", None, None),
            Program::Named { base, written, folded } => (
                false,
                *base,
                folded.as_deref().or_else(|| base.strip_suffix(".exe")),
                written.filter(|written| written.contains('/')),
            ),
        };
        let every = self.by_program.values().flatten().filter(move |_| all);
        let by_name =
            named(base).chain(bare.into_iter().flat_map(named)).chain(path.into_iter().flat_map(named));
        by_name.chain(every).chain(&self.any_program).copied()
    }
}

/// Assignments that change how a program talks and not what it does.
const HARMLESS: &[&str] = &["LANG", "TZ", "NO_COLOR", "CI", "TERM"];

impl RuleSet {
    pub fn new<'r>(
        rules: impl IntoIterator<Item = &'r Rule>,
        strictness: Strictness,
    ) -> Result<RuleSet, BadRule> {
        let rules = rules.into_iter().map(Rule::ready).collect::<Result<Vec<Ready>, BadRule>>()?;
        Ok(RuleSet::of_ready(rules, strictness))
    }

    pub(super) fn of_ready(rules: Vec<Ready>, strictness: Strictness) -> RuleSet {
        let (mut restricting, mut allowing) = (Index::default(), Index::default());
        for (at, rule) in rules.iter().enumerate() {
            let index = match rule.decision {
                Decision::Allow => &mut allowing,
                Decision::Ask | Decision::Review | Decision::Deny => &mut restricting,
            };
            for (pattern, read) in rule.any.iter().enumerate() {
                index.add(Entry { rule: at, pattern }, read);
            }
        }
        RuleSet { rules, strictness, restricting, allowing }
    }

    pub(super) fn rules(&self) -> &[Ready] {
        &self.rules
    }

    pub(super) fn strictness(&self) -> Strictness {
        self.strictness
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether one of them keeps a call back until it was reviewed.
    pub fn wants_reviews(&self) -> bool {
        self.rules.iter().any(|rule| rule.decision == Decision::Review)
    }

    /// What these rules are about.
    pub fn watch(&self) -> Watch {
        Watch::new(&self.rules, self.strictness == Strictness::Strict)
    }

    pub fn judge(&self, subject: &Subject<'_>) -> Judged {
        let outcomes = self.outcomes(subject);
        let mut found: Option<Found<'_>> = None;
        let mut uncertain = false;
        for (rule, outcome) in self.rules.iter().zip(outcomes) {
            let decision = match outcome {
                Outcome::No => continue,
                Outcome::Match => Some(rule.decision),
                Outcome::Uncertain => {
                    uncertain = true;
                    rule.on_uncertain.decision()
                }
                Outcome::OpaqueOnly => {
                    uncertain = true;
                    match self.strictness {
                        Strictness::Usual => rule.on_opaque.decision(),
                        Strictness::Strict => rule.on_opaque.max(OnDoubt::Ask).decision(),
                    }
                }
            };
            if let Some(decision) = decision {
                let new = Found { decision, matched: outcome == Outcome::Match, rule };
                if found.as_ref().is_none_or(|old| (old.decision, old.matched) < (new.decision, new.matched))
                {
                    found = Some(new);
                }
            }
        }
        if let Some(found) = found {
            return found.judged(subject, uncertain);
        }
        let allowed = self.covered(subject);
        Judged {
            verdict: if allowed.is_some() { Said::Allow } else { Said::None },
            decision: allowed.map(|rule| rule.decision),
            rule: allowed.map(|rule| rule.id.clone()),
            reason: allowed.map(|rule| rule.reason.clone()),
            next: None,
            is_final: false,
            matched: allowed.is_some(),
            uncertain,
        }
    }

    /// What every rule that restricts finds, by its place; allowing ones find nothing.
    fn outcomes(&self, subject: &Subject<'_>) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::No; self.rules.len()];
        let commands = subject.commands().len();
        for (at, line) in subject.lines.iter().enumerate() {
            for Entry { rule, pattern } in self.restricting.about(line) {
                let ready = &self.rules[rule];
                let (Pattern::Shell(tokens) | Pattern::Via(tokens)) = &ready.any[pattern] else {
                    continue;
                };
                let via = matches!(ready.any[pattern], Pattern::Via(_));
                if outcomes[rule] < Outcome::Match && (!via || at >= commands) {
                    outcomes[rule] = outcomes[rule].max(subject.line_fit(line, tokens, &ready.unless).into());
                }
            }
        }
        for Entry { rule, pattern } in &self.restricting.others {
            let ready = &self.rules[*rule];
            if outcomes[*rule] < Outcome::Match {
                outcomes[*rule] = outcomes[*rule].max(subject.found(&ready.any[*pattern], &ready.unless));
            }
        }
        for (rule, outcome) in self.rules.iter().zip(&mut outcomes) {
            let of_tools = |pattern: &Pattern| matches!(pattern, Pattern::Tool(_));
            if rule.decision != Decision::Allow
                && *outcome < subject.doubt.most
                && !rule.any.iter().all(of_tools)
            {
                *outcome = subject.doubt.most;
            }
            if *outcome > Outcome::No && !rule.with.is_empty() {
                *outcome = (*outcome).min(best(&rule.with, rule, subject));
            }
        }
        outcomes
    }

    /// The rule that allows the call, if every part of it is allowed by some rule.
    fn covered(&self, subject: &Subject<'_>) -> Option<&Ready> {
        let other = |entry: &Entry| &self.rules[entry.rule].any[entry.pattern];
        let Some(script) = subject.script else {
            let allows = |entry: &&Entry| {
                subject.outcome(other(entry), &self.rules[entry.rule].unless) == Outcome::Match
            };
            return self.allowing.others.iter().find(allows).map(|entry| &self.rules[entry.rule]);
        };
        if !script.doubts.is_empty() || script.commands.is_empty() {
            return None;
        }
        let writable = |fits: &dyn Fn(&PathPattern) -> bool| {
            self.allowing.others.iter().any(|entry| match other(entry) {
                Pattern::Path(pattern) => pattern.access == Access::Write && fits(pattern),
                Pattern::Shell(_) | Pattern::Via(_) | Pattern::Tool(_) => false,
            })
        };
        let mut first = None;
        for line in subject.commands() {
            if !harmless_surroundings(line) {
                return None;
            }
            let rule = self.covering(line, subject, Part::Command)?;
            first = first.or(Some(rule));
        }
        let carried = |line: &Line<'_>| {
            harmless_assigns(line.command) && self.covering(line, subject, Part::Wrapper).is_some()
        };
        (subject.wrappers().iter().all(carried) && subject.writes_only(writable)).then_some(first).flatten()
    }

    /// The rule that allows one command, or one carrier.
    fn covering(&self, line: &Line<'_>, subject: &Subject<'_>, part: Part) -> Option<&Ready> {
        let fits = |entry: &Entry| {
            let rule = &self.rules[entry.rule];
            let tokens = match (&rule.any[entry.pattern], part) {
                (Pattern::Shell(tokens), Part::Command) | (Pattern::Via(tokens), Part::Wrapper) => tokens,
                (Pattern::Shell(_) | Pattern::Via(_) | Pattern::Path(_) | Pattern::Tool(_), _) => {
                    return false;
                }
            };
            line.fit(tokens, subject.ground, Look::Cover) == Fit::Yes && !subject.exempt(line, &rule.unless)
        };
        self.allowing.about(line).find(fits).map(|entry| &self.rules[entry.rule])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Command,
    Wrapper,
}

struct Found<'r> {
    decision: Decision,
    matched: bool,
    rule: &'r Ready,
}

impl Found<'_> {
    fn judged(self, subject: &Subject<'_>, uncertain: bool) -> Judged {
        let reason = match (self.matched, subject.doubt.doubt) {
            (true, _) => self.rule.reason.clone(),
            // Any rule may be meant, and this is only the first of them.
            (false, Some(doubt)) => format!("what would run is not known ({})", doubt.about),
            (false, None) => format!("what would run is not known; it may be this: {}", self.rule.reason),
        };
        Judged {
            verdict: match self.decision {
                Decision::Deny | Decision::Review => Said::Deny,
                Decision::Ask => Said::Ask,
                Decision::Allow => Said::None,
            },
            decision: Some(self.decision),
            rule: Some(self.rule.id.clone()),
            reason: Some(reason),
            next: Some(self.rule.next.clone()).filter(|next| !next.is_empty()),
            is_final: self.rule.is_final && self.matched,
            matched: self.matched,
            uncertain,
        }
    }
}

/// What one rule finds by itself.
pub fn rule_outcome(rule: &Ready, subject: &Subject<'_>) -> Outcome {
    match best(&rule.any, rule, subject) {
        Outcome::No => Outcome::No,
        any if rule.with.is_empty() => any,
        any => any.min(best(&rule.with, rule, subject)),
    }
}

fn best(patterns: &[Pattern], rule: &Ready, subject: &Subject<'_>) -> Outcome {
    patterns.iter().map(|pattern| subject.outcome(pattern, &rule.unless)).max().unwrap_or(Outcome::No)
}

fn harmless_surroundings(line: &Line<'_>) -> bool {
    let foreign = |via: &Carrier| matches!(via, Carrier::Interpreter(_));
    line.command.host == Host::Local
        && !line.command.via.iter().any(foreign)
        && harmless_assigns(line.command)
}

fn harmless_assigns(command: &Command) -> bool {
    command.assigns.iter().all(|(name, _)| HARMLESS.contains(&name.as_str()) || name.starts_with("LC_"))
}

/// One pattern against one script.
pub fn match_script(pattern: &Pattern, script: &Script, ground: &Ground) -> Outcome {
    Subject::script(script, ground).outcome(pattern, &[])
}
