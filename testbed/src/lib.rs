//! Windtunnel.
