//! Reads the output of a client, one JSON object per line, as the activity of its agent. Prose is ignored,
//! and no line can cause an error. A line that is too long, of an unknown kind or not JSON only shows that
//! the client is alive.

mod claude;
mod codex;
mod limit;
#[cfg(test)]
mod tests;

use serde_json::Value;

use sprag_base::time::Timestamp;

use super::activity::AgentActivity;
use crate::spec::client::StreamFormat;

/// Longest line in bytes that is read; a longer line only shows that the client is alive.
pub const LINE: usize = 4 * 1024 * 1024;

/// Reader of the output of one client.
#[derive(Clone, Debug)]
pub struct StreamReader {
    dialect: StreamDialect,
    /// The incomplete last line of each source.
    printed: StreamLine,
    written: StreamLine,
    seen: AgentActivity,
}

/// Source of a line. A client may write to two places at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamSource {
    /// On its stdout.
    Printed,
    /// In its own transcript file.
    Written,
}

#[derive(Clone, Debug, Default)]
struct StreamLine {
    text: Vec<u8>,
    is_too_long: bool,
}

#[derive(Clone, Debug)]
enum StreamDialect {
    Claude(claude::Claude),
    Codex(codex::Codex),
}

/// Returns the size of the context of a model, if it is known beforehand.
pub fn window(model: &str) -> Option<u64> {
    claude::window(model)
}

impl StreamReader {
    /// Makes a reader; `window` is the size of the context of the model, if an earlier session reported it.
    pub fn new(stream: StreamFormat, window: Option<u64>) -> StreamReader {
        let dialect = match stream {
            StreamFormat::Claude => StreamDialect::Claude(claude::Claude::new(window)),
            StreamFormat::Codex => StreamDialect::Codex(codex::Codex::default()),
        };
        StreamReader {
            dialect,
            printed: StreamLine::default(),
            written: StreamLine::default(),
            seen: AgentActivity::default(),
        }
    }

    pub fn seen(&self) -> &AgentActivity {
        &self.seen
    }

    /// Takes output in pieces of any size.
    pub fn feed(&mut self, from: StreamSource, bytes: &[u8], now: Timestamp) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let line = self.line(from);
            if line.text.len() + text.len() > LINE {
                *line = StreamLine { text: Vec::new(), is_too_long: true };
            }
            if !line.is_too_long {
                line.text.extend_from_slice(text);
            }
            if is_whole {
                self.end_line(from, now);
            }
        }
    }

    /// Reads the last line, which may lack its line end if the client was killed.
    pub fn finish(&mut self, now: Timestamp) {
        for from in [StreamSource::Printed, StreamSource::Written] {
            if !self.line(from).text.is_empty() {
                self.end_line(from, now);
            }
        }
    }

    fn line(&mut self, from: StreamSource) -> &mut StreamLine {
        match from {
            StreamSource::Printed => &mut self.printed,
            StreamSource::Written => &mut self.written,
        }
    }

    fn end_line(&mut self, from: StreamSource, now: Timestamp) {
        let line = std::mem::take(self.line(from));
        self.seen.at = Some(now);
        if line.is_too_long {
            return;
        }
        let Ok(line) = serde_json::from_slice::<Value>(&line.text) else { return };
        match &mut self.dialect {
            StreamDialect::Claude(claude) => claude.read(&line, &mut self.seen, now),
            StreamDialect::Codex(codex) => codex.read(&line, &mut self.seen, now),
        }
    }
}
