//! What `/metrics` says while a live run goes.

use crate::machine;
use crate::support::http::request;
use crate::support::process::eventually;
use crate::support::{HUNG, Scratch};
use std::net::{SocketAddr, TcpListener};

/// A window that moves between 2 and 16 on a backend that is held at a gradient.
const HELD: &str = "
version: 1
name: held
run: { mode: live, seed: 3 }
arms:
  one:   { controller: { velox: { start: 4, min: 2, max: 16 } } }
  other: { controller: { velox: { start: 4, min: 2, max: 16 } } }
backend: { servers: 64, service: { constant: 5ms } }
load: { closed: { clients: 20 } }
phases: [{ name: calm, for: 300ms }, { name: slow, for: 60s }]
faults:
  - { name: storm, during: calm, backend: { reject: { status: 429, share: 5% } } }
  - { name: hold, during: slow, backend: { hold: { gradient: 0.8, at_most: 2s } } }
";

/// A scrape in the text format.
struct Scrape(String);

impl Scrape {
    fn of(addr: SocketAddr) -> Self {
        let answer = request(addr, "GET", "/metrics", "").unwrap();
        assert_eq!(answer.status, 200);
        assert!(answer.head.contains("text/plain; version=0.0.4"), "{}", answer.head);
        Self(answer.body)
    }

    /// The values of a metric by the labels, written as in the text: `arm="one"`.
    fn values<'s>(&'s self, name: &'s str, labels: &'s str) -> impl Iterator<Item = f64> + 's {
        let values = self.0.lines().filter_map(|line| line.rsplit_once(' '));
        let of_name = values.filter_map(move |(series, value)| {
            Some((series.strip_prefix(name)?.strip_prefix('{')?, value))
        });
        let wanted = move |series: &str| labels.split(',').all(|label| series.contains(label));
        of_name.filter(move |(series, _)| wanted(series)).map(|(_, value)| value.parse().unwrap())
    }

    /// Whether every row of the table has a value, and one within its range.
    fn shows(&self, table: &[(&str, &str, f64, f64)]) -> bool {
        table.iter().all(|(name, labels, least, most)| {
            let sum = self.values(name, labels).reduce(|a, b| a + b);
            sum.is_some_and(|sum| (*least..=*most).contains(&sum))
        })
    }
}

