//! One table for backends of this process and elsewhere, and what can only go wrong elsewhere.

use super::*;
use crate::backend::{Control, ControlArgs, Ports};
use crate::client::{Client, Reply};
use crate::experiment::{Overrides, load};
use std::thread;
use testbed_clock::{LiveClock, Timer};
use testbed_core::hold::{AT_MOST, Hold};
use testbed_core::rng::Streams;
use testbed_core::service::{HttpFault, Reject, Rule, SlowStart};
use testbed_core::time::Time;
use tokio::runtime::Builder;

/// After this long a test counts as hung.
const HUNG: Nanos = Nanos::from_secs(60);

const ONE_ARM: &str = "
version: 1
name: one
arms: { a-1.b_c: { controller: { fixed: { limit: 1 } } } }
backend: { servers: 2, service: { constant: 1ms } }
load: { closed: { clients: 1 } }
phases: [{ name: p, for: 1s }]
";

/// A control to make backends at, and what they run on.
struct Bench {
    runtime: Runtime,
    host: EmbeddedHost,
    control: Control,
}

/// The backend of the one arm, and what it came from.
struct Made {
    backend: ArmBackend,
    all: Backends,
}

impl Bench {
    fn start() -> Self {
        let runtime = Builder::new_multi_thread().enable_io().build().unwrap();
        let timer = Timer::start(LiveClock::start());
        let any_port: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let (ports, lease) = (Ports::Any, Nanos::from_secs(10));
        let args = ControlArgs { listen: any_port, host: any_port.ip(), ports, lease };
        let control = runtime.block_on(async { Control::start(&args, timer.clone()) }).unwrap();
        let (handle, streams) = (runtime.handle().clone(), Streams::new(1));
        Self { runtime, host: EmbeddedHost { runtime: handle, timer, streams }, control }
    }

    fn url(&self) -> BackendUrl {
        format!("http://{}", self.control.addr()).parse().unwrap()
    }

    fn make(&self, url: Option<&BackendUrl>) -> Made {
        let plan = load("one", ONE_ARM, &Overrides::default()).unwrap();
        let mut all = Backends::open(url, &plan.arms, &self.host).unwrap();
        Made { backend: all.next(&plan.arms[0], &self.host).unwrap(), all }
    }

    /// One of each kind.
    fn both(&self) -> [Made; 2] {
        [self.make(None), self.make(Some(&self.url()))]
    }

    fn call(&self, backend: &ArmBackend) -> Reply {
        self.runtime.block_on(Client::new(backend.addr()).call(0))
    }

    fn close(&self) {
        self.runtime.block_on(self.control.close());
    }
}

/// Looks until there is something to see.
fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let clock = LiveClock::start();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(clock.now().since(Time::ZERO) < HUNG);
        thread::yield_now();
    }
}

fn rule(name: &str) -> Rule {
    Rule { name: name.to_owned(), fault: HttpFault::Reject(Reject::all(429)) }
}

