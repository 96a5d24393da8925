//! The experiment file as it is written: the types that serde and the JSON Schema share.

mod judging;
mod waiting;

pub use judging::{AbortAs, AbortFile, ExpectFile, GateFile, Honesty, OverSeeds, Severity};

use super::sweep::SweepFile;
use faults::Toxic;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testbed_core::client::ClientConfig;
use testbed_core::control::ControllerConfig;
use testbed_core::download::DownloadConfig;
use testbed_core::feedback::FeedbackConfig;
use testbed_core::hold::HoldConfig;
use testbed_core::limit::LimiterConfig;
use testbed_core::load::LoadConfig;
use testbed_core::quantity::Share;
use testbed_core::queue::{GiveUp, QueueDiscipline};
use testbed_core::service::{
    Drip, NoAnswer, Reject, Reset, ServiceConfig, SlowHeaders, SlowStart, Truncate, WrongLength,
};
use testbed_core::time::Nanos;

/// The version of the format that this program reads.
pub const VERSION: u32 = 1;

/// An experiment: one question to controllers or limiters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The version of the format: 1.
    pub version: u32,
    /// A short name, used for the run directory: letters, digits, dots, dashes, underscores.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"), example = &"overload-recovery")]
    pub name: String,
    /// The question, in prose.
    #[serde(default)]
    pub about: String,
    /// How to run it.
    #[serde(default)]
    pub run: Run,
    /// What to record.
    #[serde(default)]
    pub record: Record,
    /// The variants that run side by side, each with a backend of its own.
    pub arms: IndexMap<String, ArmFile>,
    /// Which arms share a backend; each has its own, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Sharing>,
    /// The backend of every arm that has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<ServiceConfig>,
    /// The load of every arm with a controller that has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadConfig>,
    /// The downloads of every arm with a limiter that has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download: Option<DownloadConfig>,
    /// The admission of every arm that has none of its own.
    #[serde(default)]
    pub admission: AdmissionFile,
    /// What the clients do, in every arm with a controller that has none of its own.
    #[serde(default)]
    pub client: ClientConfig,
    /// Whether it means it that open load is more than a backend can serve.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overload: bool,
    /// Named spans of time, one after the other.
    pub phases: Vec<PhaseFile>,
    /// What goes wrong, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultFile>,
    /// What must be true before the first fault: if it is not, the run ends there and is inconclusive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gate: Vec<GateFile>,
    /// What ends the run as soon as it is true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort: Vec<AbortFile>,
    /// What the machine must do for a verdict to be one about the controller.
    #[serde(default)]
    pub honesty: Honesty,
    /// What is expected to come true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectFile>,
    /// What varies from run to run of `windtunnel sweep`; a run by itself leaves it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepFile>,
}

/// Virtual time or the real thing.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Simulated time: exact, repeatable, as fast as the machine can.
    #[default]
    Virtual,
    /// Real sockets, real HTTP, real time.
    Live,
}

impl Mode {
    /// The mode's name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Live => "live",
        }
    }
}

/// How to run an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// Virtual time or the real thing; `--mode` overrides it.
    pub mode: Mode,
    /// The seed of all chance; `--seed` overrides it.
    pub seed: u64,
    /// How many seeds a virtual run is repeated with, from `seed` on; `--seeds` overrides it.
    #[schemars(range(min = 1, max = 10_000))]
    pub seeds: u32,
    /// How often sampled series are taken, 1ms or more.
    pub sample_every: Nanos,
    /// Why the experiment cannot be judged live, if it cannot: `--mode live` is refused with this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 500))]
    pub virtual_only: Option<String>,
}

impl Default for Run {
    fn default() -> Self {
        let sample_every = Nanos::from_millis(100);
        Self { mode: Mode::Virtual, seed: 1, seeds: 1, sample_every, virtual_only: None }
    }
}

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Which waits for a limiter become rows of waits.csv.
    pub waits: Waits,
    /// Whether the requests that arrive become rows of arrivals.csv: a trace, which `windtunnel replay` puts in the
    /// place of the load.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub arrivals: bool,
}

/// Which waits become rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// Every ask, those that were granted at once too.
    All,
    /// Those that lasted; the others are counted only.
    #[default]
    Waited,
    /// None.
    Off,
}

