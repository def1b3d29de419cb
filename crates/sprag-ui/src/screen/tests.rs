use std::collections::BTreeMap;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_plan::agent::activity::{AgentActivity, ContextUsage, SessionCost};
use sprag_plan::ids::{CommitId, EffectKey, StageId};
use sprag_plan::sentences::Explanation;
use sprag_plan::view::{AgentView, HiddenRows, RowHistory, RunBoard, StageRow as Stage, StateLabel};

use super::*;
use crate::cursor::CursorStep;

const NOW: i64 = 1_800_000_000_000;

fn row(level: u32, id: &str, state: StateLabel) -> Stage {
    let begun = (state != StateLabel::Waiting).then(|| Timestamp::from_millis(NOW - 75_000));
    Stage {
        client: Text::new("claude"),
        level,
        id: StageId::new(id),
        state,
        attempt: 1,
        merged: (state == StateLabel::Done).then(|| CommitId(Text::new("c0ffee00d15ea5e"))),
        why: (!state.is_over())
            .then(|| Explanation { text: Text::new(format!("why {id} waits")), until: None }),
        begun,
        ended: state.is_over().then(|| Timestamp::from_millis(NOW - 15_000)),
        agent: match state {
            StateLabel::Running => {
                AgentView::AtWork { session: EffectKey(Text::new(format!("r/{id}/1/spawn.0"))) }
            }
            _ => AgentView::None,
        },
        past: RowHistory::default(),
    }
}

fn board(rows: Vec<Stage>) -> RunBoard {
    let at = Timestamp::from_millis(NOW - 100_000);
    RunBoard {
        target: Text::new("main"),
        plan: Text::new("p"),
        run: Text::new("r"),
        slots: 4,
        began: at,
        moved: at,
        target_held: None,
        nearly: Vec::new(),
        stuck: None,
        rows,
        rest: HiddenRows::default(),
    }
}

fn drawn(
    board: &RunBoard,
    seen: &BTreeMap<EffectKey, AgentActivity>,
    told: &[String],
    size: (u16, u16),
    steps: &[CursorStep],
) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let view = RunView::new(board, seen, Timestamp::from_millis(NOW));
    let mut cursor = Cursor::default();
    for step in steps.iter().map(Some).chain([None]) {
        terminal
            .draw(|frame| {
                draw(frame, &view, told, &mut cursor, Paint::Colours);
            })
            .unwrap();
        if let Some(step) = step {
            cursor.step(*step);
        }
    }
    let buffer = terminal.backend().buffer();
    let line = |y| (0..size.0).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..size.1).map(line).collect()
}

fn story() -> (RunBoard, BTreeMap<EffectKey, AgentActivity>, Vec<String>) {
    let board = board(vec![
        row(0, "docs", StateLabel::Blocked),
        row(0, "model", StateLabel::Done),
        row(1, "server", StateLabel::Ready),
        row(1, "view", StateLabel::Running),
        row(2, "all", StateLabel::Waiting),
    ]);
    let seen = AgentActivity {
        context: Some(ContextUsage { tokens: 62, window: 100 }),
        used: Some(SessionCost { tokens: 1, micros: Some(430_000) }),
        last_tool: Some(Text::new("Bash")),
        at: Some(Timestamp::from_millis(NOW - 3_000)),
        ..AgentActivity::default()
    };
    let told = ["10:00:00 view: its agent is being started", "10:00:01 docs: it could not be set up"];
    (
        board,
        BTreeMap::from([(EffectKey(Text::new("r/view/1/spawn.0")), seen)]),
        told.map(str::to_owned).to_vec(),
    )
}

