//! The metrics of one arm.

use super::children::Children;
use super::conservation::Tickets;
use super::controller::ControllerMetrics;
use super::faults::FaultMetrics;
use super::limiter::LimiterMetrics;
use super::names;
use super::queue::QueueMetrics;
use super::together::Joint;
use super::transfers::TransferMetrics;
use super::waits::WaitMetrics;
use super::{ArmKind, ArmLabel};
use prometheus::{Gauge, Histogram, IntCounter};
use testbed_core::request::{Outcome, Sample};
use testbed_core::time::{Nanos, Time};

#[derive(Debug)]
pub(super) struct ArmMetrics {
    pub(super) backend: BackendMetrics,
    pub(super) faults: FaultMetrics,
    work: WorkMetrics,
}

/// An arm shows the metrics of its own kind of work only.
#[derive(Debug)]
enum WorkMetrics {
    Calls(Box<CallMetrics>),
    Downloads(Box<DownloadMetrics>),
}

impl ArmMetrics {
    pub(super) fn new(children: &Children, label: &ArmLabel) -> Self {
        let arm = label.name.as_str();
        let work = match label.kind {
            ArmKind::Calls => WorkMetrics::Calls(Box::new(CallMetrics::new(children, label))),
            ArmKind::Downloads => {
                WorkMetrics::Downloads(Box::new(DownloadMetrics::new(children, arm)))
            }
        };
        let faults = FaultMetrics::new(children, arm);
        Self { backend: BackendMetrics::new(children, arm), faults, work }
    }

    pub(super) fn calls(&mut self) -> &mut CallMetrics {
        match &mut self.work {
            WorkMetrics::Calls(calls) => calls,
            WorkMetrics::Downloads(_) => panic!("an arm with a limiter has no requests"),
        }
    }

    pub(super) fn downloads(&mut self) -> &mut DownloadMetrics {
        match &mut self.work {
            WorkMetrics::Calls(_) => panic!("an arm with a controller has no downloads"),
            WorkMetrics::Downloads(downloads) => downloads,
        }
    }

    /// A sampling instant.
    pub(super) fn sample(&self, now: Time) {
        match &self.work {
            WorkMetrics::Calls(_) => {}
            WorkMetrics::Downloads(downloads) => downloads.waits.sample(now),
        }
    }
}

/// Requests behind a controller.
#[derive(Debug)]
pub(super) struct CallMetrics {
    pub(super) controller: ControllerMetrics,
    pub(super) requests: RequestMetrics,
    pub(super) queue: QueueMetrics,
}

impl CallMetrics {
    fn new(children: &Children, label: &ArmLabel) -> Self {
        let arm = label.name.as_str();
        Self {
            controller: ControllerMetrics::new(children, label),
            requests: RequestMetrics::new(children, arm),
            queue: QueueMetrics::new(children, arm),
        }
    }
}

/// Downloads behind a limiter.
#[derive(Debug)]
pub(super) struct DownloadMetrics {
    pub(super) limiter: LimiterMetrics,
    pub(super) waits: WaitMetrics,
    pub(super) transfers: TransferMetrics,
}

impl DownloadMetrics {
    fn new(children: &Children, arm: &str) -> Self {
        Self {
            limiter: LimiterMetrics::new(children, arm),
            waits: WaitMetrics::new(children, arm),
            transfers: TransferMetrics::new(children, arm),
        }
    }
}

/// Requests, from their arrival to their end.
#[derive(Debug)]
pub(super) struct RequestMetrics {
    tickets: Joint<Tickets>,
    lag: Histogram,
    wait: Histogram,
    /// In the order of [`Outcome::ALL`].
    rtt: [Histogram; Outcome::ALL.len()],
    retries: IntCounter,
    /// By whether a toxic acted: no, yes.
    toxic: [IntCounter; 2],
}

impl RequestMetrics {
    fn new(children: &Children, arm: &str) -> Self {
        let rtt = |outcome: Outcome| children.histogram(&names::RTT, &[arm, outcome.name()]);
        Self {
            tickets: Tickets::joint(children, arm),
            lag: children.histogram(&names::SCHEDULE_LAG, &[arm]),
            wait: children.histogram(&names::WAIT, &[arm]),
            rtt: Outcome::ALL.map(rtt),
            retries: children.counter(&names::RETRIES, &[arm]),
            toxic: ["false", "true"].map(|hit| children.counter(&names::TOXIC, &[arm, hit])),
        }
    }

    pub(super) fn arrived(&self, lag: Nanos) {
        self.tickets.change(|tickets| {
            tickets.arrivals += 1;
            tickets.waiting += 1;
        });
        self.lag.observe(lag.as_secs_f64());
    }

    pub(super) fn rejected(&self) {
        self.tickets.change(|tickets| {
            tickets.rejected += 1;
            tickets.waiting = tickets.waiting.saturating_sub(1);
        });
    }

    pub(super) fn admitted(&self, wait: Nanos, in_flight: u32, waiting: u32) {
        self.tickets.change(|tickets| {
            tickets.admitted += 1;
            (tickets.in_flight, tickets.waiting) = (in_flight, waiting);
        });
        self.wait.observe(wait.as_secs_f64());
    }

    pub(super) fn finished(&self, sample: &Sample, in_flight: u32) {
        self.tickets.change(|tickets| {
            tickets.ended[sample.outcome as usize] += 1;
            tickets.in_flight = in_flight;
        });
        self.rtt[sample.outcome as usize].observe(sample.rtt().as_secs_f64());
    }

    /// What became of an attempt, beside its sample.
    pub(super) fn followed(&self, hit: Option<bool>, again: Option<Nanos>) {
        self.retries.inc_by(u64::from(again.is_some()));
        if let Some(hit) = hit {
            self.toxic[usize::from(hit)].inc();
        }
    }

    pub(super) fn abandoned(&self) {
        self.tickets.change(|tickets| {
            tickets.abandoned += 1;
            tickets.waiting = tickets.waiting.saturating_sub(1);
        });
    }
}

/// The backend, and how long it had to work on finite inputs.
#[derive(Debug)]
pub(super) struct BackendMetrics {
    utilisation: Gauge,
    in_system: Gauge,
    queued: Gauge,
    makespan: Gauge,
    /// Of a backend elsewhere, from the first feed on.
    feed_lag: Option<Histogram>,
    children: Children,
    arm: String,
}

impl BackendMetrics {
    fn new(children: &Children, arm: &str) -> Self {
        Self {
            utilisation: children.gauge(&names::UTILISATION, &[arm]),
            in_system: children.gauge(&names::IN_SYSTEM, &[arm]),
            queued: children.gauge(&names::QUEUED, &[arm]),
            makespan: children.gauge(&names::MAKESPAN, &[arm]),
            feed_lag: None,
            children: children.clone(),
            arm: arm.to_owned(),
        }
    }

    pub(super) fn fed(&mut self, lag: Nanos) {
        let make = || self.children.histogram(&names::FEED_LAG, &[&self.arm]);
        self.feed_lag.get_or_insert_with(make).observe(lag.as_secs_f64());
    }

    pub(super) fn sampled(&self, in_system: u32, queued: u32, utilisation: f64) {
        self.in_system.set(in_system.into());
        self.queued.set(queued.into());
        self.utilisation.set(utilisation);
    }

    pub(super) fn input_done(&self, makespan: Nanos) {
        self.makespan.set(makespan.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_number_as_they_are_listed() {
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, index);
        }
    }
}
