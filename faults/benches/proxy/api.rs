//! A proxy in another process, and the calls to it.

use faults::api::{Registry, Server};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;
use tokio::runtime::Builder;

/// With this argument the bench is the proxy.
pub(crate) const SERVE: &str = "--serve";

/// The proxy under test in every measurement.
pub(crate) const NAME: &str = "bench";

/// A server with Toxiproxy's API; one that was started here ends with this.
pub(crate) struct Remote {
    address: SocketAddr,
    child: Option<Child>,
}

/// Serves the API until standard input ends, which it does when the parent goes, however it goes.
pub(crate) fn serve() {
    let runtime = Builder::new_multi_thread().enable_io().build().unwrap();
    let registry = Registry::new(Timer::start(LiveClock::start()), Streams::new(1));
    let any_port = (Ipv4Addr::LOCALHOST, 0).into();
    let server = runtime.block_on(Server::start(any_port, registry)).unwrap();
    println!("{}", server.address());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    runtime.block_on(server.close());
}

impl Remote {
    /// A proxy of ours, in a process of its own.
    pub(crate) fn spawn() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command = command.arg(SERVE).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { address: line.trim().parse().unwrap(), child: Some(child) }
    }

    /// A server that is there, such as `http://127.0.0.1:8474`.
    pub(crate) fn at(url: &str) -> Self {
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        Self { address: address.parse().expect("TOXIPROXY_URL is http://IP:PORT"), child: None }
    }

    /// Makes [`NAME`] anew, to `upstream`; where it listens.
    pub(crate) fn proxy(&self, upstream: SocketAddr) -> SocketAddr {
        self.call("DELETE", &format!("/proxies/{NAME}"), "");
        let body = format!(r#"{{"name":"{NAME}","listen":"127.0.0.1:0","upstream":"{upstream}"}}"#);
        let made: Value = serde_json::from_str(&self.call("POST", "/proxies", &body)).unwrap();
        made["listen"].as_str().unwrap().parse().unwrap()
    }

    /// Adds a toxic to it.
    pub(crate) fn toxic(&self, body: &str) {
        let answer = self.call("POST", &format!("/proxies/{NAME}/toxics"), body);
        assert!(answer.contains("toxicity"), "{answer}");
    }

    /// Bytes of memory that the process has, where that can be told.
    pub(crate) fn resident_bytes(&self) -> Option<f64> {
        let process = self.child.as_ref()?.id();
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024.0)
    }

    /// CPU time that the process has taken, where that can be told; Linux counts in 10 ms.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        let process = self.child.as_ref()?.id();
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // Behind the name, which may have spaces: user and system time are fields 14 and 15.
        let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
        let ticks: Option<Vec<f64>> = fields.map(|field| field.parse().ok()).collect();
        Some(ticks?.iter().sum::<f64>() / 100.0)
    }

    /// One call on a connection of its own; the body of the answer.
    fn call(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else {
            self.call("DELETE", &format!("/proxies/{NAME}"), "");
            return;
        };
        drop(child.stdin.take());
        let _ = child.wait();
    }
}
