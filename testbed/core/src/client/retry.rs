//! Retries: when a client tries again what failed.

use super::allowance::{Allowances, Budget, Quota, Throttle, UnderWay};
use super::{ClientConfig, Patience};
use crate::back_off::doubled;
use crate::control::Invalid;
use crate::quantity::Share;
use crate::request::{Arrival, Outcome};
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How clients try again what ended as overload, error or timeout. What their admission turned away is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryConfig {
    /// Attempts after the first, 1 or more.
    #[schemars(range(min = 1, max = 1000))]
    pub times: u32,
    /// The first back-off; the next ones double.
    #[serde(default = "first")]
    pub first: Nanos,
    /// The longest back-off.
    #[serde(default = "at_most")]
    pub at_most: Nanos,
    /// How much of a back-off is chance. Of a back-off of 100ms, 50% leaves 50ms to 100ms.
    #[serde(default = "no_jitter")]
    pub jitter: Share,
    /// What is made of a Retry-After header.
    #[serde(default)]
    pub retry_after: RetryAfterUse,
    /// How many retries there may be for so many requests; any number, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Tokens that retries cost and successes bring back; not counted, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// No retries while too much fails; they go on, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Throttle>,
}

/// What a client makes of a Retry-After header that it can read. One that it cannot read is as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfterUse {
    /// Nothing: it backs off as if there were none.
    #[default]
    Ignore,
    /// It waits as long as it is told, however long; the back-off's jitter comes on top.
    Honour,
    /// The same, but it waits this long at most, before jitter.
    AtMost(Nanos),
}

const fn first() -> Nanos {
    Nanos::from_millis(100)
}

const fn at_most() -> Nanos {
    Nanos::from_secs(10)
}

const fn no_jitter() -> Share {
    Share::NONE
}

impl RetryConfig {
    pub(super) fn invalid(&self) -> Vec<Invalid> {
        let mut invalid = Vec::new();
        if self.first == Nanos::ZERO {
            let message = "a back-off of 0s would spin; write 100ms or so".to_owned();
            invalid.push(Invalid { field: "retry/first", message });
        }
        if self.at_most < self.first {
            let message = format!("the longest back-off is shorter than the first, {}", self.first);
            invalid.push(Invalid { field: "retry/at_most", message });
        }
        invalid.extend(self.budget.as_ref().and_then(Budget::invalid));
        invalid
    }

    fn allowances(&self) -> Allowances {
        Allowances::new(self.budget.clone(), self.quota.clone(), self.throttle.clone())
    }

    /// How long a client waits before its next attempt. `told` is what the answer asked for, and
    /// `chance` is within 0 to 1. Worked: first 100ms, jitter 50%, chance 0.5, second retry: the
    /// back-off is 200ms, of which 50ms are taken away: 150ms. Told 2s and honouring it: 2s + 50ms.
    fn wait(&self, retries: u32, told: Option<Nanos>, chance: f64) -> Nanos {
        let back_off = doubled(self.first, self.at_most, retries);
        let jitter = back_off.scaled(self.jitter.get() * chance);
        match (self.retry_after, told) {
            (RetryAfterUse::Honour, Some(told)) => told.plus(jitter),
            (RetryAfterUse::AtMost(most), Some(told)) => told.min(most).plus(jitter),
            _ => back_off.minus(jitter),
        }
    }
}

/// The requests of an arm that wait for their next attempt.
#[derive(Debug)]
pub struct Retries {
    config: Option<RetryConfig>,
    patience: Patience,
    allowances: Allowances,
    rng: Rng,
    /// By instant, then by the order in which they were put in.
    due: BTreeMap<(Time, u64), Arrival>,
    planned: u64,
}

impl Retries {
    /// Nobody waits. Jitter is drawn from the stream `retry`.
    pub fn new(client: &ClientConfig, streams: &Streams) -> Self {
        let config = client.retry.clone();
        Self {
            patience: client.patience(),
            allowances: config.as_ref().map(RetryConfig::allowances).unwrap_or_default(),
            config,
            rng: streams.stream("retry"),
            due: BTreeMap::new(),
            planned: 0,
        }
    }

    /// An attempt of `arrival` ended at `now`, with an answer that asked for `told`; with it so many
    /// `attempts` waited for admission or were in flight. After how long it is tried again; `None` if
    /// it is over.
    pub fn plan(
        &mut self,
        now: Time,
        arrival: Arrival,
        outcome: Outcome,
        told: Option<Nanos>,
        attempts: u32,
    ) -> Option<Nanos> {
        self.allowances.on_end(now, &arrival, outcome);
        let failed = matches!(outcome, Outcome::Overload | Outcome::Error | Outcome::Timeout);
        let config =
            self.config.as_ref().filter(|config| failed && arrival.attempt < config.times)?;
        let wait = config.wait(arrival.attempt, told, self.rng.random());
        let at = now.after(wait);
        let scheduled = self.due.len() as u64;
        let under_way = UnderWay { attempts: attempts.into(), scheduled };
        if self.patience.is_over(&arrival, at)
            || !self.allowances.take(now, &arrival, outcome, under_way)
        {
            return None;
        }
        self.due.insert((at, self.planned), arrival.again(at));
        self.planned += 1;
        Some(wait)
    }

    /// A request is over without a further attempt.
    pub fn forget(&mut self, arrival: &Arrival) {
        self.allowances.forget(arrival);
    }

