//! Waits as data.

use testbed_core::limit::Waiter;

/// The name of a waiter in files and metrics: `task3/seg5`.
pub fn waiter_name(waiter: Waiter) -> String {
    format!("task{}/seg{}", waiter.task, waiter.segment)
}
