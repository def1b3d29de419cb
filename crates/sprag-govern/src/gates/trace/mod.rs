//! Records each change and the intent that it served. A change that was declared a refactoring and visibly
//! changes behaviour holds the stop. The hold names the line.

mod settings;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::settings::SettingSection;
use sprag_base::text::{Text, quoted, shell_word};
use sprag_intent::{DeclaredClass, SelectedIntent};
use sprag_policy::call::{ToolCall, ToolEffect, ToolOutcome};
use sprag_trace::finding::TraceFindings;
use sprag_trace::{BehaviourWitness, ChangeRecord, ChangeSource, RecordedClassification};

use crate::event::Event;
use crate::facts::SharedFacts;
use crate::gates::{Ask, Gate, GateCx};
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;
use crate::session_facts::SessionFacts;
use crate::verdict::Vote;
pub use settings::{Mismatch, Settings, TraceMode};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceGate {
    /// The commit that was checked out when commits were last read.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<Text<64>>,
    /// Digest of the work that was last judged as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    judged: Option<Digest>,
    /// The place where the work visibly changes behaviour.
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<BehaviourWitness>,
}

/// Asks for changes that have no record yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Changes of the call that ended.
    Call,
    /// Changes of commits, if another commit is checked out than at the last reading.
    Commit { since: Option<Text<64>> },
    /// All changes, and the classification of the whole work unless it equals the work judged last.
    Stop { since: Option<Text<64>>, judged: Option<Digest> },
}

impl Gate for TraceGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Option<TraceFindings>;

    const ABOUT: &'static str = "records each change and the intent that it served";
    const SECTION: SettingSection = settings::SECTION;

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        if ask.settings.mode == TraceMode::Off {
            return None;
        }
        match &ask.input.event {
            Event::ToolFinished { call, outcome } if !matches!(outcome, ToolOutcome::Failed { .. }) => {
                self.of_call(call)
            }
            // A command that failed may have written files first.
            Event::ToolFinished { call, .. } if call.effect == ToolEffect::Exec => self.of_call(call),
            Event::StopRequested(_) | Event::SessionEnded { .. } if ask.session.activity.has_changed() => {
                Some(Question::Stop { since: self.head.clone(), judged: self.judged })
            }
            _ => None,
        }
    }

    fn is_slow(question: &Question) -> bool {
        *question != Question::Call
    }

    fn step(&mut self, cx: &mut GateCx<'_, TraceGate>) -> Vote {
        if let Some(changed) = &cx.answer {
            self.write(changed, cx);
        }
        match &cx.input.event {
            Event::StopRequested(_) | Event::SessionEnded { .. } => self.judge(cx),
            Event::ToolFinished { .. } => note(cx),
            _ => Vote::Pass,
        }
    }
}

impl TraceGate {
    fn of_call(&self, call: &ToolCall) -> Option<Question> {
        match call.effect {
            ToolEffect::Write => Some(Question::Call),
            // A commit is read at once, while its sources are known. Other changes of a command are found at
            // the stop.
            ToolEffect::Exec if call.command.as_ref().is_some_and(|line| line.contains("git")) => {
                Some(Question::Commit { since: self.head.clone() })
            }
            ToolEffect::Exec | ToolEffect::Read | ToolEffect::Delegate | ToolEffect::Net => None,
        }
    }

    fn write(&mut self, changed: &TraceFindings, cx: &mut GateCx<'_, TraceGate>) {
        for change in &changed.traces {
            cx.log(change.clone().signed(cx.session.intent.as_ref()));
        }
        if changed.head.is_some() {
            self.head.clone_from(&changed.head);
        }
        if let Some(judged) = &changed.judged {
            self.judged = Some(judged.digest);
            self.witness = match &judged.verdict {
                RecordedClassification::Changed { witness } => Some(witness.clone()),
                RecordedClassification::Proved { .. } | RecordedClassification::Unproven { .. } => None,
            };
        }
    }

    /// Returns an obligation only for a visible change of behaviour. An unproven change may still be a
    /// refactoring.
    fn judge(&self, cx: &GateCx<'_, TraceGate>) -> Vote {
        match (&self.witness, declared_refactor(cx.session)) {
            (Some(witness), Some(chosen)) if cx.settings.class_mismatch == Mismatch::Hold => {
                Vote::Owe(owe(witness, chosen, cx))
            }
            _ => Vote::Pass,
        }
    }
}

fn declared_refactor(about: &SessionFacts) -> Option<&SelectedIntent> {
    about.intent.as_ref().filter(|chosen| chosen.class == DeclaredClass::Refactor)
}

/// Returns only a note right after a write, because the whole work may still be a refactoring.
fn note(cx: &GateCx<'_, TraceGate>) -> Vote {
    let seen =
        cx.answer.iter().flat_map(|changed| &changed.traces).filter_map(ChangeRecord::change).find_map(
            |trace| match (&trace.source, &trace.verdict) {
                (ChangeSource::Call { .. }, RecordedClassification::Changed { witness }) => Some(witness),
                _ => None,
            },
        );
    match (seen, declared_refactor(cx.session)) {
        (Some(witness), Some(_)) if cx.settings.class_mismatch != Mismatch::Off => {
            Vote::Note(Text::new(format!("class_mismatch: {}", describe_witness(witness))))
        }
        _ => Vote::Pass,
    }
}

fn describe_witness(witness: &BehaviourWitness) -> String {
    let place = match witness.after.as_ref().or(witness.before.as_ref()) {
        Some(spot) => format!("`{}:{}`", quoted(witness.path.as_str()), spot.line),
        None => format!("`{}`", quoted(witness.path.as_str())),
    };
    let text = |spot: &sprag_trace::FilePosition| format!("`{}`", quoted(spot.text.as_str()));
    let was = match (&witness.before, &witness.after) {
        (Some(before), Some(after)) => format!(": {} became {}", text(before), text(after)),
        (Some(before), None) => format!(": {} was removed", text(before)),
        (None, Some(after)) => format!(": {} was added", text(after)),
        (None, None) => String::new(),
    };
    format!("declared as a refactoring, but behaviour changes at {place}{was}")
}

fn owe(witness: &BehaviourWitness, chosen: &SelectedIntent, cx: &GateCx<'_, TraceGate>) -> Obligation {
    let select = format!(
        "sprag intent select {} --class INTENT_EVOLUTION --session {}",
        shell_word(chosen.id.as_str()),
        shell_word(cx.input.session.as_str())
    );
    Obligation {
        duty: Duty::Trace,
        digest: Digest::hash_parts([format!("{witness:?}")]),
        reason: Reason::new(
            "class_mismatch",
            describe_witness(witness),
            format!("undo the change, or declare its class: {select}"),
        ),
        items: vec![Text::from(witness.path.as_str())],
    }
}
