//! `wave`: a latency that rises and falls with time. Toxiproxy has no such thing.

use super::Behaviour;
use super::attribute::{Attribute, AttributeError, Attributes, Choice};
use crate::chain::{Item, Output, Payload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use testbed_core::time::{Nanos, Time};

/// As for a latency: the delay doesn't limit the throughput.
const CHUNKS_HELD: usize = 1024;

/// Attributes of `wave`: a latency that goes from `low` to `high` and back once a period. Nothing
/// has to be changed while it runs, so nothing can come early for a change.
///
/// A period begins, with `low`, at the instant at which the toxic was added to its proxy, and is the
/// same for all links. A chunk gets the delay of the instant at which it comes in, and chunks keep
/// their order: where the delay falls faster than time goes by, they leave at once behind those
/// before. With `low: 10ms, high: 30ms, period: 8s`:
///
/// | comes in after | 0 s | 1 s | 2 s | 4 s | 6 s | 7 s | 8 s |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | `sine` | 10 ms | 12.929 ms | 20 ms | 30 ms | 20 ms | 12.929 ms | 10 ms |
/// | `triangle` | 10 ms | 15 ms | 20 ms | 30 ms | 20 ms | 15 ms | 10 ms |
/// | `sawtooth` | 10 ms | 12.5 ms | 15 ms | 20 ms | 25 ms | 27.5 ms | 10 ms |
/// | `square` | 10 ms | 10 ms | 10 ms | 30 ms | 30 ms | 30 ms | 10 ms |
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// The least delay.
    #[serde(default)]
    pub low: Nanos,
    /// The greatest delay.
    pub high: Nanos,
    /// How long it takes from `low` to `low`.
    pub period: Nanos,
    /// The way between them.
    #[serde(default)]
    pub shape: Shape,
}

/// How a wave goes from its least to its greatest and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Smoothly: slowest at both ends.
    #[default]
    Sine,
    /// Evenly up in the first half, evenly down in the second.
    Triangle,
    /// Evenly up all the time, and down at once.
    Sawtooth,
    /// The least in the first half, the greatest in the second.
    Square,
}

impl Shape {
    const ALL: [Self; 4] = [Self::Sine, Self::Triangle, Self::Sawtooth, Self::Square];

    /// How high the wave is, from 0 to 1, after this share of a period. The cosine is the same on
    /// every machine, as a virtual run has to be.
    fn height(self, share: f64) -> f64 {
        match self {
            Self::Sine => (1.0 - libm::cos(TAU * share)) / 2.0,
            Self::Triangle => 1.0 - (2.0 * share - 1.0).abs(),
            Self::Sawtooth => share,
            Self::Square => f64::from(u8::from(share >= 0.5)),
        }
    }
}

impl Choice for Shape {
    fn name(&self) -> &'static str {
        match self {
            Self::Sine => "sine",
            Self::Triangle => "triangle",
            Self::Sawtooth => "sawtooth",
            Self::Square => "square",
        }
    }

    fn choose(&mut self, name: Option<&str>) -> Result<(), &'static str> {
        let wanted = |shape: &Self| name.is_none_or(|name| name == shape.name());
        let found = Self::ALL.into_iter().find(wanted);
        *self = found.ok_or("must be sine, triangle, sawtooth or square")?;
        Ok(())
    }
}

impl Default for Wave {
    /// A flat one.
    fn default() -> Self {
        let (low, high) = (Nanos::ZERO, Nanos::ZERO);
        Self { low, high, period: Nanos::from_secs(1), shape: Shape::Sine }
    }
}

impl Behaviour for Wave {
    /// When the first period began.
    type Memory = Time;

    const ABOUT: &'static str =
        "delays data by a latency that rises and falls with a period; order is kept";

    fn attributes(&mut self) -> Attributes<'_> {
        vec![
            ("low", Attribute::Millis(&mut self.low)),
            ("high", Attribute::Millis(&mut self.high)),
            ("period", Attribute::Millis(&mut self.period)),
            ("shape", Attribute::Choice(&mut self.shape)),
        ]
    }

    fn check(&self) -> Result<(), AttributeError> {
        let (attribute, reason) = if self.period == Nanos::ZERO {
            ("period", "must be more than zero")
        } else if self.high < self.low {
            ("high", "must be low or more")
        } else {
            return Ok(());
        };
        Err(AttributeError::Impossible { attribute, reason })
    }

    fn capacity(&self) -> usize {
        CHUNKS_HELD
    }

    fn start(&self, began: &mut Time, added: Time, _now: Time) {
        *began = added;
    }

    fn enter<P: Payload>(
        &self,
        began: &mut Time,
        now: Time,
        item: Item<P>,
        out: &mut Output<'_, P>,
    ) {
        let delay = match item {
            Item::Data(_) => self.delay(now.since(*began)),
            Item::Eof | Item::Reset => Nanos::ZERO,
        };
        out.release(now.after(delay), item);
    }
}

impl Wave {
    /// The delay this long after the first period began.
    fn delay(&self, after: Nanos) -> Nanos {
        let period = self.period.get().max(1);
        let share = (after.get() % period) as f64 / period as f64;
        self.low.plus(self.high.minus(self.low).scaled(self.shape.height(share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wave(shape: Shape) -> Wave {
        let (low, high) = (Nanos::from_millis(10), Nanos::from_millis(30));
        Wave { low, high, period: Nanos::from_secs(8), shape }
    }

    #[test]
    fn delays_are_those_of_the_documentation() {
        // Microseconds after these seconds.
        let seconds = [0, 1, 2, 4, 6, 7, 8, 15, 8_000_001];
        for (shape, delays) in [
            (Shape::Sine, [10_000, 12_929, 20_000, 30_000, 20_000, 12_929, 10_000, 12_929, 12_929]),
            (
                Shape::Triangle,
                [10_000, 15_000, 20_000, 30_000, 20_000, 15_000, 10_000, 15_000, 15_000],
            ),
            (
                Shape::Sawtooth,
                [10_000, 12_500, 15_000, 20_000, 25_000, 27_500, 10_000, 27_500, 12_500],
            ),
            (
                Shape::Square,
                [10_000, 10_000, 10_000, 30_000, 30_000, 30_000, 10_000, 30_000, 10_000],
            ),
        ] {
            let micros = |s| (wave(shape).delay(Nanos::from_secs(s)).get() + 500) / 1000;
            assert_eq!(seconds.map(micros), delays, "{shape:?}");
        }
    }

    proptest! {
        #[test]
        fn a_delay_is_never_outside_of_its_bounds(
            low in 0..LONGEST, swing in 0..LONGEST, period in 1..LONGEST, after: u64, shape in 0..4_usize,
        ) {
            let (low, high) = (Nanos::new(low), Nanos::new(low + swing));
            let wave = Wave { low, high, period: Nanos::new(period), shape: Shape::ALL[shape] };
            let delay = wave.delay(Nanos::new(after));
            prop_assert!(delay >= low && delay <= high, "{delay}");
        }
    }

    const LONGEST: u64 = super::super::LONGEST.get();
}
