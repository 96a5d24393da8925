//! Driving an experiment: one shell, two worlds.

pub mod interrupt;
pub mod live;
mod overhead;
pub mod shell;
pub mod sim;
pub mod timeline;
pub mod world;
