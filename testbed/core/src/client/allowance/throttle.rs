//! A retry throttle: no retries while too much fails, as in gRPC (proposal A6, "Throttling retry
//! attempts").

use crate::quantity::Share;
use crate::request::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token as it is counted: in thousandths, which is as fine as gRPC's ratio may be.
const TOKEN: u64 = 1000;

/// The throttle's settings, with gRPC's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// Tokens at first, and at most, 1 to 1000. Each attempt that fails takes one; there are retries
    /// while more than half of so many are there.
    #[schemars(range(min = 1, max = 1000))]
    pub max_tokens: u32,
    /// What each attempt that succeeds brings, a share of a token; counted in thousandths.
    pub token_ratio: Share,
    /// Whether successes bring tokens up to `max_tokens` only. `false` is a mutation: good times are
    /// saved up without end (gRPC's proposal 27 warns of it).
    #[serde(default = "clamped")]
    pub clamp: bool,
}

const fn clamped() -> bool {
    true
}

/// The throttle at work.
#[derive(Debug)]
pub(super) struct Running {
    /// What there is, in thousandths; so are the others.
    tokens: u64,
    most: u64,
    /// There are retries above it.
    half: u64,
    ratio: u64,
}

impl Running {
    pub(super) fn new(config: Throttle) -> Self {
        let tokens = u64::from(config.max_tokens) * TOKEN;
        let most = if config.clamp { tokens } else { u64::MAX };
        let ratio = libm::round(config.token_ratio.get() * TOKEN as f64) as u64;
        Self { tokens, most, half: tokens / 2, ratio }
    }

    pub(super) fn on_end(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Success => self.tokens = self.tokens.saturating_add(self.ratio).min(self.most),
            Outcome::Overload | Outcome::Error | Outcome::Timeout => {
                self.tokens = self.tokens.saturating_sub(TOKEN);
            }
            Outcome::Cancelled => {}
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.tokens > self.half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_of_ten_tokens_end_retries_and_ten_successes_bring_one_back() {
        let config = Throttle { max_tokens: 10, token_ratio: Share::percent(10), clamp: true };
        let mut throttle = Running::new(config);
        let steps = [
            (4, Outcome::Error, true),
            (1, Outcome::Timeout, false),
            (3, Outcome::Overload, false),
            (30, Outcome::Success, false),
            (1, Outcome::Success, true),
            // However many succeed, there are no more than ten: the fifth failure ends it again.
            (1_000_000, Outcome::Success, true),
            (4, Outcome::Error, true),
            (1, Outcome::Error, false),
        ];
        for (times, outcome, open) in steps {
            (0..times).for_each(|_| throttle.on_end(outcome));
            assert_eq!(throttle.is_open(), open, "after {times} of {outcome:?}");
        }
    }

    #[test]
    fn without_a_clamp_a_success_is_never_lost() {
        let config = Throttle { max_tokens: 10, token_ratio: Share::percent(10), clamp: false };
        let mut throttle = Running::new(config);
        // 10 and a tenth of 4950 are 505 tokens; there are retries while more than 5 are left.
        for (times, outcome, open) in [
            (4950, Outcome::Success, true),
            (499, Outcome::Error, true),
            (1, Outcome::Error, false),
        ] {
            (0..times).for_each(|_| throttle.on_end(outcome));
            assert_eq!(throttle.is_open(), open, "after {times} of {outcome:?}");
        }
    }
}
