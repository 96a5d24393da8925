//! What is told of a run that goes on, and that none of it has to be taken back.

use super::*;
use crate::drive::engine::simulate;
use crate::drive::interrupt::Interrupt;
use crate::experiment::{self, Overrides};
use crate::verdict::evaluate::Evidence;
use crate::verdict::judge;
use crate::watch::recorder::Recorder;
use std::io::Sink;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::time::{Nanos, Time};

fn at(seconds: u64) -> Time {
    Time::ZERO.after(Nanos::from_secs(seconds))
}

/// That this is expected of a run of a phase of 4 s and one of 6 s.
fn plan(that: &str) -> Plan {
    let text = format!(
        "version: 1\nname: s\narms: {{ a: {{ controller: {{ fixed: {{ limit: 8 }} }} }} }}\n\
         backend: {{ servers: 1, service: {{ constant: 1ms }} }}\nload: {{ closed: {{ clients: 1 }} }}\n\
         phases: [ {{ name: p, for: 4s }}, {{ name: q, for: 6s }} ]\n\
         faults: [ {{ name: f, at: 4s, for: 1s, backend: {{ servers: 1 }} }} ]\n\
         expect: [ {{ id: x, {that} }} ]\n"
    );
    experiment::load("s", &text, &Overrides::default()).unwrap()
}

/// A window of 2, from 2 s on of 8 and from 5 s on of 4.
fn store(until: u64) -> Store {
    let mut store = Store::new(1);
    for (from, phases, window) in
        [(0, 1, Some(2.0)), (2, 1, Some(8.0)), (4, 2, None), (5, 2, Some(4.0))]
    {
        if from > until {
            break;
        }
        store.reach(at(from));
        if store.phases.len() < phases {
            store.begin_phase(at(from));
        }
        if let Some(window) = window {
            store.arms[0].step(phases, at(from), "controller.window", window);
        }
    }
    store.reach(at(until));
    store
}

#[test]
fn what_is_broken_or_met_for_good_is_decided_and_the_rest_is_told_as_it_is_so_far() {
    use Stand::{AtEnd, Fail, Holds, Inconclusive, Lacks, Pass, Waits, Warn};
    // How it stands after 1, 3, 5 and 7 s.
    for (that, stands) in [
        ("that: max(controller.window) < 5", [Holds, Fail, Fail, Fail]),
        ("severity: warn, that: max(controller.window) < 5", [Holds, Warn, Warn, Warn]),
        ("that: max(controller.window) >= 8", [Lacks, Pass, Pass, Pass]),
        ("that: min(controller.window) < 3", [Pass, Pass, Pass, Pass]),
        ("that: last(controller.window) < 3", [Holds, Lacks, Lacks, Lacks]),
        ("that: mean(controller.window) > 3", [Lacks, Holds, Holds, Holds]),
        ("in: p, that: last(controller.window) < 3", [Holds, Lacks, Fail, Fail]),
        ("in: q, that: last(controller.window) > 3", [Waits, Waits, Holds, Holds]),
        ("in: p, that: max(rpc.rtt) > 1s", [Waits, Waits, Inconclusive, Inconclusive]),
        ("that: always controller.window < 5", [Holds, Fail, Fail, Fail]),
        ("that: never controller.window > 5 for 2s", [Holds, Holds, Fail, Fail]),
        ("that: eventually controller.window > 5", [Lacks, Pass, Pass, Pass]),
        ("that: always controller.window <= mean(controller.window)", [Holds, Lacks, Lacks, Lacks]),
        ("that: 'time_to(controller.window > 5) <= 1s'", [Lacks, Fail, Fail, Fail]),
        ("that: 'time_to(controller.window > 5) <= 3s'", [Lacks, Pass, Pass, Pass]),
        (
            "that: max(controller.window) < 5 or min(controller.window) < 1",
            [Holds, Lacks, Lacks, Lacks],
        ),
        (
            "that: max(controller.window) < 5 and min(controller.window) > 1",
            [Holds, Fail, Fail, Fail],
        ),
        (
            "that: max(controller.window) > 5 or min(controller.window) < 1",
            [Lacks, Pass, Pass, Pass],
        ),
        ("that: 'settling(controller.window, band=5%) < 9s'", [AtEnd, AtEnd, AtEnd, AtEnd]),
        ("in: p, that: 'settling(controller.window, band=5%) < 9s'", [Waits, Waits, Pass, Pass]),
        (
            "that: 'recovery(controller.window, fault=f, band=5%) < 9s'",
            [AtEnd, AtEnd, AtEnd, AtEnd],
        ),
    ] {
        let plan = plan(that);
        let told = [1, 3, 5, 7].map(|until| {
            let store = store(until);
            let judge = Judge::new(&plan, Evidence::new(&plan, &store));
            let mut standing = Standing::new(&plan, &plan.expect[0], 0);
            standing.look(&judge, &store, &plan.expect[0], 0);
            standing.stand
        });
        assert_eq!(told, stands, "{that}");
    }
}

/// Looks every second of a run, and remembers what was decided.
struct Looker<'p> {
    plan: &'p Plan,
    recorder: Recorder<Sink>,
    rows: Vec<(&'p Expectation, usize, Standing)>,
    due: Time,
}

impl<'p> Looker<'p> {
    fn new(plan: &'p Plan) -> Self {
        let of = |expectation: &'p Expectation| {
            let row = move |&arm: &usize| (expectation, arm, Standing::new(plan, expectation, arm));
            expectation.arms.iter().map(row)
        };
        let rows = plan.expect.iter().flat_map(of).collect();
        let recorder = Recorder::new(&plan.arms, false, std::io::sink());
        Self { plan, recorder, rows, due: Time::ZERO }
    }
}

impl Observer for Looker<'_> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.recorder.on_event(now, event);
        if !matches!(event, Event::Tick) || now < self.due {
            return;
        }
        self.due = now.after(Nanos::from_millis(900));
        let store = self.recorder.store();
        let judge = Judge::new(self.plan, Evidence::new(self.plan, store));
        for (expectation, arm, standing) in &mut self.rows {
            standing.look(&judge, store, expectation, *arm);
        }
    }
}

#[test]
fn what_is_decided_while_a_run_goes_is_its_verdict() {
    let mut decided = 0;
    for name in [
        "stall/overload-recovery",
        "stall/floor-is-forever",
        "starvation/twenty-downloads",
        "load/metastable-retries",
    ] {
        let path = format!("{}/../experiments/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let plan = experiment::load(name, &text, &Overrides::default()).unwrap();
        let mut looker = Looker::new(&plan);
        simulate(&plan, &mut looker, Interrupt::default()).unwrap();
        let verdict = judge(&plan, looker.recorder.store());
        for ((_, _, standing), judged) in looker.rows.iter().zip(&verdict.expectations) {
            assert_eq!((&standing.id, &standing.arm), (&judged.id, &judged.arm));
            let open =
                matches!(standing.stand, Stand::Holds | Stand::Lacks | Stand::Waits | Stand::AtEnd);
            if !open {
                decided += 1;
                let word = serde_json::to_value(standing.stand).unwrap();
                assert_eq!(word, judged.verdict.name(), "{name}: {standing:?}");
            }
        }
    }
    assert!(decided > 10, "only {decided} were decided before the end");
}
