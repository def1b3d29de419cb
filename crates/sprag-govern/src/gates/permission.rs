//! Rules over tool calls: what must not run is refused, what needs a person is asked, and what the
//! user has allowed beforehand need not be asked again. Before a call it never allows anything;
//! only when the client is about to ask its user may it answer in the user's place.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::settings::{SettingKey, SettingName, SettingSection, Tighten};
use sprag_policy::call::ToolCall;
use sprag_policy::{Decision, RuleConcern, RuleDecision, RuleFilter, RuleSet, RuleVerdict, Subject};

use crate::approval::{ApprovalAnswer, RefusedCall, RefusedCalls, digest_of};
use crate::event::{Event, EventKind, Input};
use crate::facts::{SharedFacts, SharedNeeds};
use crate::gates::{Ask, Gate, GateCx, OnFault};
use crate::judge::{JudgeAnswer, JudgeAnswerRecord, JudgeFailureRecord, JudgeRecord, JudgeResult, Opinion};
use crate::reason::Reason;
use crate::report::Report;
use crate::verdict::Vote;

/// The calls that were refused, and what became of them since.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PermissionGate {
    refused: RefusedCalls,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub packs: Vec<SettingName>,
    pub off: Vec<String>,
    pub strict: bool,
    pub triage: Triage,
    pub judge: Vec<String>,
    pub judge_seconds: u32,
    pub judge_confidence: f64,
    /// What the rules in force are about. Made from them, not written by anyone.
    #[serde(default)]
    pub watch: RuleFilter,
}

/// Who answers a client's question to its user. From most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Triage {
    Judge,
    Rules,
    DenyOnly,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            packs: ["core", "self", "secrets", "readonly"].map(SettingName::Borrowed).to_vec(),
            off: Vec::new(),
            strict: false,
            triage: Triage::DenyOnly,
            judge: Vec::new(),
            judge_seconds: 2,
            judge_confidence: 0.7,
            watch: RuleFilter::default(),
        }
    }
}

/// Asks the judge about the call, which the rules leave open.
pub struct Question;

impl Gate for PermissionGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Option<JudgeResult>;

    const ABOUT: &'static str = "rules over what a tool call would do: deny, review, ask, allow";
    const SECTION: SettingSection = SettingSection {
        name: "policy",
        defaults: "\
# Rules over tool calls. Rules of one's own are `[[rule]]` tables in this file or in `policy/*.toml`
# beside it; `sprag policy list` shows all that are in force.
[policy]
# Built-in rules: core, self, secrets, readonly; and cloud, iac, database, containers, packages, ci.
packs = [\"core\", \"self\", \"secrets\", \"readonly\"]
# Rules that are not to count, by id (`core.git-push-lease`).
off = []
# Ask also where a script file or a build target runs that nobody looks into.
strict = false
# When a client is about to ask its user: `deny-only` refuses what a rule denies, `rules` also
# allows what allow rules cover, `judge` asks a program about the rest.
triage = \"deny-only\"
# The judge: a program and its arguments. It reads one JSON object and prints one:
# {\"decision\": \"allow|deny|ask\", \"confidence\": 0.0 to 1.0, \"reason\": \"...\"}
judge = []
# Seconds it may take. Without an answer the user is asked.
judge_seconds = 2
# Less confidence is no answer.
judge_confidence = 0.7
",
        keys: &[
            SettingKey { name: "packs", tighten: Tighten::More },
            SettingKey { name: "off", tighten: Tighten::Never },
            SettingKey { name: "strict", tighten: Tighten::Ranked(&["false", "true"]) },
            SettingKey { name: "triage", tighten: Tighten::Ranked(&["judge", "rules", "deny-only"]) },
            SettingKey { name: "judge", tighten: Tighten::Never },
            SettingKey { name: "judge_seconds", tighten: Tighten::Never },
            SettingKey { name: "judge_confidence", tighten: Tighten::Never },
        ],
    };

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        match &ask.input.event {
            // Which of them is the host's to find out: those the call concerns.
            Event::ToolRequested { .. } => SharedNeeds::RULES,
            Event::PermissionAsked { .. } => match ask.settings.triage {
                Triage::DenyOnly => SharedNeeds::RULES,
                Triage::Rules | Triage::Judge => SharedNeeds::RULES | SharedNeeds::ALLOWS,
            },
            _ => SharedNeeds::NONE,
        }
    }

    fn ask(&self, ask: &Ask<'_, Settings>, shared: &SharedFacts) -> Option<Question> {
        let has_judge = ask.settings.triage == Triage::Judge && !ask.settings.judge.is_empty();
        (has_judge && is_left_to_judge(shared, ask.input)).then_some(Question)
    }

    fn is_slow(_question: &Question) -> bool {
        true
    }

    /// A call that cannot be judged is a person's to judge; their own prompt needs no help.
    fn on_fault(event: EventKind, _raw: &str) -> OnFault {
        if event == EventKind::ToolRequested { OnFault::Ask } else { OnFault::Pass }
    }

    fn forget_single_use(&mut self) {
        self.refused.forget_single_use();
    }

    fn step(&mut self, cx: &mut GateCx<'_, PermissionGate>) -> Vote {
        match &cx.input.event {
            Event::ToolRequested { call } => self.requested(call, cx),
            Event::PermissionAsked { call } => self.asked(call, cx),
            Event::Reported(Report::Approved { code }) => {
                self.refused.approve(code.as_str(), cx.input.at);
                Vote::Pass
            }
            _ => Vote::Pass,
        }
    }
}

