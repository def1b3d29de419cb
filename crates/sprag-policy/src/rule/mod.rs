//! Rules, as written in a file and as loaded.

mod places;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::pattern::subject::Exemptions;
use crate::pattern::{BadPattern, CommandPattern, OperandTrait, PathPattern, Pattern};
use crate::rule::places::Place;

/// The content of a rule file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RuleFileText")]
pub struct RuleFile {
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// A rule file as written. Its table of places stands for rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFileText {
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
    #[serde(default, rename = "place")]
    places: Vec<Place>,
    /// Commands that send data away, for the places.
    #[serde(default)]
    senders: Vec<String>,
}

impl From<RuleFileText> for RuleFile {
    fn from(text: RuleFileText) -> RuleFile {
        let places = text.places.iter().flat_map(|place| place.rules(&text.senders));
        let rules = text
            .rules
            .iter()
            .map(|rule| Rule { with: with_senders(&rule.with, &text.senders), ..rule.clone() });
        RuleFile { rules: places.chain(rules).collect() }
    }
}

/// Replaces the word `senders` by the commands that send data away.
fn with_senders(with: &[String], senders: &[String]) -> Vec<String> {
    let one = |entry: &String| {
        if entry == "senders" && !senders.is_empty() { senders.to_vec() } else { vec![entry.clone()] }
    };
    with.iter().flat_map(one).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub id: String,
    /// Patterns; the rule fires if one of them matches.
    pub any: Vec<String>,
    /// If given, one of these must match in the same call too: for commands that are dangerous together.
    #[serde(default)]
    pub with: Vec<String>,
    pub decision: Decision,
    #[serde(default = "OnDoubt::ask")]
    pub on_uncertain: OnDoubt,
    #[serde(default)]
    pub on_opaque: OnDoubt,
    /// Options and operands that exempt the found command.
    #[serde(default)]
    pub unless: Vec<String>,
    /// Paths that exempt a read or a write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Whether a person cannot approve a single call despite this rule.
    #[serde(default, rename = "final")]
    pub is_final: bool,
    /// Whether another rule with the same decision is named instead of this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub general: bool,
    pub reason: String,
    #[serde(default)]
    pub next: String,
    /// Examples that must match: commands, or `@Tool {…}` for a call of another tool.
    #[serde(default, rename = "match")]
    pub matching: Vec<String>,
    #[serde(default)]
    pub not_match: Vec<String>,
}

/// Decisions from loose to strict. The strictest rule that fires decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Ask,
    Review,
    Deny,
}

sprag_base::names! { pub fn name(Decision): Allow = "allow", Ask = "ask", Review = "review", Deny = "deny" }

/// The treatment of files that Sprag does not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strictness {
    /// Each rule decides.
    #[default]
    Usual,
    /// Every rule asks.
    Strict,
}

/// The decision of a rule for a call that it may or may not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDoubt {
    #[default]
    None,
    Ask,
    Deny,
}

impl OnDoubt {
    fn ask() -> OnDoubt {
        OnDoubt::Ask
    }

    pub fn decision(self) -> Option<Decision> {
        match self {
            OnDoubt::None => None,
            OnDoubt::Ask => Some(Decision::Ask),
            OnDoubt::Deny => Some(Decision::Deny),
        }
    }
}

/// Error for a rule that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRule {
    pub id: String,
    pub why: String,
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}`: {}", self.id, self.why)
    }
}

impl std::error::Error for BadRule {}

/// A rule with parsed patterns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedRule {
    pub id: String,
    pub any: Vec<Pattern>,
    pub with: Vec<Pattern>,
    pub unless: Vec<CommandPattern>,
    pub except: Vec<PathPattern>,
    pub decision: Decision,
    pub on_uncertain: OnDoubt,
    pub on_opaque: OnDoubt,
    pub is_final: bool,
    pub general: bool,
    pub reason: String,
    pub next: String,
}

impl LoadedRule {
    /// Reports whether the rule is about programs that are known only at run time.
    pub(crate) fn is_about_doubt(&self) -> bool {
        self.any.iter().any(|pattern| {
            matches!(pattern, Pattern::Shell(tokens) if tokens.traits.contains(&OperandTrait::Computed))
        })
    }

    pub(crate) fn exemptions(&self) -> Exemptions<'_> {
        Exemptions { unless: &self.unless, except: &self.except }
    }
}

impl Rule {
    /// Creates the review rule for one pattern, for `sprag policy check`.
    pub fn gate(pattern: &str) -> Rule {
        Rule {
            id: "pattern".to_owned(),
            any: vec![pattern.to_owned()],
            with: Vec::new(),
            decision: Decision::Review,
            on_uncertain: OnDoubt::Ask,
            on_opaque: OnDoubt::None,
            unless: Vec::new(),
            except: Vec::new(),
            is_final: false,
            general: false,
            reason: format!("`{pattern}` needs a review"),
            next: String::new(),
            matching: Vec::new(),
            not_match: Vec::new(),
        }
    }

    pub fn ready(&self) -> Result<LoadedRule, BadRule> {
        let bad = |why: String| BadRule { id: self.id.clone(), why };
        if self.id.trim().is_empty() {
            return Err(bad("`id` is empty".to_owned()));
        }
        if self.any.is_empty() {
            return Err(bad("`any` is empty".to_owned()));
        }
        // Sprag decides separately for each command whether an allow rule covers it, so `with` has no
        // meaning.
        if self.decision == Decision::Allow && !self.with.is_empty() {
            return Err(bad("an allow rule cannot have `with`".to_owned()));
        }
        let read = |patterns: &[String]| {
            let read = patterns.iter().map(|pattern| Pattern::parse(pattern));
            read.collect::<Result<Vec<Pattern>, BadPattern>>().map_err(|e| bad(e.to_string()))
        };
        let except = self.except.iter().map(|path| PathPattern::parse_exemption(path));
        let unless = self.unless.iter().map(|words| Pattern::parse_exemption(words));
        Ok(LoadedRule {
            id: self.id.clone(),
            any: read(&self.any)?,
            with: read(&self.with)?,
            unless: unless.collect::<Result<_, _>>().map_err(|e| bad(e.to_string()))?,
            except: except.collect::<Result<_, _>>().map_err(|e| bad(e.to_string()))?,
            decision: self.decision,
            on_uncertain: self.on_uncertain,
            on_opaque: self.on_opaque,
            is_final: self.is_final,
            general: self.general,
            reason: self.reason.clone(),
            next: self.next.clone(),
        })
    }

    /// Returns the part of the rule that loosens the policy, which an untrusted project may not do.
    pub fn loosens(&self) -> Option<&'static str> {
        if self.decision == Decision::Allow {
            Some("decision = \"allow\"")
        } else if !self.unless.is_empty() {
            Some("unless")
        } else if !self.except.is_empty() {
            Some("except")
        } else if self.on_uncertain == OnDoubt::None {
            Some("on_uncertain = \"none\"")
        } else {
            None
        }
    }
}
