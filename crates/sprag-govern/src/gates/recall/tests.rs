use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_memory::recall::{LearningChange, Recalled};

use super::*;
use crate::event::Input;
use crate::gates::RecordEffect;
use crate::gates::fixture::StepFixture;
use crate::gates::records::GateEffect;

const ID: &str = "0193ab12-3c4d-7abc-8def-0123456789ab";

struct Story {
    state: RecallGate,
    policy: Settings,
    at: i64,
}

impl Story {
    fn new() -> Story {
        Story { state: RecallGate::default(), policy: Settings::default(), at: 0 }
    }

    /// Returns the note for the agent, and the written records.
    fn event(&mut self, event: Event, recalled: Recalled) -> (Option<String>, Vec<RecordEffect>) {
        self.at += 1000;
        let input = Input::new(Timestamp::from_millis(self.at), SessionId::new("s-1"), event);
        let (answer, settings) = (Some(recalled), self.policy.clone());
        let mut fixture = StepFixture { answer, settings, ..StepFixture::default() };
        let note = match fixture.step(&mut self.state, &input) {
            Vote::Note(note) => Some(note.to_string()),
            _ => None,
        };
        (note, fixture.effects)
    }

    fn prompt(&mut self, text: &str, found: &[RecalledLearning]) -> Option<String> {
        let event = Event::Prompted { text: text.to_owned(), author: PromptAuthor::User };
        self.event(event, recalled(found)).0
    }

    fn stop(&mut self, message: &str) -> Vec<RecordEffect> {
        let stop = StopRequest { last_message: Text::from(message), ..StopRequest::default() };
        self.event(Event::StopRequested(stop), Recalled::default()).1
    }

    fn end(&mut self) -> Vec<RecordEffect> {
        self.event(Event::SessionEnded { why: Text::from("other") }, Recalled::default()).1
    }
}

fn found(id: &str, summary: &str) -> RecalledLearning {
    RecalledLearning {
        id: Text::from(id),
        summary: Text::from(summary),
        detail: Text::from("the upload worker gives up after three chunks of backpressure"),
        category: None,
        score: 0.8,
        why: Text::default(),
        is_stale: false,
        has_changed: false,
        is_personal: false,
        caveat: None,
        terms: Terms::new(
            "upload worker chunks backpressure retry_budget",
            sprag_memory::recall::implicit_use::plain_idf,
        ),
    }
}

fn recalled(found: &[RecalledLearning]) -> Recalled {
    Recalled { found: found.to_vec(), notices: Vec::new(), is_any: true }
}

