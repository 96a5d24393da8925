//! `reset_peer`: the first data brings a reset of the connection.

use super::Behaviour;
use super::attribute::{Attribute, Attributes};
use crate::chain::{Item, Output, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::time::{Nanos, Time};

/// Attributes of `reset_peer`. A connection on which nothing moves stays.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResetPeer {
    /// How long after the first chunk, or the end, both sides are reset.
    pub timeout: Nanos,
}

impl Behaviour for ResetPeer {
    type Memory = ();

    const ABOUT: &'static str = "resets both sides a timeout after the next data, which it drops";

    fn attributes(&mut self) -> Attributes<'_> {
        vec![("timeout", Attribute::Millis(&mut self.timeout))]
    }

    fn enter<P: Payload>(
        &self,
        _memory: &mut (),
        now: Time,
        _item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        out.release(now.after(self.timeout), Item::Reset);
    }
}
