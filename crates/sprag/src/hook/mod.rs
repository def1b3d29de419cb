//! One hook call in a straight line: payload -> event -> state -> verdict -> reply.
//!
//! A hook always ends with exit code 0 and one JSON object. On a failure, Sprag warns the user and answers as
//! the gates declare for a fault. Most gates pass then.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use sprag_base::result::Discard as _;
use sprag_base::text::{Text, one_line};
use sprag_govern::decide;
use sprag_govern::event::{Event, EventKind, Input, Presence, SessionNaming, SessionPurpose};
use sprag_govern::verdict::{Ruling, Verdict};
use sprag_host::clients::payload::{self, HookPayload};
use sprag_host::clients::{self, Client, ParsedPayload, RenderInput};
use sprag_host::pipeline::{self, PipelineMode, PipelineResult};
use sprag_host::purpose;
use sprag_host::sys::disk::{self, Disk, ReadOnly, RealDisk};
use sprag_host::sys::env::{self, Env};
use sprag_host::sys::locations::{self, Locations};
use sprag_host::world::{SessionPlaces, World};
use sprag_orchestrator::stage_session;
use sprag_policy::call::InputCompleteness;

/// `sprag hook CLIENT [EVENT] [--dry-run]`, as typed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Args {
    client: String,
    is_dry_run: bool,
}

/// Runs a hook call: reads stdin, prints the reply, then does the work that may wait.
pub(crate) fn main(args: &[OsString]) {
    let env = Env::Real;
    let args = Args::read(args);
    keep_panics();
    let payload = payload::read(io::stdin().as_fd());
    let long = payload.as_ref().ok().filter(|payload| payload.bytes.len() > LONG);
    let answered = long.map(|payload| answer_in_time(&args.client, payload));
    let disk = disk_of(&env);
    let judged = catch_unwind(AssertUnwindSafe(|| answer(&args, &env, &*disk, payload.as_ref())));
    let answer = judged.unwrap_or_else(|_| after_panic(&args, &env, payload.as_ref().ok()));
    if ANSWERED.swap(true, Ordering::SeqCst) {
        // The watch thread prints its own answer and ends the process.
        return std::thread::park();
    }
    if let Some(warning) = &answer.warning {
        tell(&format!("sprag: {warning}"));
    }
    print(&answer.text);
    drop(answered);
    keep_pair(&env, payload.as_ref().ok(), &answer.text);
    hang_up();
    catch_unwind(AssertUnwindSafe(|| answer.finish())).discard("the next hook does these chores");
}

/// Size in bytes from which a payload gets a watch thread, because its decision may take longer than a client
/// waits.
const LONG: usize = 16 * 1024;
/// Less than the 30 s that clients wait for a hook. After that they continue without an objection.
const PATIENCE: Duration = Duration::from_secs(20);
/// Less than the 10 minutes that clients wait at a stop, where checks run.
const PATIENCE_AT_STOP: Duration = Duration::from_secs(560);

fn patience(event: Option<EventKind>) -> Duration {
    match event {
        Some(EventKind::StopRequested | EventKind::SubagentStopped | EventKind::TaskCompleting) => {
            PATIENCE_AT_STOP
        }
        _ => PATIENCE,
    }
}

static ANSWERED: AtomicBool = AtomicBool::new(false);

/// Starts a thread that answers if the decision takes too long. Dropping the returned sender ends the thread.
fn answer_in_time(client: &str, payload: &HookPayload) -> mpsc::Sender<()> {
    let raw = String::from_utf8_lossy(&payload.bytes).into_owned();
    let client = clients::find(client);
    let native = peek_event_name(&raw).unwrap_or_default();
    let patience = patience(client.and_then(|client| (client.kind_of)(&native)));
    let (sender, receiver) = mpsc::channel::<()>();
    let watch = move || {
        if receiver.recv_timeout(patience) != Err(mpsc::RecvTimeoutError::Timeout) {
            return;
        }
        if let Some(client) = client
            && !ANSWERED.swap(true, Ordering::SeqCst)
        {
            let answer = fault(client, &Env::Real, &native, &raw, "the decision took too long");
            print(&answer.text);
            end_here();
        }
    };
    std::thread::Builder::new().spawn(watch).discard("without the watch, the main thread answers");
    sender
}

