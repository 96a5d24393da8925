//! `slicer`: data comes in small pieces.

use super::Behaviour;
use super::attribute::{Attribute, AttributeError, Attributes};
use crate::chain::{Item, Output, Payload};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::limit::quantity::Bytes;
use testbed_core::rng::Rng;
use testbed_core::time::{Nanos, Time};

/// Attributes of `slicer`. A chunk is cut into halves, each a little off the middle, and they again,
/// until none is larger than `average_size` plus `size_variation`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slicer {
    /// About how large the pieces are.
    pub average_size: Bytes,
    /// How far a cut may be from the middle, either way; at most `average_size`.
    #[serde(default = "no_bytes")]
    pub size_variation: Bytes,
    /// How long the link pauses after each piece.
    #[serde(default)]
    pub delay: Nanos,
}

const fn no_bytes() -> Bytes {
    Bytes::new(0)
}

impl Default for Slicer {
    /// Pieces of 1 KiB, without a pause.
    fn default() -> Self {
        let average_size = Bytes::from_kib(1);
        Self { average_size, size_variation: no_bytes(), delay: Nanos::ZERO }
    }
}

impl Behaviour for Slicer {
    /// Until when the link pauses.
    type Memory = Time;

    const ABOUT: &'static str = "cuts data into small pieces, with a delay after each";

    fn attributes(&mut self) -> Attributes<'_> {
        vec![
            ("average_size", Attribute::Size(&mut self.average_size)),
            ("size_variation", Attribute::Size(&mut self.size_variation)),
            ("delay", Attribute::Micros(&mut self.delay)),
        ]
    }

    fn check(&self) -> Result<(), AttributeError> {
        let (attribute, reason) = if self.average_size == no_bytes() {
            ("average_size", "must be 1 byte or more")
        } else if self.size_variation > self.average_size {
            ("size_variation", "must be average_size at most")
        } else {
            return Ok(());
        };
        Err(AttributeError::Impossible { attribute, reason })
    }

    fn enter<P: Payload>(
        &self,
        paused: &mut Time,
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        *paused = now.max(*paused);
        let Item::Data(mut chunk) = item else { return out.release(*paused, item) };
        let mut sizes = Vec::new();
        self.slice(chunk.len(), out.rng(), &mut sizes);
        for size in sizes {
            out.release(*paused, Item::Data(chunk.split_to(size)));
            *paused = paused.after(self.delay);
        }
    }
}

impl Slicer {
    /// Adds the sizes of the pieces of `length` bytes.
    fn slice(&self, length: u64, rng: &mut Rng, sizes: &mut Vec<u64>) {
        let largest = self.average_size.get().saturating_add(self.size_variation.get());
        if length <= largest.max(1) {
            return sizes.push(length);
        }
        let first = self.cut(length, rng);
        self.slice(first, rng, sizes);
        self.slice(length - first, rng, sizes);
    }

    /// Where to cut: off the middle by [-variation, +variation), with a byte on either side.
    fn cut(&self, length: u64, rng: &mut Rng) -> u64 {
        let variation = self.size_variation.get();
        let middle = length / 2;
        if variation == 0 {
            return middle;
        }
        let shifted = middle + rng.random_range(0..variation.saturating_mul(2));
        shifted.saturating_sub(variation).clamp(1, length - 1)
    }
}
