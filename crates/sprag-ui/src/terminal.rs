//! The terminal while a screen has it. Whatever ends the program gives it back: leaving, a panic, a signal that was
//! heard.

use std::io::{self, Stdout, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{panic, thread};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use sprag_base::result::Discard as _;

/// Ours until it is dropped.
pub struct TerminalGuard {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TerminalGuard {
    pub fn acquire() -> io::Result<TerminalGuard> {
        // First of all: from here on a panic gives it back before it is told, or nobody could read it.
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
        IS_OURS.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        let opened = execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match opened {
            Ok(terminal) => Ok(TerminalGuard { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Somebody may be looking elsewhere.
    pub fn ring(&mut self) {
        let mut out = io::stdout();
        out.write_all(b"\x07").and_then(|()| out.flush()).discard("a terminal that is gone rings no bell");
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
        // The hook that is ours does no harm; while panicking it cannot be taken back.
        if !thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

/// Whether there is something to give back. Doing it twice would put the cursor back over what was said in between.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// A terminal that is gone needs nothing.
fn give_back() {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen, Show)
        .discard("a terminal that is gone needs nothing");
    disable_raw_mode().discard("a terminal that is gone needs nothing");
}
