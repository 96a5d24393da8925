//! Ten thousand of everything: changes of toxics, and connections that are cut. What is bounded here
//! is how much is left behind and that all of it ends, not how fast.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod changes;
mod cuts;
mod pipes;
#[path = "../api/support.rs"]
#[expect(dead_code, reason = "the tests of the API need more of it")]
mod support;

use peak_alloc::PeakAlloc;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts every live byte of the process, so that a leak is exact and not a guess.
#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Tests of this file count bytes of the same process, so they take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
