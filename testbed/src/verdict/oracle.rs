//! The oracle: what a perfect controller could have of a backend, known from the plan.
//!
//! Only a testbed that owns the backend can know it. It reckons with the servers that there are, how long
//! they work, holds, and the load; not with what is done to single requests, to the network, with slow starts, or
//! with what other arms do to a backend that they share.

use crate::experiment::plan::{Action, ArmPlan, FaultPlan, Plan, Work};
use crate::watch::series::{self, Kind};
use testbed_core::hold::Hold;
use testbed_core::load::LoadConfig;
use testbed_core::time::Time;
use testbed_core::vitals::Unit;

/// The most successes a second that the backend can serve.
pub const CAPACITY: &str = "oracle.capacity";
/// The least window that has the backend serve as much.
pub const WINDOW: &str = "oracle.window";
/// The most successes a second that there can be under the load.
pub const GOODPUT: &str = "oracle.goodput";

/// The series of the oracle: name, unit and meaning.
pub const SERIES: [(&str, Unit, &str); 3] = [
    (
        CAPACITY,
        Unit::PerSecond,
        "the most that the backend can serve: servers at work / mean service time",
    ),
    (
        WINDOW,
        Unit::Requests,
        "the least window for that: capacity x unqueued round-trip time (Little's law)",
    ),
    (GOODPUT, Unit::PerSecond, "the most under the load: the capacity, or what is offered if less"),
];

/// The series called `name`, recorded or of the oracle, of an arm that does this work.
pub fn find(name: &str, work: &Work) -> Option<(Unit, Kind)> {
    let of_oracle = || {
        let calls = matches!(work, Work::Calls(_));
        SERIES.iter().find(|(series, _, _)| calls && *series == name)
    };
    series::find(name, work).or_else(|| of_oracle().map(|(_, unit, _)| (*unit, Kind::Steps)))
}

/// What is known of one arm's backend, edge by edge.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    edges: Vec<(Time, State)>,
}

/// What is true from an edge on.
#[derive(Clone, Copy, PartialEq, Debug)]
struct State {
    capacity: f64,
    window: f64,
    goodput: f64,
}

impl Oracle {
    /// The oracle of the arm with this index. It is silent about downloads.
    pub fn new(plan: &Plan, index: usize) -> Self {
        let arm = &plan.arms[index];
        let Some(calls) = arm.calls() else { return Self::default() };
        let faults = || plan.faults.iter().filter(|fault| fault.arms.contains(&index));
        let begins = plan.phases.iter().map(|phase| phase.begin);
        let mut edges: Vec<_> =
            faults().flat_map(|fault| [fault.begin, fault.end]).chain(begins).collect();
        edges.sort_unstable();
        edges.dedup();
        let end = Time::ZERO.after(plan.length());
        let ends = edges.iter().skip(1).copied().chain([end]);
        let state = |(edge, end): (Time, Time)| {
            let on = faults().filter(|fault| fault.begin <= edge && edge < fault.end);
            (edge, Backend::of(arm, on).state(&calls.load, (edge, end)))
        };
        Self { edges: edges.iter().copied().zip(ends).map(state).collect() }
    }

    /// The value of one of its series at an instant. `None` if it has none of this name.
    pub fn at(&self, series: &str, now: Time) -> Option<f64> {
        let points = self.points(series)?;
        points.iter().rev().find(|(at, _)| *at <= now).map(|(_, value)| *value)
    }

    /// The values of one of its series. `None` if it has none of this name.
    pub fn points(&self, series: &str) -> Option<Vec<(Time, f64)>> {
        let of: fn(&State) -> f64 = match series {
            CAPACITY => |state| state.capacity,
            WINDOW => |state| state.window,
            GOODPUT => |state| state.goodput,
            _ => return None,
        };
        let points: Vec<_> = self.edges.iter().map(|(at, state)| (*at, of(state))).collect();
        (!points.is_empty()).then_some(points)
    }
}

/// A backend between two edges; times in seconds.
struct Backend {
    /// As many of its servers at work as do the most.
    servers: f64,
    /// How long each works on a request then.
    service: f64,
    /// From arrival to answer without a queue and beside nobody.
    unqueued: f64,
    frozen: bool,
}

