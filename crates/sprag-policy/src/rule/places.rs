//! The table of sensitive places. A row names paths and says what it means to read, write or send them; each
//! answer becomes a rule of its own.

use serde::Deserialize;

use crate::rule::{Decision, OnDoubt, Rule};

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    /// The first part of the ids of its rules.
    id: String,
    /// A noun phrase that completes "changes ..." and "reads ...".
    about: String,
    paths: Vec<String>,
    /// Paths below that are harmless.
    #[serde(default)]
    except: Vec<String>,
    #[serde(default)]
    read: PlaceAnswer,
    #[serde(default)]
    write: PlaceAnswer,
    #[serde(default)]
    send: PlaceAnswer,
    /// Advice for a refused write.
    #[serde(default)]
    next: String,
    /// Advice for a refused read.
    #[serde(default = "ask_for_value")]
    read_next: String,
    #[serde(default)]
    readers: Vec<String>,
    #[serde(default)]
    writers: Vec<String>,
    #[serde(default)]
    senders: Vec<String>,
    #[serde(default)]
    harmless: Vec<String>,
    /// Commands that may write there.
    #[serde(default)]
    unless: Vec<String>,
    /// Whether a more specific place is named instead of this one.
    #[serde(default)]
    general: bool,
}

fn ask_for_value() -> String {
    "ask the user for the value that you need".to_owned()
}

/// The answer for one kind of use of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PlaceAnswer {
    #[default]
    None,
    Ask,
    Deny,
}

/// Commands that do not show the content of a file.
const UNLESS_READ: [&str; 2] = ["{--help,--version}", "Bash:{sed,gsed} {-i,--in-place} *"];
/// Commands that do not change the content of a file.
const UNLESS_WRITE: [&str; 2] = ["{--help,--version}", "Bash:{mkdir,chmod} *"];

impl PlaceAnswer {
    fn decision(self) -> Option<Decision> {
        match self {
            PlaceAnswer::None => None,
            PlaceAnswer::Ask => Some(Decision::Ask),
            PlaceAnswer::Deny => Some(Decision::Deny),
        }
    }
}

impl Place {
    /// Returns the rules of this row; `senders` are the commands that send data away.
    pub(crate) fn rules(&self, senders: &[String]) -> Vec<Rule> {
        let Place { id, about, .. } = self;
        let mut rules = Vec::new();
        if let Some(decision) = self.send.decision() {
            let rule = self.rule(format!("{id}-sent"), "Read:", decision, &self.senders);
            rules.push(Rule {
                with: senders.to_vec(),
                on_uncertain: OnDoubt::None,
                reason: format!("sends {about} away from the machine"),
                next: "ask the user to send it".to_owned(),
                ..rule
            });
        }
        if let Some(decision) = self.read.decision() {
            rules.push(Rule {
                reason: format!("reads {about}"),
                next: self.read_next.clone(),
                ..self.rule(format!("{id}-read"), "Read:", decision, &self.readers)
            });
        }
        if let Some(decision) = self.write.decision() {
            rules.push(Rule {
                on_uncertain: OnDoubt::None,
                reason: format!("changes {about}"),
                next: self.next.clone(),
                ..self.rule(format!("{id}-write"), "Write:", decision, &self.writers)
            });
        }
        rules
    }

    fn rule(&self, id: String, access: &str, decision: Decision, matching: &[String]) -> Rule {
        let mut rule = Rule::gate("");
        rule.id = id;
        rule.any = self.paths.iter().map(|path| format!("{access}{path}")).collect();
        rule.except = self.except.clone();
        rule.decision = decision;
        let unless = if access == "Read:" { UNLESS_READ } else { UNLESS_WRITE };
        rule.unless = unless.map(str::to_owned).to_vec();
        rule.unless.extend(self.unless.iter().cloned());
        rule.general = self.general;
        rule.matching = matching.to_vec();
        rule.not_match = self.harmless.clone();
        rule
    }
}
