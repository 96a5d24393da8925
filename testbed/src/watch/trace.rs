//! Traces of single requests and waits for tokens, chosen when they have ended, and of the run as a whole.
//!
//! An end's event tells all that spans need, so that nothing is kept of requests under way and nothing is
//! made of those that are not chosen.

mod choose;
mod ids;
mod pipeline;
mod report;
mod request;
mod retime;
mod run_spans;
mod wait;

pub use report::Report;

use super::exemplars::Exemplars;
use super::names::{self, Metric};
use super::prometheus::Prometheus;
use super::spans::SpanLedger;
use crate::experiment::plan::{ArmPlan, Plan};
use crate::trace_ids::TraceIds;
use crate::traces::{NoTraces, TraceOptions};
use choose::{Chooser, How};
use ids::{NextIds, context};
use opentelemetry::StringValue;
use opentelemetry::trace::TracerProvider as _;
use pipeline::{Pipeline, ROOM_FOR_REQUESTS};
use report::Tally;
use request::{Call, Maker, Told};
use retime::Origin;
use run_spans::RunSpans;
use std::time::UNIX_EPOCH;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::queue::Rejection;
use testbed_core::request::{Arm, Arrival};
use testbed_core::time::{Nanos, Time};
use wait::{Asks, OverWait};

/// Makes the traces of one run.
#[derive(Debug)]
pub struct Tracer {
    url: String,
    ids: TraceIds,
    arms: Vec<TracedArm>,
    /// The arms that each fault acts on.
    faults: Vec<Vec<usize>>,
    maker: Maker,
    run: RunSpans,
    pipeline: Pipeline,
    ledger: SpanLedger,
    exemplars: Exemplars,
    tally: Tally,
    now: Time,
}

/// What is known of an arm.
#[derive(Debug)]
struct TracedArm {
    name: StringValue,
    classes: Vec<StringValue>,
    chooser: Chooser,
    /// Of an arm with a limiter.
    asks: Asks,
}

/// A request that is over.
struct Over<'a> {
    arm: Arm,
    arrival: Arrival,
    how: How,
    waited: Nanos,
    call: Option<Call<'a>>,
}

impl Tracer {
    /// The traces of a run of `plan` that is called `run` and begins now.
    ///
    /// # Errors
    /// If the exporter cannot be made. A collector that does not answer is no error.
    pub fn start(
        options: &TraceOptions,
        plan: &Plan,
        run: &str,
        metrics: &Prometheus,
    ) -> Result<Self, NoTraces> {
        let ids = TraceIds::new(&plan.name, plan.seed);
        let (next, ledger) = (NextIds::new(ids.run()), metrics.spans());
        let origin = Origin::default();
        let pipeline =
            Pipeline::start(&options.collector, run, next.clone(), origin.clone(), ledger.clone())?;
        let tracer = pipeline.provider.tracer("windtunnel");
        let arm = |arm| TracedArm::new(arm, options.share);
        let run_name = run.to_owned().into();
        Ok(Self {
            url: options.collector.traces_url(),
            ids,
            arms: plan.arms.iter().map(arm).collect(),
            faults: plan.faults.iter().map(|fault| fault.arms.clone()).collect(),
            run: RunSpans::begin(tracer.clone(), plan, run),
            maker: Maker { tracer, ids: next, run: context(ids.run(), 0), run_name, origin },
            pipeline,
            ledger,
            exemplars: metrics.exemplars(),
            tally: Tally::default(),
            now: Time::ZERO,
        })
    }

    /// What the ids of its requests come from.
    pub const fn ids(&self) -> TraceIds {
        self.ids
    }

    /// Sends what is left, for a second at most, and says what became of it.
    pub fn finish(mut self) -> Report {
        // Nothing, unless the run broke before its end.
        self.run.end(self.now);
        drop(self.maker);
        drop(self.run);
        let (counts, failure) = self.pipeline.stop();
        Report { url: self.url, tally: self.tally, counts, failure }
    }

    fn switched(&mut self, index: usize) {
        for &arm in &self.faults[index] {
            self.arms[arm].chooser.edge();
        }
    }

