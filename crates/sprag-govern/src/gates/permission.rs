//! Rules for tool calls: a rule can refuse a call, ask the user, or allow it in advance. Before a call this
//! gate never allows anything. Only when the client is about to ask its user may it answer in the user's
//! place.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::glob::CaseFolding;
use sprag_base::path::relative;
use sprag_base::settings::{SettingKey, SettingName, SettingSection, Tighten};
use sprag_policy::call::ToolCall;
use sprag_policy::{Decision, RuleConcern, RuleDecision, RuleFilter, RuleSet, RuleVerdict, Subject};

use crate::approval::{ApprovalAnswer, RefusedCall, RefusedCalls, digest_of};
use crate::event::{Event, EventKind, Input, Presence};
use crate::facts::{SharedFacts, SharedNeeds};
use crate::gates::{Ask, Gate, GateCx, OnFault};
use crate::judge::{JudgeAnswer, JudgeAnswerRecord, JudgeFailureRecord, JudgeRecord, JudgeResult, Opinion};
use crate::reason::Reason;
use crate::report::Report;
use crate::verdict::Vote;

/// Refused calls and their state.
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
    /// The calls that the active rules concern. Computed from the rules, not configured.
    #[serde(default)]
    pub watch: RuleFilter,
}

/// The source of answers to a client's question, from most to least permissive.
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
            packs: ["core", "self", "secrets", "places", "flows", "system", "readonly"]
                .map(SettingName::Borrowed)
                .to_vec(),
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

/// Asks the judge about a call that the rules leave open.
pub struct Question;

impl Gate for PermissionGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Option<JudgeResult>;

    const ABOUT: &'static str = "applies the permission rules to tool calls: deny, review, ask, allow";
    const SECTION: SettingSection = SettingSection {
        name: "policy",
        defaults: "\
# Rules for tool calls. Custom rules are `[[rule]]` tables in this file or in `policy/*.toml` next to it.
# `sprag policy list` shows all active rules.
[policy]
# Built-in rules: core, self, secrets, places, flows, system, readonly;
# and cloud, iac, database, containers, packages, ci.
packs = [\"core\", \"self\", \"secrets\", \"places\", \"flows\", \"system\", \"readonly\"]
# Rules to turn off, by id (`core.git-push-lease`).
off = []
# Also ask before a call runs a script file or a build target whose content Sprag does not read.
strict = false
# Answers to a client that is about to ask its user: `deny-only` refuses calls that a rule denies.
# `rules` also allows calls that an allow rule covers. `judge` asks a program about the rest.
triage = \"deny-only\"
# The judge: a program and its arguments. It reads one JSON object and prints one:
# {\"decision\": \"allow|deny|ask\", \"confidence\": 0.0 to 1.0, \"reason\": \"...\"}
judge = []
# Time limit of the judge in seconds. Without an answer the user is asked.
judge_seconds = 2
# Minimum confidence. An answer with less is ignored.
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
            // The host selects the rules that concern the call.
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

    /// Asks a person about a call that Sprag cannot judge. The client's own question needs no answer.
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
    /// Returns the calls that a person may allow now.
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
            // The review gate knows whether a review approved it.
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
        let reader = match (cx.input.presence, is_held) {
            (Presence::Headless, _) => Reader::AgentAlone,
            (Presence::Attended, true) => Reader::Agent,
            (Presence::Attended, false) => Reader::User,
        };
        let reason = refusal(&judged, code.as_deref(), reader);
        if is_held { Vote::Hold(reason) } else { Vote::Ask(reason) }
    }

    /// Answers the client before it asks its user.
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
                return Vote::Hold(refusal(&judged, code.as_deref(), Reader::Agent));
            }
            RuleDecision::Deny | RuleDecision::Ask => return Vote::Pass,
            RuleDecision::Allow | RuleDecision::None if judged.uncertain || is_in_doubt(cx.input) => {
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

/// Returns the rules that concern a call.
pub fn concern(policy: &Settings, input: &Input, call: &ToolCall) -> RuleConcern {
    // The summary takes the directory for a part of the worktree.
    let is_inside = input.root.is_empty() || relative(&input.cwd, &input.root, CaseFolding::Exact).is_some();
    if !is_inside && call.effect.changes_the_world() {
        return RuleConcern::Every;
    }
    policy.watch.concern(call, input.script(), &input.cwd)
}

/// Returns the verdict of these rules about a call.
pub(crate) fn judge(rules: &RuleSet, input: &Input, call: &ToolCall) -> RuleVerdict {
    let ground = input.ground();
    rules.judge(&Subject::call(call, input.script(), &ground))
}

/// Returns the rule that denies a call or asks about it first.
pub fn objection(rules: &RuleSet, input: &Input, call: &ToolCall) -> Option<String> {
    let judged = judge(rules, input, call);
    let objects = matches!(judged.verdict, RuleDecision::Deny | RuleDecision::Ask);
    objects.then(|| judged.rule.unwrap_or_else(|| "policy".to_owned()))
}

fn covered(shared: &SharedFacts, input: &Input, call: &ToolCall) -> Option<RuleVerdict> {
    let judged = judge(shared.allows.as_ref()?, input, call);
    (judged.verdict == RuleDecision::Allow).then_some(judged)
}

fn is_in_doubt(input: &Input) -> bool {
    input.script().is_some_and(|script| !script.doubts.is_empty())
}

/// Reports whether the rules leave a call to the judge.
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
        && !is_in_doubt(input)
        && covered(shared, input, call).is_none()
}

