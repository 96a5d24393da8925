//! Windtunnel's pure heart: controllers, limiters, the backend as a model, load, and the events
//! that show all of it.
//!
//! Nothing in this crate reads a clock, opens a socket, starts a thread, draws unseeded chance or
//! names a metric. Time and chance are arguments; the answers depend on them and on nothing else.

pub mod quantity;
pub mod rng;
pub mod time;
