//! Serves the metrics of a run over HTTP, for Prometheus to fetch.

use super::current::{Current, Shown};
use super::exemplars::Exemplars;
use super::openmetrics;
use super::prometheus::render;
use crate::page::{self, Stage};
use crate::serve::host::Hosts;
use ServeError::Start;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus::{Registry, TEXT_FORMAT};
use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// What `/` answers to whoever is no browser.
const INDEX: &str = "windtunnel\n\n/         in a browser, the page of the running experiment\n/metrics  the running experiment, for Prometheus\n";

/// Why metrics cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Another program has the port.
    #[error(
        "{0} is in use by another program; choose another with --listen 127.0.0.1:PORT, \
         or switch it off with --listen off"
    )]
    InUse(SocketAddr),
    /// The address cannot be listened on for another reason.
    #[error(
        "cannot listen on {addr}: {reason}; choose another address with --listen 127.0.0.1:PORT, \
         or switch it off with --listen off"
    )]
    Listen {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system says.
        reason: io::Error,
    },
    /// The system gives no thread, or no means to wait for connections.
    #[error("cannot start the metrics server: {0}")]
    Start(io::Error),
}

/// An HTTP server with `/metrics`, on a thread of its own, so that runs in virtual time, which
/// have no runtime, are served too. It stops when it is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    addr: SocketAddr,
    /// Dropped to stop the thread.
    running: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Serves `registry` with these exemplars, and the page of the run on `stage`, on `addr`, whose port may be 0 for any free one. Connections are
    /// accepted from the moment this returns.
    ///
    /// # Errors
    /// When the address cannot be listened on or the thread cannot be started.
    pub fn start(
        addr: SocketAddr,
        registry: Registry,
        exemplars: Exemplars,
        stage: Stage,
    ) -> Result<Self, ServeError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Start)?;
        let listener = listen(addr, &runtime)?;
        let addr = listener.local_addr().map_err(Start)?;
        let shown = Shown { registry, exemplars };
        let (running, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || {
                serve(runtime, listener, routes(shown, stage, Hosts::of(addr, &[])), stopped)
            })
            .map_err(Start)?;
        Ok(Self { addr, running: Some(running), thread: Some(thread) })
    }

    /// Where it listens, with the port that the system chose if 0 was asked for.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.running.take());
        // A thread that panicked has stopped too, and has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn listen(addr: SocketAddr, runtime: &Runtime) -> Result<TcpListener, ServeError> {
    let listener = std::net::TcpListener::bind(addr).map_err(|reason| match reason.kind() {
        io::ErrorKind::AddrInUse => ServeError::InUse(addr),
        _ => ServeError::Listen { addr, reason },
    })?;
    listener.set_nonblocking(true).map_err(Start)?;
    let _inside = runtime.enter();
    TcpListener::from_std(listener).map_err(Start)
}

/// Serves until the other end of `stopped` is gone. Connections are tasks of `runtime`, which is
/// dropped on return: those still open are cut off, however long their clients keep them alive.
fn serve(runtime: Runtime, listener: TcpListener, routes: Router, stopped: oneshot::Receiver<()>) {
    runtime.spawn(axum::serve(listener, routes).into_future());
    // Nothing is ever sent: it ends with the error that the sender was dropped.
    let _ = runtime.block_on(stopped);
    // A page that is being made for somebody is no reason to wait.
    runtime.shutdown_background();
}

fn routes(shown: Shown, stage: Stage, hosts: Hosts) -> Router {
    page::routes(stage, hosts, INDEX).merge(metrics_route(shown.into()))
}

/// `/metrics` of the run that is current when it is fetched.
pub(crate) fn metrics_route(current: Current) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(current)
}

