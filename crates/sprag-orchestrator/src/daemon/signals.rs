//! Passes signals to the daemon loop, which stops the agents before the process ends.

use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::socket::loop_event::LoopEvent;

/// Starts to listen for signals. On failure, the default action of the signals applies.
pub(crate) fn listen(tell: &Sender<LoopEvent>) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let tell = tell.clone();
    thread::spawn(move || {
        // The receiver is gone once the daemon is about to end.
        signals.forever().take_while(|signal| tell.send(LoopEvent::Signal(*signal)).is_ok()).for_each(drop);
    });
}
