//! The stories with real clients. Each file has a `CASE` and the function that plays it. This file has the
//! list and the parts that several stories share.

use super::clients::Client;
use super::outcome::{Checked, expect, short};
use super::rig::{Hooks, Rig, Run};
use crate::model::script::Turn;
use crate::model::seen::Request;
use crate::process::Ending;

mod background;
mod bounded;
mod broker;
mod deep_plan;
mod denied_command;
mod denied_tool;
mod forged;
mod guarded;
mod held_stop;
mod ignored;
mod intent;
mod memory;
mod memory_server;
mod permission;
mod plain;
mod plan;
mod plugin;
mod reflection;
mod review;
mod reviewer_process;
mod sandboxed_report;
mod session_start_context;
mod subagent;
mod trusted_plan;
mod untrusted_plan;
mod user_prompt_stays;

pub const CASES: &[&Case] = &[
    &plain::CASE,
    &held_stop::CASE,
    &bounded::CASE,
    &review::CASE,
    &reviewer_process::CASE,
    &reflection::CASE,
    &ignored::CASE,
    &background::CASE,
    &session_start_context::CASE,
    &denied_tool::CASE,
    &denied_command::CASE,
    &guarded::CASE,
    &forged::CASE,
    &permission::CASE,
    &user_prompt_stays::CASE,
    &sandboxed_report::CASE,
    &subagent::CASE,
    &intent::CASE,
    &plugin::CASE,
    &broker::CASE,
    &memory::CASE,
    &memory_server::CASE,
    &plan::CASE,
    &deep_plan::CASE,
    &trusted_plan::CASE,
    &untrusted_plan::CASE,
];

pub struct Case {
    pub name: &'static str,
    pub shows: &'static str,
    pub hooks: Hooks,
    pub play: fn(&mut Rig) -> Checked,
}

impl Case {
    /// Reports whether the client can play the case. Only Claude Code has plugins, hooks that answer for the
    /// user, and agent types; only Codex has trust in hooks.
    pub fn suits(&self, client: &Client) -> bool {
        match self.hooks {
            Hooks::UserSettings => true,
            Hooks::Plugin | Hooks::Asking | Hooks::Agents => client.name == "claude",
            Hooks::Untrusted => client.name == "codex",
        }
    }
}

/// The prefix of every text of Sprag.
const OURS: &str = "sprag: ";

/// The file that opens an obligation and closes it again.
const NOTES: &str = "notes.txt";

/// Returns a turn that writes three conflict lines. A larger change would open other obligations.
fn write_conflict(client: &Client) -> Turn {
    let command = format!("printf '%s\\n' '<<<<<<< ours' '=======' '>>>>>>> theirs' > {NOTES}");
    Turn::call((client.shell)(&command))
}

fn repair_conflict(client: &Client) -> Turn {
    Turn::call((client.shell)(&format!("echo clean > {NOTES}")))
}

fn ended_well(run: &Run) -> Checked {
    let finished = &run.finished;
    expect(finished.ending == Ending::Code(0), "the client ends with exit code 0", || {
        let said = short(&format!("{}\n{}", finished.stderr.trim(), finished.stdout.trim()));
        format!("{:?} after {:.1} s: {said}", finished.ending, finished.took.as_secs_f64())
    })
}

/// Returns a turn that changes more lines than a session may change without a reflection.
fn write_many(client: &Client) -> Turn {
    Turn::call((client.shell)("seq 30 > many.txt"))
}

/// Returns the requests that brought a new text of Sprag, each with its position. A text stays in every later
/// request, so only growth counts.
fn told<'a>(requests: &[&'a Request]) -> Vec<(usize, &'a Request)> {
    let mut before = 0;
    let mut told = Vec::new();
    for (i, request) in requests.iter().enumerate() {
        let now = request.count(OURS);
        if now > before {
            told.push((i, *request));
        }
        before = now;
    }
    told
}

/// Describes the conversation for a report: the number of requests and the end of the last one.
fn outline(requests: &[&Request]) -> String {
    let last = requests.last().map(|request| request.last_talk());
    format!("{} requests, the last one ends with {}", requests.len(), short(&last.unwrap_or_default()))
}
