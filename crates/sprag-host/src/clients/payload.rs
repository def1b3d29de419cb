//! Reads the payload of a hook, with limits on size and time.
//!
//! A payload ends with its first JSON object, so Sprag does not hang if the client never closes stdin. Sprag
//! reads a payload above 1 MB to the end, because a client that cannot finish writing reports a failed hook.
//! Sprag shortens its long strings; the result is a smaller JSON object with the same members.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use sprag_policy::call::InputCompleteness;

/// Payloads up to this size stay unchanged.
const KEPT: usize = 1024 * 1024;
/// Longest string in a payload above the limit.
const STRING: usize = 8 * 1024;
/// Far more than any client sends by accident.
const MOST: usize = 256 * 1024 * 1024;
/// Time limits for the next byte and for the whole payload.
const PATIENCE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);

#[derive(Debug, PartialEq)]
pub struct HookPayload {
    pub bytes: Vec<u8>,
    pub whole: InputCompleteness,
}

#[derive(Debug)]
pub enum PayloadError {
    /// No byte came for a second, and the bytes so far are not a complete JSON object.
    Unfinished,
    Io(io::Error),
}

pub fn read(stdin: impl AsFd) -> Result<HookPayload, PayloadError> {
    let stdin = stdin.as_fd();
    let last = Instant::now() + LONGEST;
    let mut bytes = Vec::with_capacity(16 * 1024);
    let mut scan = ObjectScan::default();
    loop {
        let from = bytes.len();
        if read_some(stdin, last, &mut bytes)? == 0 {
            return Ok(HookPayload { bytes, whole: InputCompleteness::Yes });
        }
        if let Some(end) = scan.object_end(&bytes[from..]) {
            bytes.truncate(from + end);
            return Ok(HookPayload { bytes, whole: InputCompleteness::Yes });
        }
        if bytes.len() > KEPT {
            return read_summarised(stdin, last, bytes);
        }
    }
}

/// Appends available bytes, and waits for them within the limits. Returns 0 at the end of the stream.
fn read_some(stdin: BorrowedFd<'_>, last: Instant, bytes: &mut Vec<u8>) -> Result<usize, PayloadError> {
    let until = last.min(Instant::now() + PATIENCE);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).expect("a second fits");
        match poll(&mut [PollFd::from_borrowed_fd(stdin, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Err(PayloadError::Unfinished),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(PayloadError::Io(error.into())),
        }
        bytes.reserve(16 * 1024);
        match rustix::io::read(stdin, rustix::buffer::spare_capacity(bytes)) {
            Ok(count) => return Ok(count),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(PayloadError::Io(error.into())),
        }
    }
}

fn read_summarised(
    stdin: BorrowedFd<'_>,
    last: Instant,
    first: Vec<u8>,
) -> Result<HookPayload, PayloadError> {
    let mut summary = PayloadSummary::default();
    let mut total = first.len();
    let mut is_done = summary.push_bytes(&first);
    let mut names = NameScan::default();
    names.scan_chunk(&first);
    let mut chunk = Vec::with_capacity(64 * 1024);
    while !is_done && total < MOST {
        chunk.clear();
        let count = read_some(stdin, last, &mut chunk)?;
        if count == 0 {
            break;
        }
        total += count;
        names.scan_chunk(&chunk);
        is_done = summary.push_bytes(&chunk);
    }
    Ok(HookPayload {
        bytes: summary.finish(),
        whole: InputCompleteness::Cut { names_us: names.found || !is_done },
    })
}

/// A search for the name `sprag` in all bytes, also in the dropped ones.
#[derive(Default)]
struct NameScan {
    found: bool,
    end: Vec<u8>,
}

impl NameScan {
    fn scan_chunk(&mut self, chunk: &[u8]) {
        let seam: Vec<u8> = self.end.iter().chain(chunk.iter().take(4)).copied().collect();
        self.found |= [&seam[..], chunk].iter().any(|part| memchr::memmem::find(part, b"sprag").is_some());
        self.end = chunk[chunk.len().saturating_sub(4)..].to_vec();
    }
}

