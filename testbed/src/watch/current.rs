//! Which run `/metrics` shows.

use super::exemplars::Exemplars;
use prometheus::Registry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a scrape is answered from; cheap to clone.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The metrics of a run.
    pub registry: Registry,
    /// The requests that stand for some of their values.
    pub exemplars: Exemplars,
}

/// What is shown at present. Clones share it.
#[derive(Clone, Debug)]
pub struct Current {
    shown: Arc<Mutex<Shown>>,
}

impl Current {
    /// Shows this from now on, in place of what was shown before.
    pub fn show(&self, shown: Shown) {
        *self.lock() = shown;
    }

    /// What is shown.
    pub fn shown(&self) -> Shown {
        self.lock().clone()
    }

    /// Nothing that can panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Shown> for Current {
    fn from(shown: Shown) -> Self {
        Self { shown: Arc::new(Mutex::new(shown)) }
    }
}
