//! An isolated session, for stories and properties of reviews.

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection as _, Record};
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect, ToolRow};
use sprag_policy::{Rule, RuleSet, Strictness};

use crate::decide;
use crate::event::{Actor, BackgroundWork, Event, Input, PromptAuthor, StopRequest};
use crate::facts::{SharedFacts, SharedNeeds};
use crate::gates::integrity::{self, Conflicts};
use crate::gates::{Answers, Gate as _, review};
use crate::obligation::Debts;
use crate::report::{Report, ReviewDecision, ReviewResult};
use crate::session::Session;
use crate::verdict::Ruling;

pub(crate) const TOKEN: &str = "sprt_0123456789abcdef0123456789abcdef";

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
];

/// An isolated session.
pub(crate) struct Desk {
    pub session: Session,
    pub policy: crate::settings::GovernSettings,
    pub rules: RuleSet,
    pub tree: Option<&'static str>,
    pub debts: Debts,
    pub log: Vec<(&'static str, Value)>,
    pub now: i64,
    pub token: String,
    pub is_unlocked: bool,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let rule = Rule { id: "review.gate-1".to_owned(), ..Rule::gate("Bash:gh issue close*") };
        let rules = RuleSet::new([&rule], Strictness::Usual).unwrap();
        let mut policy = crate::settings::GovernSettings::default();
        policy.gates.permission.watch = rules.watch();
        policy.gates.review.watch = Some(rules.watch());
        Desk {
            session: Session::default(),
            policy,
            rules,
            tree: Some("t1"),
            debts: Debts::default(),
            log: Vec::new(),
            now: 0,
            token: TOKEN.to_owned(),
            is_unlocked: false,
        }
    }

    pub(crate) fn step(&mut self, actor: Actor, event: Event) -> Ruling {
        self.now += 1;
        let at = Timestamp::from_millis(0).plus_seconds(self.now);
        let input = Input { actor, ..Input::new(at, SessionId::new("s"), event).within("/w") };
        let needs = decide::shared(&self.session, &input, &self.policy);
        let shared = SharedFacts {
            rules: Some(self.rules.clone()),
            tree: self.tree.filter(|_| needs.has(SharedNeeds::TREE)).map(Text::from),
            debts: needs.has(SharedNeeds::DEBTS).then(|| self.debts.open().to_vec()),
            ..SharedFacts::default()
        };
        let asked = decide::ask(&self.session, &input, &self.policy, &shared).review;
        let token = asked.map(|_| Text::from(self.token.as_str()));
        let review = review::Answer { token, ..review::Answer::default() };
        let integrity =
            integrity::Answer { conflicts: Conflicts::Found(Vec::new()), ..integrity::Answer::default() };
        let facts = Answers { shared, review, integrity, ..Answers::default() }.into();
        let mut session = self.session.clone();
        if self.is_unlocked {
            session.gates.forget_single_use();
        }
        let step = decide::decide(session, &input, &facts, &self.policy);
        if !self.is_unlocked {
            self.session = step.session;
            for effect in step.effects {
                let (kind, body) = (effect.record.kind(), effect.record.body());
                self.debts.apply(&record(kind, body.clone(), at));
                self.log.push((kind, body));
            }
        }
        if let Some(context) = step.verdict.context() {
            assert!(context.as_str().contains(&self.token), "{context}");
        }
        step.verdict.ruling
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        let ruling =
            self.step(Actor::Main, Event::Prompted { text: text.to_owned(), author: PromptAuthor::User });
        assert_eq!(ruling, Ruling::Pass);
    }

    pub(crate) fn bash(&mut self, actor: Actor, command: &str) -> Ruling {
        self.step(actor, Event::ToolRequested { call: bash(command) })
    }

    pub(crate) fn work(&mut self, tree: &'static str) {
        self.tree = Some(tree);
        assert_eq!(self.bash(Actor::Main, "make"), Ruling::Pass);
    }

    pub(crate) fn stop(&mut self) -> Ruling {
        let stop = StopRequest { waiting: BackgroundWork::No, ..StopRequest::default() };
        self.step(Actor::Main, Event::StopRequested(stop))
    }

    pub(crate) fn end(&mut self) {
        self.step(Actor::Main, Event::SessionEnded { why: Text::from("other") });
    }

    pub(crate) fn reviewer_starts(&mut self) {
        assert_eq!(self.step(reviewer(), Event::SubagentStarted), Ruling::Pass);
    }

    pub(crate) fn decide(&mut self, word: ReviewResult, token: Option<&str>) -> Ruling {
        let decided = ReviewDecision {
            word,
            summary: Text::from("looked at it"),
            message: Text::from("line 3 is wrong"),
            opinions: Vec::new(),
            token: token.map(Text::from),
        };
        self.step(Actor::Main, Event::Reported(Report::Decided(decided)))
    }

    pub(crate) fn reviewer_decides(&mut self, word: ReviewResult) -> Ruling {
        let line = format!("sprag decide {} --summary x --session s --token {TOKEN}", word.name());
        assert_eq!(self.bash(reviewer(), &line), Ruling::Pass);
        self.decide(word, Some(TOKEN))
    }

    pub(crate) fn approve(&mut self) {
        self.reviewer_starts();
        assert_eq!(self.reviewer_decides(ReviewResult::Complete), Ruling::Pass);
        assert_eq!(self.state(), "approved");
    }

    pub(crate) fn state(&self) -> &'static str {
        self.session.gates.review.state().unwrap()
    }

    pub(crate) fn outcomes(&self) -> Vec<&str> {
        let attempts = self.log.iter().filter(|(kind, _)| *kind == "review.attempt");
        attempts.map(|(_, body)| body["outcome"].as_str().unwrap()).collect()
    }
}

pub(crate) fn record(kind: &str, body: Value, at: Timestamp) -> Record {
    Record { session: Some(SessionId::new("s")), ..Record::new(kind, at, body) }
}

pub(crate) fn bash(command: &str) -> ToolCall {
    ToolCall::new(TOOLS, "Bash", json!({ "command": command }), None, InputCompleteness::Yes)
}

pub(crate) fn reviewer() -> Actor {
    Actor::Subagent { id: Text::from("r1"), kind: Text::from("sprag-reviewer") }
}
