//! The client side of the daemon's socket, for commands and screens.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use sprag_plan::stage::command::CommandRole;

use super::protocol::{self, DaemonReply, DaemonRequest, Unheard};
use super::server::{door, through};
use super::tokens;

/// Time limit for the greeting of the daemon.
const GREETING: Duration = Duration::from_secs(10);

/// A connection with a role.
#[derive(Debug)]
pub struct DaemonClient {
    stream: UnixStream,
    pub role: CommandRole,
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

/// Connects with a role. The daemon recognizes agents without a token.
pub fn connect(run: &Path, role: CommandRole) -> Result<DaemonClient, NotConnected> {
    let dir = door(run)?;
    let stream = UnixStream::connect(through(&dir))?;
    stream.set_read_timeout(Some(GREETING))?;
    let token = match role {
        CommandRole::Agent => None,
        // Without a readable token the daemon refuses.
        CommandRole::User | CommandRole::Admin => tokens::read(run, role).ok(),
    };
    let mut client = DaemonClient { stream, role };
    match client.ask(&DaemonRequest::Hello { proto: protocol::PROTOCOL, token })? {
        DaemonReply::Hello { role, .. } => client.role = role,
        DaemonReply::Refused { code, message } => return Err(NotConnected::Refused { code, message }),
        _ => return Err(NotConnected::Io(io::ErrorKind::InvalidData.into())),
    }
    client.stream.set_read_timeout(None)?;
    Ok(client)
}

/// Reports whether an error means that the other side has closed the connection.
pub fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

impl DaemonClient {
    pub fn ask(&mut self, request: &DaemonRequest) -> io::Result<DaemonReply> {
        protocol::write(&mut self.stream, request)?;
        self.receive()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Returns the next message of a subscription; `None` if the daemon has ended.
    pub fn receive(&mut self) -> io::Result<Option<DaemonReply>> {
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