#[expect(clippy::exit, reason = "the main thread, which should return, hangs")]
fn end_here() -> ! {
    std::process::exit(0)
}

/// The reply, and the work that is left after it.
struct HookReply<'a> {
    text: String,
    warning: Option<String>,
    rest: Vec<(World<'a>, Input, PipelineResult)>,
}

impl HookReply<'_> {
    fn finish(self) {
        for (world, input, walked) in self.rest {
            sprag_host::upkeep::after_reply::run_chores(&world, &input, &walked)
                .discard("the next hook repeats chores that failed");
        }
    }
}

impl Args {
    /// Reads the arguments. Ignores unknown flags, because a hook must not fail.
    fn read(args: &[OsString]) -> Args {
        let mut read = Args::default();
        for arg in args {
            match arg.to_string_lossy().as_ref() {
                "--dry-run" => read.is_dry_run = true,
                flag if flag.starts_with('-') => {}
                name if read.client.is_empty() => read.client = name.to_owned(),
                _ => {}
            }
        }
        read
    }
}

fn answer<'a>(
    args: &Args,
    env: &'a Env,
    disk: &'a dyn Disk,
    payload: Result<&HookPayload, &payload::PayloadError>,
) -> HookReply<'a> {
    let Some(client) = clients::find(&args.client) else {
        let known: Vec<&str> = clients::CLIENTS.iter().map(|client| client.name).collect();
        let warning = format!("unknown client `{}`; known: {}", args.client, known.join(", "));
        return HookReply { text: "{}".to_owned(), warning: Some(warning), rest: Vec::new() };
    };
    let payload = match payload {
        Ok(payload) => readable(payload),
        Err(payload::PayloadError::Unfinished) => {
            return fault(client, env, "", "", "the payload did not end within a second");
        }
        Err(payload::PayloadError::Io(error)) => {
            return fault(client, env, "", "", &format!("cannot read the payload: {error}"));
        }
    };
    let parsed = (client.parse)(&payload, env).or_else(|_| (client.parse)(&mended(&payload), env));
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(malformed) => {
            let mut raw = String::from_utf8_lossy(&payload.bytes).into_owned();
            if payload.whole == (InputCompleteness::Cut { names_us: true }) {
                // The part that was cut off names Sprag.
                raw.push_str(" sprag");
            }
            let native = peek_event_name(&raw).unwrap_or_default();
            return fault(client, env, &native, &raw, &format!("the payload is malformed: {}", malformed.0));
        }
    };
    let ParsedPayload { native, input: Some(input) } = parsed else {
        return HookReply { text: "{}".to_owned(), warning: None, rest: Vec::new() };
    };
    panic_if_asked(env);
    judge(args, env, disk, client, &native, input)
}

