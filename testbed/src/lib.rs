//! Windtunnel: runs real concurrency controllers against a backend that is held at a chosen degree
//! of congestion, shows what they do, and judges it.
//!
//! The way through the house: [`experiment`] turns a file into a plan; [`drive`] runs the plan's
//! arms, in virtual time or live against [`backend`] through [`client`]; [`watch`] sees every event;
//! [`verdict`] judges what was recorded; [`report`] says it. [`run`] wires them together, for the
//! command line and for [`serve`], whose runs [`remote`] starts from elsewhere.

pub mod backend;
pub mod both;
pub mod cli;
pub mod client;
mod columns;
pub mod compare;
pub mod counts;
mod digits;
pub mod drive;
pub mod experiment;
pub mod headline;
pub mod init;
pub mod law;
pub mod list;
pub mod overview;
pub mod page;
pub mod program;
pub mod proxy_command;
pub mod publish;
pub mod remote;
pub mod report;
pub mod run;
pub mod run_dir;
pub mod say;
pub mod seeds;
pub mod serve;
pub mod shell;
pub mod sweep;
pub mod trace_ids;
pub mod traces;
pub mod verdict;
pub mod verify;

/// Observers: they see every event and change nothing.
pub mod watch {
    pub mod admission;
    pub mod arrivals;
    pub mod current;
    pub mod exemplars;
    pub mod journal;
    pub mod names;
    mod occupancy;
    pub mod openmetrics;
    mod progress;
    pub mod prometheus;
    pub mod recorder;
    pub mod regime;
    pub mod series;
    pub mod serve;
    pub mod server;
    pub mod spans;
    pub mod store;
    #[cfg(feature = "traces")]
    pub mod trace;
    pub mod view;
    pub mod waits;
}
