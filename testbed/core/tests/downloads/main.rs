//! Downloads in an ideal world: no shell, no backend, no network. What a download does is worked
//! out in tables, and what it must never do is asked of random loads under every policy.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/policies.rs"]
mod policies;

mod breaks;
mod draws;
mod ledger;
mod loads;
mod order;
mod properties;
mod random;
mod refusals;
mod settings;
mod slow;
mod twin;
mod world;
