//! The queue: requests that wait for the gate, first come first served, bounded.

use crate::request::Arrival;
use std::collections::VecDeque;

/// A bounded first-in-first-out queue of waiting requests.
#[derive(Debug)]
pub struct Queue {
    waiting: VecDeque<Arrival>,
    max: usize,
}

impl Queue {
    /// An empty queue that holds `max` requests.
    pub const fn new(max: usize) -> Self {
        Self { waiting: VecDeque::new(), max }
    }

    /// Requests that wait.
    pub fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts a request at the end.
    ///
    /// # Errors
    /// Hands the request back when the queue is full.
    pub fn push(&mut self, arrival: Arrival) -> Result<(), Arrival> {
        if self.waiting.len() >= self.max {
            return Err(arrival);
        }
        self.waiting.push_back(arrival);
        Ok(())
    }

    /// The request at the head.
    pub fn head(&self) -> Option<&Arrival> {
        self.waiting.front()
    }

    /// Takes the request at the head.
    pub fn pop(&mut self) -> Option<Arrival> {
        self.waiting.pop_front()
    }
}