#[test]
fn a_screen_of_the_usual_size() {
    let (board, seen, told) = story();
    let lines =
        drawn(&board, &seen, &told, (80, 30), &[CursorStep::Down, CursorStep::Down, CursorStep::Down]);
    insta::assert_snapshot!(lines.join("\n"), @"
    ┌sprag─────────────────────────────────────────────────────────────────────────┐
    │plan p  running  1m40s  $0.43  4 slots                                        │
    └──────────────────────────────────────────────────────────────────────────────┘
    ┌progress──────────────────────────────────────────────────────────────────────┐
    │████████████████  20%  1 of 5 done, 1 active, 1 for a person                  │
    └──────────────────────────────────────────────────────────────────────────────┘
    ┌stages────────────────────────────────────────────────────────────────────────┐
    │  lvl stage                    state       merged   context cost       elapsed│
    │✗ 0   docs                     blocked     -        ?       ?          1m15s  │
    │✓ 0   model                    done        c0ffee00 ?       ?          1m00s  │
    │◎ 1   server                   ready       -        ?       ?          1m15s  │
    │● 1   view                     running     -        62%     $0.43      1m15s  │
    │○ 2   all                      waiting     -        ?       ?          -      │
    │                                                                              │
    └──────────────────────────────────────────────────────────────────────────────┘
    ┌view──────────────────────────────────────────────────────────────────────────┐
    │why view waits (Bash)                                                         │
    │attempt 1, last output 3s ago, r/view/1/spawn.0                               │
    └──────────────────────────────────────────────────────────────────────────────┘
    ┌attention (1)─────────────────────────────────────────────────────────────────┐
    │needs you: docs: why docs waits                                               │
    └──────────────────────────────────────────────────────────────────────────────┘
    ┌log───────────────────────────────────────────────────────────────────────────┐
    │10:00:00 view: its agent is being started                                     │
    │10:00:01 docs: it could not be set up                                         │
    │                                                                              │
    └──────────────────────────────────────────────────────────────────────────────┘
    ┌keys──────────────────────────────────────────────────────────────────────────┐
    │q quit  ↑↓ PgUp PgDn Home End move  Enter attach                              │
    └──────────────────────────────────────────────────────────────────────────────┘
    ");
}

#[test]
fn a_wide_one_has_panes_beside_the_stages() {
    let (board, seen, told) = story();
    let lines = drawn(&board, &seen, &told, (120, 24), &[]);
    insta::assert_snapshot!(lines.join("\n"), @"
    ┌sprag─────────────────────────────────────────────────────────────────────────────────────────────────────────────────┐
    │plan p  running  1m40s  $0.43  4 slots                                                                                │
    └──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
    ┌progress──────────────────────────────────────────────────────────────────────────────────────────────────────────────┐
    │████████████████████████              20%  1 of 5 done, 1 active, 1 for a person                                      │
    └──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
    ┌stages──────────────────────────────────────────────────────────────────┐┌docs────────────────────────────────────────┐
    │  lvl stage              state       merged   context cost       elapsed││why docs waits                              │
    │✗ 0   docs               blocked     -        ?       ?          1m15s  ││attempt 1                                   │
    │✓ 0   model              done        c0ffee00 ?       ?          1m00s  │└────────────────────────────────────────────┘
    │◎ 1   server             ready       -        ?       ?          1m15s  │┌attention (1)───────────────────────────────┐
    │● 1   view               running     -        62%     $0.43      1m15s  ││needs you: docs: why docs waits             │
    │○ 2   all                waiting     -        ?       ?          -      │└────────────────────────────────────────────┘
    │                                                                        │┌log─────────────────────────────────────────┐
    │                                                                        ││10:00:00 view: its agent is being started   │
    │                                                                        ││10:00:01 docs: it could not be set up       │
    │                                                                        ││                                            │
    │                                                                        ││                                            │
    │                                                                        ││                                            │
    │                                                                        ││                                            │
    └────────────────────────────────────────────────────────────────────────┘└────────────────────────────────────────────┘
    ┌keys──────────────────────────────────────────────────────────────────────────────────────────────────────────────────┐
    │q quit  ↑↓ PgUp PgDn Home End move  Enter attach                                                                      │
    └──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
    ");
}

#[test]
fn the_smallest_one_still_has_the_stages() {
    let (board, seen, told) = story();
    let lines = drawn(&board, &seen, &told, (40, 10), &[]);
    insta::assert_snapshot!(lines.join("\n"), @"
    plan p  running  1m40s  $0.43  4 slots
    ████20%  1 of 5 done, 1 for a person
      lvl stage          state       elapsed
    ✗ 0   docs           blocked     1m15s
    ✓ 0   model          done        1m00s
    ◎ 1   server         ready       1m15s
    ● 1   view           running     1m15s
    ○ 2   all            waiting     -
    needs you: docs: why docs waits
    q quit  ↑↓ move  Enter attach
    ");
}

#[test]
fn whatever_the_size_the_stages_are_seen_with_their_states_and_who_needs_a_person() {
    let (board, seen, told) = story();
    for size in [(40, 10), (80, 24), (200, 60), (30, 8), (80, 16), (109, 19)] {
        let lines = drawn(&board, &seen, &told, size, &[]);
        let has = |words: &[&str]| lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(has(&["✗", "docs", "blocked"]), "{size:?}: {lines:#?}");
        assert!(has(&["needs you: docs"]), "{size:?}: {lines:#?}");
        assert!(has(&["q quit"]) && has(&["20%  1 of 5 done"]), "{size:?}: {lines:#?}");
    }
}

#[test]
fn a_terminal_may_change_its_size_at_any_time() {
    let (board, seen, told) = story();
    let view = RunView::new(&board, &seen, Timestamp::from_millis(NOW));
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
    let mut cursor = Cursor::default();
    for size in [(200, 60), (40, 10), (80, 24), (1, 1), (200, 60), (3, 200), (40, 10)] {
        terminal.backend_mut().resize(size.0, size.1);
        cursor.step(CursorStep::Last);
        terminal
            .draw(|frame| {
                draw(frame, &view, &told, &mut cursor, Paint::Plain);
            })
            .unwrap();
    }
    let screen = terminal.backend().to_string();
    assert!(
        screen.contains("all") && screen.contains("waiting"),
        "the chosen stage is still visible:\n{screen}"
    );
}

#[test]
fn every_state_has_a_colour_and_a_word() {
    for state in StateLabel::ALL {
        let lines = drawn(&board(vec![row(0, "x", state)]), &BTreeMap::new(), &[], (60, 12), &[]);
        assert!(lines.iter().any(|line| line.contains(state.name())), "{state:?}: {lines:#?}");
        assert_ne!(Paint::Colours.tone(state.tone()), Paint::Plain.tone(state.tone()));
    }
}

#[test]
fn the_chosen_row_is_one_bar_without_gaps() {
    let board = board(vec![row(0, "x", StateLabel::Done)]);
    let seen = BTreeMap::new();
    let view = RunView::new(&board, &seen, Timestamp::from_millis(NOW));
    let mut terminal = Terminal::new(TestBackend::new(60, 12)).unwrap();
    let mut first = 0;
    terminal
        .draw(|frame| first = draw(frame, &view, &[], &mut Cursor::default(), Paint::Colours).first)
        .unwrap();
    let buffer = terminal.backend().buffer();
    let bar = Paint::Colours.tone(StateTone::Done).patch(Paint::Colours.chosen());
    for x in 0..60 {
        let cell = &buffer[(x, first)];
        assert_eq!((Some(cell.fg), cell.modifier), (bar.fg, bar.add_modifier), "column {x}");
    }
}

#[test]
fn ten_thousand_stages_are_gone_through_to_the_last() {
    let rows = (0..10_000).map(|number| row(0, &format!("s{number:04}"), StateLabel::Waiting)).collect();
    let lines = drawn(&board(rows), &BTreeMap::new(), &[], (60, 20), &[CursorStep::Last]);
    assert!(lines.iter().any(|line| line.contains("s9999")), "{lines:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_size_and_no_name_breaks_it(
        width in 1u16..200,
        height in 1u16..60,
        names in proptest::collection::vec("\\PC{0,70}|[\\x00-\\x1f\u{1b}\\[2J]{0,20}|(é|漢|\u{200b}|\u{202e}|\u{301}|👩‍👩‍👧){0,30}", 0..12),
        steps in proptest::collection::vec(0usize..6, 0..6),
    ) {
        let all = [CursorStep::Up, CursorStep::Down, CursorStep::PageUp, CursorStep::PageDown, CursorStep::First, CursorStep::Last];
        let steps: Vec<CursorStep> = steps.into_iter().map(|step| all[step]).collect();
        let rows: Vec<Stage> = names
            .iter()
            .enumerate()
            .map(|(at, name)| row(u32::MAX - at as u32, name, StateLabel::ALL[at % StateLabel::ALL.len()]))
            .collect();
        let mut board = board(rows);
        board.plan = Text::new(names.concat());
        let seen = names.iter().map(|name| {
            let seen = AgentActivity { last_tool: Some(Text::new(name.clone())), ..AgentActivity::default() };
            (EffectKey(Text::new(format!("r/{}/1/spawn.0", StageId::new(name).as_str()))), seen)
        });
        let lines = drawn(&board, &seen.collect(), &names, (width, height), &steps);
        prop_assert!(lines.iter().all(|line| !line.chars().any(char::is_control)));
    }
}
