//! Sends messages: to an agent through its hooks, to a person through `notify.command`.

use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use sprag_base::result::Discard as _;
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env::Env;
use sprag_host::sys::exec::{self, ProcessEnd, ProcessSpec};
use sprag_host::sys::locations::Locations;
use sprag_host::world::World;
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::run::effect::{EffectOutcome, NudgeTopic};

use super::Job;
use crate::agent::tmux;
use crate::daemon_log::DaemonLogFile;
use crate::stage_session::nudges;

/// Time limit for `notify.command`.
const PATIENCE: Duration = Duration::from_secs(10);

impl Job {
    /// Leaves a message for an agent. An agent without hooks gets it in its next brief.
    pub(super) fn nudge(
        &self,
        stage: &StageId,
        session: &EffectKey,
        text: &str,
        about: NudgeTopic,
        disk: &dyn Disk,
    ) -> io::Result<EffectOutcome> {
        match about {
            // The claim command waits for the result, so the agent has this report already.
            NudgeTopic::Report => {}
            NudgeTopic::Answer if self.has_typed(session, text) => {}
            NudgeTopic::Answer | NudgeTopic::Notes | NudgeTopic::Handoff => {
                let store = self.ground.run.parent().unwrap_or(&self.ground.run);
                nudges::leave(store, disk, stage.as_str(), &self.ground.site(session), &self.key, text)?;
            }
        }
        Ok(EffectOutcome::Done)
    }

    /// Types the answer into the terminal and reports whether it did. An agent that shows a prompt there
    /// calls no hook before it is answered.
    fn has_typed(&self, session: &EffectKey, text: &str) -> bool {
        let site = self.ground.site(session);
        let is_shown = site.seen().is_some_and(|seen| seen.asks.is_some());
        let window = site.window().filter(|_| is_shown);
        window.is_some_and(|window| tmux::type_in(&window, text, &self.ground.root).is_ok())
    }

    /// Runs `notify.command`. A failure goes to the daemon log only, because `sprag status` shows the same
    /// fact.
    pub(super) fn notify(&self, about: Option<&StageId>, text: &str, disk: &dyn Disk) -> EffectOutcome {
        if let Err(why) = self.tell_person(about, text, disk) {
            self.log(&format!("`notify.command` failed: {why}"), disk);
        }
        EffectOutcome::Done
    }

    /// Writes a line to the daemon log about a failure that no run waits for.
    pub(super) fn log(&self, line: &str, disk: &dyn Disk) {
        let written = DaemonLogFile::at(&self.ground.run).write(disk, line);
        written.discard("there is no other place to report to");
    }

    fn tell_person(&self, about: Option<&StageId>, text: &str, disk: &dyn Disk) -> Result<(), String> {
        let env = Env::Real;
        let places = Locations::find(&self.ground.root, &env).map_err(|_| "no home directory".to_owned())?;
        let command = World::new(&env, disk, places).config.settings.notify.command;
        let Some((program, args)) = command.split_first() else { return Ok(()) };
        let text = format!("sprag: plan `{}`: {text}", self.ground.plan);
        let mut args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        args.push(OsStr::new(&text));
        let run = ProcessSpec {
            dir: &self.ground.root,
            env: &[
                ("SPRAG_PLAN", OsStr::new(&self.ground.plan)),
                ("SPRAG_STAGE", OsStr::new(about.map_or("-", StageId::as_str))),
            ],
            cap: 4096,
            ..ProcessSpec::new(OsStr::new(program), &args, PATIENCE)
        };
        match exec::run_for_end(&run).map_err(|error| error.to_string())?.ending {
            ProcessEnd::Code(0) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }
}
