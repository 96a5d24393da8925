//! A timer that fills a bucket, at instants that wobble.
//!
//! Source: Envoy's local rate limit before envoyproxy/envoy#21327, whose timer asked the clock.
//!
//! ```text
//! the k-th firing     start + k * every + jitter * z       z: standard normal, drawn anew each time
//! test: none          each firing fills
//! test: elapsed       one fills if `every` has passed since the last that did
//! ```
//!
//! Worked numbers: by `elapsed` a firing fills if it wobbles more than the last that filled did, and the
//! one after a firing that does not always fills. A run of n or more fills in a row comes with 1/n!, so
//! e - 1 fills go with each that is left out: `(e - 1) / e` = 63.2 % of all, however large the jitter is.

use crate::rng::Rng;
use crate::time::{Nanos, Time};
use rand::RngExt as _;
use rand_distr::StandardNormal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many fills ahead are drawn to say when tokens will be there; beyond them none is late.
const DRAWN_AHEAD: u128 = 1000;

/// A timer as a file writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimerConfig {
    /// From one firing to the next, in the mean; 1 ms or more.
    pub every: Nanos,
    /// The standard deviation by which each firing is early or late.
    #[serde(default)]
    pub jitter: Nanos,
    /// What a firing asks before it fills.
    #[serde(default)]
    pub test: FillTest,
}

/// What a firing asks before it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FillTest {
    /// Nothing: each fills.
    #[default]
    None,
    /// A mutation found in the wild: whether the last fill was `every` ago. One that comes early fills
    /// nothing.
    Elapsed,
}

/// A running timer.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    config: TimerConfig,
    rng: Rng,
    start: Time,
    /// Firings so far.
    fired: u64,
    next: Time,
    last_fill: Time,
}

impl Timer {
    /// A timer that is set at `start`, when the bucket was filled.
    pub(super) fn new(config: TimerConfig, start: Time, rng: Rng) -> Self {
        let mut timer = Self { config, rng, start, fired: 0, next: start, last_fill: start };
        timer.set();
        timer
    }

    /// How often it has filled since it was last asked.
    pub(super) fn fills(&mut self, now: Time) -> u64 {
        let mut fills = 0;
        while self.next <= now && self.next < Time::NEVER {
            fills += u64::from(self.fire());
        }
        fills
    }

    /// When it will have filled `fills` times more.
    pub(super) fn filled_at(&self, fills: u128) -> Time {
        let mut ahead = self.clone();
        for _ in 0..fills.min(DRAWN_AHEAD) {
            while !ahead.fire() {}
        }
        let beyond = fills.saturating_sub(DRAWN_AHEAD) * u128::from(self.config.every.get());
        ahead.last_fill.after(super::nanos(beyond))
    }

    /// Fires; whether that filled.
    fn fire(&mut self) -> bool {
        let elapsed = self.next.since(self.last_fill);
        let fills = self.config.test == FillTest::None || elapsed >= self.config.every;
        if fills {
            self.last_fill = self.next;
        }
        self.set();
        fills
    }

    /// Draws the next firing. It comes after the last, however far they wobble.
    fn set(&mut self) {
        self.fired += 1;
        let wobble: f64 = self.rng.sample(StandardNormal);
        let due = self.start.after(Nanos::new(self.config.every.get().saturating_mul(self.fired)));
        let length = self.config.jitter.scaled(wobble.abs());
        let early = Time::ZERO.after(due.since(Time::ZERO).minus(length));
        let at = if wobble < 0.0 { early } else { due.after(length) };
        self.next = at.max(self.next.after(Nanos::new(1)));
    }
}