fn judge<'a>(
    args: &Args,
    env: &'a Env,
    disk: &'a dyn Disk,
    client: &Client,
    native: &str,
    mut input: Input,
) -> HookReply<'a> {
    let cwd = if input.cwd.is_empty() { locations::current_dir(env) } else { PathBuf::from(&input.cwd) };
    let Ok(places) = SessionPlaces::find(&input, &cwd, env) else {
        return fault(client, env, native, "", "no home directory; set `HOME` or `SPRAG_HOME`");
    };
    input.root = root_of(&places.own);
    input.registration = Some(registration(env));
    if client.session_variable.is_some() {
        input.naming = SessionNaming::ByVariable;
    }
    input.home = locations::home(env).map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
    let disk = if args.is_dry_run { &ReadOnly } else { disk };
    let world = World::of_session(env, disk, &places);
    match purpose::task(world.places.user.as_ref(), env) {
        Some(purpose::Purpose::Judge) => {
            return HookReply { text: "{}".to_owned(), warning: None, rest: Vec::new() };
        }
        Some(purpose::Purpose::Review { .. }) => input.errand = SessionPurpose::Review,
        Some(purpose::Purpose::Check) => input.errand = SessionPurpose::Check,
        Some(purpose::Purpose::Stage { stage }) => {
            input.anchor = stage_session::at(&world, stage.as_str(), &input.event);
            input.stage = Some(stage);
            // No person sees the questions of a stage agent, whatever its client reports.
            input.presence = Presence::Headless;
        }
        None => {}
    }
    let is_off = |world: &World<'_>| world.config.off.applies(&world.places.store, input.at).is_some();
    if is_off(&world) {
        return HookReply { text: "{}".to_owned(), warning: None, rest: Vec::new() };
    }
    let mode = if args.is_dry_run { PipelineMode::DryRun } else { PipelineMode::Real };
    let world = stricter_of_clone(world, &places, &input);
    let mut rest = Vec::new();
    let walked = pipeline::process_event(&world, &input, mode);
    let mut walked = without_memory(&world, &input, walked);
    if let Some(other) = &places.other {
        // The agent is in another repository: the rules of both repositories apply.
        let other = World::new(env, disk, other.clone());
        if !is_off(&other) {
            let input = Input { root: root_of(&other.places), ..input.clone() };
            let mut there = pipeline::process_event(&other, &input, mode);
            there = without_memory(&other, &input, there);
            walked.verdict = walked.verdict.stricter(std::mem::take(&mut there.verdict));
            walked.warnings.append(&mut there.warnings);
            rest.push((other, input, there));
        }
    }
    if matches!(input.event, Event::SessionStarted { .. }) {
        walked.warnings.extend(world.config.warnings.iter().cloned());
    }
    // A warning may quote text of the repository, so it becomes one short line.
    let warning = (!walked.warnings.is_empty())
        .then(|| Text::<1000>::new(one_line(&walked.warnings.join("; "))).to_string());
    let presence = input.presence;
    let reply = RenderInput { native, presence, verdict: &walked.verdict, warning: warning.as_deref() };
    let text = (client.render)(&reply);
    rest.push((world, input, walked));
    if rest.iter().any(|(_, _, walked)| walked.has_chores()) {
        return HookReply { text, warning, rest };
    }
    // The process ends soon. Freeing all this would cost more than reading the payload.
    std::mem::forget(rest);
    HookReply { text, warning, rest: Vec::new() }
}

/// Returns how the client called this hook: the word for the program, and the folder of the plugin if a plugin
/// registers the hook.
fn registration(env: &Env) -> Text<400> {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = program.to_string_lossy();
    match env.text("CLAUDE_PLUGIN_ROOT") {
        Some(plugin) => Text::new(format!("{program} in {plugin}")),
        None => Text::from(program.as_ref()),
    }
}

fn root_of(places: &Locations) -> String {
    places.worktree.as_ref().map(|root| root.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the world whose configuration judges a call more strictly, if the agent is in another worktree of
/// its clone: that of the start, or that of the current worktree. Their commits may differ.
fn stricter_of_clone<'a>(world: World<'a>, places: &SessionPlaces, input: &Input) -> World<'a> {
    let is_call = matches!(input.event, Event::ToolRequested { .. } | Event::PermissionAsked { .. });
    if places.started.is_none() || !is_call {
        return world;
    }
    let here = World::new(world.env, &ReadOnly, places.own.clone());
    let rank = |world: &World<'a>| {
        let world =
            World { disk: &ReadOnly, config: world.config.clone(), places: world.places.clone(), ..*world };
        pipeline::process_event(&world, input, PipelineMode::DryRun).verdict.ruling.strictness()
    };
    if rank(&here) > rank(&world) { World { config: here.config, ..world } } else { world }
}

/// Adjusts the result if Sprag could not write its state. A refusal stays. A held stop passes, because Sprag
/// could not count the holds.
fn without_memory(world: &World<'_>, input: &Input, mut walked: PipelineResult) -> PipelineResult {
    let Some(error) = &walked.unwritten else {
        return walked;
    };
    let warning = format!("cannot write to `{}`: {error}", world.places.store.display());
    if matches!(
        input.event,
        Event::StopRequested(_) | Event::SubagentStopped(_) | Event::TaskCompleting { .. }
    ) {
        walked.verdict.ruling = Ruling::Pass;
    }
    walked.warnings.push(warning);
    walked
}

