//! What a toxic holds back.

use super::{Item, Payload};
use std::collections::VecDeque;
use testbed_core::rng::Rng;
use testbed_core::time::Time;

/// Items in order, each with the earliest time at which it may leave. The times never fall: an
/// item waits for those before it.
#[derive(Debug)]
pub(super) struct Held<P> {
    items: VecDeque<(Time, Item<P>)>,
}

impl<P> Held<P> {
    pub(super) const fn new() -> Self {
        Self { items: VecDeque::new() }
    }

    /// Holds `item` until `at`, and until all before it may leave.
    pub(super) fn push(&mut self, at: Time, item: Item<P>) {
        let at = self.items.back().map_or(at, |(before, _)| at.max(*before));
        self.items.push_back((at, item));
    }

    /// The first item and its time, if that has come.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<(Time, Item<P>)> {
        if self.next_due()? <= now { self.items.pop_front() } else { None }
    }

    /// When the first item may leave.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.items.front().map(|(at, _)| *at)
    }

    /// Takes out what was promised no time at all, which is the last of it.
    pub(super) fn take_unpromised(&mut self) -> VecDeque<(Time, Item<P>)> {
        self.items.split_off(self.items.partition_point(|(at, _)| *at < Time::NEVER))
    }

    /// Lets go of everything; how many bytes that were.
    pub(super) fn discard(&mut self) -> u64
    where
        P: Payload,
    {
        self.items.drain(..).map(|(_, item)| item.bytes()).sum()
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// Where a toxic puts what goes on.
#[derive(Debug)]
pub(crate) struct Output<'a, P> {
    held: &'a mut Held<P>,
    rng: &'a mut Rng,
    /// Bytes that were let go on.
    passed: u64,
    ended: bool,
}

impl<'a, P: Payload> Output<'a, P> {
    pub(super) const fn new(held: &'a mut Held<P>, rng: &'a mut Rng) -> Self {
        Self { held, rng, passed: 0, ended: false }
    }

    /// Lets `item` leave at `at`, or when all before it have left if that is later.
    pub(crate) fn release(&mut self, at: Time, item: Item<P>) {
        self.passed += item.bytes();
        self.ended |= item.is_end();
        self.held.push(at, item);
    }

    /// Bytes that were let go on, and whether that was the end.
    pub(super) const fn outcome(&self) -> (u64, bool) {
        (self.passed, self.ended)
    }

    /// The toxic's chance on this link.
    pub(crate) fn rng(&mut self) -> &mut Rng {
        self.rng
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_might_go_sooner_waits_for_those_before_it() {
        let mut held = Held::new();
        for (at, byte) in [(10, 1), (5, 2), (12, 3)] {
            held.push(Time::from_nanos(at), Item::Data(byte));
        }
        assert_eq!(held.pop_due(Time::from_nanos(9)), None);
        for (due, byte) in [(10, 1), (10, 2), (12, 3)] {
            let due = Time::from_nanos(due);
            assert_eq!(held.pop_due(Time::from_nanos(20)), Some((due, Item::Data(byte))));
        }
    }
}
