//! Checks whether Sprag works here. It reads settings and also sends an event through the installed hook.
//! Every finding names the next step.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use sprag_base::time::Timestamp;
use sprag_govern::history::SessionList;

use crate::clients::{CLIENTS, Client, ClientAbility, Support};
use crate::config;
use crate::setup::install;
use crate::store::{Store, inbox, projections};
use crate::sys::disk::{Disk, RealDisk};
use crate::sys::env::Env;
use crate::sys::exec::{self, ProcessEnd, ProcessSpec, on_path};
use crate::sys::locations::Locations;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    pub about: String,
    pub level: DoctorLevel,
    pub what: String,
    /// Command, or a step for a person.
    pub next: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoctorLevel {
    Good,
    /// Works, but not fully.
    Warning,
    Bad,
}

sprag_base::names! { pub fn name(DoctorLevel): Good = "ok", Warning = "warning", Bad = "bad" }

const CHILD: Duration = Duration::from_secs(10);
/// Largest accidental difference between clocks of one machine, in seconds.
const CLOCK_SLACK: i64 = 300;

/// Examines the installation. The caller examines the sandbox of agents, because it knows the sandbox.
pub fn examine(
    places: &Locations,
    env: &Env,
    now: Timestamp,
    mut progress: impl FnMut(&str),
    examine_sandbox: impl FnOnce() -> DoctorFinding,
) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    progress("program");
    findings.push(program(env));
    progress("configuration");
    findings.extend(configuration(places, env));
    progress("records");
    findings.push(writable("records", &places.store));
    match &places.user {
        Some(user) => findings.push(writable("user state", &user.state)),
        None => {
            findings.push(bad("user state", "no home directory is set", "export SPRAG_HOME=/a/directory"))
        }
    }
    findings.push(sandbox(places, env));
    progress("agent sandbox");
    findings.push(examine_sandbox());
    findings.push(clock(places, now));
    for client in CLIENTS {
        progress(client.name);
        findings.extend(examine_client(client, places, env));
    }
    findings
}

pub fn good(about: &str, what: impl Into<String>) -> DoctorFinding {
    DoctorFinding { about: about.to_owned(), level: DoctorLevel::Good, what: what.into(), next: None }
}

pub fn warning(about: &str, what: impl Into<String>, next: &str) -> DoctorFinding {
    DoctorFinding {
        about: about.to_owned(),
        level: DoctorLevel::Warning,
        what: what.into(),
        next: Some(next.to_owned()),
    }
}

fn bad(about: &str, what: impl Into<String>, next: &str) -> DoctorFinding {
    DoctorFinding {
        about: about.to_owned(),
        level: DoctorLevel::Bad,
        what: what.into(),
        next: Some(next.to_owned()),
    }
}

/// Returns the name of this program for hooks, and whether `PATH` finds it.
pub fn program_name(env: &Env) -> (String, bool) {
    let this = std::env::current_exe().and_then(fs::canonicalize).unwrap_or_else(|_| PathBuf::from("sprag"));
    let found = env
        .get("PATH")
        .and_then(|path| on_path("sprag", &path))
        .and_then(|found| fs::canonicalize(found).ok());
    if found == Some(this.clone()) {
        ("sprag".to_owned(), true)
    } else {
        (this.to_string_lossy().into_owned(), false)
    }
}

fn program(env: &Env) -> DoctorFinding {
    match program_name(env) {
        (_, true) => good("program", format!("sprag {} is on PATH", env!("CARGO_PKG_VERSION"))),
        (path, false) => warning(
            "program",
            format!("this program is not on PATH; hooks use `{path}`"),
            "cargo install --path crates/sprag",
        ),
    }
}

fn configuration(places: &Locations, env: &Env) -> Vec<DoctorFinding> {
    let resolved = config::load(places, env);
    let mut findings: Vec<DoctorFinding> = resolved
        .problems
        .iter()
        .map(|problem| bad("configuration", problem.to_string(), "sprag config path"))
        .collect();
    findings.extend(resolved.ignored.iter().map(|ignored| {
        let what = format!("`{}` in `{}` is ignored: not trusted", ignored.key, ignored.path.display());
        warning("configuration", what, "sprag trust")
    }));
    if findings.is_empty() {
        findings.push(good("configuration", "all layers are readable"));
    }
    findings
}

fn writable(about: &str, dir: &Path) -> DoctorFinding {
    let probe = dir.join(format!(".{}.doctor", std::process::id()));
    let tried =
        RealDisk.make_dirs(dir).and_then(|()| fs::write(&probe, b"")).and_then(|()| fs::remove_file(&probe));
    match tried {
        Ok(()) => good(about, format!("`{}` is writable", dir.display())),
        Err(error) => bad(
            about,
            format!("`{}` is not writable: {error}", dir.display()),
            &format!("ls -ld {}", dir.display()),
        ),
    }
}

