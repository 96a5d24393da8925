//! Entries in order of their deadlines.

use std::collections::BTreeMap;
use std::fmt;
use testbed_core::time::Time;

/// Names one alarm of one timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AlarmId {
    deadline: Time,
    sequence: u64,
}

impl AlarmId {
    /// When the alarm fires.
    pub(super) fn deadline(self) -> Time {
        self.deadline
    }
}

/// Entries ordered by (deadline, order of insertion). A tree rather than a heap: an entry taken
/// back is gone at once, so nothing piles up however many sleeps are cancelled.
pub(super) struct Queue<T> {
    entries: BTreeMap<AlarmId, T>,
    inserted: u64,
}

impl<T> Queue<T> {
    /// Adds an entry; tells its id and whether it is now the first.
    pub(super) fn insert(&mut self, deadline: Time, entry: T) -> (AlarmId, bool) {
        let id = AlarmId { deadline, sequence: self.inserted };
        let is_first = self.first().is_none_or(|(first, _)| deadline < first.deadline);
        self.inserted += 1;
        self.entries.insert(id, entry);
        (id, is_first)
    }

    /// Takes an entry back; `None` if it is no longer there.
    pub(super) fn remove(&mut self, id: AlarmId) -> Option<T> {
        self.entries.remove(&id)
    }

    /// The first entry.
    pub(super) fn first(&self) -> Option<(AlarmId, &T)> {
        self.entries.first_key_value().map(|(id, entry)| (*id, entry))
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), inserted: 0 }
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn queue_of(deadlines: &[u64]) -> (Queue<usize>, Vec<AlarmId>) {
        let mut queue = Queue::default();
        let insert = |(n, ns): (usize, &u64)| queue.insert(Time::from_nanos(*ns), n).0;
        let ids = deadlines.iter().enumerate().map(insert).collect();
        (queue, ids)
    }

    #[test]
    fn only_an_earlier_deadline_becomes_the_first() {
        let mut queue = Queue::default();
        for (ns, is_first) in [(20, true), (30, false), (20, false), (10, true)] {
            assert_eq!(queue.insert(Time::from_nanos(ns), ()).1, is_first, "{ns}");
        }
    }

    #[test]
    fn an_entry_is_taken_back_once() {
        let (mut queue, ids) = queue_of(&[10, 10]);
        assert_eq!(queue.remove(ids[0]), Some(0));
        assert_eq!(queue.remove(ids[0]), None);
        assert_eq!(queue.remove(ids[1]), Some(1));
        assert_eq!(queue.first(), None);
    }

    proptest! {
        #[test]
        fn leaves_in_order_of_deadline_then_insertion(
            deadlines in prop::collection::vec(0_u64..20, 0..100),
            cancelled in prop::collection::vec(any::<bool>(), 100),
        ) {
            let (mut queue, ids) = queue_of(&deadlines);
            let mut expected: Vec<(u64, usize)> =
                deadlines.iter().copied().zip(0..).filter(|(_, n)| !cancelled[*n]).collect();
            expected.sort_unstable();
            for (id, _) in ids.iter().zip(&cancelled).filter(|(_, cancelled)| **cancelled) {
                queue.remove(*id);
            }
            prop_assert_eq!(queue.len(), expected.len());
            for (_, n) in expected {
                prop_assert_eq!(queue.first(), Some((ids[n], &n)));
                queue.remove(ids[n]);
            }
            prop_assert_eq!(queue.first(), None);
        }
    }
}