fn fault(client: &Client, env: &Env, native: &str, raw: &str, what: &str) -> HookReply<'static> {
    let what = Text::<1000>::new(one_line(what)).to_string();
    let verdict =
        (client.kind_of)(native).map_or_else(Verdict::default, |kind| decide::on_fault(kind, raw, &what));
    let reply =
        RenderInput { native, presence: (client.presence)(env), verdict: &verdict, warning: Some(&what) };
    HookReply { text: (client.render)(&reply), warning: Some(what), rest: Vec::new() }
}

/// Replaces bytes that are not UTF-8. The event around them is still valid.
fn readable(payload: &HookPayload) -> HookPayload {
    match std::str::from_utf8(&payload.bytes) {
        Ok(_) => HookPayload { bytes: payload.bytes.clone(), whole: payload.whole },
        Err(_) => HookPayload {
            bytes: String::from_utf8_lossy(&payload.bytes).into_owned().into_bytes(),
            whole: payload.whole,
        },
    }
}

/// Repairs JSON that lenient parsers accept: removes a byte order mark, escapes raw control characters, and
/// replaces half of a surrogate pair (an emoji that was cut in two).
fn mended(payload: &HookPayload) -> HookPayload {
    let text = String::from_utf8_lossy(&payload.bytes);
    let text = text.trim_start_matches('\u{feff}');
    let text = without_controls(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let unit = |from: usize| {
            let digits = rest.get(from..from + 6)?.strip_prefix("\\u")?;
            u32::from_str_radix(digits, 16).ok()
        };
        let is_pair = matches!((unit(0), unit(6)), (Some(0xD800..0xDC00), Some(0xDC00..0xE000)));
        let length = match unit(0) {
            Some(0xD800..0xE000) if is_pair => 12,
            Some(0xD800..0xE000) => {
                out.push('\u{fffd}');
                rest = &rest[6..];
                continue;
            }
            Some(_) => 6,
            None => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
    HookPayload { bytes: out.into_bytes(), whole: payload.whole }
}

/// Replaces control characters: by an escape inside a string, by a blank elsewhere.
fn without_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for c in text.chars() {
        match c {
            c if c.is_control() && is_text => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        is_text ^= c == '"' && !is_escaped;
        is_escaped = is_text && c == '\\' && !is_escaped;
    }
    out
}

/// Returns the event name of a payload that does not parse, so that gates that fail closed can refuse.
fn peek_event_name(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("\"hook_event_name\"")?;
    let name = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    name.split('"').next().map(str::to_owned)
}

static PANIC: Mutex<String> = Mutex::new(String::new());

fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut kept) = PANIC.lock() {
            *kept = info.to_string();
        }
    }));
}

fn after_panic(args: &Args, env: &Env, payload: Option<&HookPayload>) -> HookReply<'static> {
    let what = PANIC.lock().map(|kept| kept.clone()).unwrap_or_default();
    let report = report_crash(env, &what);
    let raw = payload.map(|payload| String::from_utf8_lossy(&payload.bytes).into_owned()).unwrap_or_default();
    let native = peek_event_name(&raw).unwrap_or_default();
    let told = match report {
        Some(path) => format!("sprag crashed; this is a bug in Sprag; see `{}`", path.display()),
        None => format!("sprag crashed; this is a bug in Sprag: {what}"),
    };
    match clients::find(&args.client) {
        Some(client) => fault(client, env, &native, &raw, &told),
        None => HookReply { text: "{}".to_owned(), warning: Some(told), rest: Vec::new() },
    }
}

fn report_crash(env: &Env, what: &str) -> Option<PathBuf> {
    let places = Locations::find(&locations::current_dir(env), env).ok()?;
    let dir = places.store.join("crash");
    RealDisk.make_dirs(&dir).ok()?;
    let path = dir.join(format!("{}.txt", env::now().to_string().replace(':', "-")));
    let text = format!("sprag {}\n{what}\n", env!("CARGO_PKG_VERSION"));
    disk::replace(&RealDisk, &path, text.as_bytes()).ok().map(|()| path)
}

