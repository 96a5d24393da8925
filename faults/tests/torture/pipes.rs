//! Bulk data goes through pipes, which are file descriptors: there while it flows, and gone after.
#![cfg(target_os = "linux")]

use crate::support::{ANY_PORT, HUNG, connect, echo_server, runtime};
use crate::turn;
use faults::EmbeddedProxy;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;

/// Both ends of the connection to the proxy, and of that to its upstream.
const SOCKETS: usize = 4;

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn wait_for_open_files(expected: impl Fn(usize) -> bool) {
    for _ in 0..HUNG.as_millis() / 5 {
        if expected(open_files()) {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("{} files are open", open_files());
}

/// Sends until nobody takes more; how many bytes.
fn fill(client: &mut TcpStream) -> usize {
    client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let piece = [7; 65_536];
    let mut total = 0;
    while let Ok(sent) = client.write(&piece) {
        total += sent;
    }
    total
}

#[test]
fn a_connection_has_pipes_while_bulk_data_flows_and_none_when_it_is_idle() {
    let _turn = turn();
    let (runtime, upstream) = (runtime(), echo_server());
    let (timer, streams) = (Timer::start(LiveClock::start()), Streams::new(1));
    let started = EmbeddedProxy::start(ANY_PORT, upstream, timer, streams, "bulk");
    let proxy = runtime.block_on(started).unwrap();
    let before = open_files();
    let mut client = connect(proxy.listen_addr());
    for _ in 0..2 {
        let sent = fill(&mut client);
        // Of one direction at least.
        wait_for_open_files(|open| open > before + SOCKETS);
        client.read_exact(&mut vec![0; sent]).unwrap();
        wait_for_open_files(|open| open == before + SOCKETS);
    }
    drop(client);
    wait_for_open_files(|open| open == before);
    runtime.block_on(proxy.close());
}
