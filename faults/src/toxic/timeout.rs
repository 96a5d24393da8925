//! `timeout`: nothing passes, and a silent connection is closed.

use super::Behaviour;
use super::attribute::{Attribute, Attributes};
use crate::chain::{Item, Output, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::time::{Nanos, Time};

/// Attributes of `timeout`. All data is dropped, so removing it closes the links that it acts on:
/// what comes after a gap would be taken for what was dropped.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeout {
    /// How long the link is silent before it is closed; with zero it never is.
    pub timeout: Nanos,
}

impl Behaviour for Timeout {
    /// Since when nothing has come in.
    type Memory = Time;

    const ABOUT: &'static str = "drops all data, and closes after a timeout without any; 0 never";
    const REMOVAL_CLOSES: bool = true;

    fn attributes(&mut self) -> Attributes<'_> {
        vec![("timeout", Attribute::Millis(&mut self.timeout))]
    }

    fn start(&self, silent_since: &mut Time, _added: Time, now: Time) {
        *silent_since = now;
    }

    fn closes_at(&self, silent_since: &Time) -> Option<Time> {
        (self.timeout > Nanos::ZERO).then(|| silent_since.after(self.timeout))
    }

    fn enter<P: Payload>(
        &self,
        silent_since: &mut Time,
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        *silent_since = now;
        if item.is_end() {
            out.release(now, item);
        }
    }
}
