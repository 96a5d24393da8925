//! Whole runs, scraped as they go.

use super::*;
use crate::drive::interrupt::Interrupt;
use crate::drive::live::Live;
use crate::drive::shell::Shell;
use crate::drive::sim::Sim;
use crate::experiment::plan::Plan;
use crate::experiment::{Overrides, load};
use crate::watch::journal::Journal;
use ::faults::Engine;
use serde_json::Value;
use std::collections::BTreeMap;
use testbed_core::rng::Streams;

/// So many series one arm may have while the run has one deadline; ARCHITECTURE.md says so.
const MAX_SERIES: usize = 512;

/// Retries, timeouts, a queue that overflows, a storm and requests that are cut off.
const CALLS: &str = "
version: 1
name: calls
arms:
  velox: { controller: { velox: { window: double, start: 4, min: 1, max: 64 } } }
  small: { controller: { fixed: { limit: 2 } }, admission: { max_waiting: 4 } }
backend: { servers: 8, service: { exponential: 30ms } }
load: { open: { poisson: { rate: 200/s } } }
client: { timeout: 100ms, retry: { first: 20ms, times: 2 } }
phases: [{ name: calm, for: 2s }, { name: storm, for: 1s }, { name: after, for: 2s }]
faults: [{ name: storm, during: storm, backend: { reject: { status: 429, share: 50% } } }]
";

/// All three levels, a policy that gives tokens back, and one that lets buckets run over.
const LIMITERS: &str = "
version: 1
name: limiters
arms:
  drr:  { limiter: { drr: { levels: { global: { rate: 1MiB/s }, queue: { rate: 512KiB/s }, task: { rate: 96KiB/s } } } } }
  back: { limiter: { reservation: { levels: { global: { rate: 200KiB/s, initial: 0B } } } } }
  cut:  { limiter: { peek: { levels: { global: { rate: 3MiB/s, initial: 0B, refill: milliseconds } } } } }
backend: { servers: 64, service: { constant: 0s } }
download:
  tasks: 12
  segments: 2
  queues: 3
  chunk: { fixed: 16KiB }
  low_speed: { below: 20KiB/s, for: 2s }
phases: [{ name: all, for: 5s }]
";

fn plan(text: &str) -> Plan {
    load("test", text, &Overrides::default()).unwrap_or_else(|report| panic!("{report}"))
}

fn metrics(plan: &Plan) -> Prometheus {
    Prometheus::new(&RunLabels {
        experiment: plan.name.clone(),
        mode: "virtual".into(),
        seed: plan.seed,
        arms: plan.arms.iter().map(ArmLabel::from).collect(),
        phases: plan.phases.iter().map(|phase| phase.name.clone()).collect(),
        faults: plan.faults.iter().map(|fault| fault.name.clone()).collect(),
        deadlines: vec![Nanos::from_millis(100)],
    })
}

fn drive(plan: &Plan, observer: impl Observer) {
    let streams = Streams::new(plan.seed);
    let sim = Sim::new(&plan.arms, &streams, Interrupt::default());
    Shell::new(plan, sim, observer).run().unwrap();
}

/// The series of a scrape and their values.
struct Scrape(BTreeMap<String, f64>);

impl Scrape {
    fn of(registry: &Registry) -> Self {
        let text = render(registry);
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let samples = samples.filter_map(|line| line.rsplit_once(' '));
        Self(samples.map(|(series, value)| (series.to_owned(), value.parse().unwrap())).collect())
    }

    /// The sum of a metric over all its series that have this label.
    fn sum(&self, name: &str, label: &str) -> f64 {
        let of = |series: &str| {
            series
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('{') && rest.contains(label))
        };
        self.0.iter().filter(|(series, _)| of(series)).map(|(_, value)| value).sum()
    }

    /// Whether there is a series of this metric and label.
    fn has(&self, name: &str, label: &str) -> bool {
        self.0
            .keys()
            .any(|series| series.starts_with(&format!("{name}{{")) && series.contains(label))
    }

    fn assert_tickets(&self, arm: &str) {
        let sum = |name: &str| self.sum(&format!("windtunnel_{name}"), arm);
        let (waiting, admitted) = (sum("waiting_requests"), sum("admitted_total"));
        let turned_away = sum("rejected_total") + sum("abandoned_total");
        assert_eq!(sum("arrivals_total"), admitted + turned_away + waiting, "{arm}");
        assert_eq!(admitted, sum("requests_total") + sum("in_flight_requests"), "{arm}");
    }

    fn assert_asks(&self, arm: &str) {
        let sum = |name: &str| self.sum(&format!("windtunnel_{name}"), arm);
        assert_eq!(sum("asks_total"), sum("wait_ends_total") + sum("waiting_requests"), "{arm}");
    }

    fn assert_tokens(&self, arm: &str) {
        for level in ["task", "queue", "global"] {
            let label = format!("{arm},level=\"{level}\"");
            let sum = |name: &str| self.sum(&format!("windtunnel_limiter_tokens_{name}"), &label);
            let into =
                sum("start_bytes") + sum("refilled_bytes_total") + sum("returned_bytes_total");
            let out = sum("taken_bytes_total") + sum("discarded_bytes_total");
            let off = (into - out - sum("available_bytes")).abs();
            // They are exact in billionths of a byte; what is left is the width of a float.
            assert!(off < 0.001, "{label}: {off} bytes");
        }
    }
}

