//! The trace of the run as a whole: a span for it, one for each of its phases, and faults as events.
//!
//! These go through `tracing`, as what a program does by itself. Requests do not: whether one is worth a
//! span is known when it has ended, and `tracing` cannot make spans of the past.

use super::retime;
use crate::experiment::plan::Plan;
use opentelemetry_sdk::trace::SdkTracer;
use testbed_core::time::Time;
use tracing::field::Empty;
use tracing::{Dispatch, Level, Span, dispatcher, event, info_span};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

/// The only target that is listened to. Exporting spans is itself HTTP, and the crates that do it use
/// `tracing` too: their spans would be exported, which makes spans.
const TARGET: &str = "windtunnel::run";

/// The spans of a run.
#[derive(Debug)]
pub(super) struct RunSpans {
    /// Heard in this run only; runs of one process do not mix.
    dispatch: Dispatch,
    run: Span,
    phase: Span,
}

impl RunSpans {
    /// Those of a run of `plan`, which begins at time zero.
    pub(super) fn begin(tracer: SdkTracer, plan: &Plan, name: &str) -> Self {
        let layer = tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_target(TARGET, LevelFilter::INFO));
        let dispatch = Dispatch::new(Registry::default().with(layer));
        let run = dispatcher::with_default(&dispatch, || run_span(plan, name));
        Self { dispatch, run, phase: Span::none() }
    }

    /// A phase begins, and with it the one before ends.
    pub(super) fn phase(&mut self, now: Time, name: &str) {
        self.end_phase(now);
        self.phase = dispatcher::with_default(&self.dispatch, || {
            info_span!(
                target: TARGET,
                parent: &self.run,
                "phase",
                otel.name = format!("phase {name}"),
                windtunnel.phase = name,
                windtunnel.from_ns = ns(now),
                windtunnel.to_ns = Empty,
            )
        });
    }

    /// A fault is switched.
    pub(super) fn fault(&self, now: Time, name: &str, on: bool) {
        dispatcher::with_default(&self.dispatch, || {
            event!(
                target: TARGET,
                parent: &self.run,
                Level::INFO,
                windtunnel.fault = name,
                windtunnel.at_ns = ns(now),
                "fault {}",
                if on { "on" } else { "off" },
            );
        });
    }

    /// The run is over.
    pub(super) fn end(&mut self, now: Time) {
        self.end_phase(now);
        self.run.record(retime::TO, ns(now));
        self.run = Span::none();
    }

    fn end_phase(&mut self, now: Time) {
        self.phase.record(retime::TO, ns(now));
        self.phase = Span::none();
    }
}

fn run_span(plan: &Plan, name: &str) -> Span {
    info_span!(
        target: TARGET,
        parent: None,
        "run",
        windtunnel.run = name,
        windtunnel.experiment = plan.name,
        windtunnel.mode = plan.mode.name(),
        windtunnel.seed = plan.seed.to_string(),
        windtunnel.from_ns = 0_i64,
        windtunnel.to_ns = Empty,
    )
}

/// OpenTelemetry has signed numbers only.
fn ns(time: Time) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
