//! `sprag status --live`: a screen that reads the records again when the kernel reports a change.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use sprag_base::time::Timestamp;
use sprag_host::sys::{env, exec};
use sprag_orchestrator::observe::file_watch::{FileWatch, WatchEvent};
use sprag_orchestrator::view;
use sprag_orchestrator::view::follow::Follow;
use sprag_plan::view::RunBoard;
use sprag_ui::live::{AttentionBell, ScreenContent, ScreenExit, live};
use sprag_ui::screen::Colours;

use crate::commands::run::selection;
use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;

/// Longest wait for a change; the kernel reports changes at once.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) fn run(cx: &CommandCx, plan: Option<&str>) -> CommandResult {
    let listed = selection::listed(cx, plan)?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::no_screen());
    }
    let dir = selection::dir(cx)?;
    let mut follow = Follow::new(&dir, &listed.log);
    follow.read().map_err(|error| Failure::run_unread(&error))?;
    if follow.board(cx.now).is_none() {
        return Err(Failure::no_run(plan));
    }
    let no_colour = cx.env.get("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colours = if no_colour { Colours::Plain } else { Colours::Colours };
    let plans = dir.join("plans");
    let mut before: Option<RunBoard> = None;
    let look = || -> io::Result<ScreenContent> {
        let now: Timestamp = env::now();
        follow.read()?;
        // If the log was just archived, the next run starts a new one. Until then the screen keeps the last
        // board.
        let board = follow.board(now).or(before.take()).ok_or(io::ErrorKind::NotFound)?;
        before = Some(board.clone());
        let seen = view::seen(&dir, &board);
        Ok(ScreenContent { board, seen, told: follow.recent_events().map(str::to_owned).collect(), now })
    };
    let left =
        live(colours, |bell| watch(plans, bell), look).map_err(|error| Failure::screen_lost(&error))?;
    match left {
        ScreenExit::Quit => Ok(CommandEnd::Done),
        ScreenExit::Attach(stage) => {
            // Another process, because the screen handles signals and keyboard in this one.
            let us = std::env::current_exe().map_err(|error| Failure::not_started("sprag", &error))?;
            let us = us.display().to_string();
            let error =
                exec::become_program(&[us.as_str(), "run", "attach", "--plan", &listed.plan, stage.as_str()]);
            Err(Failure::not_started("sprag", &error))
        }
    }
}

/// Rings the bell when the records change, until the program ends.
fn watch(plans: PathBuf, bell: AttentionBell) {
    thread::spawn(move || {
        let Ok(watch) = FileWatch::new([plans.as_path()]) else { return };
        while let Ok(heard) = watch.wait(PATIENCE) {
            if heard == WatchEvent::Changed {
                bell.ring();
            }
        }
    });
}
