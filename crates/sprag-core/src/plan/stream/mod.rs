//! What a client prints about itself, one JSON object a line, read into what is seen of its agent. Nothing here believes
//! prose, and nothing here can be made to fail: a line that is no JSON, too long, or of a kind nobody knows, says only
//! that the client is alive.

mod claude;
mod codex;
mod limit;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::seen::Seen;
use super::spec::Stream;
use crate::time::Timestamp;

/// Of a longer line, only that it came counts.
pub const LINE: usize = 4 * 1024 * 1024;

/// A stream, as far as it was read.
#[derive(Clone, Debug)]
pub struct Reader {
    dialect: Dialect,
    line: Vec<u8>,
    is_too_long: bool,
    seen: Seen,
}

#[derive(Clone, Debug)]
enum Dialect {
    Claude(claude::Claude),
    Codex(codex::Codex),
}

impl Reader {
    pub fn new(stream: Stream) -> Reader {
        let dialect = match stream {
            Stream::Claude => Dialect::Claude(claude::Claude::default()),
            Stream::Codex => Dialect::Codex(codex::Codex::default()),
        };
        Reader { dialect, line: Vec::new(), is_too_long: false, seen: Seen::default() }
    }

    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Takes what was printed, in whatever pieces it comes.
    pub fn take(&mut self, bytes: &[u8], now: Timestamp) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if self.line.len() + text.len() > LINE {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(text);
            }
            if is_whole {
                self.end_line(now);
            }
        }
    }

    /// The last line of a client that was ended may lack its end.
    pub fn finish(&mut self, now: Timestamp) {
        if !self.line.is_empty() {
            self.end_line(now);
        }
    }

    fn end_line(&mut self, now: Timestamp) {
        let line = std::mem::take(&mut self.line);
        self.seen.at = Some(now);
        if std::mem::take(&mut self.is_too_long) {
            return;
        }
        let Ok(line) = serde_json::from_slice::<Value>(&line) else { return };
        match &mut self.dialect {
            Dialect::Claude(claude) => claude.read(&line, &mut self.seen, now),
            Dialect::Codex(codex) => codex.read(&line, &mut self.seen, now),
        }
    }
}
