//! Toxiproxy's HTTP API over embedded proxies: its routes, statuses, bodies and messages.
//!
//! A [`Registry`] is the collection of proxies, a [`Server`] serves the API of one, and a
//! [`Config`] is what it starts with. What is held to the original is recorded in
//! `tests/data/api-2.12.jsonl`; the deliberate differences stand in the crate's README.

mod address;
mod attributes;
mod body;
mod calls;
mod config;
mod entry;
mod error;
mod metrics;
mod process;
mod registry;
mod routes;
mod server;
mod spec;
mod view;

pub use calls::VERSION;
pub use config::{Config, ConfigError};
pub use entry::MAX_TOXICS;
pub use error::ApiError;
pub use registry::{MAX_NAME, MAX_PROXIES, Registry};
pub use routes::{BODY_LIMIT, router};
pub use server::{MAX_CLIENTS, Server};