/// What must be seen at one time once the backend is held. Several updates add up.
const SLOW: &[(&str, &str, f64, f64)] = &[
    ("windtunnel_run_info", r#"experiment="held",mode="live",seed="3""#, 1.0, 1.0),
    ("windtunnel_controller_window_requests", r#"arm="one""#, 2.0, 16.0),
    ("windtunnel_controller_window_requests", r#"arm="other""#, 2.0, 16.0),
    ("windtunnel_controller_limit_requests", r#"arm="one""#, 2.0, 16.0),
    ("windtunnel_controller_gradient_ratio", r#"arm="one""#, 0.5, 0.95),
    ("windtunnel_controller_rtt_seconds", r#"arm="one",kind="baseline""#, 0.005, 10.0),
    ("windtunnel_controller_rtt_seconds", r#"arm="one",kind="observed""#, 0.005, 10.0),
    ("windtunnel_controller_vital", r#"arm="one",name="recomputations""#, 1.0, 1e6),
    ("windtunnel_in_flight_requests", r#"arm="one""#, 0.0, 16.0),
    ("windtunnel_waiting_requests", r#"arm="one""#, 1.0, 20.0),
    ("windtunnel_requests_total", r#"arm="one",outcome="ok""#, 8.0, 1e9),
    ("windtunnel_requests_total", r#"arm="one",outcome="error""#, 0.0, 0.0),
    ("windtunnel_phase_active", r#"phase="calm""#, 0.0, 0.0),
    ("windtunnel_phase_active", r#"phase="slow""#, 1.0, 1.0),
    ("windtunnel_fault_active", r#"fault="storm""#, 0.0, 0.0),
    ("windtunnel_fault_active", r#"fault="hold""#, 1.0, 1.0),
    ("windtunnel_fault_transitions_total", r#"fault="storm",to="off""#, 1.0, 1.0),
    (
        "windtunnel_controller_updates_total",
        r#"arm="one",direction="hold",reason="start""#,
        1.0,
        1.0,
    ),
    (
        "windtunnel_controller_updates_total",
        r#"arm="one",direction="up",reason="gradient""#,
        1.0,
        1e6,
    ),
    ("windtunnel_rtt_seconds_count", r#"arm="one",outcome="ok""#, 8.0, 1e9),
];

/// Waits for a live run of `file` to show every row of the table at one time.
fn assert_shown(file: &str, table: &[(&str, &str, f64, f64)]) {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("file.yaml", file);
    let running = scratch.start(&["run", "file.yaml", "--listen", "127.0.0.1:0"]);
    let addr = running.metrics_addr();
    let mut last = String::new();
    eventually(HUNG, "every promised series has a sane value", || {
        let scrape = Scrape::of(addr);
        let missing = table.iter().find(|row| !scrape.shows(&[**row]));
        let missing = missing.map(|row| format!("{row:?}"));
        if let Some(row) = missing.as_ref().filter(|row| **row != last) {
            println!("waiting for {row}");
            last.clone_from(row);
        }
        missing.is_none().then_some(())
    });
}

#[test]
fn a_live_run_shows_its_controllers_phases_and_faults() {
    assert_shown(HELD, SLOW);
}

/// One of four endless transfers is always late in a race, and has its turn in a queue. It is late by
/// half of the time between two chunks: a busy machine makes nobody else so late.
const LATE: &str = "
version: 1
name: late
run: { mode: live }
arms:
  race: { limiter: { peek: { levels: { global: { rate: 1MiB/s, initial: 0B } }, lateness: { each: [31ms] } } } }
  fair: { limiter: { fifo: { levels: { global: { rate: 1MiB/s, initial: 0B } } } } }
backend: { servers: 8, service: { constant: 0s } }
download: { tasks: 4, chunk: { fixed: 64KiB } }
phases: [{ name: backlog, for: 60s }]
";

/// What must be seen at one time once the late one has been passed over for long.
const STARVED: &[(&str, &str, f64, f64)] = &[
    ("windtunnel_waiter_oldest_age_seconds", r#"arm="race""#, 2.0, 60.0),
    ("windtunnel_waiter_age_seconds", r#"arm="race",rank="01""#, 2.0, 60.0),
    ("windtunnel_waiter_age_seconds", r#"arm="fair",rank="01""#, 0.0, 1.5),
    ("windtunnel_waiter_granted_bytes_total", r#"arm="race",waiter="task0/seg0""#, 0.0, 1e6),
    ("windtunnel_waiter_granted_bytes_total", r#"arm="race",waiter="task1/seg0""#, 1e5, 1e9),
    ("windtunnel_waiter_granted_bytes_total", r#"arm="fair",waiter="task0/seg0""#, 1e5, 1e9),
    ("windtunnel_waiter_decisions_total", r#"arm="fair",waiter="task0/seg0""#, 8.0, 1e6),
    ("windtunnel_waiter_wait_seconds_total", r#"arm="fair",waiter="task0/seg0""#, 0.1, 60.0),
    ("windtunnel_waiter_last_wait_seconds", r#"arm="fair",waiter="task3/seg0""#, 0.001, 5.0),
    ("windtunnel_waiters_folded", r#"arm="race""#, 0.0, 0.0),
    ("windtunnel_zero_progress_waiters", r#"arm="race""#, 1.0, 1.0),
    ("windtunnel_zero_progress_waiters", r#"arm="fair""#, 0.0, 0.0),
    ("windtunnel_overtakes_total", r#"arm="fair""#, 0.0, 0.0),
    ("windtunnel_overtakes_total", r#"arm="race""#, 60.0, 1e6),
    ("windtunnel_transfers_active", r#"arm="race""#, 4.0, 4.0),
    ("windtunnel_limiter_wakes_per_grant_ratio", r#"arm="race""#, 1.5, 8.0),
];

#[test]
fn a_live_run_shows_who_starves() {
    assert_shown(LATE, STARVED);
}

#[test]
fn a_busy_port_is_1_and_the_cure_is_named() {
    let _machine = machine();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let scratch = Scratch::new();
    scratch.file("held.yaml", HELD);
    for mode in ["live", "virtual"] {
        let finished = scratch.run(&["run", "held.yaml", "--mode", mode, "--listen", &addr]);
        assert_eq!(finished.code, 1, "{mode}: {}", finished.stderr);
        for part in [&*addr, "in use", "--listen 127.0.0.1:PORT", "--listen off"] {
            assert!(finished.stderr.contains(part), "{mode}: {part}: {}", finished.stderr);
        }
    }
    assert!(scratch.run_dirs().is_empty(), "nothing has run");
}