    fn over(&mut self, over: Over<'_>) {
        let Over { arm, arrival, how, waited, call } = over;
        let attempt = arrival.attempt();
        let ids = self.ids.attempt(arm, attempt);
        let traced = &mut self.arms[arm.index()];
        let choice = traced.chooser.ended(self.now, attempt, how, waited, ids.rank());
        let Some(why) = self.tally.ended(choice) else { return };
        let class = traced.classes.get(usize::from(arrival.class.0)).cloned();
        let arm = traced.name.clone();
        let end = call.as_ref().map_or(self.now, |call| call.sample.end);
        self.tell(&Told { ids, arm, class, arrival, how, why, end, call }, waited);
    }

    /// Makes the trace if there is room for all of it.
    fn tell(&mut self, told: &Told<'_>, waited: Nanos) {
        if !self.has_room(told.spans()) {
            return;
        }
        self.maker.make(told);
        if let Some(call) = &told.call {
            self.point_out(told, waited, call);
        }
    }

    /// Whether so many spans can be made; if not, they count as dropped.
    fn has_room(&self, spans: u64) -> bool {
        let room = self.ledger.counts().under_way() + spans <= ROOM_FOR_REQUESTS;
        if !room {
            self.ledger.take_in(spans, 0);
        }
        room
    }

    /// The request stands for others of its buckets.
    fn point_out(&self, told: &Told<'_>, waited: Nanos, call: &Call<'_>) {
        let (arm, trace) = (told.arm.as_str(), told.ids.trace);
        self.exemplar(&names::WAIT, &[arm], waited, trace);
        self.exemplar(&names::RTT, &[arm, told.how.name()], call.sample.rtt(), trace);
    }

    fn exemplar(&self, metric: &Metric, labels: &[&str], length: Nanos, trace: u128) {
        let now = unix_seconds(&self.maker.origin, self.now);
        self.exemplars.record(metric, labels, length.as_secs_f64(), trace, now);
    }
}

impl TracedArm {
    fn new(arm: &ArmPlan, share: f64) -> Self {
        let classes = arm.client().classes;
        Self {
            name: arm.name.clone().into(),
            classes: classes.keys().map(|class| class.clone().into()).collect(),
            chooser: Chooser::new(share),
            asks: Asks::default(),
        }
    }
}

impl Observer for Tracer {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.maker.origin.begin();
        self.now = now;
        match *event {
            Event::Arrived { arm, ref arrival, .. } => {
                self.arms[arm.index()].chooser.arrived(arrival.attempt());
            }
            Event::Rejected { arm, arrival, why } if Rejection::QUEUED.contains(&why) => {
                let (how, waited) = (How::Dropped, now.since(arrival.planned));
                self.over(Over { arm, arrival, how, waited, call: None });
            }
            Event::Rejected { arm, arrival, .. } => {
                let (how, waited) = (How::Rejected, Nanos::ZERO);
                self.over(Over { arm, arrival, how, waited, call: None });
            }
            Event::Abandoned { arm, arrival } => {
                let (how, waited) = (How::Abandoned, now.since(arrival.planned));
                self.over(Over { arm, arrival, how, waited, call: None });
            }
            Event::Finished { arm, arrival, ref sample, served, hit, again, .. } => {
                let how = How::Ended(sample.outcome);
                let waited = sample.start.since(arrival.planned);
                let call = Some(Call { sample, served, hit, again });
                self.over(Over { arm, arrival, how, waited, call });
            }
            Event::Asked { arm, ref wait, .. } => self.asked(arm, wait),
            Event::WaitEnded { arm, ref wait, end, overtook, waiting, .. } => {
                self.waited(&OverWait { arm, wait, end, overtook, waiting });
            }
            Event::Phase { name, .. } => self.run.phase(now, name),
            Event::Fault { index, name, on } => {
                self.switched(index);
                self.run.fault(now, name, on);
            }
            Event::End => self.run.end(now),
            // The end of a request tells of its admission.
            Event::Admitted { .. }
            | Event::Updated { .. }
            | Event::Queue { .. }
            | Event::Transfer { .. }
            | Event::Limiter { .. }
            | Event::InputDone { .. }
            | Event::Injected { .. }
            | Event::Network { .. }
            | Event::Healed { .. }
            | Event::Backend { .. }
            | Event::Fed { .. }
            | Event::Runtime { .. }
            | Event::Tick => {}
        }
    }
}

fn unix_seconds(origin: &Origin, now: Time) -> f64 {
    origin.at(now).duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
