//! The terminal while a screen uses it. Sprag restores the terminal on exit, on a panic and on a signal.

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

/// The terminal in raw mode, until this is dropped.
pub struct TerminalGuard {
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TerminalGuard {
    pub fn acquire() -> io::Result<TerminalGuard> {
        // The hook restores the terminal before the panic message, which would be unreadable otherwise.
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

    /// Rings the bell, because the user may not be watching the screen.
    pub fn ring(&mut self) {
        let mut out = io::stdout();
        out.write_all(b"\x07").and_then(|()| out.flush()).discard("a terminal that is gone rings no bell");
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
        // The hook does no harm, and cannot be removed while panicking.
        if !thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

/// Whether the terminal needs to be restored. Restoring twice would move the cursor over later output.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Restores the terminal; ignores errors of a terminal that is gone.
fn give_back() {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen, Show)
        .discard("a terminal that is gone needs no reset");
    disable_raw_mode().discard("a terminal that is gone needs no reset");
}
