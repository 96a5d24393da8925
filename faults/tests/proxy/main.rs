//! The embedded proxy over real sockets. Bounds from below are exact; there are none from above
//! but a time after which a test counts as hung.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod bulk;
mod data;
mod ends;
mod lifecycle;
mod places;
mod support;
mod toxics;
