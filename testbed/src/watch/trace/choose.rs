//! Which requests and waits for tokens get a trace. It is decided when they have ended, so that what went
//! wrong is known.

use std::collections::BTreeSet;
use testbed_core::request::{Attempt, Outcome};
use testbed_core::time::{Nanos, Time};
use testbed_core::wait::WaitEnd;

/// Who waited longer for admission is chosen, or for tokens beyond what a fair queue would have made of it.
const LONG: Nanos = Nanos::from_millis(100);
/// So many requests or asks of each arm are chosen after each switch of a fault, the first to come.
const AFTER_EDGE: usize = 20;
/// So many traces of an arm are made in a second of the run of what is remarkable, and as many of what is
/// not: one cannot crowd out the other.
const PER_SECOND: u32 = 100;

/// How a request ended, or that it never began; or how a wait for tokens did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// Turned away: the queue was full, or the law did not accept it.
    Rejected,
    /// Turned away after it had waited.
    Dropped,
    /// It still waited when the run ended.
    Abandoned,
    /// It was sent, and ended like this.
    Ended(Outcome),
    /// It was a wait for tokens, and ended like this.
    Waited(WaitEnd),
}

impl How {
    /// Its name, as metrics have it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Dropped => "dropped",
            Self::Abandoned => "abandoned",
            Self::Ended(outcome) => outcome.name(),
            Self::Waited(end) => end.name(),
        }
    }

    /// Whether it went wrong. What is cut off by the end of the run did not.
    pub(super) const fn is_bad(self) -> bool {
        match self {
            Self::Rejected | Self::Dropped => true,
            Self::Abandoned | Self::Waited(_) => false,
            Self::Ended(outcome) => {
                matches!(outcome, Outcome::Overload | Outcome::Error | Outcome::Timeout)
            }
        }
    }
}

/// Why a request or a wait was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// It went wrong.
    Bad,
    /// It waited long.
    Waited,
    /// It waited for tokens when the run ended.
    CutOff,
    /// A fault had just been switched when it came.
    Edge,
    /// It is one of the share of all.
    Share,
}

impl Why {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bad => "went_wrong",
            Self::Waited => "waited",
            Self::CutOff => "cut_off",
            Self::Edge => "fault_edge",
            Self::Share => "share",
        }
    }
}

/// What becomes of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// It is not wanted.
    No,
    /// It is wanted, but there have been enough in this second.
    TooMany,
    /// It is made.
    Yes(Why),
}

/// Chooses among the requests of one arm, or among the waits of its waiters.
#[derive(Debug, Default)]
pub(super) struct Chooser {
    share: f64,
    /// How many of those that come next are chosen for a fault's sake.
    expected: usize,
    /// Those that have come and not ended.
    after_edge: BTreeSet<Attempt>,
    remarkable: Budget,
    unremarkable: Budget,
}

/// What is left of a second.
#[derive(Debug, Default)]
struct Budget {
    second: u64,
    spent: u32,
}

impl Chooser {
    pub(super) fn new(share: f64) -> Self {
        Self { share, ..Self::default() }
    }

    /// A fault was switched.
    pub(super) const fn edge(&mut self) {
        self.expected = AFTER_EDGE;
    }

    /// A request came, or an ask.
    pub(super) fn arrived(&mut self, attempt: Attempt) {
        if self.expected > 0 {
            self.expected -= 1;
            self.after_edge.insert(attempt);
        }
    }

    /// A request ended that waited so long, or a wait that was so much longer than a fair one; `rank` is
    /// that of its trace.
    pub(super) fn ended(
        &mut self,
        now: Time,
        attempt: Attempt,
        how: How,
        waited: Nanos,
        rank: f64,
    ) -> Choice {
        let edge = !self.after_edge.is_empty() && self.after_edge.remove(&attempt);
        let (why, budget) = if how.is_bad() {
            (Why::Bad, &mut self.remarkable)
        } else if how == How::Waited(WaitEnd::CutOff) {
            (Why::CutOff, &mut self.remarkable)
        } else if waited > LONG {
            (Why::Waited, &mut self.remarkable)
        } else if edge {
            (Why::Edge, &mut self.remarkable)
        } else if rank < self.share {
            (Why::Share, &mut self.unremarkable)
        } else {
            return Choice::No;
        };
        if budget.take(now) { Choice::Yes(why) } else { Choice::TooMany }
    }
}

