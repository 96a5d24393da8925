//! A client of a proxy.

use crate::api::{self, connect};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use testbed_clock::LiveClock;
use testbed_core::time::{Nanos, Time};

/// Sends so many bytes, numbered, and waits for them to come back.
pub(crate) fn round_trip(stream: &mut TcpStream, length: usize) {
    let message: Vec<u8> = (0..length).map(|n| n as u8).collect();
    api::round_trip(stream, &message);
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