/// Returns a slow disk if a test asks for it. Only in debug builds.
#[cfg(debug_assertions)]
fn disk_of(env: &Env) -> Box<dyn Disk> {
    match env.text("SPRAG_TEST_SYNC_MILLIS").and_then(|millis| millis.parse().ok()) {
        Some(millis) => Box::new(disk::SlowDisk(Duration::from_millis(millis))),
        None => Box::new(RealDisk),
    }
}

#[cfg(not(debug_assertions))]
fn disk_of(_env: &Env) -> Box<dyn Disk> {
    Box::new(RealDisk)
}

/// Panics if a test asks for it. Only in debug builds.
fn panic_if_asked(env: &Env) {
    assert!(!(cfg!(debug_assertions) && env.get("SPRAG_TEST_PANIC").is_some()), "a test asked for it");
}

fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        .discard("a client that closed the pipe does not need the reply");
}

/// Closes stdout and stderr. A client reads until they are closed and must not wait for the remaining work.
fn hang_up() {
    let stdin = io::stdin();
    // The descriptors must stay in use, or the next opened file would get them. Stdin is not writable, so it
    // is a safe replacement.
    rustix::stdio::dup2_stdout(stdin.as_fd()).discard("with an open pipe the client only waits longer");
    rustix::stdio::dup2_stderr(stdin.as_fd()).discard("with an open pipe the client only waits longer");
}

fn tell(text: &str) {
    writeln!(io::stderr().lock(), "{text}").discard("a closed stderr has no reader");
}

/// Writes payload and reply to the directory in `SPRAG_RECORD`, as fixtures for tests.
fn keep_pair(env: &Env, payload: Option<&HookPayload>, reply: &str) {
    let (Some(dir), Some(payload)) = (env.get("SPRAG_RECORD"), payload) else {
        return;
    };
    let name =
        peek_event_name(&String::from_utf8_lossy(&payload.bytes)).unwrap_or_else(|| "unknown".to_owned());
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let stem = format!("{}-{}-{name}", env::now().millis(), std::process::id());
    let write =
        |ending: &str, bytes: &[u8]| fs::write(Path::new(&dir).join(format!("{stem}.{ending}")), bytes);
    if let Err(error) =
        write("payload.json", &payload.bytes).and_then(|()| write("reply.json", reply.as_bytes()))
    {
        tell(&format!("sprag: cannot record to `{}`: {error}", Path::new(&dir).display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long last message must not cut the checks of a stop short.
    #[test]
    fn a_stop_is_waited_for_as_long_as_its_client_does() {
        for client in clients::CLIENTS {
            for (native, seconds) in client.install.events {
                let patience = patience((client.kind_of)(native)).as_secs();
                assert!(patience < u64::from(*seconds).max(21), "{native}");
                assert!(*seconds < 600 || patience > 480, "{native}: the checks of a stop may take 480 s");
            }
        }
    }

    #[test]
    fn what_a_strict_reader_refuses_is_mended() {
        let mend = |text: &str| {
            let payload = HookPayload { bytes: text.as_bytes().to_vec(), whole: InputCompleteness::Yes };
            serde_json::from_slice::<serde_json::Value>(&mended(&payload).bytes).unwrap()["t"].clone()
        };
        assert_eq!(mend("\u{feff}{\"t\": \"a\"}"), "a");
        assert_eq!(mend("{\"t\": \"a\tb\"}"), "a\tb");
        assert_eq!(mend("{\n\"t\": \"# a\ngit \\\" x\n\"}"), "# a\ngit \" x\n");
        assert_eq!(mend(r#"{"t": "x\ud83d"}"#), "x\u{fffd}");
        assert_eq!(mend(r#"{"t": "\ude00y"}"#), "\u{fffd}y");
        assert_eq!(mend(r#"{"t": "\ud83d\ude00 \\ud83d \" \u00e4"}"#), "😀 \\ud83d \" ä");
    }
}
