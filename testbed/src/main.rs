//! The command line of Windtunnel.
fn main() {}
