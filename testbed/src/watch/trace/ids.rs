//! Hands our ids to OpenTelemetry, which asks a generator for them.

use crate::trace_ids::Ids;
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::trace::IdGenerator;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The ids of the next span that is made. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct NextIds {
    next: Arc<Mutex<Next>>,
}

#[derive(Debug)]
struct Next {
    /// The trace of spans that nobody has announced.
    run: Ids,
    /// How many of those there were.
    of_run: u64,
    announced: Option<(Ids, u64)>,
}

impl NextIds {
    /// Spans that are not announced get ids of the trace `run`, its root first.
    pub(super) fn new(run: Ids) -> Self {
        Self { next: Arc::new(Mutex::new(Next { run, of_run: 0, announced: None })) }
    }

    /// Has `make` make the n-th span of this trace.
    pub(super) fn announced<T>(&self, ids: Ids, n: u64, make: impl FnOnce() -> T) -> T {
        self.lock().announced = Some((ids, n));
        let made = make();
        self.lock().announced = None;
        made
    }

    fn lock(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdGenerator for NextIds {
    fn new_trace_id(&self) -> TraceId {
        let next = self.lock();
        let ids = next.announced.map_or(next.run, |(ids, _)| ids);
        TraceId::from(ids.trace)
    }

    fn new_span_id(&self) -> SpanId {
        let mut next = self.lock();
        if let Some((ids, n)) = next.announced {
            return SpanId::from(ids.span(n));
        }
        next.of_run += 1;
        SpanId::from(next.run.span(next.of_run - 1))
    }
}

/// The n-th span of a trace, as others refer to it.
pub(super) fn context(ids: Ids, n: u64) -> SpanContext {
    let (trace, span) = (TraceId::from(ids.trace), SpanId::from(ids.span(n)));
    SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE)
}
