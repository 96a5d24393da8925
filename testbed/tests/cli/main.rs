//! The command line, in virtual time: nothing here depends on how fast the machine is.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod closed_pipes;
mod closer;
mod compare;
mod craft;
mod determinism;
mod downloads;
mod early_ends;
mod exit_codes;
mod experiments;
mod holds;
mod law;
mod list;
mod regimes;
mod replay;
mod report;
mod retries;
mod scorecard;
mod seeds;
mod sentences;
mod serve;
mod signals;
mod stall;
mod sweep;
mod verify;

/// What was shipped with the program, by its path under `experiments/`.
fn shipped(experiment: &str) -> String {
    format!("{}/../experiments/{experiment}", env!("CARGO_MANIFEST_DIR"))
}
