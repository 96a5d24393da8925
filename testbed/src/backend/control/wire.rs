//! What the control API and its client say to each other, as JSON.

use serde::{Deserialize, Serialize};
use testbed_core::hold::{Feed, Hold, HoldConfig};
use testbed_core::service::{BackendState, Counts, Rule, ServiceConfig, SlowStart};
use testbed_core::time::Nanos;

/// Request header: the testbed that asks, by an id that no other has. Backends that it made so are
/// its own: they are let to nobody else, and end when nothing has been heard of it for a lease.
pub(in crate::backend) const TESTBED_HEADER: &str = "x-windtunnel-testbed";

/// An arm that is to have a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::backend) struct Wanted {
    pub(in crate::backend) name: String,
    pub(in crate::backend) service: ServiceConfig,
    /// Of the run: every arm draws the same numbers.
    pub(in crate::backend) seed: u64,
}

/// Where an arm's backend is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::backend) struct Place {
    pub(in crate::backend) name: String,
    pub(in crate::backend) port: u16,
}

/// What is wrong, deliberately, with a backend; what is left out is as it should be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Faults {
    /// What it is held at.
    pub(crate) hold: Option<HoldConfig>,
    /// Rules about single requests; the first that matches decides.
    pub(crate) rules: Vec<Rule>,
    /// Slow starts that are on, by the names of their faults.
    pub(crate) slow_starts: Vec<(String, SlowStart)>,
    /// How many servers it has, if not those of its settings.
    pub(crate) servers: Option<u32>,
    /// Whether it stands still.
    pub(crate) frozen: bool,
}

/// See [`Feed`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::backend) struct FeedBody {
    pub(in crate::backend) baseline: Option<Nanos>,
    #[serde(default)]
    pub(in crate::backend) overhead: Nanos,
}

/// All that is known of an arm's backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::backend) struct View {
    pub(in crate::backend) name: String,
    pub(in crate::backend) port: u16,
    pub(in crate::backend) faults: Faults,
    /// What the model itself says is wrong with it, by name.
    pub(in crate::backend) active: Vec<String>,
    /// What every rule that was ever in force has done so far, by name.
    pub(in crate::backend) injected: Vec<(String, Counts)>,
    pub(in crate::backend) feed: FeedBody,
    /// How often it was fed, so that a client sees whether its feeds arrive.
    pub(in crate::backend) feeds: u64,
    /// Requests that have arrived.
    pub(in crate::backend) requests: u64,
    /// Utilisation counts from the view before.
    pub(in crate::backend) state: BackendState,
}

/// Why something is not done.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::backend) struct ErrorBody {
    pub(in crate::backend) error: String,
}

impl From<FeedBody> for Feed {
    fn from(FeedBody { baseline, overhead }: FeedBody) -> Self {
        Self { baseline, overhead }
    }
}

impl From<Feed> for FeedBody {
    fn from(Feed { baseline, overhead }: Feed) -> Self {
        Self { baseline, overhead }
    }
}

impl Faults {
    /// What its hold means, if all of it makes sense.
    pub(super) fn check(&self) -> Result<Option<Hold>, String> {
        for Rule { name, fault } in &self.rules {
            if let Some(invalid) = fault.invalid().first() {
                return Err(format!("rule `{name}`: {}: {}", invalid.field, invalid.message));
            }
        }
        for (name, start) in &self.slow_starts {
            if let Some(invalid) = start.invalid().into_iter().next() {
                return Err(format!("slow start `{name}`: {}: {}", invalid.field, invalid.message));
            }
        }
        self.hold.as_ref().map(Hold::try_from).transpose().map_err(str::to_owned)
    }
}
