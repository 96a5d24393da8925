//! CoDel, controlled delay: first come, first served, but what has waited too long for too long is turned
//! away at its turn.

mod folly;
mod rfc8289;

use crate::control::Invalid;
use crate::time::{Nanos, Time};
use folly::Folly;
use rfc8289::Rfc8289;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Codel {
    /// A wait that is acceptable for long.
    pub target: Nanos,
    /// For how long waits may be above it before the first request is turned away. Above 0s.
    pub interval: Nanos,
    /// Who is turned away then.
    pub rule: CodelRule,
}

/// Whom CoDel turns away while waits are too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodelRule {
    /// One, and the n-th `interval / sqrt(n)` after the one before it; never the last that waits.
    #[default]
    Rfc8289,
    /// Once even the least wait of an interval was above the target, all that have waited longer than twice
    /// the target, until an interval with a lesser one.
    Folly,
}

impl Default for Codel {
    /// The times of RFC 8289, section 4.
    fn default() -> Self {
        let (target, interval) = (Nanos::from_millis(5), Nanos::from_millis(100));
        Self { target, interval, rule: CodelRule::Rfc8289 }
    }
}

impl Codel {
    /// Settings that an experiment file should not contain.
    pub fn invalid(self) -> Option<Invalid> {
        let message = "an interval of 0s turns everybody away; write 100ms or so".to_owned();
        (self.interval == Nanos::ZERO).then_some(Invalid { field: "interval", message })
    }
}

/// What CoDel remembers of one queue.
#[derive(Debug, Default)]
pub(crate) struct Control {
    rfc8289: Rfc8289,
    folly: Folly,
}

impl Control {
    /// Whether to turn away the request whose turn it is at `now`, which has waited so long; `others` wait
    /// behind it. Asked once for each.
    pub(crate) fn drops(&mut self, codel: Codel, now: Time, waited: Nanos, others: usize) -> bool {
        match codel.rule {
            CodelRule::Rfc8289 => self.rfc8289.drops(codel, now, waited, others),
            CodelRule::Folly => self.folly.drops(codel, now, waited),
        }
    }
}
