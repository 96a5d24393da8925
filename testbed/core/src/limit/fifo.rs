//! `fifo`: tickets. Who asked first goes first; nobody bypasses a line.
//!
//! A waiter passes its task's limit, then its queue's, then the global one, and stands in one line
//! at each, so a head that its own task holds back blocks nobody else. Only the head of a line has
//! a timer, for the instant at which the bucket has what it needs:
//!
//! ```text
//! quoted = now + ceil((bytes ahead + n - tokens) / rate)       the latest over the levels ahead
//! ```
//!
//! Worked numbers: 32 waiters of 16 KiB at 4 MiB/s wait 32 x 3.90625 ms = 125 ms each round, and
//! so does every waiter who asks again after its grant.
//!
//! A cost beyond the capacity hangs, with all behind it, unless `oversize: instalments`: then the
//! head takes what a full bucket holds, again and again (`request_bytes -= available` in RocksDB's
//! `util/rate_limiter.cc`).

mod running;

pub use running::Fifo;

use super::lateness::Lateness;
use super::{Guarantees, Invalid, Level, LevelsConfig, Policy};
use crate::rng::Streams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a cost beyond a bucket's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Oversize {
    /// It waits for ever, and so do all behind it.
    #[default]
    Hang,
    /// It pays in instalments of the capacity.
    Instalments,
}

/// What becomes of the ticket of a waiter who gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnCancel {
    /// It is gone; who asks again stands at the tail.
    #[default]
    DropTicket,
    /// It is kept for the waiter's next ask, which finds its old place.
    KeepTicket,
}

/// Settings of `fifo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The limits.
    pub levels: LevelsConfig,
    /// What becomes of a cost beyond a bucket's capacity.
    #[serde(default)]
    pub oversize: Oversize,
    /// What becomes of the ticket of a waiter who gives up.
    #[serde(default)]
    pub on_cancel: OnCancel,
    /// How late the head's timer fires.
    #[serde(default)]
    pub lateness: Lateness,
}

impl Policy for Config {
    type Limiter = Fifo;
    const ABOUT: &'static str = "tickets: first come first served, one timer at the head";

    fn over(levels: &LevelsConfig) -> Self {
        Self {
            levels: levels.clone(),
            oversize: Oversize::default(),
            on_cancel: OnCancel::default(),
            lateness: Lateness::default(),
        }
    }

    fn levels(&self) -> Option<&LevelsConfig> {
        Some(&self.levels)
    }

    fn build(&self, streams: &Streams) -> Fifo {
        Fifo::new(self, streams)
    }

    fn guarantees(&self) -> Guarantees {
        let order = self.levels.is_single() && self.on_cancel == OnCancel::DropTicket;
        let on_time = self.levels.is_exact() && self.lateness == Lateness::None;
        Guarantees { quotes: order && on_time, order, rate: true }
    }

    fn hangs(&self, cost: u64) -> Option<Level> {
        match self.oversize {
            Oversize::Hang => self.levels.too_small_for(cost),
            Oversize::Instalments => None,
        }
    }

    fn invalid(&self) -> Vec<Invalid> {
        self.lateness.invalid()
    }
}

#[cfg(test)]
mod tests;
