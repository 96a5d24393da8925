//! Feedback: which samples reach the controller, and when.
//!
//! Some callers tell their controller of each response; others look at responses in batches, as
//! Velox's operator does. What a law sees of a storm depends on it: 96 rejections are 96 halvings
//! one by one, and a single one when they are drained together.

mod per_request;

pub use per_request::{PerRequest, Scope};

use crate::request::{Outcome, Sample};
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How responses are fed to the controller.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackConfig {
    /// Each response by itself, at once.
    #[default]
    PerResponse,
    /// Responses are drained together. A drain with an overload gives one overload signal and none
    /// of its RTTs; any other gives all of its RTTs (Velox, `RPCOperator.cpp` `recordCongestion`).
    PerDrain(Drain),
    /// A request is one of the window from its first admission to its end, through all its attempts
    /// and the back-offs between them: its retries do not wait for admission. What the law is told of
    /// it is said by itself.
    PerRequest(PerRequest),
}

/// How a caller drains responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drain {
    /// From the first response that is ready until the caller takes all that are ready then. 0s
    /// takes those of the same instant.
    pub turnaround: Nanos,
    /// The most responses in a drain, 1 or more (Velox: `preferredOutputBatchRows`, 1024).
    #[serde(default = "most_in_a_drain")]
    pub at_most: u32,
    /// Which responses of a drain without an overload the controller is told of.
    #[serde(default)]
    pub tell: Tell,
}

/// Which responses of a drain without an overload the controller is told of.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// All of them.
    #[default]
    All,
    /// Those that are no success, and of the successes the first: a batch counts as one (quinn,
    /// issue 975, before its fix).
    First,
}

const fn most_in_a_drain() -> u32 {
    1024
}

/// The running feedback.
#[derive(Debug)]
pub struct Feedback {
    drain: Option<Drain>,
    per_request: Option<PerRequest>,
    ready: Vec<Sample>,
    due: Option<Time>,
    drained: VecDeque<Sample>,
}

impl Feedback {
    /// Feedback with nothing pending.
    pub fn new(config: &FeedbackConfig) -> Self {
        let (drain, per_request) = match config {
            FeedbackConfig::PerResponse => (None, None),
            FeedbackConfig::PerDrain(drain) => (Some(drain.clone()), None),
            FeedbackConfig::PerRequest(per_request) => (None, Some(*per_request)),
        };
        Self { drain, per_request, ready: Vec::new(), due: None, drained: VecDeque::new() }
    }

    /// Whether a request keeps its place in the window between its attempts.
    pub const fn keeps_places(&self) -> bool {
        self.per_request.is_some()
    }

    /// What there is to tell of an attempt that has ended, to be offered then. The first of its
    /// request was admitted at `since`, and it is tried `again`, or not.
    pub fn told(&self, sample: Sample, since: Time, again: bool) -> Option<Sample> {
        match self.per_request {
            Some(per_request) => per_request.told(sample, since, again),
            None => Some(sample),
        }
    }

    /// Takes a response in. Returns it if the controller is to be told at once.
    pub fn offer(&mut self, now: Time, sample: Sample) -> Option<Sample> {
        let Some(drain) = &self.drain else {
            return Some(sample);
        };
        self.ready.push(sample);
        let full = self.ready.len() >= drain.at_most as usize;
        let due = now.after(if full { Nanos::ZERO } else { drain.turnaround });
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        None
    }

    /// When the next drain is due.
    pub const fn next_wake(&self) -> Option<Time> {
        self.due
    }

    /// The next sample of a drain that is due at `now`; ask until there is none.
    pub fn take(&mut self, now: Time) -> Option<Sample> {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.drain();
        }
        self.drained.pop_front()
    }

    fn drain(&mut self) {
        let overload =
            self.ready.iter().find(|sample| sample.outcome == Outcome::Overload).copied();
        match overload {
            Some(overload) => self.drained.push_back(overload),
            None => {
                self.thin();
                self.drained.extend(self.ready.iter());
            }
        }
        self.ready.clear();
    }

    /// Leaves of what is ready the responses that are told.
    fn thin(&mut self) {
        let tell = self.drain.as_ref().map_or(Tell::All, |drain| drain.tell);
        let mut told = false;
        self.ready.retain(|sample| {
            let again = sample.outcome == Outcome::Success && std::mem::replace(&mut told, true);
            tell == Tell::All || !again
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(limit_at_start: u64, outcome: Outcome) -> Sample {
        Sample {
            start: Time::ZERO,
            sent: Time::ZERO,
            end: Time::ZERO,
            in_flight_at_start: 1,
            in_flight_at_end: 1,
            limit_at_start,
            outcome,
            bytes: 0,
        }
    }

    /// Which of the responses, by number, the controller is told of if they are drained together.
    fn told(tell: Tell, outcomes: &[Outcome]) -> Vec<u64> {
        let drain = Drain { turnaround: Nanos::ZERO, at_most: 1024, tell };
        let mut feedback = Feedback::new(&FeedbackConfig::PerDrain(drain));
        for (number, outcome) in (0..).zip(outcomes) {
            assert_eq!(feedback.offer(Time::ZERO, sample(number, *outcome)), None);
        }
        let take = || feedback.take(Time::ZERO).map(|sample| sample.limit_at_start);
        std::iter::from_fn(take).collect()
    }

    #[test]
    fn of_a_drain_all_are_told_or_of_its_successes_the_first() {
        use Outcome::{Error, Overload, Success, Timeout};
        for (outcomes, all, first) in [
            (&[Success, Success, Success][..], &[0, 1, 2][..], &[0][..]),
            (&[Timeout, Success, Error, Success, Timeout], &[0, 1, 2, 3, 4], &[0, 1, 2, 4]),
            (&[Success, Overload, Success, Overload], &[1], &[1]),
        ] {
            assert_eq!(told(Tell::All, outcomes), all, "{outcomes:?}");
            assert_eq!(told(Tell::First, outcomes), first, "{outcomes:?}");
        }
    }
}
