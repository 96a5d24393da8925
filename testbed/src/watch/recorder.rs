//! The recorder: folds events into the store, and writes `series.csv` as the run goes.

use super::series::{self, LIMIT, MAKESPAN, PerRequest, Sampled, WINDOW};
use super::store::{Interval, Store};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;
use testbed_core::control::Update;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::{Arm, Outcome, Sample, Served};
use testbed_core::time::Time;
use testbed_core::vitals::Vitals;

/// An observer that records series, in memory and as rows of `t_ns,arm,series,value`.
pub struct Recorder<W: Write> {
    store: Store,
    arms: Vec<ArmFold>,
    out: W,
    vital_names: BTreeMap<&'static str, Rc<str>>,
    live: bool,
    last_tick: Time,
    failure: Option<io::Error>,
}

/// What is counted and tracked of one arm between two sampling instants.
struct ArmFold {
    name: String,
    in_flight: Track,
    waiting: Track,
    outcomes: [u64; Outcome::ALL.len()],
    rejected: u64,
    ok_at_last_tick: u64,
    latency_ns: u64,
    latencies: u64,
}

/// A value that changes with events, integrated over time.
#[derive(Default)]
struct Track {
    value: f64,
    since: Time,
    integral: f64,
    min: f64,
    max: f64,
}

impl Track {
    fn set(&mut self, now: Time, value: f64) {
        self.integral += self.value * now.since(self.since).get() as f64;
        self.since = now;
        self.value = value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Closes the interval that ends at `now` and begins the next.
    fn take(&mut self, begin: Time, now: Time) -> Interval {
        self.set(now, self.value);
        let length = now.since(begin);
        let mean = if length.get() > 0 { self.integral / length.get() as f64 } else { self.value };
        let interval =
            Interval { end: now, length, min: self.min, max: self.max, mean, last: self.value };
        (self.integral, self.min, self.max) = (0.0, self.value, self.value);
        interval
    }
}

impl<W: Write> Recorder<W> {
    /// A recorder for these arms that writes to `out`, header first.
    pub fn new(arms: &[String], live: bool, mut out: W) -> Self {
        let failure = out.write_all(b"t_ns,arm,series,value\n").err();
        let fold = |name: &String| ArmFold {
            name: name.clone(),
            in_flight: Track::default(),
            waiting: Track::default(),
            outcomes: [0; Outcome::ALL.len()],
            rejected: 0,
            ok_at_last_tick: 0,
            latency_ns: 0,
            latencies: 0,
        };
        Self {
            store: Store::new(arms.len()),
            arms: arms.iter().map(fold).collect(),
            out,
            vital_names: BTreeMap::new(),
            live,
            last_tick: Time::ZERO,
            failure,
        }
    }

    /// What was recorded.
    ///
    /// # Errors
    /// The first failure to write a row, if any.
    pub fn finish(mut self) -> io::Result<Store> {
        self.out.flush()?;
        self.failure.map_or(Ok(self.store), Err)
    }

    fn row(&mut self, now: Time, arm: usize, series: &str, value: f64) {
        let name = &self.arms[arm].name;
        let written = writeln!(self.out, "{},{name},{series},{value}", now.as_nanos());
        self.failure = self.failure.take().or_else(|| written.err());
    }

    fn step(&mut self, now: Time, arm: usize, series: &str, value: f64) {
        self.store.arms[arm].step(self.store.phases.len(), now, series, value);
        self.row(now, arm, series, value);
    }

    fn interval(&mut self, arm: usize, series: Sampled, interval: Interval) {
        let name = series.info().name;
        self.store.arms[arm].interval(self.store.phases.len(), name, interval);
        self.row(interval.end, arm, name, interval.mean);
    }

    fn update(&mut self, now: Time, arm: Arm, update: &Update, vitals: &Vitals) {
        let arm = arm.index();
        self.step(now, arm, WINDOW, update.new);
        self.step(now, arm, LIMIT, update.limit as f64);
        for vital in vitals {
            let name = self.vital_name(vital.name);
            self.step(now, arm, &name, vital.value);
        }
    }

    /// The name of a vital's series, made once a run.
    fn vital_name(&mut self, vital: &'static str) -> Rc<str> {
        let make = || format!("{}{vital}", series::CONTROLLER).into();
        Rc::clone(self.vital_names.entry(vital).or_insert_with(make))
    }

    fn finished(&mut self, arm: Arm, planned: Time, sample: &Sample, served: Option<Served>) {
        let fold = &mut self.arms[arm.index()];
        fold.outcomes[sample.outcome as usize] += 1;
        // What was given up says how long somebody waited, not how long it takes.
        if sample.outcome == Outcome::Cancelled {
            return;
        }
        let latency = sample.end.since(planned);
        fold.latency_ns += latency.get();
        fold.latencies += 1;
        let store = &mut self.store.arms[arm.index()];
        if self.live {
            store.record(PerRequest::SendLag, sample.sent.since(sample.start));
        }
        store.record(PerRequest::Latency, latency);
        store.record(PerRequest::Rtt, sample.rtt());
        if let Some(served) = served {
            store.record(PerRequest::Age, served.age);
            if self.live {
                store.record(PerRequest::Lateness, served.lateness);
            }
        }
    }