/// One variant: exactly one of `controller` and `limiter`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmFile {
    /// The law that sets the window of its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerConfig>,
    /// The policy that paces its downloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiter: Option<LimiterConfig>,
    /// Its own backend, in place of the common one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<ServiceConfig>,
    /// Its own load, in place of the common one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadConfig>,
    /// Its own downloads, in place of the common ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download: Option<DownloadConfig>,
    /// Whether it means it that some of its chunks can never be granted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_hang: bool,
    /// Its own admission, in place of the common one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<AdmissionFile>,
    /// What its clients do, in place of the common block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientConfig>,
    /// Single fields of its blocks, by their paths in the arm; all else of a block is as in the common one.
    // Empty from here on: they are put in their places before the file is read into this type.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub set: IndexMap<String, serde_json::Value>,
}

/// Which arms are before one and the same backend, so that one can crowd out the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// All arms share one.
    Backend,
    /// The arms of each group share one; the others have their own.
    Groups(IndexMap<String, Vec<String>>),
}

/// How requests wait, and how their answers are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdmissionFile {
    /// Requests that may wait; further ones are rejected.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_waiting: u32,
    /// Who of those that wait is next.
    pub queue: QueueDiscipline,
    /// The longest wait, above 0s; who has waited so long is turned away. Any, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wait: Option<Nanos>,
    /// The longest wait by a timer that need not be right, in place of `max_wait`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub give_up: Option<GiveUp>,
    /// Shares of the window by class, 100 % at most; a class uses what others leave. Not divided, if left out.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub partitions: IndexMap<String, Share>,
    /// How answers reach the controller.
    pub feedback: FeedbackConfig,
    /// Which answers mean what.
    pub classify: Classify,
}

impl Default for AdmissionFile {
    fn default() -> Self {
        Self {
            max_waiting: 100_000,
            queue: QueueDiscipline::default(),
            max_wait: None,
            give_up: None,
            partitions: IndexMap::new(),
            feedback: FeedbackConfig::default(),
            classify: Classify::default(),
        }
    }
}

/// Which answers mean what to a controller. 2xx is a success; what is not listed is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Classify {
    /// Statuses that say that the backend is overloaded.
    #[schemars(inner(range(min = 300, max = 599)))]
    pub overload: Vec<u16>,
}

impl Default for Classify {
    fn default() -> Self {
        Self { overload: vec![429, 503] }
    }
}

/// A named span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseFile {
    /// Its name: faults and expectations refer to it.
    #[schemars(example = &"degraded")]
    pub name: String,
    /// How long it lasts.
    #[serde(rename = "for")]
    pub length: Nanos,
    /// Whether it means it that open load is more than a backend can serve in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overload: bool,
}

/// Something that goes wrong: exactly one of `backend`, `toxic` and `proxy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultFile {
    /// Its name, in events and metrics.
    #[schemars(example = &"fewer-servers")]
    pub name: String,
    /// The phase in which it is on; the whole run, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"degraded")]
    pub during: Option<String>,
    /// How long after the beginning of that phase, or of the run, it is switched on; at once, if
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Nanos>,
    /// How long it is on; until the end of that phase, or of the run, if left out.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub length: Option<Nanos>,
    /// The arms that it acts on; all, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<Vec<String>>,
    /// What the backend does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendFault>,
    /// What the network between client and backend does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toxic: Option<Toxic>,
    /// What the proxy itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyFault>,
}

/// What a backend does wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendFault {
    /// It turns requests away.
    Reject(Reject),
    /// Its answers begin late.
    SlowHeaders(SlowHeaders),
    /// The bodies of its answers come in drops.
    Drip(Drip),
    /// The bodies of its answers break off.
    Truncate(Truncate),
    /// The heads of its answers tell a wrong length.
    WrongLength(WrongLength),
    /// It resets connections within an answer.
    Reset(Reset),
    /// It works, and does not answer: `no_answer: {}`.
    NoAnswer(NoAnswer),
    /// It is held at a degree of congestion.
    Hold(HoldConfig),
    /// It has only so many servers, 1 or more.
    Servers(#[schemars(range(min = 1))] u32),
    /// It stands still, as for a garbage collector: `freeze: {}`.
    Freeze(Freeze),
    /// Its servers are slow at first and get faster.
    SlowStart(SlowStart),
}

/// A backend that stands still. It has no settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Freeze {}

/// What a proxy does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProxyFault {
    /// It closes every connection and refuses new ones.
    Down,
}
