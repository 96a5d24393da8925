//! Feedback of requests with all their attempts, as callers have it whose retries are inside of admission.

use crate::request::Sample;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the law is told of a request that may be tried several times. Where the outcome is that of the
/// sequence it is told once a request, at its end; else at the end of each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerRequest {
    /// Whose round-trip time.
    pub rtt: Scope,
    /// Whose outcome.
    pub outcome: Scope,
}

/// A sequence of attempts, or one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// From the first attempt's admission to the end of the last, back-offs included.
    Sequence,
    /// One attempt, the last that there was.
    Attempt,
}

impl PerRequest {
    /// What of an attempt that has ended is told, if anything. The first of its sequence was admitted
    /// at `since`, and there is another one `again`, or not.
    pub(super) fn told(self, sample: Sample, since: Time, again: bool) -> Option<Sample> {
        let start = match self.rtt {
            Scope::Sequence => since,
            Scope::Attempt => sample.start,
        };
        let now = self.outcome == Scope::Attempt || !again;
        now.then_some(Sample { start, ..sample })
    }
}
