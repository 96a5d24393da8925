//! Who waits: a table indexed by waiter.

use super::{Grant, Waiter};
use crate::time::Time;

/// One wait, with what the policy keeps of it.
#[derive(Clone, Debug)]
pub struct Wait<T> {
    /// Who.
    pub waiter: Waiter,
    /// What it asked for, in bytes.
    pub cost: u64,
    /// When.
    pub asked_at: Time,
    /// What it was told.
    pub quoted: Option<Time>,
    /// The policy's own.
    pub state: T,
}

impl<T> Wait<T> {
    /// The grant that ends this wait.
    pub const fn grant(&self) -> Grant {
        Grant { waiter: self.waiter, cost: self.cost, asked_at: self.asked_at, quoted: self.quoted }
    }
}

/// All waits of a limiter.
#[derive(Debug)]
pub struct Waiting<T> {
    slots: Vec<Option<Wait<T>>>,
    len: usize,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), len: 0 }
    }
}

impl<T> Waiting<T> {
    /// How many wait.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nobody waits.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The wait of a waiter.
    pub fn get(&self, id: u32) -> Option<&Wait<T>> {
        self.slots.get(id as usize)?.as_ref()
    }

    /// The wait of a waiter, to change it.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Wait<T>> {
        self.slots.get_mut(id as usize)?.as_mut()
    }

    /// Everybody who waits, by id.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Wait<T>> {
        self.slots.iter_mut().flatten()
    }

    /// Somebody begins to wait.
    ///
    /// # Panics
    /// When he waits already.
    pub fn insert(&mut self, wait: Wait<T>) {
        let index = wait.waiter.id as usize;
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || None);
        }
        assert!(self.slots[index].is_none(), "waiter {index} asked while it waits");
        self.slots[index] = Some(wait);
        self.len += 1;
    }

    /// A wait ends.
    pub fn remove(&mut self, id: u32) -> Option<Wait<T>> {
        let wait = self.slots.get_mut(id as usize)?.take();
        self.len -= usize::from(wait.is_some());
        wait
    }
}
