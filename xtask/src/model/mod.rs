//! A model that answers from a script: a loopback server with the APIs of the clients. With it a real client
//! runs without account, network and randomness.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use http::{After, Incoming, Outgoing};
use script::{Part, Reading, Script, Turn};
use seen::{Request, Seen};

mod http;
mod messages;
mod responses;
pub mod script;
pub mod seen;
#[cfg(test)]
mod tests;

/// One model API: its path, and the form of requests and answers.
pub struct Api {
    path: &'static str,
    read: fn(&Value) -> Asked,
    reply: fn(&str, &Turn, u64) -> Reply,
}

const APIS: &[&Api] = &[&messages::API, &responses::API];

/// The parts of a request that a script may use.
#[derive(Debug)]
pub struct Asked {
    pub has_tools: bool,
    /// The whole text before the first answer of the model.
    pub opening: String,
    /// The result of the latest tool call.
    pub last_result: String,
}

/// One answer in both forms; the field `stream` of the request selects one.
pub struct Reply {
    whole: Value,
    events: Vec<(&'static str, Value)>,
}

impl Asked {
    fn new(body: &Value) -> Asked {
        let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        Asked { has_tools, opening: String::new(), last_result: String::new() }
    }
}

/// Returns the text of a message, which is a string or a list of blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A running server, which stops on drop.
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<thread::JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    stopping: AtomicBool,
}

struct State {
    reading: Reading,
    seen: Seen,
    /// The number of answers over all scripts, so that all ids of calls in one home differ.
    serial: u64,
}

impl Model {
    /// Starts the server with an empty script. `log` gets a line for every request.
    pub fn start(log: &Path) -> io::Result<Model> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = State { reading: Reading::default(), seen: Seen::also_to(log)?, serial: 0 };
        let shared = Arc::new(Shared { state: Mutex::new(state), stopping: AtomicBool::new(false) });
        let accepting = Arc::clone(&shared);
        let handle = thread::spawn(move || accept(&listener, &accepting));
        Ok(Model { address, shared, listener: Some(handle) })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Starts a new run with this script and an empty list of requests.
    pub fn play(&self, script: Script) {
        let mut state = self.shared.state();
        state.reading = Reading::new(script);
        state.seen.take();
    }

    /// Returns the requests since `play` and removes them from the list.
    pub fn take_requests(&self) -> Vec<Request> {
        self.shared.state().seen.take()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Only another connection wakes `accept`.
        let woken = TcpStream::connect(self.address).is_ok();
        if let (true, Some(handle)) = (woken, self.listener.take()) {
            // The thread printed its panic already, and no caller could handle it.
            drop(handle.join());
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in one connection leaves valid values behind, and the others continue with them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // A client that disconnects early was stopped; that is not an error of the server.
            drop(converse(&stream, &shared));
        });
    }
}

fn converse(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(incoming) = http::read(&mut reader, &mut writer)? {
        let outgoing = answer(&incoming, shared);
        http::write(&mut writer, &incoming, &outgoing)?;
        if incoming.after == After::Close {
            break;
        }
    }
    Ok(())
}

fn answer(incoming: &Incoming, shared: &Shared) -> Outgoing {
    let body = match (&incoming.encoding, incoming.body.is_empty()) {
        (Some(_), _) => Err((415, "content-encoding is not supported")),
        (None, true) => Ok(Value::Null),
        (None, false) => serde_json::from_slice(&incoming.body).map_err(|_| (400, "not JSON")),
    };
    let mut state = shared.state();
    let api = APIS.iter().find(|api| incoming.method == "POST" && incoming.path == api.path);
    let mut last_result = String::new();
    let (part, outgoing) = match (&body, api) {
        (Err((status, why)), _) => (Part::Aside, refusal(*status, why)),
        (Ok(body), Some(api)) => {
            let asked = (api.read)(body);
            let (part, turn) = state.reading.next(&asked);
            last_result = asked.last_result;
            state.serial += 1;
            let reply = (api.reply)(body["model"].as_str().unwrap_or("scripted"), &turn, state.serial);
            let streamed = body["stream"].as_bool().unwrap_or(false);
            let outgoing = if streamed {
                Outgoing::Events(reply.events)
            } else {
                Outgoing::Json { status: 200, body: reply.whole }
            };
            (part, outgoing)
        }
        (Ok(body), None) => (Part::Aside, side_question(incoming, body)),
    };
    state.seen.push(Request {
        method: incoming.method.clone(),
        path: incoming.path.clone(),
        part,
        last_result,
        body: body.unwrap_or_else(|_| String::from_utf8_lossy(&incoming.body).into()),
    });
    outgoing
}

/// Answers the other requests of a client, such as counting tokens.
fn side_question(incoming: &Incoming, body: &Value) -> Outgoing {
    match (incoming.method.as_str(), incoming.path.as_str()) {
        ("POST", "/v1/messages/count_tokens") => {
            Outgoing::Json { status: 200, body: json!({"input_tokens": body.to_string().len() / 4}) }
        }
        ("GET" | "HEAD", "/v1/models") => {
            Outgoing::Json { status: 200, body: json!({"object": "list", "data": [], "has_more": false}) }
        }
        // Claude Code checks whether the server answers.
        ("HEAD", _) => Outgoing::Json { status: 200, body: json!({}) },
        _ => refusal(404, "unknown path"),
    }
}

fn refusal(status: u16, why: &str) -> Outgoing {
    let error = json!({"type": "invalid_request_error", "message": why});
    Outgoing::Json { status, body: json!({"type": "error", "error": error}) }
}