impl Backend {
    fn of<'p>(arm: &ArmPlan, faults: impl Iterator<Item = &'p FaultPlan>) -> Self {
        let (mut servers, mut hold, mut frozen) = (arm.backend.servers, None, false);
        for fault in faults {
            match fault.action {
                Action::Servers(some) => servers = servers.min(some),
                Action::Freeze => frozen = true,
                // Of several, the last in the file holds.
                Action::Hold(of) => hold = Some(of),
                _ => {}
            }
        }
        let at_work = arm.backend.contention.best(servers);
        let service = arm.backend.service.mean().as_secs_f64();
        let mut backend = Self { servers: f64::from(at_work), service, unqueued: service, frozen };
        backend.hold(hold);
        backend.service *= arm.backend.contention.factor(at_work);
        backend
    }

    /// What a hold makes of a backend without contention.
    fn hold(&mut self, hold: Option<Hold>) {
        match hold {
            // Background jobs give way: there are none at capacity.
            None | Some(Hold::Utilisation { .. }) => {}
            Some(Hold::Scale(scale)) => {
                self.service *= scale;
                self.unqueued = self.service;
            }
            Some(Hold::Latency(latency)) => {
                self.unqueued = self.service.max(latency.as_secs_f64());
            }
            // With the service time as the baseline; a law may have another.
            Some(Hold::Gradient { gradient, at_most }) => {
                let clamped = (self.service / gradient).min(at_most.as_secs_f64());
                self.unqueued = self.service.max(clamped);
            }
        }
    }

    /// Between two edges, of which the load is taken on average. Capacity by the utilisation law, window by Little's law, goodput by the asymptotic bound of a closed
    /// system, `clients / (think time + unqueued time)` (Denning and Buzen, 1978).
    fn state(&self, load: &LoadConfig, (edge, end): (Time, Time)) -> State {
        let capacity = if self.frozen { 0.0 } else { self.servers / self.service };
        let offered = match load {
            LoadConfig::Open(pace) if edge < end => {
                (pace.expected(end) - pace.expected(edge)) / end.since(edge).as_secs_f64()
            }
            LoadConfig::Open(_) => 0.0,
            LoadConfig::Closed(closed) => {
                let think = closed.think.as_ref().map_or(0.0, |think| think.mean().as_secs_f64());
                f64::from(closed.clients) / (think + self.unqueued)
            }
            LoadConfig::Input(_) => f64::INFINITY,
        };
        let round_trip = self.unqueued.max(self.service);
        let window = if self.frozen { 0.0 } else { self.servers * round_trip / self.service };
        State { capacity, window, goodput: capacity.min(offered) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Overrides, load};

    #[test]
    fn the_oracle_follows_what_is_done_to_the_backend() {
        let text = "version: 1\nname: o\narms: { a: { controller: { velox: {} } } }\n\
                    backend: { servers: 8, service: { constant: 10ms } }\n\
                    load: { closed: { clients: 10, think: { constant: 10ms } } }\n\
                    phases: [ { name: p, for: 60s } ]\n\
                    faults:\n\
                    - { name: few, at: 10s, for: 10s, backend: { servers: 2 } }\n\
                    - { name: slow, at: 20s, for: 10s, backend: { hold: { scale: 4 } } }\n\
                    - { name: late, at: 30s, for: 10s, backend: { hold: { latency: 40ms } } }\n\
                    - { name: held, at: 40s, for: 10s, backend: { hold: { gradient: 0.5 } } }\n\
                    - { name: still, at: 50s, for: 5s, backend: { freeze: {} } }\n";
        let oracle = Oracle::new(&load("o", text, &Overrides::default()).unwrap(), 0);
        let points = |series| oracle.points(series).unwrap();
        let rounded = points(CAPACITY).into_iter().zip(points(WINDOW)).zip(points(GOODPUT));
        let rows: Vec<_> = rounded
            .map(|(((at, capacity), (_, window)), (_, goodput))| {
                (at.as_secs_f64(), capacity.round(), window.round(), goodput.round())
            })
            .collect();
        // Ten clients come round in 20 ms: 500/s at most; when answers take 40 ms, 200/s.
        let expected = [
            (0.0, 800.0, 8.0, 500.0),
            (10.0, 200.0, 2.0, 200.0),
            (20.0, 200.0, 8.0, 200.0),
            (30.0, 800.0, 32.0, 200.0),
            (40.0, 800.0, 16.0, 333.0),
            (50.0, 0.0, 0.0, 0.0),
            (55.0, 800.0, 8.0, 500.0),
        ];
        assert_eq!(rows, expected);
        assert_eq!(oracle.at(CAPACITY, Time::from_nanos(15_000_000_000)), Some(200.0));
        assert_eq!(oracle.points("rpc.goodput"), None);
    }
}