/// Scrapes at every event, or now and then, and lets a test look.
struct Scraper<F> {
    metrics: Prometheus,
    every: u64,
    events: u64,
    look: F,
}

impl<F: FnMut(&Scrape)> Observer for Scraper<F> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.metrics.on_event(now, event);
        self.events += 1;
        let always = matches!(event, Event::Tick | Event::Limiter { .. } | Event::End);
        if always || self.events.is_multiple_of(self.every) {
            (self.look)(&Scrape::of(&self.metrics.registry()));
        }
    }
}

#[test]
fn requests_add_up_at_every_scrape_of_a_run() {
    let plan = plan(CALLS);
    let (mut scrapes, mut last) = (0, None);
    let look = |scrape: &Scrape| {
        ["arm=\"velox\"", "arm=\"small\""].iter().for_each(|arm| scrape.assert_tickets(arm));
        let sum = |name: &str| scrape.sum(&format!("windtunnel_{name}"), "arm=\"small\"");
        scrapes += 1;
        last = Some([sum("rejected_total"), sum("retries_total"), sum("requests_total")]);
    };
    drive(&plan, Scraper { metrics: metrics(&plan), every: 13, events: 0, look });
    assert!(scrapes > 200, "{scrapes}");
    assert!(last.unwrap().iter().all(|count| *count > 50.0), "{last:?}");
}

#[test]
fn tokens_and_asks_add_up_at_every_scrape_of_a_run() {
    let plan = plan(LIMITERS);
    let mut last = None;
    let look = |scrape: &Scrape| {
        for arm in ["drr", "back", "cut"].map(|arm| format!("arm=\"{arm}\"")) {
            scrape.assert_asks(&arm);
            scrape.assert_tokens(&arm);
        }
        let tokens = |name: &str, label| {
            scrape.sum(&format!("windtunnel_limiter_tokens_{name}_bytes_total"), label)
        };
        let label = "arm=\"drr\",level=\"task\"";
        let drr = ["refilled", "taken", "discarded"].map(|name| tokens(name, label));
        last = Some((drr, tokens("returned", "arm=\"back\"")));
    };
    drive(&plan, Scraper { metrics: metrics(&plan), every: 101, events: 0, look });
    let (drr, returned) = last.unwrap();
    assert!(drr.iter().all(|bytes| *bytes > 1e3), "{drr:?}");
    assert!(returned > 1e4, "{returned}");
}

#[test]
fn tokens_of_a_level_without_a_limit_are_not_shown() {
    let plan = plan(LIMITERS);
    let mut metrics = metrics(&plan);
    drive(&plan, &mut metrics);
    let scrape = Scrape::of(&metrics.registry());
    for (label, expected) in [
        ("arm=\"drr\",level=\"task\"", true),
        ("arm=\"back\",level=\"global\"", true),
        ("arm=\"back\",level=\"task\"", false),
    ] {
        assert_eq!(scrape.has("windtunnel_limiter_tokens_start_bytes", label), expected, "{label}");
    }
}

/// Such limiters keep an account of their own, or none.
const WITHOUT_BUCKETS: &str = "
version: 1
name: without-buckets
arms:
  none:     { limiter: { none: {} } }
  governor: { limiter: { governor: { levels: { global: { rate: 1MiB/s } } } } }
  guava:    { limiter: { guava: { levels: { global: { rate: 1MiB/s } } } } }
  lumps:    { limiter: { leaky_bucket: { levels: { global: { rate: 1MiB/s } } } } }
backend: { servers: 64, service: { constant: 0s } }
download: { tasks: 4, chunk: { fixed: 16KiB } }
phases: [{ name: all, for: 1s }]
";

#[test]
fn arms_whose_limiters_have_no_buckets_are_shown_side_by_side() {
    let plan = plan(WITHOUT_BUCKETS);
    let mut metrics = metrics(&plan);
    drive(&plan, &mut metrics);
    let scrape = Scrape::of(&metrics.registry());
    for arm in ["none", "governor", "guava", "lumps"].map(|arm| format!("arm=\"{arm}\"")) {
        assert!(scrape.has("windtunnel_limiter_wakes_per_grant_ratio", &arm), "{arm}");
        assert!(!scrape.has("windtunnel_limiter_tokens_start_bytes", &arm), "{arm}");
        scrape.assert_asks(&arm);
    }
}