impl PermissionGate {
    /// The calls a person may let through now.
    pub fn open(self) -> impl Iterator<Item = RefusedCall> {
        self.refused.open()
    }

    fn requested(&mut self, call: &ToolCall, cx: &mut GateCx<'_, PermissionGate>) -> Vote {
        let Some(rules) = &cx.shared.rules else {
            return Vote::Ask(without_rules());
        };
        if rules.is_empty() {
            return Vote::Pass;
        }
        let judged = judge(rules, cx.input, call);
        if judged.decision == Some(Decision::Review) {
            // Whether one was given is the review gate's to know.
            return Vote::Pass;
        }
        let is_held = match judged.verdict {
            RuleDecision::Allow | RuleDecision::None => return Vote::Pass,
            RuleDecision::Ask => false,
            RuleDecision::Deny => true,
        };
        let mut is_approved =
            || self.refused.use_approval(digest_of(cx.input, call), cx.input.at) == ApprovalAnswer::Yes;
        if !judged.is_final && is_approved() {
            return Vote::Pass;
        }
        let code = (!judged.is_final).then(|| self.refuse(call, &judged, cx.input));
        let reason = refusal(&judged, code.as_deref());
        if is_held { Vote::Hold(reason) } else { Vote::Ask(reason) }
    }

    /// The client is about to ask its user.
    fn asked(&mut self, call: &ToolCall, cx: &mut GateCx<'_, PermissionGate>) -> Vote {
        let digest = digest_of(cx.input, call);
        let Some(rules) = &cx.shared.rules else {
            return Vote::Pass;
        };
        let judged = judge(rules, cx.input, call);
        match judged.verdict {
            RuleDecision::Deny if judged.decision == Some(Decision::Deny) => {
                if self.refused.was_used(digest) && !judged.is_final {
                    return Vote::Pass;
                }
                let code = (!judged.is_final).then(|| self.refuse(call, &judged, cx.input));
                return Vote::Hold(refusal(&judged, code.as_deref()));
            }
            RuleDecision::Deny | RuleDecision::Ask => return Vote::Pass,
            RuleDecision::Allow | RuleDecision::None if judged.uncertain || is_in_doubt(cx.input, call) => {
                return Vote::Pass;
            }
            RuleDecision::Allow | RuleDecision::None => {}
        }
        if cx.settings.triage == Triage::DenyOnly {
            return Vote::Pass;
        }
        match covered(cx.shared, cx.input, call) {
            Some(judged) => Vote::Allow(allowed(&judged)),
            None => opinion(cx, digest),
        }
    }

    fn refuse(&mut self, call: &ToolCall, judged: &RuleVerdict, input: &Input) -> String {
        self.refused.refuse(call, "permission", judged.rule.as_deref().unwrap_or_default(), input)
    }
}

/// Which rules a call concerns.
pub fn concern(policy: &Settings, input: &Input, call: &ToolCall) -> RuleConcern {
    policy.watch.concern(call, call.script(&input.start()), &input.cwd)
}

