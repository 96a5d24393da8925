//! How requests that are at work at the same time get in each other's way.
//!
//! ```text
//! n at work:   factor(n) = 1 + linear (n - 1) + (1 + grows)^max(0, n - after) - 1, and 1000 at most
//! ```
//!
//! A service that begins takes its time times the factor, n being those at work then, itself among them.
//! With a knee a backend does less the more is asked of it: too large a window costs goodput and not only
//! latency, as with locks, caches that no longer hold it all, or memory that is swapped out. The tests of
//! Vector's adaptive concurrency have such a backend: a slope, and an exponential knee.
//!
//! Worked numbers: 10 ms alone, `knee: { after: 20, grows: 10% }`. The 20th takes 10 ms, the 30th
//! 10 ms x 1.1^10 = 25.94 ms, the 40th 67.27 ms. All together do n / factor(n) x 100 a second: 2000 with 20 at
//! work, which is the best, 1157 with 30, 595 with 40.

use crate::control::Invalid;
use crate::quantity::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most times as long that a service takes.
const FACTOR_MAX: f64 = 1000.0;

/// What those at work do to each other's service times. Nothing, if left out.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Contention {
    /// By how much of its time each other one makes a service longer, below 100%.
    pub linear: Share,
    /// From where on it grows by a share of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
}

/// From how many at work on each further one makes the service times of all longer by a share of what they are.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Knee {
    /// The most at work that do without it, 1 or more.
    #[schemars(range(min = 1), example = &20)]
    pub after: u32,
    /// The share, above 0%.
    pub grows: Share,
}

impl Default for Contention {
    fn default() -> Self {
        Self { linear: Share::NONE, knee: None }
    }
}

impl Contention {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// How many times as long a service takes that begins as one of `at_work`, 1 or more.
    pub fn factor(&self, at_work: u32) -> f64 {
        let others = f64::from(at_work.saturating_sub(1));
        let beyond = |knee: Knee| f64::from(at_work.saturating_sub(knee.after));
        let grown = |knee: Knee| libm::pow(1.0 + knee.grows.get(), beyond(knee));
        let factor = self.linear.get() * others + self.knee.map_or(1.0, grown);
        factor.min(FACTOR_MAX)
    }

    /// How many at work, of `servers`, do the most in a time: n / factor(n) rises up to there and falls
    /// from there on, since the factor is convex.
    pub fn best(&self, servers: u32) -> u32 {
        let Some(knee) = self.knee else { return servers };
        let speed = |at_work: u32| f64::from(at_work) / self.factor(at_work);
        let last = servers.max(1);
        let mut best = knee.after.clamp(1, last);
        while best < last && speed(best + 1) > speed(best) {
            best += 1;
        }
        best
    }

    /// Settings that an experiment file should not contain.
    pub fn invalid(&self) -> Option<Invalid> {
        let (field, message) = if self.linear.get() >= 1.0 {
            ("linear", "at 100% two do no more than one; write less, such as 2%")
        } else if self.knee.is_some_and(|knee| knee.after == 0) {
            ("knee/after", "nobody is at work then; write 1 or more")
        } else if self.knee.is_some_and(|knee| knee.grows.get() <= 0.0) {
            ("knee/grows", "at 0% nothing grows; write more, such as 10%, or leave out `knee`")
        } else {
            return None;
        };
        Some(Invalid { field, message: message.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contention(linear: u8, knee: Option<(u32, u8)>) -> Contention {
        let knee = knee.map(|(after, grows)| Knee { after, grows: Share::percent(grows) });
        Contention { linear: Share::percent(linear), knee }
    }

    #[test]
    fn factors_by_hand() {
        for (linear, knee, at_work, factor) in [
            (0, None, 1000, 1.0),
            (2, None, 1, 1.0),
            (2, None, 51, 2.0),
            (0, Some((20, 10)), 20, 1.0),
            (0, Some((20, 10)), 30, 2.593_742_460_1),
            (0, Some((20, 10)), 40, 6.727_499_949_325_6),
            (1, Some((20, 10)), 30, 2.593_742_460_1 + 0.29),
            (0, Some((1, 100)), 4, 8.0),
            (0, Some((1, 100)), 4_000_000_000, 1000.0),
        ] {
            let is = contention(linear, knee).factor(at_work);
            assert!((is - factor).abs() < 1e-9, "{linear} {knee:?} {at_work}: {is}");
        }
    }

    #[test]
    fn the_best_number_at_work_is_that_of_a_search() {
        for linear in [0, 1, 50] {
            for (after, grows) in [(1, 1), (1, 100), (20, 2), (20, 10), (500, 1)] {
                let contention = contention(linear, Some((after, grows)));
                let speed = |at_work: u32| f64::from(at_work) / contention.factor(at_work);
                for servers in [1, 7, 20, 40, 600] {
                    let found = (1..=servers).max_by(|a, b| speed(*a).total_cmp(&speed(*b)));
                    let found = speed(found.unwrap());
                    let best = speed(contention.best(servers));
                    assert!(
                        (best - found).abs() < 1e-9,
                        "{contention:?} {servers}: {best} {found}"
                    );
                }
            }
            assert_eq!(contention(linear, None).best(64), 64);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_cure() {
        for (linear, knee, field) in [
            (99, None, None),
            (100, None, Some("linear")),
            (0, Some((0, 10)), Some("knee/after")),
            (0, Some((1, 0)), Some("knee/grows")),
            (0, Some((1, 100)), None),
        ] {
            let invalid = contention(linear, knee).invalid().map(|invalid| invalid.field);
            assert_eq!(invalid, field, "{linear} {knee:?}");
        }
    }
}
