//! The `sprag` program: arguments, commands and exit codes. A hook call is dispatched first, because clients
//! start hundreds of them in a session.

#![cfg_attr(not(test), no_main)]

mod advice;
mod commands;
#[cfg(not(test))]
mod entry;
mod failure;
mod hook;
mod input;
mod output;

/// Runs the command line and returns the exit code.
#[cfg_attr(test, expect(dead_code, reason = "the test harness has its own entry point"))]
fn run() -> u8 {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let asks_for_help = args.get(2).is_some_and(|arg| arg == "--help" || arg == "-h");
    if args.get(1).is_some_and(|command| command == "hook") && !asks_for_help {
        crate::hook::main(&args[2..]);
        return 0;
    }
    commands::main(&args)
}
