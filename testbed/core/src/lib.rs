//! Windtunnel's pure heart: controllers, the backend as a model, load, and the events that show
//! all of it.
//!
//! Nothing in this crate reads a clock, opens a socket, starts a thread, draws unseeded chance or
//! names a metric. Time and chance are arguments; the answers depend on them and on nothing else.
//!
//! One request's way: [`load`] offers an [`Arrival`](request::Arrival), [`admission`] lets it go
//! with a [`Ticket`](request::Ticket), [`service`] works on it, admission takes the answer back and
//! tells the [controller](control), which moves the window. Every step drops one
//! [`Event`](event::Event) for the [observers](observe); nothing comes back from them.
//!
//! One chunk's way: a transfer of a [`download`] has a chunk, asks the [limiter](limit) for its
//! bytes, waits until it is granted, and reads on.

pub mod admission;
pub mod average;
pub mod back_off;
pub mod bucket;
pub mod client;
pub mod codel;
pub mod control;
pub mod distribution;
pub mod download;
pub mod event;
pub mod feedback;
pub mod gate;
pub mod hold;
pub mod limit;
pub mod load;
pub mod observe;
pub mod quantile;
pub mod quantity;
pub mod queue;
pub mod request;
pub mod rng;
pub mod service;
pub mod time;
pub mod trace;
pub mod vitals;
pub mod wait;
