//! The series of what an admission's queue says of itself.

use super::sheet::Sheet;
use crate::watch::series::Queueing;
use std::io::Write;
use testbed_core::queue::Rejection;
use testbed_core::time::{Nanos, Time};

/// What was last said, and who was turned away so far.
#[derive(Default)]
pub(super) struct QueueFold {
    values: [f64; Queueing::ALL.len()],
}

impl QueueFold {
    pub(super) fn rejected(&mut self, why: Rejection) {
        if let Some(series) = Queueing::of(why) {
            self.values[series as usize] += 1.0;
        }
    }

    pub(super) fn looked(&mut self, oldest: Nanos, looks: u64, lost: u32) {
        self.values[Queueing::OldestAge as usize] = oldest.as_secs_f64();
        self.values[Queueing::Looks as usize] = looks as f64;
        self.values[Queueing::PermitsLost as usize] = f64::from(lost);
    }

    /// A sampling instant.
    pub(super) fn tick<W: Write>(&self, now: Time, arm: usize, sheet: &mut Sheet<W>) {
        for (series, value) in Queueing::ALL.into_iter().zip(self.values) {
            sheet.change(now, arm, series.info().name, value);
        }
    }
}
