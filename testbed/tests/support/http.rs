//! HTTP by hand, so that no client of the program's own is trusted.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Status line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// One request on a connection of its own; `None` if nothing whole comes back.
pub(crate) fn request(addr: SocketAddr, method: &str, path: &str, body: &str) -> Option<Answer> {
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n");
    send(addr, &format!("{head}content-length: {length}\r\n\r\n{body}"))
}

/// The answer to a request as it is written here, which asks for the connection to be closed.
pub(crate) fn send(addr: SocketAddr, request: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream.set_read_timeout(Some(super::HUNG)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}
