//! The subset of HTTP/1.1 that the clients use with a model: bodies with a length or in chunks, kept
//! connections, answers as JSON or as an event stream. A server crate would be the largest dependency of this
//! tool, so these two hundred lines replace it.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// The limit on bodies: a real request is below 1 MB, and a wrong length must not fill the memory.
const BODY_LIMIT: usize = 64 << 20;
const LINE_LIMIT: u64 = 64 << 10;

#[derive(Debug)]
pub struct Incoming {
    pub method: String,
    /// The path without the query.
    pub path: String,
    pub body: Vec<u8>,
    /// The content-encoding. The clients send none, and this server supports none.
    pub encoding: Option<String>,
    pub after: After,
}

/// The fate of the connection after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Keep,
    Close,
}

pub enum Outgoing {
    Json { status: u16, body: Value },
    Events(Vec<(&'static str, Value)>),
}

/// Reads a request. Returns `None` if the client closed the connection between two requests.
pub fn read(reader: &mut impl BufRead, writer: &mut impl Write) -> io::Result<Option<Incoming>> {
    let Some(first) = line(reader)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
        return Err(malformed("request line"));
    };
    let path = target.split('?').next().unwrap_or(target).to_owned();
    let mut incoming = Incoming {
        method: method.to_owned(),
        path,
        body: Vec::new(),
        encoding: None,
        after: if version == "HTTP/1.0" { After::Close } else { After::Keep },
    };

    let mut length = 0;
    let mut chunked = false;
    let mut waits = false;
    loop {
        let header = line(reader)?.ok_or_else(|| malformed("end inside the headers"))?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(|| malformed("header"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(|_| malformed("content-length"))?,
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "content-encoding" => incoming.encoding = Some(value.to_owned()),
            "expect" => waits = value.eq_ignore_ascii_case("100-continue"),
            "connection" if value.eq_ignore_ascii_case("close") => incoming.after = After::Close,
            _ => {}
        }
    }
    if waits {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        writer.flush()?;
    }
    if chunked {
        read_chunks(reader, &mut incoming.body)?;
    } else {
        read_exact(reader, length, &mut incoming.body)?;
    }
    Ok(Some(incoming))
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let head = line(reader)?.ok_or_else(|| malformed("end inside a chunk"))?;
        let size = head.split(';').next().unwrap_or(&head).trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| malformed("chunk size"))?;
        if size == 0 {
            break;
        }
        read_exact(reader, size, body)?;
        line(reader)?;
    }
    // Trailers, up to the empty line.
    while line(reader)?.is_some_and(|trailer| !trailer.is_empty()) {}
    Ok(())
}

fn read_exact(reader: &mut impl BufRead, size: usize, body: &mut Vec<u8>) -> io::Result<()> {
    if body.len().saturating_add(size) > BODY_LIMIT {
        return Err(malformed("body larger than the limit"));
    }
    let start = body.len();
    body.resize(start + size, 0);
    reader.read_exact(&mut body[start..])
}

fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.pop() != Some(b'\n') {
        return Err(malformed("line without an end"));
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    String::from_utf8(bytes).map(Some).map_err(|_| malformed("line that is not text"))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed HTTP: {what}"))
}

/// Writes an answer. `incoming` decides whether a body may follow and whether the connection stays open.
pub fn write(writer: &mut impl Write, incoming: &Incoming, outgoing: &Outgoing) -> io::Result<()> {
    let connection = match incoming.after {
        After::Keep => "keep-alive",
        After::Close => "close",
    };
    let bodiless = incoming.method == "HEAD";
    match outgoing {
        Outgoing::Json { status, body } => {
            let body = body.to_string();
            write!(
                writer,
                "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: {connection}\r\n\r\n",
                phrase(*status),
                body.len(),
            )?;
            if !bodiless {
                writer.write_all(body.as_bytes())?;
            }
        }
        Outgoing::Events(events) => {
            write!(
                writer,
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                 transfer-encoding: chunked\r\nconnection: {connection}\r\n\r\n"
            )?;
            // Each event is one flushed chunk, so that the client receives the events one by one, as from a
            // real model.
            for (name, data) in events {
                let event = format!("event: {name}\ndata: {data}\n\n");
                write!(writer, "{:x}\r\n{event}\r\n", event.len())?;
                writer.flush()?;
            }
            writer.write_all(b"0\r\n\r\n")?;
        }
    }
    writer.flush()
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        _ => "Other",
    }
}
