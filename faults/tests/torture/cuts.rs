//! Connections that are opened and cut, half of them by their clients and half by toxics: nothing
//! stays behind, not a byte a connection.

use crate::support::{ANY_PORT, echo_server, runtime};
use crate::{ALLOCATED, turn};
use faults::{EmbeddedProxy, Toxic, ToxicKind};
use std::net::SocketAddr;
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Runtime};

const CONNECTIONS: usize = 10_000;
const WARM_UP: usize = 1_000;
/// Connections that are open at a time.
const AT_ONCE: usize = 20;
/// Moments of 5 ms after which what should have gone is taken to stay.
const PATIENCE: usize = 4_000;
/// Half of them are cut by clients: the first two ways.
const CUTTERS: [(&str, &str); 6] = [
    ("noop", "{}"),
    ("latency", r#"{"latency":1}"#),
    ("noop", "{}"),
    ("limit_data", r#"{"bytes":3}"#),
    ("timeout", r#"{"timeout":1}"#),
    ("reset_peer", "{}"),
];
const BY_CLIENTS: usize = 3;

/// A proxy for each way to be cut.
struct Proxies {
    timer: Timer,
    proxies: Vec<EmbeddedProxy>,
}

impl Proxies {
    async fn start(upstream: SocketAddr) -> Self {
        let timer = Timer::start(LiveClock::start());
        let mut proxies = Vec::new();
        for (kind, attributes) in CUTTERS {
            let (timer, streams) = (timer.clone(), Streams::new(1));
            let proxy = EmbeddedProxy::start(ANY_PORT, upstream, timer, streams, kind).await;
            let attributes = serde_json::from_str(attributes).unwrap();
            let toxic = Toxic::new(ToxicKind::from_api(kind, &attributes).unwrap());
            proxies.push(proxy.unwrap());
            proxies.last().unwrap().add_toxic(toxic).unwrap();
        }
        Self { timer, proxies }
    }

    /// Opens so many connections and cuts them.
    async fn cut(&self, connections: usize) {
        for round in 0..connections / AT_ONCE {
            let client = |n: usize| {
                let way = (round * AT_ONCE + n) % CUTTERS.len();
                tokio::spawn(open_and_cut(self.proxies[way].listen_addr(), way))
            };
            for client in (0..AT_ONCE).map(client).collect::<Vec<_>>() {
                client.await.unwrap();
            }
        }
    }

    /// Connections that were ever accepted, and those that are open.
    fn connections(&self) -> (usize, usize) {
        let stats = self.proxies.iter().map(EmbeddedProxy::stats);
        stats.fold((0, 0), |(total, open), stats| {
            (total + stats.connections_total as usize, open + stats.connections_open as usize)
        })
    }

    /// Until so many connections were accepted, none of them is open, and no task or alarm is left
    /// but those at the beginning.
    async fn settle(&self, connections: usize, tasks: usize) {
        let is_busy = || {
            self.connections() != (connections, 0)
                || Handle::current().metrics().num_alive_tasks() > tasks
                || self.timer.pending() > 0
        };
        for _ in 0..PATIENCE {
            if is_busy() {
                self.sleep_a_moment().await;
            }
        }
        assert!(!is_busy(), "{:?} of {connections}", self.connections());
    }

    async fn sleep_a_moment(&self) {
        self.timer.sleep_until(self.timer.clock().now().after(Nanos::from_millis(5))).await;
    }
}

/// Sends something, and waits for the end unless this client is to make it.
async fn open_and_cut(proxy: SocketAddr, way: usize) {
    let mut client = TcpStream::connect(proxy).await.unwrap();
    // A toxic may have cut it by now.
    let _ = client.write_all(b"some bytes").await;
    if way >= BY_CLIENTS {
        let _ = client.read_to_end(&mut Vec::new()).await;
    } else if way == 0 {
        client.read_exact(&mut [0; 10]).await.unwrap();
        client.set_zero_linger().unwrap();
    }
}

#[test]
fn ten_thousand_cut_connections_leave_nothing_behind() {
    let _turn = turn();
    let runtime: Runtime = runtime();
    let upstream = echo_server();
    runtime.block_on(async {
        let proxies = Proxies::start(upstream).await;
        let tasks = Handle::current().metrics().num_alive_tasks();
        proxies.cut(WARM_UP).await;
        proxies.settle(WARM_UP, tasks).await;
        let before = ALLOCATED.current_usage();
        proxies.cut(CONNECTIONS).await;
        proxies.settle(WARM_UP + CONNECTIONS, tasks).await;
        let allowed = before + before / 10;
        // Threads of the upstream take a moment to go, too.
        for _ in 0..PATIENCE {
            if ALLOCATED.current_usage() > allowed {
                proxies.sleep_a_moment().await;
            }
        }
        let after = ALLOCATED.current_usage();
        assert!(after <= allowed, "{before} bytes have become {after}");
        for proxy in &proxies.proxies {
            let stats = proxy.stats();
            for stream in [stats.upstream, stats.downstream] {
                assert_eq!(stream.received, stream.sent + stream.dropped, "{}", proxy.name());
            }
        }
    });
}
