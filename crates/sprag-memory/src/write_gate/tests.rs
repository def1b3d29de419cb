use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;

use super::*;
use crate::learning::LearningScope;

fn candidate(summary: &str) -> Candidate {
    Candidate::read(&json!({
        "category": "pitfall",
        "summary": summary,
        "detail": "the load balancer drops idle sockets after 20 minutes; raise `idle_timeout` in `infra/lb.tf`",
        "tags": ["sessions"],
        "criteria_met": ["stable_fact", "behavior_changing"],
        "confidence": "high",
    }))
    .unwrap()
}

fn around(alike: Vec<SimilarScore>) -> CandidateFacts {
    let known = ["infra/lb.tf".to_owned(), "idle_timeout".to_owned()].into();
    CandidateFacts { known, alike, has_home: true, ..CandidateFacts::default() }
}

fn alike(candidate: usize, to: SimilarTo, score: f32) -> SimilarScore {
    let likeness = SimilarityKind::from_score(score).unwrap();
    SimilarScore { candidate, to, summary: Text::from("an old statement"), score, likeness }
}

fn learning(id: &str) -> SimilarTo {
    SimilarTo::Learning { id: Text::from(id), status: LearningStatus::Active, place: Destination::Project }
}

fn judged(
    candidates: &[Candidate],
    policy: WriteGate,
    around: &CandidateFacts,
    resolution: Option<&SimilarResolution>,
) -> Vec<JudgedCandidate> {
    let asked = GateRequest { policy, was_asked_for: false, resolution, around };
    judge(candidates.iter().cloned().enumerate().collect(), &asked)
}

fn fate(around: &CandidateFacts, resolution: Option<&SimilarResolution>) -> CandidateFate {
    judged(&[candidate("sockets are dropped after a silence")], WriteGate::default(), around, resolution)
        .remove(0)
        .fate
}

#[test]
fn what_is_plain_and_new_is_kept_as_it_is() {
    let judged = judged(
        &[candidate("sockets are dropped after a silence")],
        WriteGate::default(),
        &around(vec![]),
        None,
    );
    assert_eq!((&judged[0].fate, judged[0].candidate.confidence), (&kept(), Confidence::High));
}

#[test]
fn a_claim_that_is_not_borne_out_costs_confidence_or_the_place() {
    let with = |criteria: Vec<KeepReason>, mode| {
        let mut given = candidate("sockets are dropped after a silence");
        given.criteria_met = criteria;
        judged(&[given], WriteGate { mode, ..WriteGate::default() }, &around(vec![]), None).remove(0)
    };
    let some = with(vec![KeepReason::StableFact, KeepReason::ExplicitRequest], WriteGateMode::Strict);
    assert_eq!((&some.fate, some.candidate.confidence), (&kept(), Confidence::Medium));
    let none = || vec![KeepReason::ExplicitRequest];
    let CandidateFate::Rejected { stage, reason } = with(none(), WriteGateMode::Strict).fate else {
        panic!()
    };
    assert_eq!(stage, WriteGateStep::Plausibility);
    assert!(reason.as_str().contains("has not asked to remember"), "{reason}");
    let lenient = with(none(), WriteGateMode::Lenient);
    assert_eq!((&lenient.fate, lenient.candidate.confidence), (&kept(), Confidence::Low));
    let disabled = with(none(), WriteGateMode::Disabled);
    assert_eq!((&disabled.fate, disabled.candidate.confidence), (&kept(), Confidence::High));
}

#[test]
fn what_could_be_said_anywhere_is_rejected_or_marked() {
    let mut vague = candidate("write clean code and test your changes");
    vague.detail = Text::from("clean code is easier to maintain, so always follow the best practices");
    vague.tags = vec![Text::from("quality")];
    let with = |quality_check| {
        judged(
            std::slice::from_ref(&vague),
            WriteGate { quality_check, ..WriteGate::default() },
            &around(vec![]),
            None,
        )
        .remove(0)
    };
    assert!(matches!(
        with(QualityCheck::Enforce).fate,
        CandidateFate::Rejected { stage: WriteGateStep::Specificity, .. }
    ));
    let warned = with(QualityCheck::Warn);
    assert_eq!((&warned.fate, warned.candidate.confidence), (&kept(), Confidence::Medium));
    assert!(warned.warning.is_some());
    let free = with(QualityCheck::Disabled);
    assert_eq!((free.fate, free.candidate.confidence, free.warning), (kept(), Confidence::High, None));
}

#[test]
fn the_same_is_rejected_the_similar_asked_about_and_guards_never_rejected() {
    let found = |score| fate(&around(vec![alike(0, learning("l-1"), score)]), None);
    assert!(matches!(found(0.72), CandidateFate::Duplicate { of: DuplicateOf::Learning { .. }, .. }));
    assert!(matches!(found(0.7199), CandidateFate::Similar { .. }));
    assert!(matches!(found(0.49), CandidateFate::Similar { .. }));
    let guarded = SimilarScore { likeness: SimilarityKind::Guarded, ..alike(0, learning("l-1"), 0.99) };
    let guarded = fate(&around(vec![guarded]), None);
    assert!(matches!(guarded, CandidateFate::Similar { .. }), "a number differs");
    assert_eq!(SimilarityKind::from_score(0.4899), None);
    assert_eq!(fate(&around(vec![]), None), kept());
}

