//! Puts the spans of the run where they belong in time: `tracing` takes the instant at which it hears of
//! something, which in virtual time is long before it happens.

use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::trace::SpanData;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testbed_clock::unix_now;
use testbed_core::time::Time;

/// When a span began, in nanoseconds of the run.
pub(super) const FROM: &str = "windtunnel.from_ns";
/// When it ended.
pub(super) const TO: &str = "windtunnel.to_ns";
/// When the event of a span happened.
pub(super) const AT: &str = "windtunnel.at_ns";

/// When the run began, known from its first event on. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin(Arc<OnceLock<SystemTime>>);

impl Origin {
    /// If it has not begun, it begins now.
    pub(super) fn begin(&self) -> SystemTime {
        *self.0.get_or_init(|| UNIX_EPOCH + unix_now().as_std())
    }

    /// The time of day at an instant of the run.
    pub(super) fn at(&self, time: Time) -> SystemTime {
        self.begin() + Duration::from_nanos(time.as_nanos())
    }
}

/// Moves a span and its events to the times of the run that they tell; what tells none stays.
pub(super) fn retime(span: &mut SpanData, origin: &Origin) {
    let told = |attributes: &[KeyValue], key| Some(origin.at(told(attributes, key)?));
    let Some(from) = told(&span.attributes, FROM) else { return };
    span.start_time = from;
    span.end_time = told(&span.attributes, TO).unwrap_or(span.end_time).max(from);
    for event in &mut span.events.events {
        event.timestamp = told(&event.attributes, AT).unwrap_or(event.timestamp);
    }
}

fn told(attributes: &[KeyValue], key: &str) -> Option<Time> {
    let of_key = attributes.iter().rev().find(|attribute| attribute.key.as_str() == key)?;
    match of_key.value {
        Value::I64(ns) => Some(Time::from_nanos(ns.try_into().ok()?)),
        _ => None,
    }
}
