//! The spans of one request, made when it is over:
//!
//! ```text
//! request              planned arrival ................................ end
//!   wait               planned arrival .. admission
//!   rpc                                   admission .................... end
//!     backend                                        (age of answer) .. end
//! ```

use super::choose::{How, Why};
use super::ids::{NextIds, context};
use super::retime::Origin;
use crate::trace_ids::{CALL_SPAN, Ids};
use opentelemetry::trace::{
    Event, Link, Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _,
    Tracer as _,
};
use opentelemetry::{Context, KeyValue, StringValue};
use opentelemetry_sdk::trace::SdkTracer;
use std::time::SystemTime;
use testbed_core::control::bounded;
use testbed_core::request::{Arrival, Sample, Served};
use testbed_core::time::{Nanos, Time};

/// The places of spans in their trace, which their ids depend on.
const REQUEST: u64 = 0;
const WAIT: u64 = 1;
const RPC: u64 = CALL_SPAN;
const BACKEND: u64 = 3;

/// A request that is over and was chosen.
#[derive(Debug)]
pub(super) struct Told<'a> {
    pub(super) ids: Ids,
    pub(super) arm: StringValue,
    pub(super) class: Option<StringValue>,
    pub(super) arrival: Arrival,
    pub(super) how: How,
    pub(super) why: Why,
    /// When it was over.
    pub(super) end: Time,
    /// What there is of it if it was admitted.
    pub(super) call: Option<Call<'a>>,
}

/// An admitted request's call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) sample: &'a Sample,
    pub(super) served: Option<Served>,
    pub(super) hit: Option<bool>,
    pub(super) again: Option<Nanos>,
}

/// Makes spans of requests.
#[derive(Debug)]
pub(super) struct Maker {
    pub(super) tracer: SdkTracer,
    pub(super) ids: NextIds,
    /// The span of the run, which each request has a link to.
    pub(super) run: SpanContext,
    pub(super) run_name: StringValue,
    /// When the run began.
    pub(super) origin: Origin,
}

impl Told<'_> {
    /// How many spans it has.
    pub(super) fn spans(&self) -> u64 {
        let waited = u64::from(self.how != How::Rejected);
        let served = self.call.as_ref().map(|call| 1 + u64::from(call.served.is_some()));
        1 + waited + served.unwrap_or(0)
    }
}

impl Maker {
    pub(super) fn make(&self, told: &Told<'_>) {
        self.request(told);
        let admitted = told.call.as_ref().map(|call| call.sample.start);
        if told.how != How::Rejected {
            let wait = self.span("wait", told.arrival.planned);
            self.close(told, (WAIT, Some(REQUEST)), wait, admitted.unwrap_or(told.end));
        }
        if let Some(call) = &told.call {
            self.rpc(told, call);
            if let Some(served) = call.served {
                self.backend(told, call.sample.end, served);
            }
        }
    }

    fn request(&self, told: &Told<'_>) {
        let mut attributes = attributes(told);
        attributes.push(KeyValue::new("windtunnel.run", self.run_name.clone()));
        let span = self.span("request", told.arrival.planned).with_attributes(attributes);
        let span = span.with_links(vec![Link::with_context(self.run.clone())]);
        self.close(told, (REQUEST, None), span, told.end);
    }

    /// From the admission, where round trips count from; the moment of writing is an event.
    fn rpc(&self, told: &Told<'_>, call: &Call<'_>) {
        let sent = Event::new("sent", self.at(call.sample.sent), Vec::new(), 0);
        let bytes = KeyValue::new("windtunnel.bytes", number(call.sample.bytes));
        let span = self.span("rpc", call.sample.start).with_kind(SpanKind::Client);
        let span = span.with_attributes([bytes]).with_events(vec![sent]);
        self.close(told, (RPC, Some(REQUEST)), span, call.sample.end);
    }

    /// The backend says how old the answer was when it was let go, and no time of day.
    fn backend(&self, told: &Told<'_>, end: Time, served: Served) {
        let from = Time::from_nanos(end.as_nanos().saturating_sub(served.age.get()));
        let span = self.span("backend", from).with_kind(SpanKind::Server).with_attributes([
            KeyValue::new("windtunnel.placed_by", "age of the answer, which ends with the call"),
            KeyValue::new("windtunnel.age_ns", number(served.age.get())),
            KeyValue::new("windtunnel.lateness_ns", number(served.lateness.get())),
        ]);
        self.close(told, (BACKEND, Some(RPC)), span, end);
    }

    pub(super) fn span(&self, name: &'static str, from: Time) -> SpanBuilder {
        SpanBuilder::from_name(name).with_start_time(self.at(from))
    }

    /// Ends a span of a request. What went wrong is not the wait's doing, nor the backend's span's.
    fn close(&self, told: &Told<'_>, (n, of): (u64, Option<u64>), span: SpanBuilder, end: Time) {
        let wrong = told.how.is_bad() && n != WAIT && n != BACKEND;
        let wrong = wrong.then(|| told.how.name());
        self.end(told.ids, (n, of), span, wrong, end);
    }

    /// Makes a span out of its description, the n-th of its trace, below another one if it has a parent,
    /// and ends it; with what went wrong, if anything did.
    pub(super) fn end(
        &self,
        ids: Ids,
        (n, of): (u64, Option<u64>),
        span: SpanBuilder,
        wrong: Option<&'static str>,
        end: Time,
    ) {
        let parent = of.map(|of| context(ids, of));
        let parent = parent
            .map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        let make = || self.tracer.build_with_context(span, &parent);
        let mut span = self.ids.announced(ids, n, make);
        if let Some(wrong) = wrong {
            span.set_status(Status::error(wrong));
        }
        span.end_with_timestamp(self.at(end));
    }

    fn at(&self, time: Time) -> SystemTime {
        self.origin.at(time)
    }
}

fn attributes(told: &Told<'_>) -> Vec<KeyValue> {
    let arrival = &told.arrival;
    let mut attributes = vec![
        KeyValue::new("windtunnel.arm", told.arm.clone()),
        KeyValue::new("windtunnel.request", number(arrival.id)),
        KeyValue::new("windtunnel.attempt", i64::from(arrival.attempt)),
        KeyValue::new("windtunnel.client", i64::from(arrival.client)),
        KeyValue::new("windtunnel.outcome", told.how.name()),
        KeyValue::new("windtunnel.chosen", told.why.name()),
    ];
    if let Some(class) = &told.class {
        attributes.push(KeyValue::new("windtunnel.class", class.clone()));
    }
    if let Some(Call { sample, hit, again, .. }) = &told.call {
        let limit = bounded(sample.limit_at_start);
        attributes.extend(limit.map(|limit| KeyValue::new("windtunnel.limit", number(limit))));
        let in_flight = i64::from(sample.in_flight_at_start);
        attributes.push(KeyValue::new("windtunnel.in_flight", in_flight));
        // Absent where nobody can tell.
        attributes.extend(hit.map(|hit| KeyValue::new("windtunnel.toxic_hit", hit)));
        let again = again.map(|after| KeyValue::new("windtunnel.again_in_ns", number(after.get())));
        attributes.extend(again);
    }
    attributes
}

/// OpenTelemetry has signed numbers only.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