/// A scanner of strings and brackets that finds the end of the first object.
#[derive(Clone, Copy, Default)]
struct ObjectScan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl ObjectScan {
    fn object_end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.step(byte) {
                return Some(at + 1);
            }
        }
        None
    }

    /// Reports whether this bracket closes the first object or array.
    fn step(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

/// A copy of JSON with shortened strings. If the copy is still too long, Sprag cuts it after the last
/// complete member and closes its brackets.
#[derive(Default)]
struct PayloadSummary {
    scan: ObjectScan,
    out: Vec<u8>,
    /// Missing closing brackets, innermost last.
    closers: Vec<u8>,
    /// Position where the output can be cut.
    safe: usize,
    string: InString,
    is_full: bool,
}

/// The position inside a string. A cut falls between characters, never inside an escape or a surrogate pair.
#[derive(Default)]
struct InString {
    length: usize,
    /// Remaining digits of a `\u` escape, and the value so far.
    digits: u8,
    value: u32,
    is_half: bool,
    is_dropping: bool,
}

impl InString {
    /// Reports whether to keep this byte of the string.
    fn keeps(&mut self, byte: u8, before: ObjectScan) -> bool {
        self.length += 1;
        let starts_character = !before.is_escaped && self.digits == 0 && byte & 0xC0 != 0x80;
        if starts_character && !self.is_half && self.length > STRING {
            self.is_dropping = true;
        }
        if self.digits > 0 {
            self.digits -= 1;
            self.value = self.value << 4 | char::from(byte).to_digit(16).unwrap_or(0);
            if self.digits == 0 {
                self.is_half = (0xD800..0xDC00).contains(&self.value);
            }
        } else if before.is_escaped && byte == b'u' {
            (self.digits, self.value) = (4, 0);
        } else if byte != b'\\' {
            self.is_half = false;
        }
        !self.is_dropping
    }
}

impl PayloadSummary {
    /// Returns true when the first object is complete.
    fn push_bytes(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            let before = self.scan;
            let is_end = self.scan.step(byte);
            if !self.is_full {
                self.copy(byte, before);
                self.is_full = self.out.len() > KEPT;
            }
            if is_end {
                return true;
            }
        }
        false
    }

    /// Copies a byte; `before` is the state of the scan before this byte.
    fn copy(&mut self, byte: u8, before: ObjectScan) {
        let was_string = before.in_string;
        if was_string && self.scan.in_string {
            if self.string.keeps(byte, before) {
                self.out.push(byte);
            }
            return;
        }
        self.string = InString::default();
        match byte {
            b'{' if !was_string => self.closers.push(b'}'),
            b'[' if !was_string => self.closers.push(b']'),
            b'}' | b']' if !was_string => {
                self.closers.pop();
            }
            b',' if !was_string => self.safe = self.out.len(),
            _ => {}
        }
        self.out.push(byte);
    }

    fn finish(mut self) -> Vec<u8> {
        if self.is_full || !self.closers.is_empty() {
            self.out.truncate(self.safe);
            let closers = open_brackets(&self.out);
            self.out.extend(closers.iter().rev());
        }
        self.out
    }
}

/// Returns the missing closing brackets of a piece of JSON, innermost last.
fn open_brackets(json: &[u8]) -> Vec<u8> {
    let mut scan = ObjectScan::default();
    let mut owed = Vec::new();
    for &byte in json {
        let was_string = scan.in_string;
        scan.step(byte);
        match byte {
            b'{' if !was_string => owed.push(b'}'),
            b'[' if !was_string => owed.push(b']'),
            b'}' | b']' if !was_string => {
                owed.pop();
            }
            _ => {}
        }
    }
    owed
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use serde_json::{Value, json};

    use sprag_base::result::Discard as _;

    use super::*;

    fn through_pipe(bytes: Vec<u8>) -> Result<HookPayload, PayloadError> {
        let (reader, mut writer) = io::pipe().unwrap();
        let writing = std::thread::spawn(move || writer.write_all(&bytes));
        let read = read(&reader);
        drop(reader);
        writing.join().unwrap().discard("a reader that stops early breaks the pipe");
        read
    }

    #[test]
    fn a_stdin_left_open_ends_with_its_object() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b" {\"a\": \"}\\\"\"} trailing").unwrap();
        let payload = read(&reader).unwrap();
        assert_eq!(payload.bytes, b" {\"a\": \"}\\\"\"}");
        drop(writer);
    }

    #[test]
    fn a_stdin_that_stays_silent_is_a_fault() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"{\"a\": ").unwrap();
        assert!(matches!(read(&reader), Err(PayloadError::Unfinished)));
        drop(writer);
    }

    #[test]
    fn fifty_megabytes_become_a_small_object_with_the_same_members() {
        let big = json!({"session_id": "s", "tool_input": {"content": "ä\"\\".repeat(17 << 20), "x": [1, "y"]}, "tool_use_id": "t"});
        let payload = through_pipe(serde_json::to_vec(&big).unwrap()).unwrap();
        assert_eq!(payload.whole, InputCompleteness::Cut { names_us: false });
        let read: Value = serde_json::from_slice(&payload.bytes).unwrap();
        assert_eq!((&read["session_id"], &read["tool_use_id"]), (&json!("s"), &json!("t")));
        assert_eq!(read["tool_input"]["x"], json!([1, "y"]));
        assert!(read["tool_input"]["content"].as_str().unwrap().len() < 3 * STRING);
    }

    #[test]
    fn a_cut_never_falls_inside_a_character() {
        for unit in ["\\u00e4", "\\ud83d\\ude00", "\\n", "\\\\", "ä", "😀", "x"] {
            for lead in [0, 1, 2, 5] {
                let text = format!("{}{}", "a".repeat(lead), unit.repeat((KEPT + (64 << 10)) / unit.len()));
                let payload = through_pipe(format!("{{\"t\":\"{text}\",\"z\":1}}").into_bytes()).unwrap();
                let read: Value = serde_json::from_slice(&payload.bytes).expect(unit);
                assert_eq!(
                    (payload.whole, &read["z"]),
                    (InputCompleteness::Cut { names_us: false }, &json!(1))
                );
            }
        }
    }

    #[test]
    fn a_million_small_members_are_cut_behind_a_whole_one() {
        let many: Vec<Value> = (0..400_000).map(|i| json!({"n": i})).collect();
        let big = json!({"a": "first", "b": many, "z": "last"});
        let payload = through_pipe(serde_json::to_vec(&big).unwrap()).unwrap();
        assert_eq!(payload.whole, InputCompleteness::Cut { names_us: false });
        assert!(payload.bytes.len() < KEPT + 100);
        let read: Value = serde_json::from_slice(&payload.bytes).unwrap();
        assert_eq!(read["a"], "first");
    }
}
