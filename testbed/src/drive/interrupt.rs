//! Ctrl-C and SIGTERM: seen at the next step, so that a run ends in order.

use super::world::Signal;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether somebody asked the run to stop. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    halted: Arc<AtomicBool>,
}

impl Interrupt {
    /// Watches the process's signals. A second signal ends the process at once.
    ///
    /// # Errors
    /// When the system does not let signals be handled.
    pub fn watch() -> io::Result<Self> {
        let interrupt = Self::default();
        let again = Arc::new(AtomicBool::new(false));
        for (number, exit) in [(SIGINT, 130), (SIGTERM, 143)] {
            signal_hook::flag::register_conditional_shutdown(number, exit, Arc::clone(&again))?;
            signal_hook::flag::register(number, Arc::clone(&again))?;
            signal_hook::flag::register_usize(
                number,
                Arc::clone(&interrupt.signal),
                number as usize,
            )?;
        }
        Ok(interrupt)
    }

    /// One for a single run: it sees the signals of this one, and a halt of its own.
    #[must_use]
    pub fn for_run(&self) -> Self {
        Self { signal: Arc::clone(&self.signal), halted: Arc::default() }
    }

    /// Asks the run to stop, as a signal does.
    pub fn raise(&self, signal: Signal) {
        let number = match signal {
            Signal::Interrupt => SIGINT,
            Signal::Terminate => SIGTERM,
            Signal::Halt => return self.halted.store(true, Ordering::Relaxed),
        };
        self.signal.store(number as usize, Ordering::Relaxed);
    }

    /// The signal that came, if any.
    pub fn signal(&self) -> Option<Signal> {
        match self.signal.load(Ordering::Relaxed) as i32 {
            0 if self.halted.load(Ordering::Relaxed) => Some(Signal::Halt),
            0 => None,
            SIGTERM => Some(Signal::Terminate),
            _ => Some(Signal::Interrupt),
        }
    }
}
