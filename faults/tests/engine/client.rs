//! A client of a proxy, and the server behind it.

use crate::support::ANY_PORT;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};

/// After this long a read counts as hung; nothing is expected to come near it.
const HUNG: Duration = Duration::from_secs(20);

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

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(HUNG)).unwrap();
    stream
}

/// Sends so many bytes, numbered, and waits for them to come back.
pub(crate) fn round_trip(stream: &mut TcpStream, length: usize) {
    let message: Vec<u8> = (0..length).map(|n| n as u8).collect();
    stream.write_all(&message).unwrap();
    let mut back = vec![0; length];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back, message);
}

/// How long a new connection takes to have so many bytes back.
pub(crate) fn echo_takes(address: SocketAddr, length: usize) -> Nanos {
    let mut stream = connect(address);
    let clock = LiveClock::start();
    round_trip(&mut stream, length);
    clock.now().since(Time::ZERO)
}

/// What a new connection that sends so many bytes gets until it ends: bytes, and the error that
/// ends it; and how long that takes.
pub(crate) fn until_the_end(
    address: SocketAddr,
    length: usize,
) -> (usize, Option<ErrorKind>, Nanos) {
    let mut stream = connect(address);
    let clock = LiveClock::start();
    stream.write_all(&vec![7; length]).unwrap();
    let mut received = Vec::new();
    let end = stream.read_to_end(&mut received);
    (received.len(), end.err().map(|error| error.kind()), clock.now().since(Time::ZERO))
}

/// Whether nobody listens there.
pub(crate) fn is_refused(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}