/// In OpenMetrics for those who ask for it, which alone has exemplars, else in the text format 0.0.4.
async fn metrics(State(current): State<Current>, headers: HeaderMap) -> impl IntoResponse {
    let Shown { registry, exemplars } = current.shown();
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    if accept.is_some_and(openmetrics::is_asked_for) {
        let text = openmetrics::encode(&registry.gather(), &exemplars);
        ([(CONTENT_TYPE, openmetrics::CONTENT_TYPE)], text)
    } else {
        ([(CONTENT_TYPE, TEXT_FORMAT)], render(&registry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::Gauge;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::mpsc;
    use std::time::Duration;

    const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    fn server() -> MetricsServer {
        let registry = Registry::new();
        let gauge = Gauge::new("windtunnel_test_ratio", "A test.").unwrap();
        gauge.set(0.5);
        registry.register(Box::new(gauge)).unwrap();
        MetricsServer::start(ANY, registry, Exemplars::default(), Stage::default()).unwrap()
    }

    fn get(addr: SocketAddr, path: &str) -> String {
        get_as(addr, path, "*/*")
    }

    fn get_as(addr: SocketAddr, path: &str, accept: &str) -> String {
        let mut stream = TcpStream::connect(addr).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        let request = format!("{head}accept: {accept}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn each_path_has_its_answer() {
        let server = server();
        for (path, parts) in [
            (
                "/metrics",
                &[
                    "200 OK",
                    "content-type: text/plain; version=0.0.4",
                    "\nwindtunnel_test_ratio 0.5",
                ][..],
            ),
            ("/", &["200 OK", "content-type: text/plain", "/metrics"]),
            // A foreign name in the Host header.
            ("/page.json", &["403 Forbidden"]),
            ("/page/events", &["403 Forbidden"]),
            ("/page.js", &["200 OK", "content-type: text/javascript", "default-src 'none'"]),
            ("/else", &["404 Not Found"]),
        ] {
            let answer = get(server.addr(), path);
            for part in parts {
                assert!(answer.contains(part), "{path}: {part} is missing in {answer}");
            }
        }
    }

    #[test]
    fn a_browser_gets_the_page_with_its_policy() {
        let server = server();
        let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        let answer = get_as(server.addr(), "/", accept);
        for part in
            ["200 OK", "content-type: text/html", "content-security-policy: default-src 'none'"]
        {
            assert!(answer.contains(part), "{part} is missing in {answer}");
        }
    }

    #[test]
    fn who_asks_for_openmetrics_gets_it() {
        let server = server();
        // As Prometheus 2.42 asks.
        let accept = "application/openmetrics-text;version=1.0.0,\
                      application/openmetrics-text;version=0.0.1;q=0.75,\
                      text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let answer = get_as(server.addr(), "/metrics", accept);
        for part in [
            "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8",
            "# UNIT windtunnel_test_ratio ratio\nwindtunnel_test_ratio 0.5\n# EOF\n",
        ] {
            assert!(answer.contains(part), "{part} is missing in {answer}");
        }
    }

    #[test]
    fn a_busy_port_is_said_with_the_cure() {
        let server = server();
        let addr = server.addr();
        let error =
            MetricsServer::start(addr, Registry::new(), Exemplars::default(), Stage::default())
                .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{addr} is in use by another program; choose another with --listen \
                 127.0.0.1:PORT, or switch it off with --listen off"
            )
        );
    }

    #[test]
    fn it_stops_at_once_though_a_connection_is_kept_alive_and_frees_its_port() {
        let server = server();
        let addr = server.addr();
        let mut open = TcpStream::connect(addr).unwrap();
        open.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        assert_ne!(open.read(&mut [0; 512]).unwrap(), 0);

        let (stopped, has_stopped) = mpsc::channel();
        std::thread::spawn(move || {
            drop(server);
            stopped.send(()).unwrap();
        });
        // Ten times what it may take: the machine may be busy.
        has_stopped.recv_timeout(Duration::from_secs(1)).unwrap();
        open.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        open.read_to_end(&mut Vec::new()).expect("the connection is closed");
        drop(
            MetricsServer::start(addr, Registry::new(), Exemplars::default(), Stage::default())
                .unwrap(),
        );
    }
}
