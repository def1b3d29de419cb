//! A live screen, drawn on each change and once per second for the clock. It waits for events and does not
//! poll.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};

use ratatui::crossterm::event::{self, Event};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::view::{RunBoard, RunView, StateTone};

use crate::cursor::{Cursor, CursorStep};
use crate::keys::{KeyAction, meaning};
use crate::screen::{self, Colours, Drawn};
use crate::terminal::TerminalGuard;

/// The interval of the screen's clock.
const TICK: Duration = Duration::from_secs(1);
/// Changes within this time are drawn together.
const TOGETHER: Duration = Duration::from_millis(100);

/// The data to draw.
pub struct ScreenContent {
    pub board: RunBoard,
    pub seen: BTreeMap<EffectKey, AgentActivity>,
    /// The recent events.
    pub told: Vec<String>,
    pub now: Timestamp,
}

/// The reason why a screen was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenExit {
    Quit,
    /// The user wants to attach to the agent of this stage.
    Attach(StageId),
}

/// Wakes the screen after a change.
#[derive(Clone)]
pub struct AttentionBell(Sender<ScreenEvent>);

impl AttentionBell {
    /// Wakes the screen; does nothing once the screen is gone.
    pub fn ring(&self) {
        self.0.send(ScreenEvent::Changed).discard("no receiver once the screen is gone");
    }
}

enum ScreenEvent {
    Changed,
    Typed(Event),
    /// A signal, or the end of the input.
    End,
}

/// Runs the screen. Calls `look` after each change and tick; `hand` receives the bell that reports changes.
pub fn live(
    colours: Colours,
    hand: impl FnOnce(AttentionBell),
    mut look: impl FnMut() -> io::Result<ScreenContent>,
) -> io::Result<ScreenExit> {
    let first = look()?;
    let (tell, news) = mpsc::channel();
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT])?;
    let heard = tell.clone();
    thread::spawn(move || {
        for _ in signals.forever() {
            heard.send(ScreenEvent::End).discard("the screen has already ended");
        }
    });
    let mut taken = TerminalGuard::acquire()?;
    let typed = tell.clone();
    thread::spawn(move || {
        loop {
            let news = event::read().map_or(ScreenEvent::End, ScreenEvent::Typed);
            let is_last = matches!(news, ScreenEvent::End);
            if typed.send(news).is_err() || is_last {
                return;
            }
        }
    });
    hand(AttentionBell(tell));
    Live { looked: first, cursor: Cursor::default(), drawn: Drawn::default(), colours, stuck: None }
        .run(&mut taken, &news, &mut look)
}

struct Live {
    looked: ScreenContent,
    cursor: Cursor,
    drawn: Drawn,
    colours: Colours,
    /// The number of blocked stages when it was last drawn.
    stuck: Option<usize>,
}

impl Live {
    fn run(
        mut self,
        taken: &mut TerminalGuard,
        news: &Receiver<ScreenEvent>,
        look: &mut dyn FnMut() -> io::Result<ScreenContent>,
    ) -> io::Result<ScreenExit> {
        loop {
            self.draw(taken)?;
            let looked_at = Instant::now();
            let mut due = looked_at + TICK;
            loop {
                match news.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => break,
                    Ok(ScreenEvent::End) | Err(RecvTimeoutError::Disconnected) => {
                        return Ok(ScreenExit::Quit);
                    }
                    Ok(ScreenEvent::Changed) => due = due.min(looked_at + TOGETHER),
                    Ok(ScreenEvent::Typed(event)) => match self.typed(&event) {
                        Some(left) => return Ok(left),
                        None => self.draw(taken)?,
                    },
                }
            }
            self.looked = look()?;
        }
    }

    fn draw(&mut self, taken: &mut TerminalGuard) -> io::Result<()> {
        let view = RunView::new(&self.looked.board, &self.looked.seen, self.looked.now);
        let stuck = view.attention.iter().filter(|it| it.tone == StateTone::Blocked).count();
        let (told, cursor, drawn, colours) =
            (&self.looked.told, &mut self.cursor, &mut self.drawn, self.colours);
        taken.terminal.draw(|frame| *drawn = screen::draw(frame, &view, told, cursor, colours))?;
        if self.stuck.is_some_and(|before| stuck > before) {
            taken.ring();
        }
        self.stuck = Some(stuck);
        Ok(())
    }

    fn typed(&mut self, event: &Event) -> Option<ScreenExit> {
        match meaning(event) {
            KeyAction::Quit => return Some(ScreenExit::Quit),
            KeyAction::Move(step) => self.cursor.step(step),
            KeyAction::Click(line) => {
                if let Some(line) = line.checked_sub(self.drawn.first) {
                    self.cursor.step(CursorStep::Shown(usize::from(line)));
                }
            }
            KeyAction::Attach => {
                let row = self.looked.board.rows.get(self.cursor.chosen());
                // A stage without an agent has nothing to attach to.
                return row
                    .filter(|row| row.agent.session().is_some())
                    .map(|row| ScreenExit::Attach(row.id.clone()));
            }
            KeyAction::Redraw | KeyAction::Nothing => {}
        }
        None
    }
}
