//! Live runs over real sockets, one at a time so that they do not slow each other. Bounds from
//! below are exact; where a slow machine may be late, it is told from a wrong program by what the
//! program says of itself.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod backend;
mod both;
mod download;
mod elsewhere;
mod interrupt;
mod metrics;
mod open_load;
mod prometheus;
mod proxy;
mod recorded;
mod replay;
mod timeouts;
#[cfg(feature = "traces")]
mod traces;

use std::sync::{Mutex, MutexGuard, PoisonError};
pub(crate) use support::process::send;

/// The machine, for one test at a time.
fn machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    // A test that failed has left nothing behind.
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}
