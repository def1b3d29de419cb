//! The protocol of the daemon's socket: a length of four bytes in big-endian order, then JSON. The peer is
//! not trusted: no memory is allocated for a claimed length.

use std::fmt;
use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_plan::reconcile::observed::StopMode;
use sprag_plan::stage::command::{CommandRole, StageCommand};

/// Maximum size of a message.
pub const CAP: usize = 10 * 1024 * 1024;
/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// The refusal code of a daemon whose loop has ended.
pub const STOPPED: &str = "stopped";

/// A request to the daemon. The first one is always `hello`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case", deny_unknown_fields)]
pub enum DaemonRequest {
    Hello {
        proto: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<PersonToken>,
    },
    Ping,
    Subscribe {
        to: Topic,
    },
    Unsubscribe,
    /// A command about a stage. The command of an agent is about its own stage, named or not.
    Report {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
        word: StageCommand,
    },
    Stop {
        how: StopMode,
    },
    /// Replaces the plan of the run.
    Amend {
        plan: Value,
    },
}

/// A secret that proves the role of a client. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PersonToken(pub String);

impl fmt::Debug for PersonToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    Status,
    Logs,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum DaemonReply {
    Hello {
        proto: u32,
        version: String,
        epoch: u64,
        role: CommandRole,
    },
    Pong,
    Done,
    /// Sent to subscribers.
    Status {
        status: Value,
    },
    Log {
        line: String,
    },
    Refused {
        code: String,
        message: String,
    },
    /// The result of a stage's checks.
    Verdict(StageCheckResult),
    /// The request was accepted, with this effect.
    Heard {
        text: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum StageCheckResult {
    Green,
    Red {
        report: String,
    },
    /// The stage changed its state before there was a result.
    None {
        state: String,
    },
}

/// The reason why no message was read.
#[derive(Debug)]
pub enum Unheard {
    /// The peer closed the connection between two messages.
    Closed,
    TooLong {
        claimed: usize,
    },
    NoJson(serde_json::Error),
    Io(io::Error),
}

pub fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(message).map_err(io::Error::other)?;
    if bytes.len() > CAP {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the message is too long"));
    }
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&[&length.to_be_bytes()[..], &bytes].concat())?;
    to.flush()
}

pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<T, Unheard> {
    read_at_most(from, CAP)
}

/// Reads a message with a smaller size limit, for peers that send little.
pub fn read_at_most<T: DeserializeOwned>(from: &mut impl Read, cap: usize) -> Result<T, Unheard> {
    let mut length = [0; 4];
    match from.read(&mut length[..1]).map_err(Unheard::Io)? {
        0 => return Err(Unheard::Closed),
        _ => from.read_exact(&mut length[1..]).map_err(Unheard::Io)?,
    }
    let claimed = u32::from_be_bytes(length) as usize;
    if claimed > cap.min(CAP) {
        return Err(Unheard::TooLong { claimed });
    }
    let mut bytes = Vec::new();
    let read = from.take(claimed as u64).read_to_end(&mut bytes).map_err(Unheard::Io)?;
    if read < claimed {
        return Err(Unheard::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    serde_json::from_slice(&bytes).map_err(Unheard::NoJson)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_said_is_heard_message_by_message() {
        let mut wire = Vec::new();
        let hello = DaemonRequest::Hello { proto: PROTOCOL, token: None };
        write(&mut wire, &hello).unwrap();
        write(&mut wire, &DaemonRequest::Ping).unwrap();
        let mut wire = &wire[..];
        assert_eq!(read::<DaemonRequest>(&mut wire).unwrap(), hello);
        assert_eq!(read::<DaemonRequest>(&mut wire).unwrap(), DaemonRequest::Ping);
        assert!(matches!(read::<DaemonRequest>(&mut wire), Err(Unheard::Closed)));
    }

    #[test]
    fn a_length_is_not_believed() {
        let claimed = |length: u32, rest: &[u8]| [&length.to_be_bytes()[..], rest].concat();
        let heard = |bytes: Vec<u8>| read::<DaemonRequest>(&mut &bytes[..]);
        assert!(matches!(heard(claimed(u32::MAX, b"{}")), Err(Unheard::TooLong { .. })));
        assert!(matches!(heard(claimed(CAP as u32, b"{}")), Err(Unheard::Io(_))));
        assert!(matches!(heard(vec![0, 0]), Err(Unheard::Io(_))));
        assert!(matches!(heard(claimed(2, b"no")), Err(Unheard::NoJson(_))));
        assert!(matches!(heard(claimed(14, br#"{"say":"sing"}"#)), Err(Unheard::NoJson(_))));
        let more = br#"{"say":"subscribe","to":"status","as":"admin"}"#;
        assert!(matches!(heard(claimed(more.len() as u32, more)), Err(Unheard::NoJson(_))));
        let text = "x".repeat(CAP);
        assert!(write(&mut io::sink(), &text).is_err(), "a message that is too long is not sent");
    }

    proptest! {
        #[test]
        fn any_bytes_are_heard_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut from = &bytes[..];
            while read::<DaemonRequest>(&mut from).is_ok() {}
        }
    }
}