/// What these rules say of a call.
pub(crate) fn judge(rules: &RuleSet, input: &Input, call: &ToolCall) -> RuleVerdict {
    let ground = input.ground();
    rules.judge(&Subject::call(call, call.script(&input.start()), &ground))
}

/// The rule that is against a call, or wants somebody asked about it first.
pub fn objection(rules: &RuleSet, input: &Input, call: &ToolCall) -> Option<String> {
    let judged = judge(rules, input, call);
    let objects = matches!(judged.verdict, RuleDecision::Deny | RuleDecision::Ask);
    objects.then(|| judged.rule.unwrap_or_else(|| "policy".to_owned()))
}

fn covered(shared: &SharedFacts, input: &Input, call: &ToolCall) -> Option<RuleVerdict> {
    let judged = judge(shared.allows.as_ref()?, input, call);
    (judged.verdict == RuleDecision::Allow).then_some(judged)
}

fn is_in_doubt(input: &Input, call: &ToolCall) -> bool {
    call.script(&input.start()).is_some_and(|script| !script.doubts.is_empty())
}

/// Whether the rules leave a call to the judge.
fn is_left_to_judge(shared: &SharedFacts, input: &Input) -> bool {
    let Event::PermissionAsked { call } = &input.event else {
        return false;
    };
    let Some(rules) = &shared.rules else {
        return false;
    };
    let judged = judge(rules, input, call);
    judged.verdict == RuleDecision::None
        && !judged.uncertain
        && !is_in_doubt(input, call)
        && covered(shared, input, call).is_none()
}

/// What the judge says, as far as it is believed. Either way it is on record.
fn opinion(cx: &mut GateCx<'_, PermissionGate>, call: Digest) -> Vote {
    match cx.answer {
        None | Some(JudgeResult::Unasked { .. }) => Vote::Pass,
        Some(JudgeResult::Failed { what, millis }) => {
            let failure = JudgeFailureRecord { call, what: what.clone(), ms: *millis };
            cx.log(JudgeRecord::Failed(failure));
            Vote::Pass
        }
        Some(JudgeResult::Answered { answer, millis }) => {
            let JudgeAnswer { decision, confidence, reason } = answer;
            let answered = JudgeAnswerRecord { call, answer: answer.clone(), ms: *millis };
            cx.log(JudgeRecord::Answered(answered));
            let told = || Reason::new("judge", format!("the judge: {reason}"), "ask the user");
            match decision {
                _ if *confidence < cx.settings.judge_confidence => Vote::Pass,
                Opinion::Allow => Vote::Allow(told()),
                Opinion::Deny => Vote::Hold(told()),
                Opinion::Ask => Vote::Pass,
            }
        }
    }
}

fn refusal(judged: &RuleVerdict, code: Option<&str>) -> Reason {
    let rule = judged.rule.as_deref().unwrap_or("policy");
    let word = match judged.decision {
        Some(Decision::Review) => "wants a review first",
        Some(Decision::Ask) => "asks the user first",
        Some(Decision::Deny | Decision::Allow) | None => "forbids this",
    };
    let reason = judged.reason.as_deref().unwrap_or_default();
    let why = if judged.matched { format!("rule `{rule}` {word}: {reason}") } else { reason.to_owned() };
    let next = judged.next.clone().filter(|_| judged.matched);
    let next = next.filter(|next| !next.is_empty()).unwrap_or_else(|| {
        if judged.matched {
            "do it another way, or ask the user".to_owned()
        } else {
            "write it so that it can be read beforehand, or do it another way".to_owned()
        }
    });
    let next = match code {
        Some(code) => {
            format!(
                "{next}; only the user, in a terminal, can let this one call through: `sprag approve {code}`"
            )
        }
        None => next,
    };
    Reason::new(rule, why, next)
}

fn allowed(judged: &RuleVerdict) -> Reason {
    let rule = judged.rule.as_deref().unwrap_or("policy");
    Reason::new(rule, format!("rule `{rule}` allows this"), "sprag policy list")
}

fn without_rules() -> Reason {
    Reason::new("no_rules", "the rules could not be read", "sprag doctor")
}
