//! The real clients: their package, their settings for hooks and the scripted model, and the calls of their
//! tools. These tables hold all differences between clients, so that a case is written once.

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
    /// The pinned version; all knowledge about a client holds for this version.
    pub version: &'static str,
    /// The program inside `node_modules`, if it exists.
    pub program: fn(&Path) -> Option<PathBuf>,
    pub env: fn(&Place) -> Vec<(&'static str, String)>,
    /// Writes the client's own settings, such as the address of the model.
    pub prepare: fn(&Place) -> anyhow::Result<()>,
    /// The file that the hooks belong into.
    pub hooks_file: fn(&Place) -> PathBuf,
    /// The content of that file, for a program without `init`.
    pub hooks: fn(&Place) -> serde_json::Value,
    pub arguments: fn(&Errand) -> Vec<String>,
    /// The id of the session, from the output of the client.
    pub session: fn(&str) -> Option<String>,
    pub shell: fn(&str) -> Call,
    pub read: fn(&str) -> Call,
    /// A tool that writes a file, if the client has one.
    pub write: Option<fn(&Path, &str) -> Call>,
    /// A call of a tool of the broker, after the client knows the server.
    pub broker: fn(BrokerTool, Value) -> Call,
    /// Allows the server of a project, if the client requires that of its user.
    pub trust_server: fn(&Place) -> anyhow::Result<()>,
    /// Starts a sub-agent with this prompt and waits for its end.
    pub delegate: fn(&'static str) -> Vec<Step>,
    /// Arguments that run an empty command inside the client's sandbox, if the client has one. The kernel and
    /// its settings decide whether that works.
    pub sandbox: Option<&'static [&'static str]>,
}

/// The tools of the broker that stories use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerTool {
    Search,
    Record,
    Observe,
}

/// One headless run, for the command line of the client.
pub struct Errand<'a> {
    pub prompt: &'a str,
    pub grant: Grant,
    pub plugin: Option<&'a Path>,
    /// The session to resume.
    pub resume: Option<&'a str>,
}

/// The permissions that the user gives the model in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// The usual permissions of a user who wants work done.
    Usual,
    /// The widest permissions of the client, without a sandbox.
    Everything,
    /// No permission to write: the client would ask, and no user is present.
    Nothing,
}
