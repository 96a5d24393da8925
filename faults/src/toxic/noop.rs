//! `noop`: changes nothing. The template for a new toxic.

use super::Behaviour;
use super::attribute::Attributes;
use crate::chain::{Item, Output, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::time::Time;

/// Attributes of `noop`: none. Elsewhere, one field an attribute, with Toxiproxy's name and a type
/// that carries the unit.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Noop {}

impl Behaviour for Noop {
    /// What has to be counted or kept between items goes here.
    type Memory = ();

    const ABOUT: &'static str = "changes nothing";

    fn attributes(&mut self) -> Attributes<'_> {
        Vec::new()
    }

    fn enter<P: Payload>(
        &self,
        _memory: &mut (),
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        out.release(now, item);
    }
}
