//! The one place that reads the operating system's time.
//!
//! [`LiveClock`] tells a live run its [`Time`](testbed_core::time::Time); [`Timer`] calls back and
//! wakes tasks at such times. Both exist because the usual ones are too coarse here: tokio's timers
//! work in whole milliseconds and round up, which would falsify waits, service times and latency
//! toxics alike.

mod live;
mod slack;
mod timer;

pub use live::{LiveClock, unix_now, unix_seconds};
pub use slack::set_fine_timer_slack;
pub use timer::{Alarm, AlarmId, Sleep, Timer};
