//! All rules together: the rules that match a call, and the one verdict that follows.

mod decider;
pub(crate) mod shards;

use std::collections::BTreeMap;

use sprag_shell::{Carrier, Command, Doubt, Host, Script, Word};

use crate::pattern::command::{CommandLine, MatchPurpose, ProgramPattern};
use crate::pattern::location::KnownPaths;
use crate::pattern::subject::{Exemptions, MatchLevel, Subject, UnknownWord};
use crate::pattern::word_glob::GlobFit;
use crate::pattern::{PathPattern, Pattern, PatternAccess};
use crate::prefilter::RuleFilter;
use crate::rule::{BadRule, Decision, LoadedRule, OnDoubt, Rule, Strictness};

/// The answer of the rules for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleVerdict {
    pub verdict: RuleDecision,
    /// The decision behind the verdict: a review gives the verdict `Deny` too.
    pub decision: Option<Decision>,
    /// The deciding rule.
    pub rule: Option<String>,
    pub reason: Option<String>,
    pub next: Option<String>,
    /// Whether a person cannot approve a single call despite the deciding rule.
    pub is_final: bool,
    /// Whether the deciding rule matched a known command.
    pub matched: bool,
    /// Whether the effect of the call is unknown, and the verdict follows from that.
    pub is_doubt: bool,
    /// Whether an unknown part concerns the rules, even if no rule fires.
    pub uncertain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleDecision {
    Allow,
    Ask,
    Deny,
    None,
}

sprag_base::names! { pub fn name(RuleDecision): Allow = "allow", Ask = "ask", Deny = "deny", None = "none" }

/// The union of the rules of all layers. The order only decides which of two equally strict rules is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    rules: Vec<LoadedRule>,
    strictness: Strictness,
    restricting: PatternIndex,
    allowing: PatternIndex,
}

/// An index of patterns by program, because most rules do not concern most commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PatternIndex {
    by_program: BTreeMap<String, Vec<PatternRef>>,
    /// Command patterns that name no program.
    any_program: Vec<PatternRef>,
    /// Patterns of paths and tools.
    others: Vec<PatternRef>,
}

/// A pattern, by its index in `any` of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PatternRef {
    rule: usize,
    pattern: usize,
}

