//! Every change leaves a record of what it changed and which intent it served. What an agent declares to be
//! a refactoring and is seen to change behaviour holds its stop, with the place where it is seen.

mod settings;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::json;

use sprag_base::digest::Digest;
use sprag_base::settings::Section;
use sprag_base::text::{Text, quoted, shell_word};
use sprag_intent::{Chosen, Class};
use sprag_policy::call::{Effect, Outcome, ToolCall};
use sprag_trace::finding::Changed;
use sprag_trace::{Served, Source, Trace as Record, Verdict, Witness};

use crate::event::Event;
use crate::gates::needs::Needs;
use crate::gates::{Asked, Cx, Gate};
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;
use crate::session_facts::About;
use crate::verdict::Vote;
pub use settings::{Mismatch, Mode, Policy};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trace {
    /// What was checked out when commits were last looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Text<64>>,
    /// The work that was last judged as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<Digest>,
    /// Where it is seen to change behaviour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl Gate for Trace {
    type Policy = Policy;

    const ABOUT: &'static str = "writes down what was changed, and for which intent";
    const SECTION: Section = settings::SECTION;

    fn needs(&self, asked: &Asked<'_, Policy>) -> Needs {
        if asked.policy.mode == Mode::Off {
            return Needs::NONE;
        }
        match &asked.input.event {
            Event::ToolFinished { call, outcome } if !matches!(outcome, Outcome::Failed { .. }) => {
                of_call(call)
            }
            // A command that failed may have written before.
            Event::ToolFinished { call, .. } if call.effect == Effect::Exec => of_call(call),
            Event::StopRequested(_) | Event::SessionEnded { .. } if asked.about.changed => Needs::UNTRACED,
            _ => Needs::NONE,
        }
    }

    fn step(&mut self, cx: &mut Cx<'_, Policy>) -> Vote {
        if let Some(changed) = &cx.facts.changed {
            self.write(changed, cx);
        }
        match &cx.input.event {
            Event::StopRequested(_) | Event::SessionEnded { .. } => self.judge(cx),
            Event::ToolFinished { .. } => note(cx),
            _ => Vote::Pass,
        }
    }
}

fn of_call(call: &ToolCall) -> Needs {
    match call.effect {
        Effect::Write => Needs::CHANGED,
        // Whatever else a command has changed is found at the stop; a commit is looked at while what it
        // is made of is fresh.
        Effect::Exec if call.command.as_ref().is_some_and(|line| line.contains("git")) => Needs::UNTRACED,
        Effect::Exec | Effect::Read | Effect::Delegate | Effect::Net => Needs::NONE,
    }
}

impl Trace {
    fn write(&mut self, changed: &Changed, cx: &mut Cx<'_, Policy>) {
        for (kind, trace) in &changed.traces {
            cx.log(kind, json!(signed(trace.clone(), cx.about)));
        }
        if changed.head.is_some() {
            self.head.clone_from(&changed.head);
        }
        if let Some(judged) = &changed.judged {
            self.judged = Some(judged.digest);
            self.witness = match &judged.verdict {
                Verdict::Changed { witness } => Some(witness.clone()),
                Verdict::Proved { .. } | Verdict::Unproven { .. } => None,
            };
        }
    }

    /// What is only unproven may well be a refactoring: only what is seen to change holds.
    fn judge(&self, cx: &Cx<'_, Policy>) -> Vote {
        match (&self.witness, declared_refactor(cx.about)) {
            (Some(witness), Some(chosen)) if cx.policy.class_mismatch == Mismatch::Hold => {
                Vote::Owe(owe(witness, chosen, cx))
            }
            _ => Vote::Pass,
        }
    }
}

/// What a session itself has done is for the intent it serves; of everything else the record says so already.
fn signed(mut trace: Record, about: &About) -> Record {
    if let (Source::Call { .. } | Source::Command, Some(chosen)) = (&trace.source, &about.intent) {
        trace.intent = Some(Served::from(chosen));
        trace.declared = Some(chosen.class);
    }
    trace
}

fn declared_refactor(about: &About) -> Option<&Chosen> {
    about.intent.as_ref().filter(|chosen| chosen.class == Class::Refactor)
}

/// Right after a write it is only said: the whole of it may still be one.
fn note(cx: &Cx<'_, Policy>) -> Vote {
    let seen = cx.facts.changed.iter().flat_map(|changed| &changed.traces).find_map(|(_, trace)| {
        match (&trace.source, &trace.verdict) {
            (Source::Call { .. }, Verdict::Changed { witness }) => Some(witness),
            _ => None,
        }
    });
    match (seen, declared_refactor(cx.about)) {
        (Some(witness), Some(_)) if cx.policy.class_mismatch != Mismatch::Off => {
            Vote::Note(Text::new(format!("class_mismatch: {}", told(witness))))
        }
        _ => Vote::Pass,
    }
}

fn told(witness: &Witness) -> String {
    let place = match witness.after.as_ref().or(witness.before.as_ref()) {
        Some(spot) => format!("`{}:{}`", quoted(witness.path.as_str()), spot.line),
        None => format!("`{}`", quoted(witness.path.as_str())),
    };
    let text = |spot: &sprag_trace::Spot| format!("`{}`", quoted(spot.text.as_str()));
    let was = match (&witness.before, &witness.after) {
        (Some(before), Some(after)) => format!(": {} became {}", text(before), text(after)),
        (Some(before), None) => format!(": {} is gone", text(before)),
        (None, Some(after)) => format!(": {} is new", text(after)),
        (None, None) => String::new(),
    };
    format!("declared as a refactoring, but behaviour changes at {place}{was}")
}

fn owe(witness: &Witness, chosen: &Chosen, cx: &Cx<'_, Policy>) -> Obligation {
    let select = format!(
        "sprag intent select {} --class INTENT_EVOLUTION --session {}",
        shell_word(chosen.id.as_str()),
        shell_word(cx.input.session.as_str())
    );
    Obligation {
        duty: Duty::Trace,
        digest: Digest::of([format!("{witness:?}")]),
        reason: Reason::new(
            "class_mismatch",
            told(witness),
            format!("take it back, or say what it is: {select}"),
        ),
        items: vec![Text::from(witness.path.as_str())],
    }
}
