//! Reads stdin line by line, with a limit on the length of a line.

use std::io::{self, BufRead};

/// One line of the input; a line above the limit has no content.
pub(crate) enum InputLine {
    Whole(Vec<u8>),
    Long,
}

/// Returns the next line. Skips the content of a line that is longer than `most` bytes.
pub(crate) fn next_line(input: &mut impl BufRead, most: usize) -> io::Result<Option<InputLine>> {
    let mut bytes = Vec::new();
    let mut is_long = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            let is_end = bytes.is_empty() && !is_long;
            return Ok((!is_end).then_some(if is_long { InputLine::Long } else { InputLine::Whole(bytes) }));
        }
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(chunk.len(), |at| at + 1);
        if bytes.len() + taken > most {
            is_long = true;
            bytes.clear();
        } else if !is_long {
            bytes.extend_from_slice(&chunk[..taken]);
        }
        input.consume(taken);
        if end.is_some() {
            return Ok(Some(if is_long { InputLine::Long } else { InputLine::Whole(bytes) }));
        }
    }
}
