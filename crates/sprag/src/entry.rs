//! The entry point of the program. The entry point of the standard library also reads `/proc/self/maps` to
//! find the stack size, which takes a fifth of the instructions of a hook. This module does the rest of its
//! work.

#![expect(
    unsafe_code,
    reason = "an entry point outside the standard library needs `no_mangle`, which is unsafe"
)]

use std::mem;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio;

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    open_what_is_closed();
    ignore_broken_pipes();
    // `exit` flushes standard output; a return from this function would not.
    std::process::exit(crate::run().into())
}

/// Opens `/dev/null` for each closed standard stream. Otherwise the next opened file would become standard
/// output, and a reply would overwrite it.
fn open_what_is_closed() {
    for place in [stdio::stdin(), stdio::stdout(), stdio::stderr()] {
        if fcntl_getfd(place) == Err(Errno::BADF)
            && let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())
        {
            mem::forget(null);
        }
    }
}

/// Ignores SIGPIPE, so that a reader that closes its pipe early does not end this program.
fn ignore_broken_pipes() {
    // SAFETY: the program has no signal handler that this call could replace, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
