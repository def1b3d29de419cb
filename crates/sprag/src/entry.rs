//! Where the system hands over. The standard library would first look up how large the stack is, to be able to
//! say so if it overflowed, by reading `/proc/self/maps`: a fifth of the instructions of a hook. What else it
//! does before a `main` is done here.

#![expect(
    unsafe_code,
    reason = "an entry that is not the standard library's has a name that only `unsafe` may give"
)]

use std::mem;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio;

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    open_what_is_closed();
    ignore_broken_pipes();
    // Not returned: standard output is flushed here.
    std::process::exit(crate::run().into())
}

/// A file that was opened next would be taken for standard output otherwise, and written over by a reply.
fn open_what_is_closed() {
    for place in [stdio::stdin(), stdio::stdout(), stdio::stderr()] {
        if fcntl_getfd(place) == Err(Errno::BADF)
            && let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())
        {
            mem::forget(null);
        }
    }
}

/// A program that does not read what it is told ends by itself, and does not end us.
fn ignore_broken_pipes() {
    // SAFETY: no handler of ours is set up that could be replaced, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
