//! The engines behind their one interface, over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod acts;
#[path = "../api/support.rs"]
#[expect(dead_code, reason = "the tests of the API need more of it")]
mod api;
mod choice;
mod client;
#[cfg(feature = "toxiproxy")]
mod named_crate;
#[cfg(feature = "toxiproxy")]
mod relay;
#[cfg(feature = "toxiproxy")]
mod remote;
#[cfg(feature = "toxiproxy")]
mod sick;
mod suite;
mod support;
