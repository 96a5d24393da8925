//! The two worlds under one plan, live with backends of this process and elsewhere: what the backend does to
//! single requests is the same in all, and nothing comes earlier live than it does in virtual time.

use super::interrupt::Interrupt;
use super::live::Live;
use super::shell::{Ending, Shell};
use super::sim::Sim;
use super::world::{ArmFaults, Step, World};
use crate::backend::{BackendUrl, Control, ControlArgs, Ports};
use crate::experiment::plan::{ArmPlan, Plan};
use crate::experiment::{Overrides, load};
use faults::Engine;
use std::net::SocketAddr;
use testbed_clock::{LiveClock, Timer};
use testbed_core::download::Change;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::{Arm, Arrival, Outcome, Ticket};
use testbed_core::rng::Streams;
use testbed_core::service::{Counts, HttpFault, Reject, Rule};
use testbed_core::time::{Nanos, Time};
use tokio::runtime::{Builder, Runtime};

/// How long it takes in virtual time to be known that a connection was closed. Live, the system says
/// so when it is.
const KNOWN_AFTER: Nanos = Nanos::from_micros(100);

/// Kinds, and how each of three calls under one of them ends.
const CALLS: [(&str, Outcome); 14] = [
    ("reject: { status: 429, after: 10ms", Outcome::Overload),
    ("reject: { status: 500, after: 0s, retry_after: { date: 1s }", Outcome::Error),
    ("slow_headers: { delay: 30ms", Outcome::Success),
    ("drip: { bytes: 1B, pause: 15ms", Outcome::Success),
    ("drip: { bytes: 2B, pause: 40ms", Outcome::Success),
    ("truncate: { after: 1B", Outcome::Error),
    ("truncate: { after: 3B", Outcome::Success),
    ("wrong_length: { declared: 1000B", Outcome::Timeout),
    ("wrong_length: { declared: 3B", Outcome::Success),
    ("wrong_length: { declared: 1B", Outcome::Success),
    ("reset: { after: 0B", Outcome::Error),
    ("reset: { after: 1B", Outcome::Error),
    ("no_answer: { path: /", Outcome::Timeout),
    // For downloads only, so it is not done to calls.
    ("no_answer: { path: /file", Outcome::Success),
];

/// Kinds under which the first attempt at a download of 300 kB is, and whether it is given up.
const DOWNLOADS: [(&str, bool); 10] = [
    ("reject: { status: 503, after: 10ms", true),
    ("slow_headers: { delay: 30ms", false),
    ("drip: { bytes: 100kB, pause: 20ms", false),
    ("drip: { bytes: 70kB, pause: 10ms", false),
    ("truncate: { after: 120kB", true),
    ("truncate: { after: 300kB", false),
    ("wrong_length: { declared: 120kB", true),
    ("wrong_length: { declared: 1MB", false),
    ("reset: { after: 120kB", true),
    ("no_answer: { path: /file", true),
];

const DOWNLOAD: &str = "download: { tasks: 1, segment: 300kB, chunk: { fixed: 50kB }, \
                        retry: { first: 50ms, at_most: 50ms }";

/// An arm for each kind. Nobody is impatient but who would wait for ever: a slow machine must not
/// look like a fault.
fn plan() -> Plan {
    let (mut arms, mut faults) = (String::new(), String::new());
    for (index, (kind, outcome)) in CALLS.iter().enumerate() {
        let timeout = if *outcome == Outcome::Timeout { "timeout: 250ms" } else { "" };
        arms += &format!(
            "  call{index}: {{ controller: {{ fixed: {{ limit: 1 }} }}, client: {{ {timeout} }} }}\n"
        );
        faults +=
            &format!("- {{ name: c{index}, arms: [call{index}], backend: {{ {kind} }} }} }}\n");
    }
    for (index, (kind, _)) in DOWNLOADS.iter().enumerate() {
        let endless = kind.starts_with("no_answer");
        let patience = if endless { ", low_speed: { below: 1B/s, for: 1s }" } else { "" };
        arms +=
            &format!("  file{index}: {{ limiter: {{ none: {{}} }}, {DOWNLOAD}{patience} }} }}\n");
        let calls = "calls: { from: 0, until: 1 }";
        faults += &format!(
            "- {{ name: f{index}, arms: [file{index}], backend: {{ {kind}, {calls} }} }} }}\n"
        );
    }
    let text = format!(
        "version: 1\nname: worlds\narms:\n{arms}\
         backend: {{ servers: 4, service: {{ constant: 5ms }} }}\n\
         load: {{ input: {{ requests: 3 }} }}\n\
         phases: [ {{ name: p, for: 5s }} ]\nfaults:\n{faults}"
    );
    load("worlds", &text, &Overrides::default()).unwrap_or_else(|report| panic!("{report}"))
}

/// What happened in each arm, in order.
#[derive(Default, Debug)]
struct Story {
    calls: Vec<Vec<(Outcome, Nanos)>>,
    /// With the instant.
    transfers: Vec<Vec<(Change, Time)>>,
    grants: Vec<u32>,
}

impl Story {
    fn of(world: impl World, plan: &Plan) -> Self {
        let arms = plan.arms.len();
        let mut story = Self {
            calls: vec![Vec::new(); arms],
            transfers: vec![Vec::new(); arms],
            grants: vec![0; arms],
        };
        assert_eq!(Shell::new(plan, world, &mut story).run().unwrap(), Ending::Complete);
        story
    }
}