#[test]
fn every_fault_is_said_and_healed_here_and_elsewhere_alike() {
    let bench = Bench::start();
    let [mut local, mut remote] = bench.both();
    let start: SlowStart = serde_json::from_str(r#"{"from":"10%","over":"1m"}"#).unwrap();
    // A number that JSON carries inexactly, and lengths to the nanosecond.
    let gradient = Hold::Gradient { gradient: 0.1 + 0.2, at_most: AT_MOST };
    for faults in [
        ArmFaults { hold: Some(gradient), ..ArmFaults::default() },
        ArmFaults { hold: Some(Hold::Latency(Nanos::new(1_234_567))), ..ArmFaults::default() },
        ArmFaults { hold: Some(Hold::Scale(1.0 / 3.0)), ..ArmFaults::default() },
        ArmFaults { rules: vec![rule("x"), rule("y")], ..ArmFaults::default() },
        ArmFaults { servers: Some(1), ..ArmFaults::default() },
        ArmFaults { frozen: true, ..ArmFaults::default() },
        ArmFaults { slow_starts: vec![("warm".into(), start)], ..ArmFaults::default() },
    ] {
        let said = [&mut local, &mut remote].map(|Made { backend, .. }| {
            backend.set_faults(&faults).unwrap();
            backend.read_back().unwrap()
        });
        assert_eq!(said[0], said[1]);
        assert!(!said[0].is_empty(), "{faults:?}");
        for Made { backend, .. } in [&mut local, &mut remote] {
            backend.set_faults(&ArmFaults::default()).unwrap();
            assert_eq!(backend.read_back().unwrap(), [""; 0], "healed of {faults:?}");
        }
    }
}

#[test]
fn rules_are_counted_and_looks_are_told_here_and_elsewhere() {
    let bench = Bench::start();
    for Made { mut backend, .. } in bench.both() {
        let faults = ArmFaults { rules: vec![rule("storm")], ..ArmFaults::default() };
        backend.set_faults(&faults).unwrap();
        assert_eq!(bench.call(&backend).status, Some(429));
        let counts = eventually(|| {
            backend.look();
            backend.injected().into_iter().find(|(_, counts)| counts.injected > 0)
        });
        assert_eq!((counts.0.as_str(), counts.1.injected), ("storm", 1));
    }
}

#[test]
fn a_gradient_hold_goes_by_the_newest_feed_here_and_elsewhere() {
    let bench = Bench::start();
    for Made { mut backend, .. } in bench.both() {
        let feed = |backend: &ArmBackend, ms| {
            let baseline = Some(Nanos::from_millis(ms));
            backend.feed(Feed { baseline, overhead: Nanos::ZERO });
        };
        feed(&backend, 20);
        let hold = Some(Hold::Gradient { gradient: 0.5, at_most: AT_MOST });
        backend.set_faults(&ArmFaults { hold, ..ArmFaults::default() }).unwrap();
        let age = bench.call(&backend).served.unwrap().age;
        assert!(age >= Nanos::from_millis(40), "what was fed before the hold counts: {age}");
        feed(&backend, 30);
        if let ArmBackend::Remote(_) = backend {
            let lags =
                eventually(|| Some(backend.take_feed_lags()).filter(|lags| !lags.is_empty()));
            assert!(lags.iter().all(|lag| *lag > Nanos::ZERO), "{lags:?}");
        }
        let age = bench.call(&backend).served.unwrap().age;
        assert!(age >= Nanos::from_millis(60), "{age}");
    }
}

#[test]
fn nothing_is_fed_that_no_hold_goes_by() {
    let bench = Bench::start();
    let mut remote = bench.make(Some(&bench.url()));
    for _ in 0..100 {
        remote.backend.feed(Feed::default());
    }
    // Whatever was on its way is behind this.
    remote.backend.set_faults(&ArmFaults::default()).unwrap();
    assert_eq!(remote.backend.take_feed_lags(), []);
}

#[test]
fn closing_closes_backends_elsewhere_and_so_does_dropping() {
    let bench = Bench::start();
    let closers: [fn(Backends); 2] = [|mut all| all.close().unwrap(), drop];
    for close in closers {
        let Made { backend, all } = bench.make(Some(&bench.url()));
        assert_eq!(bench.call(&backend).status, Some(200));
        close(all);
        assert_eq!(bench.call(&backend).status, None);
    }
}

#[test]
fn a_backend_that_is_gone_is_found_by_a_look_and_refuses_all_else() {
    let bench = Bench::start();
    let Made { mut backend, mut all } = bench.make(Some(&bench.url()));
    assert_eq!(backend.failure(), None);
    bench.close();
    let failure = eventually(|| {
        backend.look();
        backend.failure()
    });
    assert!(failure.to_string().starts_with("the backend at http://127.0.0.1:"), "{failure}");
    assert_eq!(backend.set_faults(&ArmFaults::default()), Err(failure.clone()));
    assert_eq!(backend.read_back(), Err(failure));
    assert!(all.close().is_err(), "nobody says that they are closed");
}

#[test]
fn a_run_whose_backends_another_took_hears_of_it_and_leaves_them_alone() {
    let bench = Bench::start();
    let mut first = bench.make(Some(&bench.url()));
    let mut second = bench.make(Some(&bench.url()));
    let refused = first.backend.set_faults(&ArmFaults::default()).unwrap_err();
    assert!(refused.to_string().contains("another"), "{refused}");
    assert!(first.all.close().is_err());
    assert_eq!(bench.call(&second.backend).status, Some(200));
    second.all.close().unwrap();
}

#[test]
fn nobody_there_is_told_with_the_cure() {
    let bench = Bench::start();
    bench.close();
    let Err(error) = Backends::open(Some(&bench.url()), &[], &bench.host) else {
        panic!("somebody answers");
    };
    assert!(error.to_string().contains("windtunnel backend --control"), "{error}");
}
