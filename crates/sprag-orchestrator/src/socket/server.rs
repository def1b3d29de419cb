//! The server side of the daemon's socket. Every peer has its own thread and is not trusted before it is
//! identified. The loop gets only parsed requests and never waits for a peer.

use std::fs::{self, Permissions};
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_host::sys::disk::{Disk as _, RealDisk};
use sprag_host::sys::env::Env;
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::run::command::CommandSender;
use sprag_plan::spec::Plan;
use sprag_plan::stage::command::{CommandRole, StageCommand};

use super::peer::{self, Peer};
use super::protocol::{self, DaemonReply, DaemonRequest, Topic, Unheard};
use super::requests::{LoopRequest, PendingRequest};
use super::subscribers::{self, Subscribers};
use super::tokens::PersonTokens;
use crate::jobs::task_check::{self, TaskChecks};
use crate::layout::{DOOR, RunLayout, SOCKET, run_log_path, socket};
use crate::run_log;
use crate::socket::loop_event::LoopEvent;

/// Maximum numbers of peers and of agents among them, so that people can always connect.
const SEATS: usize = 64;
const AGENTS: usize = 48;
/// Time limit for the rest of a message, and for a peer to read one.
const PATIENCE: Duration = Duration::from_secs(5);
/// The shortest time between two messages to a subscriber.
const PUSH: Duration = Duration::from_secs(1);
/// Time limit for the last messages to subscribers.
const GOODBYE: Duration = Duration::from_secs(2);
/// Maximum sizes of a greeting and of a request; only an admin may send more, for a plan.
const GREETING: usize = 4 * 1024;
const WORD: usize = 64 * 1024;

/// The open socket; dropping it closes the socket.
pub(crate) struct DaemonSocket {
    path: PathBuf,
    board: Arc<Subscribers>,
}

impl Drop for DaemonSocket {
    fn drop(&mut self) {
        self.board.close(GOODBYE);
        fs::remove_file(&self.path).discard("the next daemon replaces a stale socket");
    }
}

/// The state that all peer threads share.
struct ServerState {
    ground: RunLayout,
    tokens: PersonTokens,
    board: Arc<Subscribers>,
    tell: Sender<LoopEvent>,
    seats: AtomicUsize,
    agents: AtomicUsize,
    checking: TaskChecks,
}

/// Opens the socket. The caller holds the daemon lock, so an existing socket belongs to a dead daemon.
pub(crate) fn open(
    ground: &RunLayout,
    board: Arc<Subscribers>,
    tell: Sender<LoopEvent>,
) -> io::Result<DaemonSocket> {
    let path = socket(&ground.run);
    RealDisk.make_dirs(&ground.run.join(DOOR))?;
    fs::set_permissions(&ground.run, Permissions::from_mode(0o700))?;
    fs::remove_file(&path).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    let dir = door(&ground.run)?;
    let listener = UnixListener::bind(through(&dir))?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    let tokens = PersonTokens::make(&ground.run, &RealDisk)?;
    let hall = Arc::new(ServerState {
        ground: ground.clone(),
        tokens,
        board: board.clone(),
        tell,
        seats: AtomicUsize::new(0),
        agents: AtomicUsize::new(0),
        checking: TaskChecks::default(),
    });
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let hall = hall.clone();
            let Some(seat) = PeerSeat::acquire(&hall, |hall| &hall.seats, SEATS) else {
                refuse(&stream, "full", "too many connections");
                continue;
            };
            thread::spawn(move || {
                serve(&stream, &hall);
                stream.shutdown(Shutdown::Both).discard("the client may have hung up already");
                drop(seat);
            });
        }
    });
    Ok(DaemonSocket { path, board })
}

/// Opens the folder of the socket as a path only, because an agent may not list it.
pub(crate) fn door(run: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(run.join(DOOR), flags, Mode::empty())?)
}

/// Returns a short path through the open folder, because socket paths have a length limit.
pub(crate) fn through(dir: &OwnedFd) -> PathBuf {
    Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(SOCKET)
}

struct PeerSeat {
    hall: Arc<ServerState>,
    of: fn(&ServerState) -> &AtomicUsize,
}

impl PeerSeat {
    fn acquire(
        hall: &Arc<ServerState>,
        of: fn(&ServerState) -> &AtomicUsize,
        most: usize,
    ) -> Option<PeerSeat> {
        let seat = PeerSeat { hall: hall.clone(), of };
        (of(hall).fetch_add(1, Ordering::SeqCst) < most).then_some(seat)
    }
}

impl Drop for PeerSeat {
    fn drop(&mut self) {
        (self.of)(&self.hall).fetch_sub(1, Ordering::SeqCst);
    }
}

