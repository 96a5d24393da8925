//! What an admission's queue says of itself, as series.

use super::{Kind, SeriesInfo, info};
use testbed_core::queue::Rejection;
use testbed_core::vitals::Unit;

/// The state of a queue, recorded at sampling instants when it changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queueing {
    /// See [`Queueing::info`].
    OldestAge,
    /// See [`Queueing::info`].
    Looks,
    /// See [`Queueing::info`].
    Codel,
    /// See [`Queueing::info`].
    MaxWait,
    /// See [`Queueing::info`].
    PermitsLost,
}

impl Queueing {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 5] =
        [Self::OldestAge, Self::Looks, Self::Codel, Self::MaxWait, Self::PermitsLost];

    /// The one that counts who was turned away for this reason after a wait.
    pub const fn of(why: Rejection) -> Option<Self> {
        match why {
            Rejection::Law | Rejection::Full => None,
            Rejection::Codel => Some(Self::Codel),
            Rejection::MaxWait => Some(Self::MaxWait),
        }
    }

    /// Name, unit and meaning.
    pub const fn info(self) -> SeriesInfo {
        let (name, unit, about) = match self {
            Self::OldestAge => {
                ("admission.oldest_age", Unit::Seconds, "the longest wait under way, sampled")
            }
            Self::Looks => (
                "admission.looks",
                Unit::Count,
                "looks at the gate: one a grant, all that race for it",
            ),
            Self::Codel => (
                "admission.dropped_codel",
                Unit::Count,
                "requests that CoDel turned away at their turn",
            ),
            Self::MaxWait => (
                "admission.dropped_max_wait",
                Unit::Count,
                "requests that waited as long as one may",
            ),
            Self::PermitsLost => {
                ("admission.permits_lost", Unit::Count, "permits that nobody will ever give back")
            }
        };
        info(name, unit, Kind::Steps, about)
    }
}
