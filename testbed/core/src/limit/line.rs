//! A line of waiters, in the order of their tickets.

use std::collections::BTreeMap;

/// Waiters by ticket: the lowest is the head. Join, leave and head are O(log n), from anywhere in
/// the line, so that a ticket that is kept over an abort finds its old place.
#[derive(Debug, Default)]
pub struct Line {
    waiters: BTreeMap<u64, u32>,
    bytes: u64,
}

impl Line {
    /// Whether nobody stands in it.
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Bytes that the line still needs, all together.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The waiter at the head.
    pub fn head(&self) -> Option<u32> {
        self.waiters.first_key_value().map(|(_, id)| *id)
    }

    /// A waiter who needs `bytes` takes the place of his ticket; whether that is the head.
    pub fn join(&mut self, ticket: u64, id: u32, bytes: u64) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        let is_head = self.waiters.first_key_value().is_none_or(|(first, _)| ticket < *first);
        self.waiters.insert(ticket, id);
        is_head
    }

    /// Somebody in the line needs `bytes` less.
    pub const fn pay(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// The waiter with this ticket, who still needs `bytes`, goes; whether he was the head.
    pub fn leave(&mut self, ticket: u64, bytes: u64) -> bool {
        self.pay(bytes);
        let is_head = self.waiters.first_key_value().is_some_and(|(first, _)| ticket == *first);
        self.waiters.remove(&ticket);
        is_head
    }
}