    /// When the next attempt is planned.
    pub fn next_wake(&self) -> Option<Time> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next attempt that is due at `now`; ask until there is none.
    pub fn take(&mut self, now: Time) -> Option<Arrival> {
        let due = self.due.first_entry().filter(|due| due.key().0 <= now)?;
        let arrival = due.remove();
        self.allowances.on_retry(&arrival);
        Some(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ActiveBudget, Counted};
    use super::*;

    const TOLD: Option<Nanos> = Some(Nanos::from_secs(2));

    fn config(jitter: f64, retry_after: RetryAfterUse) -> RetryConfig {
        let jitter = Share::new(jitter).unwrap();
        let (first, at_most) = (first(), at_most());
        let (budget, quota, throttle) = (None, None, None);
        RetryConfig { times: 3, first, at_most, jitter, retry_after, budget, quota, throttle }
    }

    fn client(retry: Option<RetryConfig>) -> ClientConfig {
        ClientConfig { retry, ..ClientConfig::default() }
    }

    #[test]
    fn waits_are_back_offs_or_what_was_told() {
        use RetryAfterUse::{AtMost, Honour, Ignore};
        let second = AtMost(Nanos::from_secs(1));
        // jitter, retry_after, retries, told, chance -> milliseconds
        for (jitter, retry_after, retries, told, chance, ms) in [
            (0.0, Ignore, 0, None, 0.9, 100),
            (0.0, Ignore, 2, TOLD, 0.9, 400),
            (0.0, Ignore, 30, None, 0.9, 10_000),
            (0.5, Ignore, 1, None, 0.5, 150),
            (1.0, Ignore, 1, None, 1.0, 0),
            (0.0, Honour, 0, None, 0.9, 100),
            (0.0, Honour, 5, TOLD, 0.9, 2000),
            (0.5, Honour, 1, TOLD, 0.5, 2050),
            (0.0, Honour, 0, Some(Nanos::ZERO), 0.9, 0),
            (0.0, second, 0, TOLD, 0.9, 1000),
            (0.0, second, 0, Some(Nanos::from_millis(3)), 0.9, 3),
        ] {
            let wait = config(jitter, retry_after).wait(retries, told, chance);
            let row = (jitter, retry_after, retries, told, chance);
            assert_eq!(wait, Nanos::from_millis(ms), "{row:?}");
        }
    }

    #[test]
    fn what_failed_is_tried_again_in_order_and_only_so_often() {
        let config = config(0.0, RetryAfterUse::Ignore);
        let mut retries = Retries::new(&client(Some(config)), &Streams::new(1));
        let first = Arrival::new(4, 2, Time::ZERO);
        let ms = |ms| Time::ZERO.after(Nanos::from_millis(ms));
        for outcome in [Outcome::Success, Outcome::Cancelled] {
            assert_eq!(retries.plan(ms(1), first, outcome, None, 1), None);
        }
        assert!(retries.plan(ms(1), first, Outcome::Overload, None, 1).is_some());
        assert!(retries.plan(ms(1), Arrival::new(5, 0, ms(0)), Outcome::Error, None, 1).is_some());
        assert_eq!((retries.next_wake(), retries.take(ms(100))), (Some(ms(101)), None));
        let second = retries.take(ms(101)).unwrap();
        assert_eq!((second.id, second.attempt, second.planned), (4, 1, ms(101)));
        assert_eq!((second.first, second.client), (Time::ZERO, 2));
        assert_eq!(retries.take(ms(101)).unwrap().id, 5);
        let last = Arrival { attempt: 3, ..first };
        assert_eq!(retries.plan(ms(101), last, Outcome::Timeout, None, 1), None);
    }

    #[test]
    fn nothing_is_tried_again_that_would_come_after_its_deadline_or_has_no_leave() {
        let quota = Quota { capacity: 10, ..Quota::default() };
        let retry = RetryConfig { quota: Some(quota), ..config(0.0, RetryAfterUse::Ignore) };
        let deadline = Some(Nanos::from_millis(150));
        let client = ClientConfig { deadline, ..client(Some(retry)) };
        let mut retries = Retries::new(&client, &Streams::new(1));
        let ms = |ms| Time::ZERO.after(Nanos::from_millis(ms));
        let mut plan = |id, at| {
            let arrival = Arrival::new(id, 0, Time::ZERO);
            retries.plan(ms(at), arrival, Outcome::Error, None, 1).is_some()
        };
        // A back-off of 100 ms: at 49 ms it is just in time. What is not tried costs nothing.
        let tried = [plan(0, 50), plan(1, 49), plan(2, 49), plan(3, 49)];
        assert_eq!(tried, [false, true, true, false], "two of 5 tokens each");
    }

    #[test]
    fn a_budget_of_what_is_active_binds_a_wave_of_failures_only_if_it_counts_back_offs() {
        for (counts, allowed) in [(Counted::Running, 1000), (Counted::Scheduled, 200)] {
            let active = ActiveBudget { active: Share::percent(20), at_least: 3, counts };
            let budget = Some(Budget::Active(active));
            let retry = RetryConfig { budget, ..config(0.0, RetryAfterUse::Ignore) };
            let mut retries = Retries::new(&client(Some(retry)), &Streams::new(1));
            let mut fail = |id: u32| {
                let arrival = Arrival::new(id.into(), 0, Time::ZERO);
                retries.plan(Time::ZERO, arrival, Outcome::Error, None, 1000 - id).is_some()
            };
            assert_eq!((0..1000).filter(|id| fail(*id)).count(), allowed, "{counts:?}");
        }
    }

    #[test]
    fn without_retries_nothing_is_tried_again() {
        let mut retries = Retries::new(&client(None), &Streams::new(1));
        let arrival = Arrival::new(0, 0, Time::ZERO);
        assert_eq!(retries.plan(Time::ZERO, arrival, Outcome::Error, TOLD, 1), None);
        assert_eq!((retries.next_wake(), retries.due.len()), (None, 0));
    }
}
