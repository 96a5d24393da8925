//! What Prometheus itself makes of `/metrics`. Debian's package has it: without `prometheus` and
//! `promtool` these tests are skipped with a line that says so, unless `WINDTUNNEL_REQUIRE=1`.

use crate::machine;
use crate::support::http::{request, send};
use crate::support::process::{Running, eventually};
use crate::support::{HUNG, Scratch};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use testbed::page::Stage;
use testbed::watch::names;
use testbed::watch::prometheus::{ArmKind, ArmLabel, Prometheus, RunLabels};
use testbed::watch::serve::MetricsServer;
use testbed_clock::unix_now;
use testbed_core::event::Event;
use testbed_core::observe::Observer as _;
use testbed_core::request::{Arm, Arrival};
use testbed_core::time::{Nanos, Time};

/// Both kinds of arms with their series, for as long as a test needs them, in a run of an hour.
const BOTH: &str = "
version: 1
name: both
run: { mode: live }
arms:
  law: { controller: { velox: { start: 4, min: 2, max: 16 } } }
backend: { servers: 64, service: { constant: 5ms } }
load: { closed: { clients: 20 } }
client: { timeout: 3s }
phases: [{ name: first, for: 300ms }, { name: rest, for: 1h }]
";

const LIMITER: &str = "
version: 1
name: limiter
run: { mode: live }
arms:
  fair: { limiter: { fifo: { levels: { global: { rate: 1MiB/s, initial: 0B }, task: { rate: 1MiB/s } } } } }
backend: { servers: 8, service: { constant: 0s } }
download: { tasks: 4, chunk: { fixed: 16KiB } }
phases: [{ name: all, for: 1h }]
";

/// What a live run says of its own lateness.
const LAG: &str = "\nwindtunnel_runtime_lag_seconds_count ";

/// What Prometheus 2.42 says that it takes.
const ACCEPT: &str = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";

/// Whether a program is there.
///
/// # Panics
/// When it is not, but is required.
pub(crate) fn installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    let found = command.status().is_ok_and(|status| status.success());
    let required = std::env::var_os("WINDTUNNEL_REQUIRE").is_some_and(|set| !set.is_empty());
    assert!(found || !required, "{program} is required; apt-get install prometheus");
    if !found {
        eprintln!("SKIPPED: {program} is not installed (apt-get install prometheus)");
    }
    found
}

/// A live run whose metrics have seen two updates of the law, or a grant of the limiter.
fn run(scratch: &Scratch, file: &str, seen: &str) -> (Running, SocketAddr) {
    scratch.file("file.yaml", file);
    let running = scratch.start(&["run", "file.yaml", "--listen", "127.0.0.1:0"]);
    let addr = running.metrics_addr();
    eventually(HUNG, seen, || {
        let text = request(addr, "GET", "/metrics", "")?.body;
        [seen, LAG].iter().all(|part| text.contains(part)).then_some(())
    });
    (running, addr)
}

#[test]
fn promtool_finds_nothing_wrong_with_any_metric() {
    let _machine = machine();
    if !installed("promtool") {
        return;
    }
    for (file, seen) in [
        (BOTH, "windtunnel_controller_update_gradient_ratio_count{"),
        (LIMITER, "windtunnel_limiter_tokens_taken_bytes_total{"),
    ] {
        let scratch = Scratch::new();
        let (running, addr) = run(&scratch, file, seen);
        let text = request(addr, "GET", "/metrics", "").unwrap().body;
        drop(running);
        let mut command = Command::new("promtool");
        command.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut promtool = command.spawn().unwrap();
        promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let said = promtool.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.success(), "{}: {words}", said.status);
    }
}

/// A Prometheus of the test's own, gone with it.
pub(crate) struct Server {
    child: Child,
    addr: SocketAddr,
}

impl Server {
    /// One that scrapes these targets five times a second.
    pub(crate) fn start(scratch: &Scratch, targets: &[(&str, SocketAddr)]) -> Self {
        let mut config = "global: { scrape_interval: 200ms }\nscrape_configs:\n".to_owned();
        for (job, addr) in targets {
            let targets = format!("static_configs: [{{ targets: ['{addr}'] }}]");
            writeln!(config, "  - {{ job_name: {job}, {targets} }}").unwrap();
        }
        scratch.file("prometheus.yml", config);
        let addr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let command = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .args(["--enable-feature=exemplar-storage", "--log.level=warn"])
            .arg(format!("--web.listen-address={addr}"))
            .current_dir(scratch.path())
            .spawn();
        Self { child: command.unwrap(), addr }
    }