    fn backend(&mut self, now: Time, arm: Arm, levels: [f64; 3]) {
        let series = [Sampled::Utilisation, Sampled::InSystem, Sampled::Queued];
        for (series, level) in series.into_iter().zip(levels) {
            let interval = Interval::level(self.last_tick, now, level);
            self.interval(arm.index(), series, interval);
        }
    }

    /// What the end of the run cut off is known only after its last sampling instant.
    fn end(&mut self, now: Time) {
        self.store.reach(now);
        for arm in 0..self.arms.len() {
            let cut_off = self.arms[arm].outcomes[Outcome::Cancelled as usize];
            self.step(now, arm, series::outcome_series(Outcome::Cancelled).name, cut_off as f64);
        }
    }

    fn tick(&mut self, now: Time) {
        if now == self.last_tick {
            return;
        }
        for arm in 0..self.arms.len() {
            self.tick_tracks(now, arm);
            self.tick_counts(now, arm);
        }
        self.last_tick = now;
        self.store.reach(now);
        if self.live {
            let flushed = self.out.flush();
            self.failure = self.failure.take().or_else(|| flushed.err());
        }
    }

    fn tick_tracks(&mut self, now: Time, arm: usize) {
        let begin = self.last_tick;
        let fold = &mut self.arms[arm];
        let (in_flight, waiting) = (fold.in_flight.take(begin, now), fold.waiting.take(begin, now));
        let ok = fold.outcomes[Outcome::Success as usize];
        let goodput = (ok - fold.ok_at_last_tick) as f64 / now.since(begin).as_secs_f64();
        fold.ok_at_last_tick = ok;
        self.interval(arm, Sampled::InFlight, in_flight);
        self.interval(arm, Sampled::Waiting, waiting);
        self.interval(arm, Sampled::Goodput, Interval::level(begin, now, goodput));
    }

    fn tick_counts(&mut self, now: Time, arm: usize) {
        for outcome in Outcome::ALL {
            let count = self.arms[arm].outcomes[outcome as usize];
            self.step(now, arm, series::outcome_series(outcome).name, count as f64);
        }
        self.step(now, arm, series::REJECTED.name, self.arms[arm].rejected as f64);
        let fold = &mut self.arms[arm];
        if fold.latencies > 0 {
            let mean_ns = fold.latency_ns as f64 / fold.latencies as f64;
            (fold.latency_ns, fold.latencies) = (0, 0);
            self.row(now, arm, PerRequest::Latency.info().name, mean_ns / 1e9);
        }
    }
}

impl<W: Write> Observer for Recorder<W> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        match *event {
            Event::Arrived { arm, lag, .. } => {
                let waiting = &mut self.arms[arm.index()].waiting;
                waiting.set(now, waiting.value + 1.0);
                if self.live {
                    self.store.arms[arm.index()].record(PerRequest::Lag, lag);
                }
            }
            Event::Rejected { arm, .. } => {
                let fold = &mut self.arms[arm.index()];
                fold.rejected += 1;
                fold.waiting.set(now, fold.waiting.value - 1.0);
            }
            Event::Admitted { arm, wait, in_flight, waiting, .. } => {
                let fold = &mut self.arms[arm.index()];
                fold.in_flight.set(now, f64::from(in_flight));
                fold.waiting.set(now, f64::from(waiting));
                self.store.arms[arm.index()].record(PerRequest::Wait, wait);
            }
            Event::Finished { arm, arrival, ref sample, served, in_flight } => {
                self.arms[arm.index()].in_flight.set(now, f64::from(in_flight));
                self.finished(arm, arrival.planned, sample, served);
            }
            Event::Abandoned { arm, .. } => {
                let waiting = &mut self.arms[arm.index()].waiting;
                waiting.set(now, waiting.value - 1.0);
            }
            Event::Updated { arm, ref update, vitals } => self.update(now, arm, update, vitals),
            Event::InputDone { arm, makespan } => {
                self.step(now, arm.index(), MAKESPAN, makespan.as_secs_f64());
            }
            Event::Backend { arm, in_system, queued, utilisation } => {
                let levels = [utilisation, f64::from(in_system), f64::from(queued)];
                self.backend(now, arm, levels);
            }
            Event::Phase { .. } => self.store.begin_phase(now),
            Event::Fault { .. } => {}
            Event::Asked { .. }
            | Event::WaitEnded { .. }
            | Event::Transfer { .. }
            | Event::Limiter { .. } => {}
            Event::Tick => self.tick(now),
            Event::End => self.end(now),
        }
    }
}
