//! Stories as data: each script in `stories/` is a list of `event | verdict`. The test plays it through the
//! core alone, through the program as Claude Code, and through the program as Codex. All three must give the
//! same verdicts.

pub(crate) mod scripts;

use crate::stories::scripts::{Script, Step, scripts};
use crate::support::Sandbox;
use crate::support::players::{Core, Player, Program, Told};

#[test]
fn scripts_are_played_by_the_core() {
    for script in scripts() {
        play(&script, &mut Core::new());
    }
}

#[test]
fn scripts_are_played_by_the_program_as_claude() {
    for script in scripts().into_iter().filter(Script::runs_in_real_time) {
        play(
            &script,
            &mut Program {
                sandbox: Sandbox::new(),
                client: "claude",
                token: String::new(),
                intents: Vec::new(),
                is_rehearsed: false,
            },
        );
    }
}

#[test]
fn scripts_are_played_by_the_program_as_codex() {
    for script in scripts().into_iter().filter(Script::runs_in_real_time).filter(|it| it.suits("codex")) {
        play(
            &script,
            &mut Program {
                sandbox: Sandbox::new(),
                client: "codex",
                token: String::new(),
                intents: Vec::new(),
                is_rehearsed: false,
            },
        );
    }
}

pub(crate) fn play(script: &Script, player: &mut dyn Player) {
    let mut session = "s-1".to_owned();
    for (line, step, wanted) in &script.lines {
        if let Step::Session(name) = step {
            session.clone_from(name);
            continue;
        }
        let told = player.play(&session, step);
        // A client that cannot ask refuses.
        let wanted = &if player.can_ask() { wanted.clone() } else { wanted.replacen("ask ", "deny ", 1) };
        let wanted =
            &if player.can_rewrite() { wanted.clone() } else { wanted.replacen("rewrite ", "deny ", 1) };
        let is_told_late = matches!(step, Step::Ran { .. }) && !player.knows_how_calls_end();
        let wanted =
            &if is_told_late && wanted.starts_with("note ") { "pass".to_owned() } else { wanted.clone() };
        // The note of `verify` is output for the user, not a verdict.
        let told = match (step, told) {
            (Step::Verify, Told::Note(_)) => Told::Nothing,
            (_, told) => told,
        };
        let fits = match (wanted.split_once(' ').unwrap_or((wanted, "")), &told) {
            (("pass", ""), Told::Nothing) | (("allow", ""), Told::Allow) => true,
            (("rewrite", command), Told::Rewrite(text)) => command == text,
            (("note", part), Told::Note(text))
            | (("hold", part), Told::Hold(text))
            | (("deny", part), Told::Deny(text))
            | (("ask", part), Told::Ask(text)) => text.contains(part) && text.contains("sprag: "),
            _ => false,
        };
        assert!(fits, "{}:{line}: wanted `{wanted}`, was told {told:?}", script.name);
    }
}