/// Reports whether a sandboxed agent could leave reports anywhere.
fn sandbox(places: &Locations, env: &Env) -> DoctorFinding {
    let usable = inbox::places(places, env).into_iter().find(|dir| {
        let parent =
            if dir.exists() { Some(dir.as_path()) } else { dir.parent().filter(|parent| parent.exists()) };
        parent.is_some_and(|dir| rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok())
    });
    match usable {
        Some(dir) => good("sandbox", format!("sandboxed agents leave reports in `{}`", dir.display())),
        None => warning("sandbox", "sandboxed agents cannot leave reports", "sprag init"),
    }
}

fn clock(places: &Locations, now: Timestamp) -> DoctorFinding {
    let sessions = projections::load_all::<SessionList>(&Store::at(&places.store)).unwrap_or_default();
    let newest = sessions.rows().into_iter().map(|row| row.last).max();
    match newest {
        Some(last) if last.seconds_since(now) > CLOCK_SLACK => {
            warning("clock", format!("a record has a future time: {last}"), "date -u")
        }
        _ => good("clock", format!("{now}")),
    }
}

fn examine_client(client: &Client, places: &Locations, env: &Env) -> Vec<DoctorFinding> {
    let found = env.get("PATH").and_then(|path| on_path(client.program, &path));
    let user_file = (client.install.user_file)(env);
    let project_file = places.worktree.as_ref().map(|worktree| worktree.join(client.install.project_file));
    let installs: Vec<(PathBuf, String)> = user_file
        .iter()
        .chain(&project_file)
        .filter_map(|path| Some((path.clone(), install::installed(path, client)?)))
        .collect();
    let mut findings = Vec::new();
    match (&found, installs.is_empty()) {
        (None, true) => return vec![good(client.name, "not installed")],
        (None, false) => findings.push(warning(
            client.name,
            "hooks are installed, but the client is not on PATH",
            "sprag init --remove",
        )),
        (Some(program), _) => findings.push(version(client, program)),
    }
    if installs.is_empty() {
        findings.push(bad(
            client.name,
            "no hooks are installed",
            &format!("sprag init --client {}", client.name),
        ));
    }
    for (path, program) in &installs {
        if install::disables_hooks(path) {
            findings.push(bad(
                client.name,
                format!("`{}` turns all hooks off", path.display()),
                "remove `disableAllHooks` from this file",
            ));
        }
        findings.push(fires(client, program, env));
    }
    findings.extend(server(client, user_file.as_deref().or(project_file.as_deref()), places, env));
    if !installs.is_empty() && client.can.contains(&(ClientAbility::RunHooksUntrusted, Support::No)) {
        let runs_on = places.worktree.as_deref().unwrap_or(Path::new("/"));
        findings.push(trust(client, found.as_deref(), runs_on));
    }
    if installs.len() > 1 {
        findings.push(warning(
            client.name,
            "hooks are installed for the user and for the project",
            "sprag init --remove --project",
        ));
    }
    findings
}

fn version(client: &Client, program: &Path) -> DoctorFinding {
    let args = [OsStr::new("--version")];
    let run = ProcessSpec { cap: 4096, ..ProcessSpec::new(program.as_os_str(), &args, CHILD) };
    let said = exec::run(&run).ok().filter(exec::ProcessOutput::succeeded);
    let said = said.map(|ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned());
    match said {
        Some(said) if said.contains(client.tested) => {
            good(client.name, format!("{said}, the tested version"))
        }
        Some(said) => good(client.name, format!("{said}; the tested version is {}", client.tested)),
        None => warning(
            client.name,
            format!("`{} --version` failed", client.program),
            &format!("{} --version", client.program),
        ),
    }
}

/// Returns the program that Sprag's entry in a settings file runs. Settings may name any program; the doctor
/// starts only this one.
fn this_program(
    what: &str,
    client: &Client,
    program: &str,
    next: &str,
    env: &Env,
) -> Result<PathBuf, DoctorFinding> {
    let found = if program.contains('/') {
        Some(PathBuf::from(program))
    } else {
        env.get("PATH").and_then(|path| on_path(program, &path))
    };
    let Some(found) = found else {
        return Err(bad(client.name, format!("{what} runs `{program}`, which is not on PATH"), next));
    };
    let this = std::env::current_exe().and_then(fs::canonicalize).ok();
    if fs::canonicalize(&found).ok() != this {
        let what = format!("{what} runs `{program}`, which is a different program");
        return Err(warning(client.name, what, next));
    }
    Ok(found)
}

