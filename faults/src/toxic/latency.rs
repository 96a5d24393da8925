//! `latency`: each chunk leaves a while after it came.

use super::Behaviour;
use super::attribute::{Attribute, Attributes};
use crate::chain::{Item, Output, Payload};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::rng::Rng;
use testbed_core::time::{Nanos, Time};

/// As many as Toxiproxy holds, so that a delay doesn't limit the throughput.
const CHUNKS_HELD: usize = 1024;

/// Attributes of `latency`. The delay of a chunk is drawn evenly from `latency - jitter` to
/// `latency + jitter`, and is zero where that would be negative. Chunks keep their order.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// The delay in the middle.
    pub latency: Nanos,
    /// How far a delay may be from it, either way.
    pub jitter: Nanos,
}

impl Behaviour for Latency {
    type Memory = ();

    const ABOUT: &'static str =
        "delays data by latency +- jitter, without limiting throughput; order is kept";

    fn attributes(&mut self) -> Attributes<'_> {
        vec![
            ("latency", Attribute::Millis(&mut self.latency)),
            ("jitter", Attribute::Millis(&mut self.jitter)),
        ]
    }

    fn capacity(&self) -> usize {
        CHUNKS_HELD
    }

    fn enter<P: Payload>(
        &self,
        _memory: &mut (),
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        let delay = match item {
            Item::Data(_) => self.delay(out.rng()),
            Item::Eof | Item::Reset => Nanos::ZERO,
        };
        out.release(now.after(delay), item);
    }
}

impl Latency {
    /// A delay in [latency - jitter, latency + jitter), at least zero.
    fn delay(&self, rng: &mut Rng) -> Nanos {
        if self.jitter == Nanos::ZERO {
            return self.latency;
        }
        let spread = rng.random_range(0..self.jitter.plus(self.jitter).get());
        self.latency.plus(Nanos::new(spread)).minus(self.jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use testbed_core::rng::Streams;

    #[test]
    fn a_delay_without_jitter_is_the_latency() {
        let latency = Latency { latency: Nanos::new(7), jitter: Nanos::ZERO };
        assert_eq!(latency.delay(&mut Streams::new(1).stream("jitter")), Nanos::new(7));
    }

    #[test]
    fn jitter_reaches_both_ends_of_its_half_open_range() {
        let latency = Latency { latency: Nanos::new(10), jitter: Nanos::new(2) };
        let mut rng = Streams::new(1).stream("jitter");
        let delays: Vec<u64> = (0..1000).map(|_| latency.delay(&mut rng).get()).collect();
        assert_eq!(delays.iter().min(), Some(&8));
        assert_eq!(delays.iter().max(), Some(&11));
    }

    proptest! {
        #[test]
        fn no_attributes_make_a_delay_wrap(latency: u64, jitter: u64, seed: u64) {
            let toxic = Latency { latency: Nanos::new(latency), jitter: Nanos::new(jitter) };
            let delay = toxic.delay(&mut Streams::new(seed).stream("jitter"));
            prop_assert!(delay >= toxic.latency.minus(toxic.jitter));
            prop_assert!(delay <= toxic.latency.plus(toxic.jitter));
        }
    }
}
