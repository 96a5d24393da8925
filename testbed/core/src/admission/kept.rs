//! Requests that keep their place in the window while they wait to be tried again.

use crate::request::Arrival;
use crate::time::Time;
use std::collections::{BTreeMap, VecDeque};

/// Those that keep a place. They are bounded by the window that they came in by.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// When the first attempt of each was admitted, by the request's number.
    since: BTreeMap<u64, Time>,
    /// Those whose back-off is over, to be admitted before anybody else.
    back: VecDeque<Arrival>,
}

impl Kept {
    /// A request keeps its place.
    pub(super) fn keep(&mut self, id: u64, since: Time) {
        self.since.insert(id, since);
    }

    /// An attempt arrives; whether its request has a place.
    pub(super) fn come_back(&mut self, arrival: Arrival) -> bool {
        let kept = self.since.contains_key(&arrival.id);
        if kept {
            self.back.push_back(arrival);
        }
        kept
    }

    /// The next that has come back, and since when it has its place.
    pub(super) fn resume(&mut self) -> Option<(Arrival, Time)> {
        let arrival = self.back.pop_front()?;
        let since = self.since.remove(&arrival.id).expect("who came back has kept its place");
        Some((arrival, since))
    }

    /// How many have come back.
    pub(super) fn waiting(&self) -> u32 {
        self.back.len() as u32
    }
}
