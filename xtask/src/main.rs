//! `cargo xtask COMMAND`: commands for developers of this repository.
//!
//! A command is one module with `pub fn run(args: &[String]) -> anyhow::Result<()>` and one line in
//! `COMMANDS`.

use std::process::ExitCode;

mod bench;
mod check;
mod e2e;
mod eval;
mod failure;
mod model;
mod pictures;
mod place;
mod process;
mod program;
mod recipe;
mod recorded;
mod tidy;
mod workspace;

struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

const COMMANDS: &[Command] = &[
    Command { name: "bench", about: "measure the cost of a hook call", run: bench::run },
    Command { name: "check", about: "run all checks that a change must pass", run: check::run },
    Command { name: "e2e", about: "run the real clients against a scripted model", run: e2e::run },
    Command { name: "eval", about: "score policy, memory and trace on labelled data", run: eval::run },
    Command { name: "pictures", about: "make the pictures of the README from real runs", run: pictures::run },
    Command {
        name: "recipe",
        about: "prove that a new gate or client needs one file and one line",
        run: recipe::run,
    },
    Command { name: "recorded", about: "send recorded payloads through the hook", run: recorded::run },
    Command { name: "tidy", about: "check the rules of this repository", run: tidy::run },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = args.split_first() else {
        eprint!("{}", usage());
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprint!("xtask: no command `{name}`\n{}", usage());
        return ExitCode::from(2);
    };
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::tell(&error),
    }
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND [ARGUMENTS]\n");
    for command in COMMANDS {
        text.push_str(&format!("  {:<8} {}\n", command.name, command.about));
    }
    text
}