    /// What it answers to a query, as soon as that holds.
    pub(crate) fn until(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(HUNG, path, || {
            // To 1.1 it answers in chunks, once it has much to say.
            let answer = send(self.addr, &format!("GET {path} HTTP/1.0\r\nhost: test\r\n\r\n"))?;
            let answer: Value = serde_json::from_str(&answer.body).ok()?;
            holds(&answer["data"]).then(|| answer["data"].clone())
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes every request for metrics on to `to` as one that asks for no format: an old Prometheus.
fn as_an_old_one(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), Some(answer)) = (stream, request(to, "GET", "/metrics", ""))
            else {
                return;
            };
            let mut asked = BufReader::new(&stream).lines();
            while asked.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            // Whoever has gone away meanwhile will come again.
            let _ = write!(stream, "{}\r\n\r\n{}", answer.head, answer.body);
        }
    });
    addr
}

/// Metrics without a run, to which one wait with a trace is known.
fn with_an_exemplar() -> MetricsServer {
    let arm =
        ArmLabel { name: "one".into(), kind: ArmKind::Calls, has_window: true, ceiling: None };
    let mut metrics = Prometheus::new(&RunLabels {
        experiment: "traced".into(),
        mode: "virtual".into(),
        seed: 1,
        arms: vec![arm],
        phases: Vec::new(),
        faults: Vec::new(),
        deadlines: vec![Nanos::from_secs(3)],
    });
    let (arm, arrival, wait) = (Arm(0), Arrival::new(0, 0, Time::ZERO), Nanos::from_millis(250));
    let (in_flight, waiting, limit, gated) = (1, 0, 1, true);
    metrics.on_event(Time::ZERO, &Event::Arrived { arm, arrival, lag: Nanos::ZERO });
    metrics.on_event(
        Time::ZERO,
        &Event::Admitted { arm, arrival, wait, in_flight, waiting, limit, gated },
    );
    let when = unix_now().as_secs_f64();
    metrics.exemplars().record(&names::WAIT, &["one"], 0.25, 0xfeed, when);
    let any = "127.0.0.1:0".parse().unwrap();
    MetricsServer::start(any, metrics.registry(), metrics.exemplars(), Stage::default()).unwrap()
}

#[test]
fn prometheus_takes_both_formats_and_gives_exemplars_back() {
    let _machine = machine();
    if !installed("prometheus") {
        return;
    }
    let scratch = Scratch::new();
    let (_running, live) =
        run(&scratch, BOTH, "windtunnel_controller_update_gradient_ratio_count{");
    let head = "GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n";
    let open = send(live, &format!("{head}accept: {ACCEPT}\r\n\r\n")).unwrap();
    assert!(open.head.contains("application/openmetrics-text; version=1.0.0"), "{}", open.head);
    assert!(open.body.ends_with("# EOF\n"));
    let traced = with_an_exemplar();
    let targets = [("open", live), ("text", as_an_old_one(live)), ("traced", traced.addr())];
    let server = Server::start(&scratch, &targets);
    for (job, _) in targets {
        let up = format!("/api/v1/query?query=up%7Bjob%3D%22{job}%22%7D");
        server.until(&up, |data| data["result"][0]["value"][1] == "1");
        let name = names::UPDATE_WINDOW.name;
        let count = format!("/api/v1/query?query=count({name}_bucket%7Bjob%3D%22{job}%22%7D)");
        let all = (names::UPDATE_WINDOW.kind.bounds(&[]).len() + 1).to_string();
        server.until(&count, |data| data["result"][0]["value"][1] == *all);
    }
    let name = names::WAIT.name;
    let from = "start=0&end=99999999999";
    let path = format!("/api/v1/query_exemplars?query={name}_bucket&{from}");
    let found = server.until(&path, |data| data[0]["exemplars"][0].is_object());
    assert_eq!(found[0]["seriesLabels"]["job"], "traced");
    let exemplar = &found[0]["exemplars"][0];
    assert_eq!(exemplar["labels"]["trace_id"], format!("{:032x}", 0xfeed));
    assert_eq!(exemplar["value"], "0.25");
}
