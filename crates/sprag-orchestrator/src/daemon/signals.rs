//! Signals that would end us at once: the loop hears of them instead, and sends agents home first.

use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::socket::loop_event::LoopEvent;

/// Where signals cannot be listened to they do what they always did.
pub(crate) fn listen(tell: &Sender<LoopEvent>) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let tell = tell.clone();
    thread::spawn(move || {
        // Nobody listens any more when we are about to end.
        signals.forever().take_while(|signal| tell.send(LoopEvent::Signal(*signal)).is_ok()).for_each(drop);
    });
}
