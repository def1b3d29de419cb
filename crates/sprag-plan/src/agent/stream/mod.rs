//! What a client prints about itself, one JSON object a line, read into what is seen of its agent. Nothing here believes
//! prose, and nothing here can be made to fail: a line that is no JSON, too long, or of a kind nobody knows, says only
//! that the client is alive.

mod claude;
mod codex;
mod limit;
#[cfg(test)]
mod tests;

use serde_json::Value;

use sprag_base::time::Timestamp;

use super::activity::AgentActivity;
use crate::spec::client::StreamFormat;

/// Of a longer line, only that it came counts.
pub const LINE: usize = 4 * 1024 * 1024;

/// A stream, as far as it was read.
#[derive(Clone, Debug)]
pub struct StreamReader {
    dialect: StreamDialect,
    /// What has no end yet, of each source.
    printed: StreamLine,
    written: StreamLine,
    seen: AgentActivity,
}

/// Where the lines come from. A client may speak in two places at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamSource {
    /// On its stdout.
    Printed,
    /// Into its own file about the talk.
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

/// How many tokens fit into a context of a model, if that is known beforehand.
pub fn window(model: &str) -> Option<u64> {
    claude::window(model)
}

impl StreamReader {
    /// `window`: how many tokens fit into a context of the model, where an earlier session has told.
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

    /// Takes what came, in whatever pieces it comes.
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

    /// The last line of a client that was ended may lack its end.
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
