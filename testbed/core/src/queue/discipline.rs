//! Who of those that wait is next.

use crate::codel::{Codel, Control};
use crate::rng::{Rng, Streams};
use crate::time::{Nanos, Time};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who of those that wait for the gate is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueDiscipline {
    /// First come, first served.
    #[default]
    Fifo,
    /// Last come, first served: in an overload some go at once, and the others never.
    Lifo,
    /// Whoever is first to look: all that wait are woken for each place and race for it, newcomers among
    /// them, and chance decides.
    Barging,
    /// First come, first served, but last come, first served while the queue does not get empty.
    AdaptiveLifo(AdaptiveLifo),
    /// First come, first served, but what has waited too long for too long is turned away.
    Codel(Codel),
}

/// Settings of adaptive LIFO (Maurer, "Fail at Scale", 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveLifo {
    /// The newest goes first once the queue has not been empty for longer than this.
    pub after: Nanos,
}

impl Default for AdaptiveLifo {
    /// After which a queue counts as standing in that article.
    fn default() -> Self {
        Self { after: Nanos::from_millis(100) }
    }
}

impl QueueDiscipline {
    /// Every discipline with its default settings.
    pub fn all() -> [Self; 5] {
        let (adaptive, codel) = (AdaptiveLifo::default(), Codel::default());
        [Self::Fifo, Self::Lifo, Self::Barging, Self::AdaptiveLifo(adaptive), Self::Codel(codel)]
    }
}

/// A discipline at work.
#[derive(Debug)]
pub(super) enum Order {
    Fifo,
    Lifo,
    Barging(Rng),
    AdaptiveLifo {
        after: Nanos,
        /// Since when the queue has not been empty.
        stands_since: Time,
    },
    Codel(Codel, Control),
}

impl Order {
    pub(super) fn new(discipline: QueueDiscipline, streams: &Streams) -> Self {
        match discipline {
            QueueDiscipline::Fifo => Self::Fifo,
            QueueDiscipline::Lifo => Self::Lifo,
            QueueDiscipline::Barging => Self::Barging(streams.stream("queue")),
            QueueDiscipline::AdaptiveLifo(AdaptiveLifo { after }) => {
                Self::AdaptiveLifo { after, stands_since: Time::ZERO }
            }
            QueueDiscipline::Codel(codel) => Self::Codel(codel, Control::default()),
        }
    }

    /// A request comes into an empty queue.
    pub(super) const fn begins(&mut self, now: Time) {
        if let Self::AdaptiveLifo { stands_since, .. } = self {
            *stands_since = now;
        }
    }

    /// The place of the one that is next, of `len` in the order in which they came and of those that may go.
    pub(super) fn pick(
        &mut self,
        now: Time,
        len: usize,
        may_go: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let newest_first = match self {
            Self::Barging(rng) => return race(rng, len, may_go),
            Self::Lifo => true,
            Self::AdaptiveLifo { after, stands_since } => now.since(*stands_since) > *after,
            Self::Fifo | Self::Codel(..) => false,
        };
        if newest_first {
            (0..len).rev().find(|at| may_go(*at))
        } else {
            (0..len).find(|at| may_go(*at))
        }
    }

    /// How many of `len` that wait look at a place that one of them gets.
    pub(super) const fn looks(&self, len: usize) -> u64 {
        if matches!(self, Self::Barging(_)) { len as u64 } else { 1 }
    }

    /// Whether the request whose turn it is has waited too long; `others` wait beside it.
    pub(super) fn drops(&mut self, now: Time, waited: Nanos, others: usize) -> bool {
        match self {
            Self::Codel(codel, control) => control.drops(*codel, now, waited, others),
            _ => false,
        }
    }
}

/// Each of those that may go wins alike.
fn race(rng: &mut Rng, len: usize, may_go: impl Fn(usize) -> bool) -> Option<usize> {
    let racers = (0..len).filter(|at| may_go(*at)).count();
    let winner = (racers > 0).then(|| rng.random_range(0..racers))?;
    (0..len).filter(|at| may_go(*at)).nth(winner)
}
