//! The other end of the daemon's socket: what commands and screens speak to it with.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use sprag_plan::run::command::Role;

use super::protocol::{self, Reply, Request, Unheard};
use super::server::{door, through};
use super::tokens;

/// A daemon that does not greet within this is stuck.
const GREETING: Duration = Duration::from_secs(10);

/// Somebody who may speak.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    pub role: Role,
}

#[derive(Debug)]
pub enum NotConnected {
    /// No daemon runs here.
    Nobody,
    Refused {
        code: String,
        message: String,
    },
    Io(io::Error),
}

impl From<io::Error> for NotConnected {
    fn from(error: io::Error) -> NotConnected {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => NotConnected::Nobody,
            _ => NotConnected::Io(error),
        }
    }
}

/// Speaks as this; an agent is known without showing anything.
pub fn connect(run: &Path, role: Role) -> Result<Client, NotConnected> {
    let dir = door(run)?;
    let stream = UnixStream::connect(through(&dir))?;
    stream.set_read_timeout(Some(GREETING))?;
    let token = match role {
        Role::Agent => None,
        // One that cannot be read shows nothing, and the daemon says so.
        Role::User | Role::Admin => tokens::read(run, role).ok(),
    };
    let mut client = Client { stream, role };
    match client.ask(&Request::Hello { proto: protocol::PROTOCOL, token })? {
        Reply::Hello { role, .. } => client.role = role,
        Reply::Refused { code, message } => return Err(NotConnected::Refused { code, message }),
        _ => return Err(NotConnected::Io(io::ErrorKind::InvalidData.into())),
    }
    client.stream.set_read_timeout(None)?;
    Ok(client)
}

/// Whether an error says that nobody is at the other end any more.
pub fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

impl Client {
    pub fn ask(&mut self, request: &Request) -> io::Result<Reply> {
        protocol::write(&mut self.stream, request)?;
        self.hear()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// What is said next, to whoever subscribed; `None`: the daemon has ended.
    pub fn hear(&mut self) -> io::Result<Option<Reply>> {
        match protocol::read(&mut self.stream) {
            Ok(reply) => Ok(Some(reply)),
            Err(Unheard::Closed) => Ok(None),
            Err(Unheard::Io(error))
                if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) =>
            {
                Ok(None)
            }
            Err(Unheard::Io(error)) => Err(error),
            Err(Unheard::TooLong { .. } | Unheard::NoJson(_)) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