fn refuse(stream: &UnixStream, code: &str, message: &str) {
    stream.set_write_timeout(Some(PATIENCE)).discard("the reply is shorter than the socket buffer");
    let reply = DaemonReply::Refused { code: code.to_owned(), message: message.to_owned() };
    protocol::write(&mut &*stream, &reply).discard("a client that hung up needs no refusal");
}

/// Serves a peer until it hangs up or sends an invalid request.
fn serve(stream: &UnixStream, hall: &Arc<ServerState>) {
    if stream.set_read_timeout(Some(PATIENCE)).and(stream.set_write_timeout(Some(PATIENCE))).is_err() {
        return;
    }
    let Ok(peer) = peer::identify(stream, &hall.ground.run) else { return };
    let _seat = match &peer.session {
        Some(_) => match PeerSeat::acquire(hall, |hall| &hall.agents, AGENTS) {
            Some(seat) => Some(seat),
            None => return refuse(stream, "full", "too many connections of agents"),
        },
        None => None,
    };
    let speaker = match greeted(stream, hall, &peer) {
        Ok(speaker) => speaker,
        Err((code, message)) => return refuse(stream, code, message),
    };
    let guest = Arc::new(ConnectedPeer { stream: Mutex::new(()), watches: AtomicBool::new(false) });
    loop {
        let cap = if speaker.role() == CommandRole::Admin { protocol::CAP } else { WORD };
        match next(stream, cap) {
            Ok(request) => {
                let topic = match &request {
                    DaemonRequest::Subscribe { to } => Some(*to),
                    _ => None,
                };
                let reply = answer(hall, &speaker, &guest, request);
                if guest.write(stream, &reply).is_err() {
                    break;
                }
                // The subscription starts after the reply, so that no push is taken for the reply.
                if let (Some(topic), DaemonReply::Done, Ok(stream)) = (topic, &reply, stream.try_clone()) {
                    let (hall, guest) = (hall.clone(), guest.clone());
                    hall.board.come();
                    thread::spawn(move || {
                        push(&stream, &hall, &guest, topic);
                        hall.board.leave();
                    });
                }
            }
            Err(Unheard::Closed | Unheard::Io(_)) => break,
            Err(Unheard::TooLong { claimed }) => {
                refuse(stream, "too_long", &format!("a request of {claimed} bytes is too long"));
                break;
            }
            Err(Unheard::NoJson(_)) => {
                refuse(stream, "no_word", "unknown request");
                break;
            }
        }
    }
    guest.watches.store(false, Ordering::SeqCst);
}

/// The state that the threads of one peer share.
struct ConnectedPeer {
    /// Held while writing.
    stream: Mutex<()>,
    watches: AtomicBool,
}

impl ConnectedPeer {
    fn write(&self, stream: &UnixStream, reply: &DaemonReply) -> io::Result<()> {
        let _alone = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        protocol::write(&mut &*stream, reply)
    }
}

/// Reads the next request. Waits for its start without a limit; the rest must follow within `PATIENCE`.
fn next(stream: &UnixStream, cap: usize) -> Result<DaemonRequest, Unheard> {
    stream.set_read_timeout(None).map_err(Unheard::Io)?;
    let mut first = [0];
    if (&*stream).read(&mut first).map_err(Unheard::Io)? == 0 {
        return Err(Unheard::Closed);
    }
    stream.set_read_timeout(Some(PATIENCE)).map_err(Unheard::Io)?;
    protocol::read_at_most(&mut first.chain(stream), cap)
}

/// Identifies the peer: an agent by its process, a person by a token.
fn greeted(
    stream: &UnixStream,
    hall: &ServerState,
    peer: &Peer,
) -> Result<CommandSender, (&'static str, &'static str)> {
    if !peer.is_of_this_user {
        return Err(("other_user", "this daemon belongs to another user"));
    }
    let hello = protocol::read_at_most(&mut &*stream, GREETING);
    let Ok(DaemonRequest::Hello { proto, token }) = hello else {
        return Err(("no_hello", "the first request must be `hello`"));
    };
    if proto != protocol::PROTOCOL {
        return Err(("other_version", "this daemon uses another protocol version"));
    }
    let speaker = match (&peer.session, token.and_then(|token| hall.tokens.role(&token))) {
        (Some(session), _) => {
            let session = session_key(hall, session).ok_or(("no_session", "no run has this session"))?;
            CommandSender::Agent { session }
        }
        (None, Some(role)) => {
            let name = Env::Real.text("USER").unwrap_or_else(|| "somebody".to_owned());
            CommandSender::Person { name: Text::new(name), role }
        }
        (None, None) => return Err(("no_token", "no valid token")),
    };
    let reply = DaemonReply::Hello {
        proto: protocol::PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        epoch: hall.ground.epoch,
        role: speaker.role(),
    };
    protocol::write(&mut &*stream, &reply).map_err(|_| ("gone", "the client hung up"))?;
    Ok(speaker)
}

