//! How requests wait, from a file to its queue.

use super::AdmissionFile;
use indexmap::IndexMap;
use testbed_core::quantity::Share;
use testbed_core::queue::{GiveUp, QueueConfig};

impl AdmissionFile {
    /// The queue for requests of these classes.
    pub fn queue<T>(&self, classes: &IndexMap<String, T>) -> QueueConfig {
        let share = |class| self.partitions.get(class).copied().unwrap_or(Share::NONE);
        let divided = !self.partitions.is_empty();
        QueueConfig {
            max: self.max_waiting as usize,
            discipline: self.queue,
            give_up: self.give_up.or_else(|| self.max_wait.map(GiveUp::after)),
            shares: classes.keys().filter(|_| divided).map(share).collect(),
        }
    }
}
