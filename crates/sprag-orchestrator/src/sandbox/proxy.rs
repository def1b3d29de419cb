//! The proxy of an agent that may reach only some hosts. The proxy checks host names only; encrypted traffic
//! stays encrypted. It runs in the supervisor.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sprag_base::result::Discard as _;
use sprag_plan::sandbox::is_among;

/// Maximum number of connections.
const MOST: usize = 128;
/// Maximum size of a request head.
const HEAD: usize = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// Listens on a local port until the process ends; returns the port.
pub fn listen(hosts: Vec<String>) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let (hosts, open) = (Arc::new(hosts), Arc::new(AtomicUsize::new(0)));
    thread::Builder::new().name("go-between".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            if open.load(Ordering::Relaxed) >= MOST {
                continue;
            }
            open.fetch_add(1, Ordering::Relaxed);
            let (hosts, open) = (Arc::clone(&hosts), Arc::clone(&open));
            let serve = move || {
                serve(stream, &hosts).discard("a client that hangs up or does not send HTTP gets no reply");
                open.fetch_sub(1, Ordering::Relaxed);
            };
            thread::Builder::new().spawn(serve).discard("without a thread the connection is dropped");
        }
    })?;
    Ok(port)
}

/// Returns the port for a list of hosts; starts one proxy per list.
pub fn listen_once(hosts: &[String]) -> io::Result<u16> {
    static OPEN: Mutex<BTreeMap<Vec<String>, u16>> = Mutex::new(BTreeMap::new());
    // A panic while the lock is held leaves no partial state.
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(port) = open.get(hosts) {
        return Ok(*port);
    }
    let port = listen(hosts.to_vec())?;
    open.insert(hosts.to_vec(), port);
    Ok(port)
}

/// Returns the environment variables that make programs use the proxy.
pub fn env(port: u16) -> Vec<(String, String)> {
    let here = format!("http://127.0.0.1:{port}");
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"]
        .into_iter()
        .map(|name| (name.to_owned(), here.clone()))
        // Node.js uses the proxy variables only if this is set.
        .chain([("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())])
        .collect()
}

fn serve(mut client: TcpStream, hosts: &[String]) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let head = head(&mut client)?;
    let Some(wanted) = ProxyTarget::read(&head) else {
        return client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    };
    if !is_among(hosts, &wanted.host) {
        let why = "the plan does not allow this host\n";
        let answer = format!(
            "HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}",
            why.len()
        );
        return client.write_all(answer.as_bytes());
    }
    let Some(mut server) = connect(&wanted) else {
        return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    };
    match &wanted.forward {
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        Some(request) => server.write_all(request)?,
    }
    client.set_read_timeout(None)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let up = thread::Builder::new().spawn(move || {
        io::copy(&mut from, &mut to).discard("either side may hang up at any time");
        to.shutdown(Shutdown::Write).discard("the server may have hung up already");
    })?;
    io::copy(&mut server, &mut client).discard("either side may hang up at any time");
    client.shutdown(Shutdown::Write).discard("the client may have hung up already");
    up.join().discard("a panic of the other direction ends the connection too");
    Ok(())
}

/// Reads the request head byte by byte; the bytes after it belong to the tunnel.
fn head(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

fn connect(wanted: &ProxyTarget) -> Option<TcpStream> {
    let addresses = (wanted.host.as_str(), wanted.port).to_socket_addrs().ok()?;
    addresses.take(8).find_map(|address| TcpStream::connect_timeout(&address, PATIENCE).ok())
}

#[derive(Debug, PartialEq, Eq)]
struct ProxyTarget {
    host: String,
    port: u16,
    /// The rewritten head of a plain request; `None` for a tunnel.
    forward: Option<Vec<u8>>,
}

impl ProxyTarget {
    fn read(head: &[u8]) -> Option<ProxyTarget> {
        let text = std::str::from_utf8(head).ok()?;
        let (line, rest) = text.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method == "CONNECT" {
            let (host, port) = authority(target, None)?;
            return Some(ProxyTarget { host, port, forward: None });
        }
        let (place, path) = target.strip_prefix("http://")?.split_once('/').map_or_else(
            || (target.strip_prefix("http://").unwrap_or_default(), String::new()),
            |(place, path)| (place, path.to_owned()),
        );
        let (host, port) = authority(place, Some(80))?;
        // One request per connection, because the next one may be for another host.
        let kept: Vec<&str> = rest
            .split("\r\n")
            .filter(|line| !line.is_empty())
            .filter(|line| {
                let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
                !["proxy-connection", "connection", "proxy-authorization", "keep-alive"]
                    .contains(&name.as_str())
            })
            .collect();
        let head =
            format!("{method} /{path} {version}\r\n{}\r\nConnection: close\r\n\r\n", kept.join("\r\n"));
        Some(ProxyTarget { host, port, forward: Some(head.into_bytes()) })
    }
}

/// Parses `host:port`. Host names have letters, digits, `.`, `-` and `_`; IPv6 addresses are refused.
fn authority(text: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (text, usual?),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    ((1..=253).contains(&host.len()) && host.bytes().all(is_plain)).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Starts a server that answers with the first line of each request.
    fn server() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let head = head(&mut stream).unwrap();
                let text = String::from_utf8(head).unwrap();
                stream.write_all(format!("heard {}", text.lines().next().unwrap()).as_bytes()).unwrap();
            }
        });
        port
    }

    #[test]
    fn a_host_that_is_named_is_reached_and_no_other() {
        let port = listen(vec!["localhost".to_owned()]).unwrap();
        let server = server();
        let tunnel = format!("CONNECT localhost:{server} HTTP/1.1\r\n\r\nGET /x HTTP/1.1\r\n\r\n");
        assert_eq!(ask(port, &tunnel), "HTTP/1.1 200 Connection established\r\n\r\nheard GET /x HTTP/1.1");
        let plain =
            format!("GET http://localhost:{server}/a/b?c HTTP/1.1\r\nHost: x\r\nConnection: x\r\n\r\n");
        assert_eq!(ask(port, &plain), "heard GET /a/b?c HTTP/1.1");
        for other in ["127.0.0.1", "evil.localhost", "localhost.evil", "example.org"] {
            let answer = ask(port, &format!("CONNECT {other}:{server} HTTP/1.1\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 403 "), "{other}: {answer}");
        }
    }

    #[test]
    fn what_is_no_request_reaches_nobody() {
        for head in [
            "CONNECT localhost HTTP/1.1\r\n\r\n",
            "CONNECT localhost:99999 HTTP/1.1\r\n\r\n",
            "CONNECT [::1]:80 HTTP/1.1\r\n\r\n",
            "CONNECT user@localhost:80 HTTP/1.1\r\n\r\n",
            "CONNECT localhost:80/x HTTP/1.1\r\n\r\n",
            "GET /path HTTP/1.1\r\n\r\n",
            "GET http:///path HTTP/1.1\r\n\r\n",
            "GET https://localhost/ HTTP/1.1\r\n\r\n",
            "\r\n\r\n",
            "CONNECT\r\n\r\n",
        ] {
            assert_eq!(ProxyTarget::read(head.as_bytes()), None, "{head}");
        }
        assert_eq!(ProxyTarget::read(b"\xff\xfe\r\n\r\n"), None);
    }
}