#[test]
fn a_scrape_in_the_middle_of_an_event_sees_it_whole_or_not_at_all() {
    let mut metrics = prometheus();
    let registry = metrics.registry();
    let scrapes = std::thread::spawn(move || {
        for _ in 0..100 {
            Scrape::of(&registry).assert_tickets("arm=\"double\"");
        }
    });
    let arrived = Event::Arrived { arm: ARM, arrival: ARRIVAL, lag: Nanos::ZERO };
    // A small run of its own until the scraper is through: one request after the other.
    while !scrapes.is_finished() {
        let (wait, waiting, limit, gated) = (Nanos::ZERO, 0, 9, true);
        let (arm, arrival, in_flight) = (ARM, ARRIVAL, 1);
        metrics.on_event(Time::ZERO, &arrived);
        metrics.on_event(
            Time::ZERO,
            &Event::Admitted { arm, arrival, wait, in_flight, waiting, limit, gated },
        );
        let Event::Finished { sample, served, hit, again, .. } =
            finished(Outcome::Success, Nanos::ZERO)
        else {
            return;
        };
        let in_flight = 0;
        let ended = Event::Finished { arm, arrival, sample, served, hit, again, in_flight };
        metrics.on_event(Time::ZERO, &ended);
    }
    scrapes.join().unwrap();
}

/// The lines of a journal that tell of an update of this arm.
fn updates(journal: &[u8], arm: &str) -> usize {
    let lines = std::str::from_utf8(journal).unwrap().lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == "update" && line["arm"] == arm).count()
}

fn assert_every_update_is_counted(plan: &Plan, live: bool, run: impl FnOnce(&mut dyn Observer)) {
    let mut metrics = metrics(plan);
    let registry = metrics.registry();
    let labels: Vec<_> = plan.arms.iter().map(ArmLabel::from).collect();
    let mut lines = Vec::new();
    let mut journal = Journal::new(&labels, live, &mut lines);
    run(&mut (&mut metrics, &mut journal));
    journal.finish().unwrap();
    let scrape = Scrape::of(&registry);
    for arm in plan.arm_names() {
        let label = format!("arm=\"{arm}\"");
        let sum =
            |name: &str| scrape.sum(&format!("windtunnel_controller_{name}"), &label) as usize;
        let expected = updates(&lines, &arm);
        assert_eq!(sum("updates_total"), expected, "{arm}");
        assert_eq!(sum("update_window_requests_count"), expected, "{arm}");
        let gradients = sum("update_gradient_ratio_count");
        // All but the first, before there is one, and those of an overload before that.
        let velox = arm == "velox";
        assert!(!velox || (gradients > 0 && gradients < expected), "{arm}: {gradients}");
        assert!(expected > if velox { 20 } else { 0 }, "{arm}: {expected} updates");
    }
}

#[test]
fn every_update_of_a_virtual_run_is_in_the_histogram_the_counter_and_the_journal() {
    let plan = plan(CALLS);
    assert_every_update_is_counted(&plan, false, |observer| drive(&plan, observer));
}

#[test]
fn every_update_of_a_live_run_is_in_the_histogram_the_counter_and_the_journal() {
    let plan = plan(&CALLS.replace("name: calls", "name: calls\nrun: { mode: live }"));
    assert_every_update_is_counted(&plan, true, |observer| {
        let (engine, streams) = (Engine::embedded(), Streams::new(plan.seed));
        let live = Live::start(&plan.arms, Some(&engine), None, &streams, Interrupt::default());
        Shell::new(&plan, live.unwrap(), observer).run().unwrap();
    });
}

/// A waiter for each of 10,000 segments, all of which ask in the first moment.
const CROWD: &str = "
version: 1
name: crowd
arms:
  crowd: { limiter: { drr: { levels: { global: { rate: 1MiB/s }, queue: { rate: 512KiB/s }, task: { rate: 96KiB/s } } } } }
backend: { servers: 64, service: { constant: 0s } }
download: { tasks: 1000, segments: 10, slots: 10000, queues: 3, chunk: { fixed: 16KiB } }
phases: [{ name: all, for: 500ms }]
";

#[test]
fn ten_thousand_waiters_and_all_the_rest_stay_under_the_stated_number_of_series() {
    for (text, arm) in [(CROWD, "arm=\"crowd\""), (CALLS, "arm=\"velox\"")] {
        let plan = plan(text);
        let mut metrics = metrics(&plan);
        let registry = metrics.registry();
        drive(&plan, &mut metrics);
        let text = render(&registry);
        let of_arm = text.lines().filter(|line| line.contains(arm)).count();
        println!("{arm}: {of_arm} series");
        assert!((100..=MAX_SERIES).contains(&of_arm), "{arm}: {of_arm} series");
        let folded = Scrape::of(&registry).sum("windtunnel_waiters_folded", arm);
        let expected = if text.contains("task0/seg0") { 10_000.0 - 64.0 } else { 0.0 };
        assert_eq!(folded, expected, "{arm}: all of them have asked");
    }
}