impl Observer for Story {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        match event {
            Event::Finished { arm, sample, .. } => {
                self.calls[arm.index()].push((sample.outcome, sample.rtt()));
            }
            Event::Transfer { arm, change, .. } => {
                self.transfers[arm.index()].push((*change, now));
            }
            Event::WaitEnded { arm, .. } => self.grants[arm.index()] += 1,
            _ => {}
        }
    }
}

/// Where backends are made that are elsewhere; it runs as long as the runtime is kept.
fn elsewhere() -> (Runtime, BackendUrl) {
    let runtime = Builder::new_multi_thread().enable_io().build().unwrap();
    let any_port: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let lease = Nanos::from_secs(60);
    let args = ControlArgs { listen: any_port, host: any_port.ip(), ports: Ports::Any, lease };
    let timer = Timer::start(LiveClock::start());
    let control = runtime.block_on(async { Control::start(&args, timer) }).unwrap();
    let url = format!("http://{}", control.addr()).parse().unwrap();
    // Dropped, it would stop.
    runtime.spawn(async move {
        let _control = control;
        std::future::pending::<()>().await;
    });
    (runtime, url)
}

fn live(arms: &[ArmPlan], backend: Option<&BackendUrl>, streams: &Streams) -> Live {
    let engine = Engine::embedded();
    Live::start(arms, Some(&engine), backend, streams, Interrupt::default()).unwrap()
}

#[test]
fn the_same_plan_gives_the_same_ends_in_both_worlds_and_live_none_is_early() {
    let plan = plan();
    let streams = Streams::new(plan.seed);
    let simulated = Story::of(Sim::new(&plan.arms, &streams, Interrupt::default()), &plan);
    let (_runtime, url) = elsewhere();
    for backend in [None, Some(&url)] {
        compare(&simulated, &Story::of(live(&plan.arms, backend, &streams), &plan));
    }
}

fn compare(simulated: &Story, real: &Story) {
    for (arm, (kind, outcome)) in CALLS.iter().enumerate() {
        let [simulated, real] = [&simulated.calls[arm], &real.calls[arm]];
        let outcomes = |calls: &[(Outcome, Nanos)]| -> Vec<_> {
            calls.iter().map(|(outcome, _)| *outcome).collect()
        };
        assert_eq!(outcomes(simulated), [*outcome; 3], "{kind}: virtual");
        assert_eq!(outcomes(real), [*outcome; 3], "{kind}: live");
        for ((_, simulated), (_, real)) in simulated.iter().zip(real) {
            assert!(real.plus(KNOWN_AFTER) >= *simulated, "{kind}: {real}, virtual {simulated}");
        }
    }
    for (index, (kind, given_up)) in DOWNLOADS.iter().enumerate() {
        let arm = CALLS.len() + index;
        let [virtually, really] = [&simulated.transfers[arm], &real.transfers[arm]];
        let changes = |story: &[(Change, Time)]| -> Vec<_> {
            story.iter().map(|(change, _)| *change).collect()
        };
        assert_eq!(changes(virtually), changes(really), "{kind}");
        assert_eq!(virtually.len(), if *given_up { 4 } else { 2 }, "{kind}: {virtually:?}");
        assert!(matches!(virtually.last(), Some((Change::Done { .. }, _))), "{kind}");
        assert_eq!((simulated.grants[arm], real.grants[arm]), (6, 6), "{kind}");
        for ((_, simulated), (change, real)) in virtually.iter().zip(really) {
            let slack = KNOWN_AFTER.plus(KNOWN_AFTER);
            assert!(
                real.after(slack) >= *simulated,
                "{kind}: {change:?} at {real}, not {simulated}"
            );
        }
    }
}

/// Sends one call under a rule, and looks what was counted.
fn counted(mut world: impl World) -> Vec<(String, Counts)> {
    let fault = HttpFault::Reject(Reject::all(429));
    let rules = vec![Rule { name: "storm".to_owned(), fault }];
    world.set_faults(Arm(0), &ArmFaults { rules, ..ArmFaults::default() }).unwrap();
    let arrival = Arrival::new(0, 0, Time::ZERO);
    let (start, since) = (Time::ZERO, Time::ZERO);
    let ticket = Ticket { arrival, start, since, in_flight_at_start: 1, limit_at_start: 1 };
    world.send(Arm(0), ticket);
    let late = Time::ZERO.after(Nanos::from_secs(60));
    let Step::Answer { answer, .. } = world.step(late).unwrap() else {
        panic!("nothing came back");
    };
    assert_eq!(answer.outcome, Outcome::Overload);
    // Elsewhere, it is what was seen last.
    world.read_back(Arm(0)).unwrap();
    let counted = world.injected(Arm(0));
    world.close();
    counted
}

#[test]
fn both_worlds_tell_what_was_injected() {
    let plan = plan();
    let (arms, streams) = (&plan.arms[..1], Streams::new(1));
    let expected = [("storm".to_owned(), Counts { injected: 1, overflow: 0, active: 0 })];
    assert_eq!(counted(Sim::new(arms, &streams, Interrupt::default())), expected);
    let (_runtime, url) = elsewhere();
    for backend in [None, Some(&url)] {
        assert_eq!(counted(live(arms, backend, &streams)), expected, "{backend:?}");
    }
}
