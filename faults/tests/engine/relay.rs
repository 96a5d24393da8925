//! A relay in front of an API: it writes down what is called, and falls ill when told to.

use crate::api::ANY_PORT;
use crate::support::url;
use faults::engine::ToxiproxyUrl;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What the relay does with a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Health {
    /// Passes it on.
    Well,
    /// Never answers it.
    Hangs,
    /// Closes without an answer.
    Cuts,
    /// Answers this.
    Says(&'static str),
}

/// Toxiproxy's answer after 25 s of hanging.
pub(crate) const UNAVAILABLE: Health = Health::Says(
    "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/html\r\ncontent-length: 58\r\n\r\n\
     <html><head><title>Timeout</title></head><body></body>\n\n\n\n",
);

/// Whose calls fall ill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Everyones,
    /// Those of `toxiproxy_rust`, which speaks HTTP/1.1; ours are HTTP/1.0.
    TheCrates,
}

pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    to: SocketAddr,
    health: Mutex<(Health, Whose)>,
    /// First lines of calls.
    calls: Mutex<Vec<String>>,
}

impl Relay {
    pub(crate) fn to(to: SocketAddr) -> Self {
        let health = Mutex::new((Health::Well, Whose::Everyones));
        let shared = Shared { to, health, calls: Mutex::default() };
        let (listener, shared) = (TcpListener::bind(ANY_PORT).unwrap(), Arc::new(shared));
        let address = listener.local_addr().unwrap();
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&of_thread);
                thread::spawn(move || shared.serve(client));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> ToxiproxyUrl {
        url(self.address)
    }

    /// Changes what becomes of the next calls, also on connections that are there.
    pub(crate) fn becomes(&self, health: Health, whose: Whose) {
        *self.shared.health.lock().unwrap() = (health, whose);
    }

    /// The calls since the last time, such as `GET /version HTTP/1.0`.
    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.calls.lock().unwrap())
    }
}

impl Shared {
    /// One client, call by call, as far as it goes well.
    fn serve(&self, mut client: TcpStream) {
        let mut server = TcpStream::connect(self.to).ok();
        while let Some(call) = read_message(&mut client) {
            let first = String::from_utf8_lossy(&call).lines().next().unwrap().to_owned();
            let (health, whose) = *self.health.lock().unwrap();
            let is_ours = first.ends_with("HTTP/1.0");
            self.calls.lock().unwrap().push(first);
            let answer = match health {
                Health::Hangs if whose == Whose::Everyones || !is_ours => {
                    while let Ok(1..) = client.read(&mut [0; 64]) {}
                    return;
                }
                Health::Cuts if whose == Whose::Everyones || !is_ours => return,
                Health::Says(text) if whose == Whose::Everyones || !is_ours => Some(text.into()),
                _ => server.as_mut().and_then(|server| {
                    server.write_all(&call).ok()?;
                    read_message(server)
                }),
            };
            let Some(answer) = answer else { return };
            if client.write_all(&answer).is_err() || is_ours {
                return;
            }
        }
    }
}

/// A head, and a body of the length that it promises; `None` at the end.
fn read_message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut bytes, mut one) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut one).ok()?;
        bytes.push(one[0]);
    }
    let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    bytes.extend(body);
    Some(bytes)
}
