//! The `sprag` program: argv, commands, exit codes. A hook is dispatched before anything else
//! exists: it is started hundreds of times in a session.

#![cfg_attr(not(test), no_main)]

mod advice;
mod commands;
#[cfg(not(test))]
mod entry;
mod failure;
mod hook;
mod input;
mod output;

/// Gives the exit code.
#[cfg_attr(test, expect(dead_code, reason = "tests have an entry of their own"))]
fn run() -> u8 {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let asks_for_help = args.get(2).is_some_and(|arg| arg == "--help" || arg == "-h");
    if args.get(1).is_some_and(|command| command == "hook") && !asks_for_help {
        crate::hook::main(&args[2..]);
        return 0;
    }
    commands::main(&args)
}
