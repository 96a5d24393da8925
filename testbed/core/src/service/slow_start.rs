//! A backend that has just been started: its servers are slow at first and get faster.

use super::Service;
use crate::control::Invalid;
use crate::quantity::Share;
use crate::time::{Nanos, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A slow start: from the moment it is switched on, the speed of the servers grows linearly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowStart {
    /// The speed at first, a share of the full one above 0%. What a server takes for a request is
    /// its service time over the speed at which it begins.
    pub from: Share,
    /// How long it takes to the full speed, above 0s.
    pub over: Nanos,
}

impl SlowStart {
    /// Every setting that cannot work, by field. Empty if it can be carried out.
    pub fn invalid(&self) -> Vec<Invalid> {
        let from = (self.from.get() <= 0.0)
            .then_some(("from", "at a speed of 0% nothing is ever done; write more, such as 10%"));
        let over = (self.over == Nanos::ZERO)
            .then_some(("over", "a start of 0s is not slow; write how long, such as 10s"));
        let found = [from, over].into_iter().flatten();
        found.map(|(field, message)| Invalid { field, message: message.to_owned() }).collect()
    }

    /// The speed when it has been on for so long, a share of 1.
    fn speed(&self, age: Nanos) -> f64 {
        let from = self.from.get();
        if age >= self.over {
            return 1.0;
        }
        from + (1.0 - from) * (age.get() as f64 / self.over.get() as f64)
    }
}

/// A slow start that is on.
#[derive(Debug)]
pub(super) struct Warming {
    name: String,
    start: SlowStart,
    since: Time,
}

impl<J> Service<J> {
    /// Makes these, and no others, the slow starts that are on, by name. One that was on already
    /// goes on; the slowest counts.
    pub fn set_slow_starts(&mut self, now: Time, starts: &[(String, SlowStart)]) {
        self.warming.retain(|warm| starts.iter().any(|(name, _)| *name == warm.name));
        for (name, start) in starts {
            if !self.warming.iter().any(|warm| warm.name == *name) {
                let (name, start) = (name.clone(), start.clone());
                self.warming.push(Warming { name, start, since: now });
            }
        }
    }

    /// The names of slow starts that are on.
    pub(super) fn slow_starts(&self) -> impl Iterator<Item = &str> {
        self.warming.iter().map(|warm| warm.name.as_str())
    }

    /// How many times as long a service takes that begins at `now` beside all that are at work.
    pub(super) fn slowdown(&self, now: Time) -> f64 {
        let speeds = self.warming.iter().map(|warm| warm.start.speed(now.since(warm.since)));
        let contention = self.config.contention.factor(self.busy);
        contention * self.holder.scale() / speeds.fold(1.0, f64::min)
    }
}
