//! Both ends of the load, on threads of this process with blocking sockets.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use testbed_clock::LiveClock;

/// Bytes of one bulk transfer: some tenths of a second.
pub(crate) const BULK: usize = 512 << 20;
const BUFFER: usize = 256 << 10;
/// What an echo sends.
const MESSAGE: [u8; 64] = [7; 64];
/// The first byte of a connection that wants a bulk transfer.
const WANT_BULK: u8 = 1;
/// After this long a read counts as hung.
const HUNG: Duration = Duration::from_secs(20);

/// A server that sends back what comes, or a lot if asked to, until the process ends.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
}

impl Backend {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // An idle connection has a small stack here, not that it matters to the proxy.
                let serve = || drop(answer(stream));
                thread::Builder::new().stack_size(64 << 10).spawn(serve).unwrap();
            }
        });
        Self { address }
    }
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer)?;
        match buffer[..length] {
            [] => return Ok(()),
            [WANT_BULK] => send_bulk(&mut stream)?,
            ref message => stream.write_all(message)?,
        }
    }
}

fn send_bulk(stream: &mut TcpStream) -> std::io::Result<()> {
    let piece = vec![0; BUFFER];
    (0..BULK / BUFFER).try_for_each(|_| stream.write_all(&piece))
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(HUNG)).unwrap();
    stream
}

/// Seconds that one bulk transfer takes.
pub(crate) fn bulk_seconds(address: SocketAddr) -> f64 {
    let mut stream = connect(address);
    let mut buffer = vec![0; BUFFER];
    let (clock, mut missing) = (LiveClock::start(), BULK);
    stream.write_all(&[WANT_BULK]).unwrap();
    while missing > 0 {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "the transfer was cut");
        missing -= length;
    }
    clock.now().as_secs_f64()
}

/// Sends a message and waits until it is back.
pub(crate) fn echo(stream: &mut TcpStream) {
    let mut back = [0; MESSAGE.len()];
    stream.write_all(&MESSAGE).unwrap();
    stream.read_exact(&mut back).unwrap();
}

/// The median of so many echoes, in seconds.
pub(crate) fn echo_seconds(address: SocketAddr, times: usize) -> f64 {
    let mut stream = connect(address);
    echo(&mut stream);
    let mut one = |_| {
        let clock = LiveClock::start();
        echo(&mut stream);
        clock.now().as_secs_f64()
    };
    median((0..times).map(&mut one).collect())
}

/// Whether a client that sends something sees a reset.
pub(crate) fn sees_reset(address: SocketAddr) -> bool {
    let mut stream = connect(address);
    stream.write_all(&MESSAGE).unwrap();
    let end = stream.read_to_end(&mut Vec::new());
    end.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
