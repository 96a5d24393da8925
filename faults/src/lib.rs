//! Network faults as a pure chain of toxics, and an embedded TCP proxy that drives it.
//!
//! A [`Toxic`] is one fault, with the names, attributes and meaning that Toxiproxy gives it. A
//! [`Chain`] is the toxics on one direction of one connection; it is pure, so it serves virtual
//! runs as it is. [`ProxyFaults`] is what a proxy does at a moment, shared by both modes.
//! [`EmbeddedProxy`] carries TCP through chains in a live run. [`api`] serves Toxiproxy's HTTP API
//! over such proxies. An [`Engine`] makes the proxies of a live run, here or in a Toxiproxy.

pub mod api;
pub mod chain;
pub mod control;
pub mod engine;
pub mod proxy;
#[cfg(feature = "toxiproxy")]
pub mod remote;
pub mod toxic;

pub use chain::{Chain, Item, Payload, Tally};
pub use control::{ActiveToxic, FaultError, ProxyFaults, ToxicId, link_rng};
pub use engine::{Engine, EngineChoice, EngineError, EngineInfo, FaultControl};
pub use proxy::{EmbeddedProxy, ProxyStats, StreamStats};
pub use toxic::{AttributeError, Stream, Toxic, ToxicKind};
