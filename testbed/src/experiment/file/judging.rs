//! What a file expects, and what ends its run early.

use super::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::quantity::Share;
use testbed_core::time::Nanos;

/// Something that is expected to come true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectFile {
    /// Its name in verdicts.
    #[schemars(example = &"climbs-back")]
    pub id: String,
    /// The arm it speaks of; each of them, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"double")]
    pub arm: Option<String>,
    /// The phase it speaks of; the whole run, if left out.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"degraded")]
    pub phase: Option<String>,
    /// The only mode in which it is judged; both, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What it means if it does not come true.
    #[serde(default, skip_serializing_if = "Severity::is_fail")]
    pub severity: Severity,
    /// With how many of several seeds it must come true.
    #[serde(default, skip_serializing_if = "OverSeeds::is_all")]
    pub over_seeds: OverSeeds,
    /// The sentence: `max(controller.window) <= 2`.
    pub that: String,
}

/// With how many of several seeds an expectation must come true.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverSeeds {
    /// The share of seeds with which it may fail, rounded down to whole seeds.
    pub quantile: Share,
}

impl Default for OverSeeds {
    fn default() -> Self {
        Self { quantile: Share::NONE }
    }
}

impl OverSeeds {
    /// Whether it must come true with all.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// What it means if an expectation does not come true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The run has failed.
    #[default]
    Fail,
    /// It is told, and the run may pass.
    Warn,
}

impl Severity {
    /// Whether it is the one that files need not write.
    pub fn is_fail(&self) -> bool {
        *self == Self::Fail
    }
}

/// Something that must be true at the end of a phase for the run to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateFile {
    /// The phase at whose end it is judged; before the first fault, and not the last.
    #[serde(rename = "in")]
    pub phase: String,
    /// The arm it speaks of; each of them, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The sentence: `p99(rpc.latency) < 150ms`.
    pub that: String,
}

/// Something that ends the run as soon as it is true; faults are healed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortFile {
    /// The arm it speaks of; each of them, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// A comparison of series: `rpc.goodput < 100/s for 10s`.
    pub when: String,
    /// What becomes of the run.
    #[serde(default, rename = "as")]
    pub ends_as: AbortAs,
}

/// What becomes of a run that was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AbortAs {
    /// It has failed.
    #[default]
    Fail,
    /// It cannot say.
    Inconclusive,
}

/// What the machine must do for a verdict to be one about the controller. What is beyond a limit makes it
/// inconclusive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Honesty {
    /// Live: 99 % of arrivals are offered, and limiters woken, at most this long after their plan.
    pub load_lag: Nanos,
    /// Live: 99 % of requests are written at most this long after their admission.
    pub send_lag: Nanos,
    /// Live: the share of planned arrivals that is offered at least.
    pub offered: Share,
    /// Live: answers are released at most this late at the median, or 1 % of the median service time if that is
    /// more.
    pub lateness: Nanos,
    /// The median gradient under a clamp is at most this far from what was asked.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gradient: f64,
}

impl Default for Honesty {
    fn default() -> Self {
        Self {
            load_lag: Nanos::from_millis(10),
            send_lag: Nanos::from_millis(10),
            offered: Share::new(0.99).unwrap_or(Share::ALL),
            lateness: Nanos::from_micros(200),
            gradient: 0.02,
        }
    }
}
