//! An echo server behind a proxy, and what tests need to talk to it.

use faults::toxic::Latency;
use faults::{EmbeddedProxy, Stream, Toxic, ToxicKind};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

/// Any free port of this machine.
pub(crate) const ANY_PORT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Runs a test on a runtime of its own; one that hangs fails after a minute.
pub(crate) fn with_bench(test: impl AsyncFnOnce(&Bench)) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_io().build().unwrap();
    runtime.block_on(async {
        let bench = Bench::start().await;
        tokio::select! {
            biased;
            () = bench.sleep(Nanos::from_secs(60)) => panic!("the test hangs"),
            () = test(&bench) => {}
        }
    });
}

/// A proxy in front of an echo server.
pub(crate) struct Bench {
    pub(crate) proxy: EmbeddedProxy,
    pub(crate) timer: Timer,
    pub(crate) upstream: SocketAddr,
    echo: JoinHandle<()>,
}

impl Bench {
    async fn start() -> Self {
        let (upstream, echo) = echo_server().await;
        let timer = Timer::start(LiveClock::start());
        Self { proxy: proxy_to(upstream, &timer).await, timer, upstream, echo }
    }

    pub(crate) fn now(&self) -> Time {
        self.timer.clock().now()
    }

    pub(crate) async fn sleep(&self, length: Nanos) {
        self.timer.sleep_until(self.now().after(length)).await;
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        connect(self.proxy.listen_addr()).await
    }

    /// Sends `message` and waits for it to come back; how long that took.
    pub(crate) async fn round_trip(&self, client: &mut TcpStream, message: &[u8]) -> Nanos {
        let sent = self.now();
        client.write_all(message).await.unwrap();
        let mut answer = vec![0; message.len()];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, message);
        self.now().since(sent)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.echo.abort();
    }
}

pub(crate) async fn proxy_to(upstream: impl ToString, timer: &Timer) -> EmbeddedProxy {
    let streams = Streams::new(7);
    EmbeddedProxy::start(ANY_PORT, upstream, timer.clone(), streams, "echo").await.unwrap()
}

pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).await.unwrap();
    client.set_nodelay(true).unwrap();
    client
}

/// Sends every byte back; closes when the client does.
pub(crate) async fn echo_server() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind(ANY_PORT).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                client.set_nodelay(true)?;
                let (mut reader, mut writer) = client.split();
                tokio::io::copy(&mut reader, &mut writer).await
            });
        }
    };
    (address, tokio::spawn(serve))
}

pub(crate) fn latency(ms: u64) -> ToxicKind {
    ToxicKind::Latency(Latency { latency: Nanos::from_millis(ms), jitter: Nanos::ZERO })
}

/// A downstream latency named `slow`.
pub(crate) fn slow(ms: u64) -> Toxic {
    Toxic { name: Some("slow".to_owned()), ..Toxic::new(latency(ms)) }
}

/// A toxic of this kind, with attributes as Toxiproxy's HTTP API writes them.
pub(crate) fn toxic(kind: &str, attributes: &str) -> Toxic {
    let attributes = serde_json::from_str(attributes).unwrap();
    Toxic::new(ToxicKind::from_api(kind, &attributes).unwrap())
}

/// The same toxic on requests.
pub(crate) fn upstream(toxic: Toxic) -> Toxic {
    Toxic { stream: Stream::Upstream, ..toxic }
}

/// All that comes until the other side closes or resets.
pub(crate) async fn rest(client: &mut TcpStream) -> (usize, Option<ErrorKind>) {
    let mut received = Vec::new();
    let end = client.read_to_end(&mut received).await;
    (received.len(), end.err().map(|error| error.kind()))
}

/// Whether the other side has closed the connection, once it has.
pub(crate) async fn is_closed(client: &mut TcpStream) -> bool {
    matches!(client.read(&mut [0]).await, Ok(0) | Err(_))
}
