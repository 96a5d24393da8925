//! `limit_data`: so many bytes, then the end.

use super::Behaviour;
use super::attribute::{Attribute, Attributes};
use crate::chain::{Item, Output, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::limit::quantity::Bytes;
use testbed_core::time::Time;

/// Attributes of `limit_data`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitData {
    /// How many bytes pass on a link from the moment at which the toxic starts there. The byte that
    /// reaches this closes the link; with 0 the first one does, and does not pass.
    pub bytes: Bytes,
}

impl Default for LimitData {
    fn default() -> Self {
        Self { bytes: Bytes::new(0) }
    }
}

impl Behaviour for LimitData {
    /// Bytes that have passed.
    type Memory = u64;

    const ABOUT: &'static str = "closes the connection after a number of bytes";

    fn attributes(&mut self) -> Attributes<'_> {
        vec![("bytes", Attribute::Size(&mut self.bytes))]
    }

    fn enter<P: Payload>(
        &self,
        passed: &mut u64,
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        let Item::Data(mut chunk) = item else { return out.release(now, item) };
        let left = self.bytes.get().saturating_sub(*passed);
        let is_last = chunk.len() >= left;
        let front = chunk.split_to(left);
        *passed += front.len();
        if !front.is_empty() {
            out.release(now, Item::Data(front));
        }
        if is_last {
            out.release(now, Item::Eof);
        }
    }
}
