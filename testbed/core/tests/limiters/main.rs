//! Every registered policy through the same rules, the races that decide who starves, and the
//! mutations that break completion.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/policies.rs"]
mod policies;

mod mutations;
mod properties;
mod race;
mod races;
mod settings;