/// Returns the vote for the judge's answer, and records the answer. An answer below the minimum confidence
/// passes.
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
            let told = || Reason::new("judge", format!("judge: {reason}"), "ask the user");
            match decision {
                _ if *confidence < cx.settings.judge_confidence => Vote::Pass,
                Opinion::Allow => Vote::Allow(told()),
                Opinion::Deny => Vote::Hold(told()),
                Opinion::Ask => Vote::Pass,
            }
        }
    }
}

/// The code of a refusal or a question because the effect of the call is unknown.
const UNKNOWN_EFFECT: &str = "unknown_effect";

/// The reader of a reason.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The user, who answers a question of the client.
    User,
    /// The agent. The user could have been asked, but the rule forbids the call.
    Agent,
    /// The agent, in a mode where the client cannot ask the user.
    AgentAlone,
}

fn refusal(judged: &RuleVerdict, code: Option<&str>, reader: Reader) -> Reason {
    let rule = judged.rule.as_deref().unwrap_or("policy");
    let reason = judged.reason.as_deref().unwrap_or_default();
    let needs_consent = "the call needs the consent of the user, who cannot be asked in this mode";
    let why = match (judged.matched && !judged.is_doubt, judged.decision, reader) {
        (true, Some(Decision::Review), _) => format!("{reason}; rule `{rule}` requires a review first"),
        (true, Some(Decision::Ask), Reader::AgentAlone) => {
            format!("{reason}; rule `{rule}`: {needs_consent}")
        }
        (true, Some(Decision::Ask), _) => {
            format!("{reason}; rule `{rule}` asks the user first. Allow it once?")
        }
        (true, _, _) => format!("{reason}; rule `{rule}` forbids it"),
        (false, _, Reader::AgentAlone) => format!("{reason}; {needs_consent}"),
        (false, _, _) => reason.to_owned(),
    };
    let next = judged.next.clone().filter(|next| !next.is_empty());
    let next = next.unwrap_or_else(|| "use another way, or ask the user".to_owned());
    let next = match code.filter(|_| reader != Reader::User) {
        Some(code) => {
            format!("{next}; only the user can allow this call once, in a terminal: `sprag approve {code}`")
        }
        None => next,
    };
    Reason::new(if judged.is_doubt { UNKNOWN_EFFECT } else { rule }, why, next)
}

fn allowed(judged: &RuleVerdict) -> Reason {
    let rule = judged.rule.as_deref().unwrap_or("policy");
    Reason::new(rule, format!("rule `{rule}` allows it"), "sprag policy list")
}

fn without_rules() -> Reason {
    Reason::new("no_rules", "cannot read the permission rules", "sprag doctor")
}
