//! The HTTP API as a client sees it, over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod allowed;
mod config;
mod hostile;
mod random;
mod recorded;
mod support;
mod traffic;
