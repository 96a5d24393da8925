//! Our own calls of the API: plain HTTP/1.0 over a connection each, within a limit of time.
//!
//! HTTP/1.0, because then an answer comes in one piece and ends with its connection.

use crate::engine::EngineError;
use serde_json::Value;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};

/// The longest answer, in bytes: a Toxiproxy with thousands of proxies of other people.
const LONGEST: usize = 16 * 1024 * 1024;
/// As much of a foreign answer as an error shows, in characters.
const SHOWN: usize = 200;
/// What the head of every answer begins with.
const PROTOCOL: &[u8] = b"HTTP/1.";

/// Until when calls may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    clock: LiveClock,
    at: Time,
}

/// An answer, whatever its status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Where the API listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Api {
    pub(super) address: SocketAddr,
}

impl Deadline {
    /// So long from now.
    pub(super) fn after(length: Nanos, clock: LiveClock) -> Self {
        Self { clock, at: clock.now().after(length) }
    }

    /// What is left, more than nothing.
    pub(super) fn left(&self) -> Result<Duration, String> {
        let left = self.clock.until(self.at);
        if left == Nanos::ZERO { Err(late()) } else { Ok(left.as_std()) }
    }
}

fn late() -> String {
    "no answer within the time limit".to_owned()
}

impl Api {
    /// The answer to a call, if its status is one of success.
    pub(super) fn call(
        self,
        method: &str,
        path: &str,
        body: &str,
        deadline: Deadline,
    ) -> Result<Vec<u8>, EngineError> {
        let answer = self.answer(method, path, body, deadline)?;
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        Err(self.failed(method, path, answer.refusal()))
    }

    /// The answer to a call.
    pub(super) fn answer(
        self,
        method: &str,
        path: &str,
        body: &str,
        deadline: Deadline,
    ) -> Result<Answer, EngineError> {
        let exchanged = self.exchange(method, path, body, deadline);
        exchanged.map_err(|why| self.failed(method, path, why))
    }

    /// The failure of a call.
    pub(super) fn failed(self, method: &str, path: &str, why: impl ToString) -> EngineError {
        EngineError::failed(format!("{method} http://{}{path}", self.address), why)
    }

    fn exchange(
        self,
        method: &str,
        path: &str,
        body: &str,
        deadline: Deadline,
    ) -> Result<Answer, String> {
        let stream = TcpStream::connect_timeout(&self.address, deadline.left()?);
        let mut stream = stream.map_err(|error| explained(&error))?;
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: {}\r\nuser-agent: windtunnel\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.set_write_timeout(Some(deadline.left()?)).map_err(|error| explained(&error))?;
        stream.write_all(request.as_bytes()).map_err(|error| explained(&error))?;
        receive(&mut stream, deadline)
    }
}

/// Reads on until the answer is whole.
fn receive(stream: &mut TcpStream, deadline: Deadline) -> Result<Answer, String> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    loop {
        stream.set_read_timeout(Some(deadline.left()?)).map_err(|error| explained(&error))?;
        let read = stream.read(&mut buffer).map_err(|error| explained(&error))?;
        bytes.extend_from_slice(&buffer[..read]);
        if let Some(answer) = parse(&bytes, read == 0)? {
            return Ok(answer);
        }
        if bytes.len() > LONGEST {
            return Err(format!("the answer is longer than {LONGEST} bytes"));
        }
    }
}

fn explained(error: &std::io::Error) -> String {
    match error.kind() {
        // A read whose time is over says the first of them on Unix.
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        _ => error.to_string(),
    }
}

/// The answer in what has come so far; `None` if more has to come, which cannot be after the end.
fn parse(bytes: &[u8], ended: bool) -> Result<Option<Answer>, String> {
    let begun = bytes.len().min(PROTOCOL.len());
    if bytes[..begun] != PROTOCOL[..begun] {
        return Err(format!("this is no HTTP: {}", shown(bytes)));
    }
    let cut = || format!("the answer is cut off: {}", shown(bytes));
    let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(head_end) = head_end else {
        return if ended { Err(cut()) } else { Ok(None) };
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_ascii_lowercase();
    let body = &bytes[head_end + 4..];
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
    let answer = |body: &[u8]| Ok(Some(Answer { status, body: body.to_vec() }));
    match length(&head) {
        Some(length) if body.len() >= length => answer(&body[..length]),
        Some(_) if ended => Err(cut()),
        None if ended => answer(body),
        _ => Ok(None),
    }
}

/// The length that a head in lower case promises.
fn length(head: &str) -> Option<usize> {
    let value = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    value?.trim().parse().ok()
}

/// The beginning of what somebody sent, on one line.
fn shown(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(bytes).chars().take(SHOWN).collect();
    format!("{:?}", text.trim())
}

impl Answer {
    /// Why a call was refused: the status, and Toxiproxy's own words if they are there.
    pub(super) fn refusal(&self) -> String {
        let json: Option<Value> = serde_json::from_slice(&self.body).ok();
        let error = json.as_ref().and_then(|json| json.get("error")?.as_str());
        let said = error.map_or_else(|| shown(&self.body), str::to_owned);
        format!("status {}: {said}", self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, ended: bool) -> Result<Option<(u16, String)>, String> {
        let answer = parse(text.as_bytes(), ended)?;
        Ok(answer.map(|answer| (answer.status, String::from_utf8(answer.body).unwrap())))
    }

    #[test]
    fn an_answer_is_whole_at_its_length_or_at_its_end() {
        let whole = |status, body: &str| Ok(Some((status, body.to_owned())));
        for (text, ended, reads) in [
            ("HTT", false, Ok(None)),
            ("HTTP/1.1 200 OK\r\n", false, Ok(None)),
            ("HTTP/1.1 200 OK\r\n\r\nab", false, Ok(None)),
            ("HTTP/1.0 200 OK\r\n\r\nab", true, whole(200, "ab")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", false, Ok(None)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false, whole(200, "ab")),
            ("HTTP/1.1 204 No Content\r\n\r\n", true, whole(204, "")),
        ] {
            assert_eq!(read(text, ended), reads, "{text}");
        }
    }

    #[test]
    fn what_is_no_answer_is_shown_as_it_came() {
        for (text, ended, says) in [
            ("SSH-2.0-OpenSSH_9\r\n", false, r#"this is no HTTP: "SSH-2.0-OpenSSH_9""#),
            ("", true, r#"the answer is cut off: """#),
            ("HTTP/1.1 200 OK", true, r#"the answer is cut off: "HTTP/1.1 200 OK""#),
            ("HTTP/1.1 abc\r\n\r\n", false, r#"the answer is cut off: "HTTP/1.1 abc""#),
        ] {
            assert_eq!(read(text, ended), Err(says.to_owned()));
        }
        let cut = read("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", true).unwrap_err();
        assert!(cut.starts_with("the answer is cut off"), "{cut}");
    }

    #[test]
    fn a_refusal_has_the_words_of_toxiproxy_or_what_came() {
        for (status, body, says) in [
            (404, r#"{"error":"proxy not found","status":404}"#, "status 404: proxy not found"),
            (503, "<html>no</html>\n", r#"status 503: "<html>no</html>""#),
            (500, r#"{"other":1}"#, r#"status 500: "{\"other\":1}""#),
        ] {
            assert_eq!(Answer { status, body: body.into() }.refusal(), says);
        }
    }
}
