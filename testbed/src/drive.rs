//! Driving an experiment: one shell, two worlds.

mod calls;
pub mod engine;
pub mod interrupt;
pub mod live;
mod overhead;
pub mod shell;
pub mod sim;
pub mod timeline;
pub mod world;

#[cfg(test)]
mod tests;
