//! What faults have done, as series.

use super::{Kind, SeriesInfo, info};
use testbed_core::vitals::Unit;

/// What faults have done since the run began, recorded at sampling instants when it changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Faulted {
    /// See [`Faulted::info`].
    Injected,
    /// See [`Faulted::info`].
    Overflow,
    /// See [`Faulted::info`].
    LinksHit,
    /// See [`Faulted::info`].
    Dropped,
    /// See [`Faulted::info`].
    Aborts,
    /// See [`Faulted::info`].
    Resets,
}

impl Faulted {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 6] =
        [Self::Injected, Self::Overflow, Self::LinksHit, Self::Dropped, Self::Aborts, Self::Resets];

    /// Name, unit and meaning.
    pub const fn info(self) -> SeriesInfo {
        let (name, unit, about) = match self {
            Self::Injected => ("backend.injected", Unit::Count, "requests that HTTP faults hit"),
            Self::Overflow => {
                ("backend.overflow", Unit::Count, "requests that `max_active` let pass")
            }
            Self::LinksHit => ("network.links_hit", Unit::Count, "links that a toxic has acted on"),
            Self::Dropped => {
                ("network.dropped", Unit::Bytes, "bytes that the network did not pass on")
            }
            Self::Aborts => ("network.aborts", Unit::Count, "links that a toxic closed"),
            Self::Resets => ("network.resets", Unit::Count, "links that a toxic reset"),
        };
        info(name, unit, Kind::Steps, about)
    }
}