impl Budget {
    fn take(&mut self, now: Time) -> bool {
        let second = now.as_nanos() / Nanos::from_secs(1).get();
        if second != self.second {
            (self.second, self.spent) = (second, 0);
        }
        self.spent = self.spent.saturating_add(1);
        self.spent <= PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: How = How::Ended(Outcome::Success);

    const fn attempt(request: u64) -> Attempt {
        Attempt { request, number: 0 }
    }

    fn ended(chooser: &mut Chooser, id: u64, how: How, waited_ms: u64, rank: f64) -> Choice {
        chooser.ended(Time::ZERO, attempt(id), how, Nanos::from_millis(waited_ms), rank)
    }

    #[test]
    fn what_went_wrong_or_waited_long_is_chosen_and_a_share_of_the_rest() {
        let mut chooser = Chooser::new(0.01);
        for (how, waited_ms, rank, choice) in [
            (OK, 0, 0.5, Choice::No),
            (OK, 0, 0.009, Choice::Yes(Why::Share)),
            (OK, 100, 0.5, Choice::No),
            (OK, 101, 0.5, Choice::Yes(Why::Waited)),
            (How::Rejected, 0, 0.5, Choice::Yes(Why::Bad)),
            (How::Abandoned, 0, 0.5, Choice::No),
            (How::Abandoned, 101, 0.5, Choice::Yes(Why::Waited)),
            (How::Ended(Outcome::Timeout), 0, 0.5, Choice::Yes(Why::Bad)),
            (How::Ended(Outcome::Overload), 0, 0.5, Choice::Yes(Why::Bad)),
            (How::Ended(Outcome::Error), 0, 0.5, Choice::Yes(Why::Bad)),
            (How::Ended(Outcome::Cancelled), 0, 0.5, Choice::No),
            (How::Waited(WaitEnd::Granted), 0, 0.5, Choice::No),
            (How::Waited(WaitEnd::Granted), 101, 0.5, Choice::Yes(Why::Waited)),
            (How::Waited(WaitEnd::Cancelled), 100, 0.009, Choice::Yes(Why::Share)),
            (How::Waited(WaitEnd::CutOff), 0, 0.5, Choice::Yes(Why::CutOff)),
        ] {
            assert_eq!(ended(&mut chooser, 0, how, waited_ms, rank), choice, "{how:?} {waited_ms}");
        }
    }

    #[test]
    fn the_first_to_come_after_an_edge_are_chosen_in_whatever_order_they_end() {
        let mut chooser = Chooser::new(0.0);
        chooser.arrived(attempt(0));
        chooser.edge();
        let last = AFTER_EDGE as u64;
        (1..=last + 5).for_each(|id| chooser.arrived(attempt(id)));
        for (id, choice) in [
            (last + 1, Choice::No),
            (last, Choice::Yes(Why::Edge)),
            (0, Choice::No),
            (1, Choice::Yes(Why::Edge)),
            (1, Choice::No),
        ] {
            assert_eq!(ended(&mut chooser, id, OK, 0, 0.5), choice, "{id}");
        }
    }

    #[test]
    fn a_second_has_a_bound_for_each_kind() {
        let mut chooser = Chooser::new(0.5);
        let mut at = |ms, how| {
            let now = Time::ZERO.after(Nanos::from_millis(ms));
            chooser.ended(now, attempt(0), how, Nanos::ZERO, 0.0)
        };
        for _ in 0..PER_SECOND {
            assert_eq!(at(0, How::Rejected), Choice::Yes(Why::Bad));
        }
        assert_eq!(at(999, How::Rejected), Choice::TooMany);
        assert_eq!(at(999, OK), Choice::Yes(Why::Share), "it has a bound of its own");
        assert_eq!(at(1000, How::Rejected), Choice::Yes(Why::Bad));
    }
}
