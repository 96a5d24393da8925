//! `slow_close`: the end of a stream comes late.

use super::Behaviour;
use super::attribute::{Attribute, Attributes};
use crate::chain::{Item, Output, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::time::{Nanos, Time};

/// Attributes of `slow_close`. Data passes; the end of the link is held back.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlowClose {
    /// How long the end is held back.
    pub delay: Nanos,
}

impl Behaviour for SlowClose {
    type Memory = ();

    const ABOUT: &'static str = "holds the end of a connection back for a delay; data passes";

    fn attributes(&mut self) -> Attributes<'_> {
        vec![("delay", Attribute::Millis(&mut self.delay))]
    }

    fn enter<P: Payload>(
        &self,
        _memory: &mut (),
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        let delay = if item.is_end() { self.delay } else { Nanos::ZERO };
        out.release(now.after(delay), item);
    }
}