impl PatternIndex {
    fn add(&mut self, entry: PatternRef, pattern: &Pattern) {
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

    /// Returns the command patterns that can fit this command, in no order.
    fn about<'s>(&'s self, line: &'s CommandLine<'_>) -> impl Iterator<Item = PatternRef> + 's {
        let named = |name: &str| self.by_program.get(name).into_iter().flatten();
        let (all, base, bare, path) = match line.program() {
            ProgramPattern::Unnamed => (true, "", None, None),
            ProgramPattern::None => (false, "", None, None),
            ProgramPattern::Named { base, written, folded } => (
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

/// Variables that change only the output of a program.
const HARMLESS: &[&str] = &["LANG", "TZ", "NO_COLOR", "CI", "TERM", "IFS", "COLUMNS", "FORCE_COLOR"];
/// Variables that name a pager; `cat` shows everything and runs nothing else.
const PAGERS: &[&str] = &["PAGER", "GIT_PAGER", "MANPAGER", "GH_PAGER", "AWS_PAGER", "SYSTEMD_PAGER"];

/// Programs that send their operands to a server.
const NETWORKED: &[&str] =
    &["npm", "pnpm", "yarn", "bun", "pip", "pip3", "curl", "wget", "http", "https", "xh"];

/// Package managers that run a program of a package.
const RUNNERS: &[&str] =
    &["npx", "npm", "pnpm", "yarn", "bun", "bunx", "uv", "poetry", "pdm", "hatch", "pipx"];

impl RuleSet {
    pub fn new<'r>(
        rules: impl IntoIterator<Item = &'r Rule>,
        strictness: Strictness,
    ) -> Result<RuleSet, BadRule> {
        let rules = rules.into_iter().map(Rule::ready).collect::<Result<Vec<LoadedRule>, BadRule>>()?;
        Ok(RuleSet::of_ready(rules, strictness))
    }

    pub(super) fn of_ready(rules: Vec<LoadedRule>, strictness: Strictness) -> RuleSet {
        let (mut restricting, mut allowing) = (PatternIndex::default(), PatternIndex::default());
        for (at, rule) in rules.iter().enumerate() {
            let index = match rule.decision {
                Decision::Allow => &mut allowing,
                Decision::Ask | Decision::Review | Decision::Deny => &mut restricting,
            };
            for (pattern, read) in rule.any.iter().enumerate() {
                index.add(PatternRef { rule: at, pattern }, read);
            }
        }
        RuleSet { rules, strictness, restricting, allowing }
    }

    pub(super) fn rules(&self) -> &[LoadedRule] {
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

    /// Reports whether some rule requires a review.
    pub fn wants_reviews(&self) -> bool {
        self.rules.iter().any(|rule| rule.decision == Decision::Review)
    }

    /// Returns the summary of these rules.
    pub fn watch(&self) -> RuleFilter {
        RuleFilter::new(&self.rules, self.strictness)
    }

    pub fn judge(&self, subject: &Subject<'_>) -> RuleVerdict {
        let outcomes = self.outcomes(subject);
        let mut found: Option<RuleHit<'_>> = None;
        let mut uncertain = false;
        for (rule, outcome) in self.rules.iter().zip(outcomes) {
            let decision = match outcome {
                MatchLevel::No => continue,
                MatchLevel::Match => Some(rule.decision),
                MatchLevel::Uncertain => {
                    uncertain = true;
                    rule.on_uncertain.decision()
                }
                MatchLevel::OpaqueOnly => {
                    uncertain = true;
                    match self.strictness {
                        Strictness::Usual => rule.on_opaque.decision(),
                        Strictness::Strict => rule.on_opaque.max(OnDoubt::Ask).decision(),
                    }
                }
            };
            if let Some(decision) = decision {
                let new = RuleHit { decision, matched: outcome == MatchLevel::Match, rule };
                if found.as_ref().is_none_or(|old| old.rank() < new.rank()) {
                    found = Some(new);
                }
            }
        }
        if let Some(found) = found {
            return RuleVerdict { uncertain, ..found.judged(subject) };
        }
        let allowed = self.covered(subject);
        RuleVerdict {
            verdict: if allowed.is_some() { RuleDecision::Allow } else { RuleDecision::None },
            decision: allowed.map(|rule| rule.decision),
            rule: allowed.map(|rule| rule.id.clone()),
            reason: allowed.map(|rule| rule.reason.clone()),
            next: None,
            is_final: false,
            matched: allowed.is_some(),
            is_doubt: false,
            uncertain,
        }
    }

    /// Returns the match level of every rule that restricts, by index. Allow rules get `No`.
    fn outcomes(&self, subject: &Subject<'_>) -> Vec<MatchLevel> {
        let mut outcomes = vec![MatchLevel::No; self.rules.len()];
        let commands = subject.commands().len();
        for (at, line) in subject.lines.iter().enumerate() {
            for PatternRef { rule, pattern } in self.restricting.about(line) {
                let ready = &self.rules[rule];
                let (Pattern::Shell(tokens) | Pattern::Via(tokens)) = &ready.any[pattern] else {
                    continue;
                };
                let via = matches!(ready.any[pattern], Pattern::Via(_));
                if outcomes[rule] < MatchLevel::Match && (!via || at >= commands) {
                    outcomes[rule] = outcomes[rule].max(subject.line_fit(line, tokens, &ready.unless).into());
                }
            }
        }
        for PatternRef { rule, pattern } in &self.restricting.others {
            let ready = &self.rules[*rule];
            if outcomes[*rule] < MatchLevel::Match {
                outcomes[*rule] =
                    outcomes[*rule].max(subject.found(&ready.any[*pattern], ready.exemptions()));
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
            if *outcome > MatchLevel::No && !rule.with.is_empty() {
                *outcome = (*outcome).min(best(&rule.with, rule, subject));
            }
        }
        outcomes
    }

    /// Returns an allow rule, if allow rules cover every part of the call.
    fn covered(&self, subject: &Subject<'_>) -> Option<&LoadedRule> {
        let other = |entry: &PatternRef| &self.rules[entry.rule].any[entry.pattern];
        let Some(script) = subject.script else {
            let allows = |entry: &&PatternRef| {
                subject.outcome(other(entry), self.rules[entry.rule].exemptions()) == MatchLevel::Match
            };
            return self.allowing.others.iter().find(allows).map(|entry| &self.rules[entry.rule]);
        };
        if !script.doubts.is_empty() || script.commands.is_empty() {
            return None;
        }
        let writable = |fits: &dyn Fn(&PathPattern) -> bool| {
            self.allowing.others.iter().any(|entry| match other(entry) {
                Pattern::Path(pattern) => pattern.access == PatternAccess::Write && fits(pattern),
                Pattern::Shell(_) | Pattern::Via(_) | Pattern::Tool(_) => false,
            })
        };
        let mut first = None;
        for line in subject.commands() {
            if !harmless_surroundings(line) || sends_unknown_words(line.command) {
                return None;
            }
            let rule = self.covering(line, subject, MatchedPart::Command)?;
            first = first.or(Some(rule));
        }
        let carried = |line: &CommandLine<'_>| {
            harmless_assigns(line.command) && self.covering(line, subject, MatchedPart::Wrapper).is_some()
        };
        (subject.wrappers().iter().all(carried) && subject.writes_only(writable)).then_some(first).flatten()
    }

    /// Returns the rule that allows one command or one carrier.
    fn covering(
        &self,
        line: &CommandLine<'_>,
        subject: &Subject<'_>,
        part: MatchedPart,
    ) -> Option<&LoadedRule> {
        let fits = |entry: &PatternRef| {
            let rule = &self.rules[entry.rule];
            let tokens = match (&rule.any[entry.pattern], part) {
                (Pattern::Shell(tokens), MatchedPart::Command)
                | (Pattern::Via(tokens), MatchedPart::Wrapper) => tokens,
                (Pattern::Shell(_) | Pattern::Via(_) | Pattern::Path(_) | Pattern::Tool(_), _) => {
                    return false;
                }
            };
            line.fit(tokens, subject.ground, MatchPurpose::Cover) == GlobFit::Yes
                && !subject.exempt(line, &rule.unless)
        };
        self.allowing.about(line).find(fits).map(|entry| &self.rules[entry.rule])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchedPart {
    Command,
    Wrapper,
}

struct RuleHit<'r> {
    decision: Decision,
    matched: bool,
    rule: &'r LoadedRule,
}

impl RuleHit<'_> {
    /// Returns the rank among the rules that fire: the strictest decides. Of equal ones the most certain counts,
    /// then one that allows no approval, then the most specific one.
    fn rank(&self) -> (Decision, bool, bool, bool) {
        (self.decision, self.matched, self.rule.is_final, !self.rule.general)
    }

    fn judged(self, subject: &Subject<'_>) -> RuleVerdict {
        let is_doubt = !self.matched || self.rule.is_about_doubt();
        let (reason, next) = match (self.matched, subject.doubt.doubt) {
            // The rule about unknown programs has the words of a doubt, which name the program.
            (true, _) if self.rule.is_about_doubt() => match subject.unknown_word() {
                Some(_) => doubted(subject),
                None => (decider::sentence(self.rule, subject), self.rule.next.clone()),
            },
            (true, _) => (self.found_reason(subject), self.rule.next.clone()),
            // Any rule may match, and this one is only the first of them.
            (false, Some(doubt)) => hidden(doubt, subject),
            (false, None) => doubted(subject),
        };
        RuleVerdict {
            verdict: match self.decision {
                Decision::Deny | Decision::Review => RuleDecision::Deny,
                Decision::Ask => RuleDecision::Ask,
                Decision::Allow => RuleDecision::None,
            },
            decision: Some(self.decision),
            rule: Some(self.rule.id.clone()),
            reason: Some(reason),
            next: Some(next).filter(|next| !next.is_empty()),
            is_final: self.rule.is_final && self.matched,
            matched: self.matched,
            is_doubt,
            uncertain: false,
        }
    }

    /// Returns the reason of the rule; a rule about unknown words also names the word.
    fn found_reason(&self, subject: &Subject<'_>) -> String {
        let reason = decider::sentence(self.rule, subject);
        let about_unknown = self.rule.reason.contains("unknown");
        match subject.unknown_word().filter(|_| about_unknown) {
            Some(UnknownWord::Program(word) | UnknownWord::Operand(word)) => {
                format!("{reason}: `{word}` is known only at run time")
            }
            Some(UnknownWord::Added(program)) => {
                format!("{reason}: the words that `{program}` adds are unknown")
            }
            None => reason,
        }
    }
}

/// Returns reason and advice for a call whose commands are hidden.
fn hidden(doubt: &Doubt, subject: &Subject<'_>) -> (String, String) {
    let about = doubt.about.as_str();
    let text = subject.command_text().unwrap_or_default();
    if text.contains("ssh-agent") {
        let next = "run `ssh-agent -s` alone, then export the variables that it printed";
        return (format!("the output of `ssh-agent` runs as code ({about})"), next.to_owned());
    }
    let advice = |advice: &str| (format!("cannot tell which commands run ({about})"), advice.to_owned());
    if about.starts_with("code for") && !about.contains("known only at run time") {
        return (about.to_owned(), "use a shell command that names each file".to_owned());
    }
    if about.starts_with("script file") {
        let word = subject.first_variable();
        return match word {
            Some(word) => (
                format!("`{word}` names a script that is known only at run time"),
                format!("write the path of the script instead of `{word}`"),
            ),
            None => advice("write the path of the script"),
        };
    }
    advice("write the command out, so that Sprag can read it")
}

/// Returns reason and advice for a command of which some word is unknown.
fn doubted(subject: &Subject<'_>) -> (String, String) {
    match subject.unknown_word() {
        Some(UnknownWord::Program(word)) => (
            format!("`{word}` is known only at run time, so it can be any program"),
            format!("write the name of the program instead of `{word}`"),
        ),
        Some(UnknownWord::Operand(word)) if subject.splits(&word) => (
            format!("`{word}` is known only at run time and can be several words or options"),
            format!("quote it: `\"{word}\"`, or write the value"),
        ),
        Some(UnknownWord::Operand(word)) => (
            format!("`{word}` is known only at run time, so the effect of this command is unknown"),
            format!("write the value instead of `{word}`"),
        ),
        Some(UnknownWord::Added(program)) => (
            format!("the words that `{program}` adds are unknown, so the effect of this command is unknown"),
            "name the files, or use `find ... -exec`".to_owned(),
        ),
        None => (
            "a word of this command is known only at run time, so its effect is unknown".to_owned(),
            "write the value instead of a variable or a pattern".to_owned(),
        ),
    }
}

/// Returns the match level of one rule alone.
pub fn rule_outcome(rule: &LoadedRule, subject: &Subject<'_>) -> MatchLevel {
    match best(&rule.any, rule, subject) {
        MatchLevel::No => MatchLevel::No,
        any if rule.with.is_empty() => any,
        any => any.min(best(&rule.with, rule, subject)),
    }
}

fn best(patterns: &[Pattern], rule: &LoadedRule, subject: &Subject<'_>) -> MatchLevel {
    patterns.iter().map(|pattern| subject.outcome(pattern, rule.exemptions())).max().unwrap_or(MatchLevel::No)
}

fn harmless_surroundings(line: &CommandLine<'_>) -> bool {
    let foreign = |via: &Carrier| matches!(via, Carrier::Interpreter(_));
    line.command.host == Host::Local
        && !line.command.via.iter().any(foreign)
        && !asks_a_fetched_program(line.command)
        && harmless_assigns(line.command)
}

/// Reports whether a command only asks for the version or help of a program that a package manager fetches or
/// selects.
fn asks_a_fetched_program(command: &Command) -> bool {
    let is_runner = |via: &Carrier| matches!(via, Carrier::Program(name) if RUNNERS.contains(&name.as_str()));
    let asks = |word: &Word| matches!(word, Word::Known(text) if text == "--help" || text == "--version");
    command.argv.len() == 2 && command.argv.iter().any(asks) && command.via.iter().any(is_runner)
}

/// Reports whether a command gives an unknown word, such as a variable with a secret, to a program that
/// reaches the network.
fn sends_unknown_words(command: &Command) -> bool {
    let is_networked = command.program().is_some_and(|program| NETWORKED.contains(&program));
    command.argv.iter().skip(1).any(|word| match word {
        Word::Known(_) => false,
        Word::Many => is_networked,
        Word::Partly(parts) => is_networked || parts.iter().flatten().any(|part| part.contains("://")),
    })
}

fn harmless_assigns(command: &Command) -> bool {
    let shows_all = |value: &Word| matches!(value, Word::Known(value) if value.is_empty() || value == "cat");
    command.assigns.iter().all(|(name, value)| {
        HARMLESS.contains(&name.as_str())
            || name.starts_with("LC_")
            || PAGERS.contains(&name.as_str()) && shows_all(value)
    })
}

/// Matches one pattern with one script.
pub fn match_script(pattern: &Pattern, script: &Script, ground: &KnownPaths) -> MatchLevel {
    Subject::script(script, ground).outcome(pattern, Exemptions::default())
}
