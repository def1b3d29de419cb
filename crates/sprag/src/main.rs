//! The `sprag` program: argv, commands, exit codes. A hook is dispatched before anything else
//! exists: it is started hundreds of times in a session.

mod commands;
mod failure;
mod input;
mod output;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let asks_for_help = args.get(2).is_some_and(|arg| arg == "--help" || arg == "-h");
    if args.get(1).is_some_and(|command| command == "hook") && !asks_for_help {
        sprag_host::hook::main(&args[2..]);
        return ExitCode::SUCCESS;
    }
    commands::main(&args)
}
