//! An API on a port of its own, and HTTP by hand, so that no client's kindness hides a fault.

use faults::api::{Registry, Server};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;
use tokio::runtime::{Builder, Runtime};

/// After this long a call counts as hung; nothing is expected to come near it.
pub(crate) const HUNG: Duration = Duration::from_secs(20);

/// Any free port of this machine.
pub(crate) const ANY_PORT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// An API that runs until the end of its test.
pub(crate) struct Api {
    pub(crate) runtime: Runtime,
    pub(crate) address: SocketAddr,
    _server: Server,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Status line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(key, _)| *key == name).map(|(_, value)| value);
        values.next()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) fn registry() -> Registry {
    Registry::new(Timer::start(LiveClock::start()), Streams::new(1))
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_io().build().unwrap()
}

impl Api {
    pub(crate) fn start() -> Self {
        let runtime = runtime();
        let server = runtime.block_on(Server::start(ANY_PORT, registry())).unwrap();
        Self { runtime, address: server.address(), _server: server }
    }

    /// One call on a connection of its own.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        call(self.address, method, path, "test", body.as_bytes())
    }

    /// A call that has to succeed.
    pub(crate) fn done(&self, method: &str, path: &str, body: &str) -> Answer {
        let answer = self.call(method, path, body);
        assert!(answer.status < 300, "{method} {path} {body}: {answer:?}");
        answer
    }

    /// Makes a proxy to `upstream`; where it listens.
    pub(crate) fn proxy(&self, name: &str, upstream: SocketAddr) -> SocketAddr {
        let body = format!(r#"{{"name":"{name}","upstream":"{upstream}"}}"#);
        let made = self.done("POST", "/proxies", &body).json();
        made["listen"].as_str().unwrap().parse().unwrap()
    }
}

/// One call on a connection of its own.
pub(crate) fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    agent: &str,
    body: &[u8],
) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HUNG)).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\nuser-agent: {agent}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // What is too long is answered before all of it is read.
    let _ = stream.write_all(body);
    let mut text = Vec::new();
    let read = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(read.is_ok() || !text.is_empty(), "{method} {path}: {read:?}");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// A server that sends back what comes, on a thread of its own until the process ends.
pub(crate) fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind(ANY_PORT).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || echo(stream));
        }
    });
    address
}

fn echo(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

/// A client of a proxy.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(HUNG)).unwrap();
    stream
}

/// Sends `message` and waits for it to come back.
pub(crate) fn round_trip(stream: &mut TcpStream, message: &[u8]) {
    stream.write_all(message).unwrap();
    let mut back = vec![0; message.len()];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back, message);
}

/// Ports that nobody listens on just now, and that the system gives to nobody who asks for any: it
/// takes those from 32768 on. Processes that run side by side have blocks of ten of their own.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    let first = 20_000 + (std::process::id() % 1_000) as u16 * 10;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut free = (first..32_000).filter(is_free);
    [(); N].map(|()| free.next().unwrap())
}