/// Finds a session by the name of its directory.
fn session_key(hall: &ServerState, folder: &str) -> Option<EffectKey> {
    let run = run_log::read(&run_log_path(&hall.ground.run, &hall.ground.plan)).ok()??;
    run.sessions().map(|(key, _)| key).find(|key| hall.ground.site(key).id() == folder).cloned()
}

fn answer(
    hall: &Arc<ServerState>,
    speaker: &CommandSender,
    guest: &Arc<ConnectedPeer>,
    request: DaemonRequest,
) -> DaemonReply {
    let no = |code: &str, message: &str| DaemonReply::Refused {
        code: code.to_owned(),
        message: message.to_owned(),
    };
    match request {
        DaemonRequest::Hello { .. } => no("twice", "`hello` was already sent"),
        DaemonRequest::Ping => DaemonReply::Pong,
        DaemonRequest::Subscribe { .. } if guest.watches.swap(true, Ordering::SeqCst) => {
            no("twice", "only one subscription at a time")
        }
        DaemonRequest::Subscribe { .. } => DaemonReply::Done,
        DaemonRequest::Unsubscribe => {
            guest.watches.store(false, Ordering::SeqCst);
            DaemonReply::Done
        }
        DaemonRequest::Report { stage, word } => {
            let stage = stage.map(|stage| StageId::new(&stage));
            if let (StageCommand::Task { id }, Some(stage)) =
                (&word, own_stage(hall, speaker, stage.as_ref()))
            {
                let Some(_turn) = hall.checking.acquire(&stage) else {
                    let stage = stage.as_str();
                    return no("busy", &format!("stage `{stage}` already has a running task check"));
                };
                match task_check::check(&hall.ground, &stage, id, &RealDisk) {
                    Ok(None) => {}
                    Ok(Some(report)) => {
                        return DaemonReply::Verdict(protocol::StageCheckResult::Red { report });
                    }
                    Err(error) => return no("io", &error.to_string()),
                }
            }
            ask(hall, speaker, LoopRequest::Say { stage, said: word })
        }
        DaemonRequest::Stop { .. } | DaemonRequest::Amend { .. } if speaker.role() < CommandRole::Admin => {
            no("not_yours", "only an admin may do this")
        }
        DaemonRequest::Stop { how } => ask(hall, speaker, LoopRequest::Stop { how }),
        DaemonRequest::Amend { plan } => match serde_json::from_value::<Plan>(plan) {
            Ok(plan) => ask(hall, speaker, LoopRequest::Amend { plan: Box::new(plan) }),
            Err(_) => no("bad_plan", "the plan is invalid"),
        },
    }
}

fn own_stage(hall: &ServerState, speaker: &CommandSender, named: Option<&StageId>) -> Option<StageId> {
    let run = run_log::read(&run_log_path(&hall.ground.run, &hall.ground.plan)).ok()??;
    super::requests::stage_of(&run, speaker, named)
}

/// Sends a request to the loop and waits for the reply without a limit.
fn ask(hall: &ServerState, speaker: &CommandSender, ask: LoopRequest) -> DaemonReply {
    let (reply, answered) = sync_channel(1);
    let asked = PendingRequest { speaker: speaker.clone(), ask, reply };
    let told = hall.tell.send(LoopEvent::Asked(asked));
    let gone = || DaemonReply::Refused {
        code: protocol::STOPPED.to_owned(),
        message: "the daemon is stopping".to_owned(),
    };
    match told {
        Ok(()) => answered.recv().unwrap_or_else(|_| gone()),
        Err(_) => gone(),
    }
}

/// Sends changes to a subscriber until it unsubscribes or stops reading.
fn push(stream: &UnixStream, hall: &ServerState, guest: &ConnectedPeer, to: Topic) {
    let mut version = 0;
    let mut shown = hall.board.snapshot();
    while guest.watches.load(Ordering::SeqCst) {
        let began = Instant::now();
        let replies: Vec<DaemonReply> = match to {
            Topic::Status => {
                let run = run_log::read(&run_log_path(&hall.ground.run, &hall.ground.plan)).ok().flatten();
                run.map(|run| DaemonReply::Status { status: subscribers::status(&run, shown.rest) })
                    .into_iter()
                    .collect()
            }
            Topic::Logs => shown.since(version).map(|line| DaemonReply::Log { line: line.clone() }).collect(),
        };
        version = shown.version;
        if replies.iter().any(|reply| guest.write(stream, reply).is_err()) || shown.is_closed {
            break;
        }
        hall.board.wait(version);
        hall.board.pause(PUSH.saturating_sub(began.elapsed()));
        shown = hall.board.snapshot();
    }
    guest.watches.store(false, Ordering::SeqCst);
    if hall.board.snapshot().is_closed {
        stream.shutdown(Shutdown::Both).discard("the client may have hung up already");
    }
}
