//! For whom exporters work, in a process of its own so that its processor time is nobody's: it scrapes
//! as Prometheus does, and takes traces as a collector does.

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use hyper::body::Bytes;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The argument that makes this program an audience.
pub(crate) const ROLE: &str = "audience";
/// As in the shipped configuration of Prometheus.
const SCRAPE_EVERY: Duration = Duration::from_millis(200);

/// The process, seen from the run.
pub(crate) struct Audience {
    child: Child,
    said: BufReader<ChildStdout>,
    /// The collector's.
    pub(crate) url: String,
}

/// What it got.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) scrapes: u64,
    pub(crate) scraped_bytes: u64,
    /// Calls of the collector.
    pub(crate) exports: u64,
}

impl Audience {
    /// One that scrapes `metrics` and collects until it is sent away.
    pub(crate) fn start(metrics: SocketAddr) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let mut child = Command::new(program)
            .args([ROLE, &metrics.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started again");
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let url = line(&mut said);
        Self { child, said, url }
    }

    /// Sends it away, and has it say what it got.
    pub(crate) fn leave(mut self) -> Heard {
        drop(self.child.stdin.take());
        let words = line(&mut self.said);
        self.child.wait().expect("it ends");
        let mut numbers = words.split(' ').map(|word| word.parse().expect("a number"));
        let mut next = || numbers.next().expect("three numbers");
        Heard { scrapes: next(), scraped_bytes: next(), exports: next() }
    }
}

fn line(said: &mut impl BufRead) -> String {
    let mut line = String::new();
    said.read_line(&mut line).expect("it can be read");
    line.trim_end().to_owned()
}

/// Scrapes and collects until standard input ends.
pub(crate) fn listen(metrics: SocketAddr) {
    let exports = Arc::new(AtomicU64::new(0));
    let _collector = collect(Arc::clone(&exports));
    let (leaving, left) = channel();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = leaving.send(());
    });
    let (mut scrapes, mut bytes) = (0, 0);
    while left.recv_timeout(SCRAPE_EVERY) == Err(RecvTimeoutError::Timeout) {
        // The run may have ended before it says so.
        if let Ok(length) = scrape(metrics) {
            (scrapes, bytes) = (scrapes + 1, bytes + length);
        }
    }
    println!("{scrapes} {bytes} {}", exports.load(Relaxed));
}

/// Takes traces from now on, and says where.
fn collect(exports: Arc<AtomicU64>) -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_io().build();
    let runtime = runtime.expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let listener = listener.expect("a free port");
    println!("http://{}", listener.local_addr().expect("it is bound"));
    let routes = Router::new().route("/v1/traces", post(take)).layer(DefaultBodyLimit::disable());
    runtime.spawn(axum::serve(listener, routes.with_state(exports)).into_future());
    runtime
}

/// An empty message is the answer that all is well.
async fn take(
    State(exports): State<Arc<AtomicU64>>,
    _: Bytes,
) -> [(axum::http::HeaderName, &'static str); 1] {
    exports.fetch_add(1, Relaxed);
    [(CONTENT_TYPE, "application/x-protobuf")]
}

/// The length of what is scraped, in bytes.
fn scrape(metrics: SocketAddr) -> io::Result<u64> {
    let mut stream = TcpStream::connect(metrics)?;
    stream.write_all(
        b"GET /metrics HTTP/1.1\r\nhost: audience\r\nconnection: close\r\n\
          accept: application/openmetrics-text;version=1.0.0\r\n\r\n",
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer.len() as u64)
}
