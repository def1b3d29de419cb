//! `sprag run attach`: shows the agent of a stage at work.

use sprag_host::sys::exec;
use sprag_orchestrator::session_dir::{SessionProbe, site_of};
use sprag_plan::settings::terminal::KNOWN;

use super::logs;
use super::selection::{self, SelectedRun};
use crate::commands::{CommandCx, CommandEnd, CommandResult, check_not_agent};
use crate::failure::Failure;

/// Watch the agent of a stage at work
///
/// Attaches to the terminal of the agent with `tmux`. For an agent without a terminal, prints its output
/// until it ends. If you leave, the agent continues.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Stage id
    stage: String,
    /// Open a new terminal window (`terminal.command`)
    #[arg(long)]
    window: bool,
    /// Name of the plan (default: the run with the latest change)
    #[arg(long, value_name = "NAME")]
    plan: Option<String>,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let shown = selection::need(cx, args.plan.as_deref())?;
    shown.stage(&args.stage)?;
    if args.window { open(&shown, &args.stage, cx) } else { attach(&shown, &args.stage, cx) }
}

/// Attaches to the terminal of the agent, or prints its output.
pub(crate) fn attach(shown: &SelectedRun, stage: &str, cx: &CommandCx) -> CommandResult {
    let row = shown.stage(stage)?;
    let session = row.agent.session().ok_or_else(|| Failure::no_agent_yet(stage))?;
    let site = site_of(&shown.dir, session);
    let window = match site.probe() {
        // The terminal ended with the agent, but its output is stored.
        Ok(SessionProbe::Ended(_) | SessionProbe::Died) => None,
        Ok(SessionProbe::Running | SessionProbe::Nothing) | Err(_) => site.window(),
    };
    let Some(window) = window else { return logs::follow(shown, row) };
    // Input in that terminal counts as input of a person.
    check_not_agent(&cx.places()?)?;
    // `=` selects this session exactly; a plain name would also match longer names.
    let target = format!("={}", window.name);
    let error = exec::become_program(&["tmux", "-L", &window.server, "attach-session", "-t", &target]);
    Err(Failure::not_started("tmux", &error))
}

fn open(shown: &SelectedRun, stage: &str, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let mut argv = world.config.settings.terminal.command.clone();
    if argv.is_empty() {
        argv = known(cx).ok_or_else(|| Failure::no_window(stage))?;
    }
    let us = std::env::current_exe().map_err(|error| Failure::not_started("sprag", &error))?;
    argv.push(us.display().to_string());
    argv.extend(["run", "attach", "--plan", &shown.listed.plan, stage].map(str::to_owned));
    exec::let_go(&argv, &cx.cwd).map_err(|error| Failure::not_started(&argv[0], &error))?;
    Ok(CommandEnd::Done)
}

/// Returns the first known terminal program on PATH, if there is a display.
fn known(cx: &CommandCx) -> Option<Vec<String>> {
    ["WAYLAND_DISPLAY", "DISPLAY"].iter().find_map(|name| cx.env.get(name))?;
    let path = cx.env.get("PATH")?;
    KNOWN.iter().find_map(|(program, before)| {
        let found = exec::on_path(program, &path)?;
        let mut argv = vec![found.display().to_string()];
        argv.extend(before.iter().map(|arg| (*arg).to_owned()));
        Some(argv)
    })
}
