//! The clients that are run for real: which package, how it is told about our hooks and the scripted
//! model, and how its tools are called. Everything that differs between clients is in these tables,
//! so that a case is written once.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::script::{Call, Step};
use crate::place::Place;

mod claude;
mod codex;

pub const CLIENTS: &[&Client] = &[&claude::CLIENT, &codex::CLIENT];

pub struct Client {
    pub name: &'static str,
    pub package: &'static str,
    /// Pinned: what is known of a client is known of a version.
    pub version: &'static str,
    /// The program inside `node_modules`, if it is there.
    pub program: fn(&Path) -> Option<PathBuf>,
    pub env: fn(&Place) -> Vec<(&'static str, String)>,
    /// Settings that are not ours: which model to talk to.
    pub prepare: fn(&Place) -> anyhow::Result<()>,
    /// The file our hooks belong into.
    pub hooks_file: fn(&Place) -> PathBuf,
    /// That file's content, for a program that cannot install itself.
    pub hooks: fn(&Place) -> serde_json::Value,
    pub arguments: fn(&Errand) -> Vec<String>,
    /// The session's id, from what the client printed.
    pub session: fn(&str) -> Option<String>,
    pub shell: fn(&str) -> Call,
    pub read: fn(&str) -> Call,
    /// A tool that writes a file, where the client has one.
    pub write: Option<fn(&Path, &str) -> Call>,
    /// A tool of our broker, once the client was told of it.
    pub broker: fn(BrokerTool, Value) -> Call,
    /// What a user of the client does to let a project's server run, where that takes a step.
    pub trust_server: fn(&Place) -> anyhow::Result<()>,
    /// Starts a sub-agent with this prompt and waits for its end.
    pub delegate: fn(&'static str) -> Vec<Step>,
    /// Arguments that run a command which does nothing inside the client's sandbox, where it has one:
    /// whether that works is a matter of the kernel and its settings.
    pub sandbox: Option<&'static [&'static str]>,
}

/// The tools of the broker that stories use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerTool {
    Search,
    Record,
    Observe,
}

/// One headless run, as far as the command line tells it.
pub struct Errand<'a> {
    pub prompt: &'a str,
    pub grant: Grant,
    pub plugin: Option<&'a Path>,
    /// A session to go on with.
    pub resume: Option<&'a str>,
}

/// What the user lets the model do without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// What a person gives who wants work done.
    Usual,
    /// All that the client can be told to allow, and no sandbox.
    Everything,
    /// Every write would need a yes, and nobody is there to give it.
    Nothing,
}
