//! The `sprag` program: argv, commands, exit codes.

fn main() {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|command| command == "hook") {
        sprag_host::hook::main(&args[2..]);
    }
}