fn ids(effect: &RecordEffect) -> Vec<String> {
    let GateEffect::Memory(record) = &effect.record else { panic!("{effect:?}") };
    record.clone().ids_mut().unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn a_learning_is_shown_once_and_again_after_the_context_is_gone() {
    let mut story = Story::new();
    let all = [found(ID, "uploads stall")];
    let note = story.prompt("why do uploads stall?", &all).unwrap();
    assert!(note.contains("uploads stall") && note.contains("quoted, not instructions"), "{note}");
    assert_eq!(story.prompt("and now?", &all), None);
    story.event(Event::SessionStarted { source: StartSource::Compact }, Recalled::default());
    assert!(story.prompt("uploads?", &all).is_some());
}

#[test]
fn what_is_cited_counts_once_and_what_is_not_is_dismissed_once() {
    let mut story = Story::new();
    let other = "0193ab13-0000-7abc-8def-0123456789ab";
    story.prompt("hello", &[found(ID, "uploads stall"), found(other, "tests need a database")]);
    let told = story.stop("Done, see 0193ab12-3c4d.");
    assert_eq!((told[0].record.kind(), ids(&told[0])), ("learning.referred", vec![ID.to_owned()]));
    assert!(story.stop("As 0193ab12-3c4d says.").is_empty(), "said again, it counts no more");
    let told = story.end();
    assert_eq!((told[0].record.kind(), ids(&told[0])), ("learning.dismissed", vec![other.to_owned()]));
    assert!(story.end().is_empty());
}

#[test]
fn words_of_a_learning_in_the_answer_are_a_sign_of_use_unless_the_user_said_them() {
    let mut story = Story::new();
    story.prompt("uploads hang", &[found(ID, "uploads stall")]);
    let told = story.stop("I raised the retry_budget, since backpressure made the worker give up.");
    assert_eq!((told[0].record.kind(), ids(&told[0])), ("learning.implied", vec![ID.to_owned()]));
    let mut story = Story::new();
    story.prompt(
        "raise the retry_budget, backpressure makes the worker give up",
        &[found(ID, "uploads stall")],
    );
    assert!(story.stop("I raised the retry_budget, since backpressure made the worker give up.").is_empty());
}

#[test]
fn a_session_that_skipped_dismisses_nothing() {
    let mut story = Story::new();
    story.prompt("hello", &[found(ID, "uploads stall")]);
    let skip =
        Report::Skipped { reason: Text::from("a typo"), decider: sprag_memory::records::Decider::Agent };
    story.event(Event::Reported(skip), Recalled::default());
    assert!(story.end().is_empty());
}

#[test]
fn a_session_is_told_once_what_became_of_what_it_saw() {
    let mut story = Story::new();
    story.prompt("hello", &[found(ID, "uploads stall")]);
    let became = |id: &str, what| Recalled {
        notices: vec![Notice { id: Text::from(id), what }],
        ..Recalled::default()
    };
    let corrected = |id: &str, at: i64| {
        let at = Timestamp::from_millis(at);
        became(id, LearningChange::Corrected { summary: Text::from("they do not"), at })
    };
    let notice = |id: &str| corrected(id, 4_000_000_000_000);
    let prompt = || Event::Prompted { text: "go on".to_owned(), author: PromptAuthor::User };
    let (note, _) = story.event(prompt(), notice(ID));
    assert!(note.unwrap().contains("was corrected: \"they do not\""));
    assert_eq!(story.event(prompt(), notice(ID)).0, None);
    assert_eq!(story.event(prompt(), notice("0193ffff-never-shown")).0, None);
    assert!(story.event(prompt(), corrected(ID, 4_000_000_000_000 + 1)).0.is_some(), "corrected again");
    assert!(story.event(prompt(), became(ID, LearningChange::Archived)).0.unwrap().contains("withdrawn"));
    assert_eq!(story.event(prompt(), became(ID, LearningChange::Archived)).0, None);
    assert!(
        story.event(prompt(), corrected(ID, 4_000_000_000_000 + 2)).0.is_some(),
        "restored and corrected"
    );
    assert!(story.event(prompt(), became(ID, LearningChange::Archived)).0.is_some(), "and withdrawn again");
}

#[test]
fn a_learning_is_of_use_to_a_session_once_however_often_it_says_so() {
    let mut story = Story::new();
    let refer = |ids: &[&str]| {
        let ids = ids.iter().map(|id| Text::from(*id)).collect();
        Event::Reported(Report::Referred { ids, how: Text::from("it helped") })
    };
    let other = "0193ffff-never-shown";
    let (_, told) = story.event(refer(&[ID, ID]), Recalled::default());
    assert_eq!(ids(&told[0]), vec![ID.to_owned()]);
    let (_, told) = story.event(refer(&[ID, other]), Recalled::default());
    assert_eq!(ids(&told[0]), vec![other.to_owned()]);
    assert!(story.event(refer(&[other, ID]), Recalled::default()).1.is_empty());
    // The learning is shown only now; its citation counted before.
    story.prompt("hello", &[found(ID, "uploads stall")]);
    assert!(story.stop(&format!("Done, see {ID}.")).is_empty());
}

#[test]
fn a_session_costs_no_more_than_its_budget() {
    let mut story = Story::new();
    let long = "x".repeat(190);
    let mut prompts = 0;
    for at in 0..400 {
        let id = format!("{at:08x}-0000-7abc-8def-0123456789ab");
        prompts += usize::from(story.prompt("more", &[found(&id, &long)]).is_some());
    }
    assert!(story.state.tokens <= SESSION_TOKENS && prompts > 10, "{} in {prompts}", story.state.tokens);
}

#[test]
fn only_the_first_call_that_names_a_file_asks() {
    let mut story = Story::new();
    story.prompt("hello", &[]);
    assert!(story.state.awaits_tool);
    let call = |path: &str| {
        let table = [sprag_policy::call::ToolRow {
            name: "Read",
            effect: sprag_policy::call::ToolEffect::Read,
            paths: &["path"],
            command: None,
        }];
        let input = serde_json::json!({ "path": path });
        Event::ToolRequested {
            call: ToolCall::new(&table, "Read", input, None, sprag_policy::call::InputCompleteness::Yes),
        }
    };
    assert!(story.event(call("src/a.rs"), recalled(&[found(ID, "uploads stall")])).0.is_some());
    assert!(story.event(call("src/b.rs"), recalled(&[found("0193ab14-0000-7abc", "other")])).0.is_none());
}

#[test]
fn nothing_is_shown_where_it_is_off_or_to_others() {
    let mut story = Story::new();
    story.policy.strategy = Strategy::Off;
    assert_eq!(story.prompt("hello", &[found(ID, "uploads stall")]), None);
    let mut story = Story::new();
    let event = Event::Prompted { text: "held".to_owned(), author: PromptAuthor::Sprag };
    assert_eq!(story.event(event, recalled(&[found(ID, "uploads stall")])).0, None);
}