/// Reports whether the MCP server answers, if the client has an entry for it.
fn server(client: &Client, settings: Option<&Path>, places: &Locations, env: &Env) -> Option<DoctorFinding> {
    let path = install::mcp_entry::path(settings?, client, places.worktree.as_deref())?;
    let program = install::mcp_entry::installed(&path, client.install.server.as_ref()?.form)?;
    let next = format!("sprag init --mcp --client {}", client.name);
    let found = match this_program("the server", client, &program, &next, env) {
        Ok(found) => found,
        Err(finding) => return Some(finding),
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "sprag doctor", "version": env!("CARGO_PKG_VERSION")}}});
    let hello = format!("{hello}\n");
    let args = [OsStr::new("mcp")];
    let run = ProcessSpec {
        dir: places.worktree.as_deref().unwrap_or(Path::new("/")),
        stdin: hello.as_bytes(),
        ..ProcessSpec::new(found.as_os_str(), &args, CHILD)
    };
    let answers = exec::ask(&run, b"\"serverInfo\"")
        .is_ok_and(|ran| memchr::memmem::find(&ran.stdout, b"\"serverInfo\"").is_some());
    Some(if answers {
        good(client.name, format!("the server `{program} mcp` answers"))
    } else {
        bad(client.name, format!("the server `{program} mcp` does not answer"), &next)
    })
}

/// Sends an event through the installed hook, with temporary records and state.
fn fires(client: &Client, program: &str, env: &Env) -> DoctorFinding {
    let next = format!("sprag init --client {}", client.name);
    let Ok(temp) = tempfile::tempdir() else {
        return bad(client.name, "no temporary directory is available", "df -h");
    };
    let payload = json!({"session_id": "doctor", "hook_event_name": "SessionStart", "source": "startup", "cwd": temp.path()}).to_string();
    let args = [OsStr::new("hook"), OsStr::new(client.name)];
    let found = match this_program("the hook", client, program, &next, env) {
        Ok(found) => found,
        Err(finding) => return finding,
    };
    let run = ProcessSpec {
        dir: temp.path(),
        env: &[("SPRAG_HOME", temp.path().as_os_str())],
        stdin: payload.as_bytes(),
        ..ProcessSpec::new(found.as_os_str(), &args, CHILD)
    };
    match exec::run(&run) {
        Ok(ran)
            if ran.ending == ProcessEnd::Code(0)
                && serde_json::from_slice::<Value>(&ran.stdout).is_ok_and(|reply| reply.is_object()) =>
        {
            good(client.name, format!("the hook `{program} hook {}` answers", client.name))
        }
        Ok(ran) => bad(
            client.name,
            format!("the hook `{program} hook {}` gave a wrong answer: {:?}", client.name, ran.ending),
            &next,
        ),
        Err(error) => {
            bad(client.name, format!("the hook cannot start the program `{program}`: {error}"), &next)
        }
    }
}

/// Trust of a client in Sprag's hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    /// The client would skip `some` of `all` hooks.
    Untrusted {
        some: usize,
        all: usize,
    },
    /// The client lists no Sprag hooks, or does not answer.
    Unknown,
}

fn trust(client: &Client, program: Option<&Path>, dir: &Path) -> DoctorFinding {
    let step = client.install.after;
    let Some(program) = program else {
        return warning(client.name, "the trust of the hooks is unknown: the client is not on PATH", step);
    };
    match trust_of(client, program, dir) {
        Trust::Trusted => good(client.name, "the hooks are trusted"),
        Trust::Unknown => warning(client.name, "the trust of the hooks is unknown", step),
        Trust::Untrusted { some, all } => bad(
            client.name,
            format!("{some} of {all} hooks are not trusted; the client skips them silently"),
            step,
        ),
    }
}

/// Asks Codex whether it will run Sprag's hooks. Only the user can change this trust.
pub fn trust_of(client: &Client, program: &Path, dir: &Path) -> Trust {
    let ending = format!(" hook {}", client.name);
    let ask = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "sprag", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "hooks/list", "params": {"cwds": [dir]}}),
    ];
    let lines: String = ask.iter().map(|message| format!("{message}\n")).collect();
    let args = [OsStr::new("app-server")];
    let run = ProcessSpec {
        dir,
        stdin: lines.as_bytes(),
        cap: 1024 * 1024,
        ..ProcessSpec::new(program.as_os_str(), &args, CHILD)
    };
    let answer = exec::ask(&run, b"\"id\":2").ok().and_then(|ran| {
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        text.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|message| message["id"] == 2)
    });
    let states: Vec<String> = answer
        .iter()
        .flat_map(|answer| answer["result"]["data"].as_array().into_iter().flatten())
        .flat_map(|place| place["hooks"].as_array().into_iter().flatten())
        .filter(|hook| hook["command"].as_str().is_some_and(|command| command.ends_with(&ending)))
        .filter_map(|hook| hook["trustStatus"].as_str().map(str::to_owned))
        .collect();
    match states.iter().filter(|state| *state != "trusted" && *state != "managed").count() {
        0 if !states.is_empty() => Trust::Trusted,
        0 => Trust::Unknown,
        some => Trust::Untrusted { some, all: states.len() },
    }
}