#[test]
fn candidates_of_one_submission_may_be_each_others_twins() {
    let pair = || {
        [candidate("sockets are dropped after a silence"), candidate("after a silence sockets are dropped")]
    };
    let twins = around(vec![alike(1, SimilarTo::Candidate(0), 0.9)]);
    let fates = judged(&pair(), WriteGate::default(), &twins, None);
    assert_eq!(fates[0].fate, kept());
    assert!(matches!(fates[1].fate, CandidateFate::Duplicate { of: DuplicateOf::Candidate(0), .. }));
    // A candidate that was not stored is not a duplicate's original.
    let [mut first, second] = pair();
    first.criteria_met = vec![KeepReason::ExplicitRequest];
    let fates = judged(&[first, second], WriteGate::default(), &twins, None);
    assert!(matches!(fates[0].fate, CandidateFate::Rejected { .. }));
    assert_eq!(fates[1].fate, kept());
    // Two similar candidates of one submission are both stored, because the author cannot be asked about
    // them.
    let similar = around(vec![alike(1, SimilarTo::Candidate(0), 0.6)]);
    assert!(judged(&pair(), WriteGate::default(), &similar, None).iter().all(|one| one.fate == kept()));
}

#[test]
fn a_word_settles_what_is_similar() {
    let old = Learning::new(
        "l-1",
        candidate("an old statement of it"),
        &SessionId::new("s"),
        None,
        Timestamp::from_millis(0),
    );
    let with = |score, resolution: SimilarResolution, named: Option<Learning>| {
        let around = CandidateFacts { named, ..around(vec![alike(0, learning("l-1"), score)]) };
        fate(&around, Some(&resolution))
    };
    let id = || Text::from("l-1");
    let CandidateFate::Merged { into } = with(0.6, SimilarResolution::Merge(id()), Some(old.clone())) else {
        panic!()
    };
    assert_eq!(
        (into.id.as_str(), into.candidate.summary.as_str()),
        ("l-1", "sockets are dropped after a silence")
    );
    let superseding = with(0.6, SimilarResolution::Supersede(id()), Some(old.clone()));
    assert_eq!(superseding, CandidateFate::Kept { misses: vec![], supersedes: Some(id()) });
    let why = || SimilarResolution::Distinct(Text::from("another socket"));
    assert_eq!(with(0.6, why(), None), kept());
    assert!(matches!(with(0.8, why(), None), CandidateFate::Duplicate { .. }), "the same is the same");
    let mut personal = old;
    personal.candidate.scope = LearningScope::Personal;
    let CandidateFate::Rejected { stage, .. } = with(0.6, SimilarResolution::Merge(id()), Some(personal))
    else {
        panic!()
    };
    assert_eq!(stage, WriteGateStep::Scope, "what is personal stays apart");
}

#[test]
fn a_kept_statement_that_was_rejected_before_is_a_miss_of_that_stage() {
    let rejection = SimilarTo::Rejection { stage: Text::from("specificity") };
    let CandidateFate::Kept { misses, .. } = fate(&around(vec![alike(0, rejection, 0.8)]), None) else {
        panic!()
    };
    assert_eq!(misses, [(Text::from("specificity"), 0.8)]);
}

#[test]
fn what_is_personal_needs_a_home() {
    let mut given = candidate("sockets are dropped after a silence");
    given.scope = LearningScope::Personal;
    let homeless = CandidateFacts { has_home: false, ..around(vec![]) };
    let fates = judged(&[given], WriteGate::default(), &homeless, None);
    assert!(matches!(fates[0].fate, CandidateFate::Rejected { stage: WriteGateStep::Scope, .. }));
}

#[test]
fn what_a_user_prefers_or_asks_for_need_not_be_about_the_project() {
    let mut vague = candidate("write clean code and test your changes");
    vague.detail = Text::from("clean code is easier to maintain, so always follow the best practices");
    vague.tags = vec![Text::from("quality")];
    vague.criteria_met.push(KeepReason::ExplicitRequest);
    let around = around(vec![]);
    let fate = |candidate: &Candidate, was_asked_for| {
        let asked =
            GateRequest { policy: WriteGate::default(), was_asked_for, resolution: None, around: &around };
        judge(vec![(0, candidate.clone())], &asked).remove(0).fate
    };
    assert!(matches!(fate(&vague, false), CandidateFate::Rejected { stage: WriteGateStep::Specificity, .. }));
    assert_eq!(fate(&vague, true), kept());
    vague.kind = LearningKind::Preference;
    assert_eq!(fate(&vague, false), kept());
}
