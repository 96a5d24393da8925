//! Every series that is recorded: its name, unit, kind and meaning. Vitals of laws come on top, as
//! `controller.<vital>`.

mod faulted;
mod waiting;

pub use faulted::Faulted;
pub use waiting::Queueing;

use crate::experiment::plan::Work;
use testbed_core::limit;
use testbed_core::request::Outcome;
use testbed_core::vitals::{Unit, VitalInfo};

/// How a series is recorded, and so what can be asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A value that holds until it changes; every change is recorded.
    Steps,
    /// Summed up over each sampling interval: exact mean, least and greatest.
    Intervals,
    /// One value a request, a wait or a feed, kept as a distribution for each phase.
    Distribution,
}

/// What is known of a series once and for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeriesInfo {
    /// Its dotted name.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// How it is recorded.
    pub kind: Kind,
    /// What it is, in one line.
    pub about: &'static str,
}

const fn info(name: &'static str, unit: Unit, kind: Kind, about: &'static str) -> SeriesInfo {
    SeriesInfo { name, unit, kind, about }
}

/// The law's own value.
pub const WINDOW: &str = "controller.window";
/// What the law admits.
pub const LIMIT: &str = "controller.limit";
/// The prefix of the vitals of laws.
pub const CONTROLLER: &str = "controller.";
/// The prefix of the inner numbers of limiters.
pub const LIMITER: &str = "limiter.";
/// From the first planned arrival of a finite input to its last end.
pub const MAKESPAN: &str = "load.makespan";

/// Distributions: one value a request, a wait or a feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PerRequest {
    /// See [`PerRequest::info`].
    Wait,
    /// See [`PerRequest::info`].
    Latency,
    /// See [`PerRequest::info`].
    Rtt,
    /// See [`PerRequest::info`].
    Age,
    /// See [`PerRequest::info`].
    Lateness,
    /// See [`PerRequest::info`].
    Lag,
    /// See [`PerRequest::info`].
    SendLag,
    /// See [`PerRequest::info`].
    Toxic,
    /// See [`PerRequest::info`].
    TokenWait,
    /// See [`PerRequest::info`].
    FifoWait,
    /// See [`PerRequest::info`].
    Overrun,
    /// See [`PerRequest::info`].
    FeedLag,
}

impl PerRequest {
    /// How many there are.
    pub const COUNT: usize = Self::FeedLag as usize + 1;

    /// Those of requests.
    const CALLS: [Self; 7] = [
        Self::Wait,
        Self::Latency,
        Self::Rtt,
        Self::Age,
        Self::Lateness,
        Self::SendLag,
        Self::Toxic,
    ];
    /// Those of waits for a limiter.
    const DOWNLOADS: [Self; 3] = [Self::TokenWait, Self::FifoWait, Self::Overrun];

    /// Those of every arm.
    const ALL: [Self; 2] = [Self::Lag, Self::FeedLag];

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = Self::CALLS.into_iter().chain(Self::DOWNLOADS).chain(Self::ALL);
        all.into_iter().find(|series| series.info().name == name)
    }

    /// Name, unit and meaning.
    pub const fn info(self) -> SeriesInfo {
        let (name, about) = match self {
            Self::Wait => ("admission.wait", "from the planned arrival to admission"),
            Self::Latency => (
                "rpc.latency",
                "from the planned arrival of the first attempt to the end of the last",
            ),
            Self::Rtt => ("rpc.rtt", "from sending to the end: what controllers are told"),
            Self::Age => ("backend.age", "from arrival at the backend to the answer's release"),
            Self::Lateness => {
                ("backend.lateness", "how much later than planned answers were released (live)")
            }
            Self::Lag => (
                "load.lag",
                "how late arrivals, or wakes of a limiter, were against their plan (live)",
            ),
            Self::SendLag => ("rpc.send_lag", "from admission until the request is written (live)"),
            Self::Toxic => (
                "rpc.toxic",
                "1 if a toxic acted on the connection that carried it, else 0: its mean is the share",
            ),
            Self::TokenWait => ("limiter.wait", "from an ask to its grant; 0 if granted at once"),
            Self::FifoWait => {
                ("limiter.fifo_wait", "what the same asks wait in an exact FIFO queue")
            }
            Self::Overrun => {
                ("limiter.overrun", "by how much a wait outlasted what was quoted; 0 if it did not")
            }
            Self::FeedLag => (
                "backend.feed_lag",
                "from an answer until a backend elsewhere has its feed (live, while a gradient is held)",
            ),
        };
        let unit = if matches!(self, Self::Toxic) { Unit::Ratio } else { Unit::Seconds };
        info(name, unit, Kind::Distribution, about)
    }
}

/// Values that are summed up over each sampling interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampled {
    /// See [`Sampled::info`].
    InFlight,
    /// See [`Sampled::info`].
    Waiting,
    /// See [`Sampled::info`].
    Goodput,
    /// See [`Sampled::info`].
    Utilisation,
    /// See [`Sampled::info`].
    InSystem,
    /// See [`Sampled::info`].
    Queued,
    /// See [`Sampled::info`].
    Tokens,
    /// See [`Sampled::info`].
    Throughput,
    /// See [`Sampled::info`].
    LimitUse,
    /// See [`Sampled::info`].
    OldestAge,
    /// See [`Sampled::info`].
    ZeroProgress,
    /// See [`Sampled::info`].
    Active,
}

impl Sampled {
    /// Those of requests.
    const CALLS: [Self; 3] = [Self::InFlight, Self::Waiting, Self::Goodput];
    /// Those of backends.
    const BACKEND: [Self; 3] = [Self::Utilisation, Self::InSystem, Self::Queued];
    /// Those of downloads.
    const DOWNLOADS: [Self; 6] = [
        Self::Tokens,
        Self::Throughput,
        Self::LimitUse,
        Self::OldestAge,
        Self::ZeroProgress,
        Self::Active,
    ];

    /// Name, unit and meaning.
    pub const fn info(self) -> SeriesInfo {
        let (name, unit, about) = match self {
            Self::InFlight => ("admission.in_flight", Unit::Requests, "requests in flight"),
            Self::Waiting => ("admission.waiting", Unit::Requests, "requests that wait"),
            Self::Goodput => ("rpc.goodput", Unit::PerSecond, "successes a second"),
            Self::Utilisation => ("backend.utilisation", Unit::Ratio, "share of busy servers"),
            Self::InSystem => {
                ("backend.in_system", Unit::Requests, "requests inside the backend, sampled")
            }
            Self::Queued => {
                ("backend.queued", Unit::Requests, "requests without a server, sampled")
            }
            Self::Tokens => (
                "limiter.tokens",
                Unit::Bytes,
                "tokens of the global bucket, sampled; debt below 0",
            ),
            Self::Throughput => {
                ("limiter.throughput", Unit::BytesPerSecond, "bytes granted a second")
            }
            Self::LimitUse => {
                ("limiter.utilisation", Unit::Ratio, "share of the global rate that was granted")
            }
            Self::OldestAge => ("limiter.oldest_age", Unit::Seconds, "the longest wait under way"),
            Self::ZeroProgress => (
                "limiter.zero_progress",
                Unit::Count,
                "waiters that went 20 rounds without a grant and still wait",
            ),
            Self::Active => ("download.active", Unit::Count, "transfers with a slot"),
        };
        info(name, unit, Kind::Intervals, about)
    }
}

/// Numbers of downloads since the run began, recorded at each sampling instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// See [`Counted::info`].
    Overtakes,
    /// See [`Counted::info`].
    WakesPerGrant,
    /// See [`Counted::info`].
    Conservation,
    /// See [`Counted::info`].
    Granted,
    /// See [`Counted::info`].
    Lost,
    /// See [`Counted::info`].
    Aborts,
    /// See [`Counted::info`].
    Failed,
    /// See [`Counted::info`].
    SegmentsDone,
    /// See [`Counted::info`].
    TasksDone,
    /// See [`Counted::info`].
    TasksOpen,
}

impl Counted {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 10] = [
        Self::Overtakes,
        Self::WakesPerGrant,
        Self::Conservation,
        Self::Granted,
        Self::Lost,
        Self::Aborts,
        Self::Failed,
        Self::SegmentsDone,
        Self::TasksDone,
        Self::TasksOpen,
    ];

    /// Name, unit and meaning.
    pub const fn info(self) -> SeriesInfo {
        let (name, unit, about) = match self {
            Self::Overtakes => {
                ("limiter.overtakes", Unit::Count, "grants to later askers, summed over waits")
            }
            Self::WakesPerGrant => {
                ("limiter.wakes_per_grant", Unit::Ratio, "looks at the bucket for a grant")
            }
            Self::Conservation => (
                "limiter.conservation",
                Unit::Ratio,
                "bytes granted over rate x t + capacity, the worst of all buckets and instants",
            ),
            Self::Granted => ("download.granted", Unit::Bytes, "bytes granted, lost ones included"),
            Self::Lost => ("download.lost", Unit::Bytes, "bytes granted and lost by aborts"),
            Self::Aborts => ("download.aborts", Unit::Count, "transfers that ended too early"),
            Self::Failed => ("download.failed", Unit::Count, "segments given up for good"),
            Self::SegmentsDone => {
                ("download.segments_done", Unit::Count, "segments that are whole")
            }
            Self::TasksDone => ("download.tasks_done", Unit::Count, "tasks that are whole"),
            Self::TasksOpen => ("download.tasks_open", Unit::Count, "tasks that are not whole yet"),
        };
        info(name, unit, Kind::Steps, about)
    }
}

/// How requests ended, counted since the run began.
pub const fn outcome_series(outcome: Outcome) -> SeriesInfo {
    let (name, about) = match outcome {
        Outcome::Success => ("rpc.ok", "successes since the run began"),
        Outcome::Overload => ("rpc.overload", "answers that say overload since the run began"),
        Outcome::Error => ("rpc.error", "other failures since the run began"),
        Outcome::Timeout => ("rpc.timeout", "requests without an answer in time"),
        Outcome::Cancelled => ("rpc.cancelled", "requests that were given up or cut off"),
    };
    info(name, Unit::Count, Kind::Steps, about)
}

/// Requests that were turned away before they were sent, counted since the run began.
pub const REJECTED: SeriesInfo =
    info("rpc.rejected", Unit::Count, Kind::Steps, "requests that were turned away unsent");

/// Attempts that failed and are tried again, counted since the run began.
pub const RETRIES: SeriesInfo =
    info("rpc.retries", Unit::Count, Kind::Steps, "failed attempts that are tried again");

/// Every series of requests that does not depend on their law.
fn of_calls() -> Vec<SeriesInfo> {
    let mut series = vec![
        info(WINDOW, Unit::Requests, Kind::Steps, "the law's own value, at each update"),
        info(LIMIT, Unit::Requests, Kind::Steps, "what the law admits, at each update"),
    ];
    series.extend(Sampled::CALLS.map(Sampled::info));
    series.extend(PerRequest::CALLS.map(PerRequest::info));
    series.extend(Outcome::ALL.map(outcome_series));
    series.extend([REJECTED, RETRIES]);
    series.extend(Queueing::ALL.map(Queueing::info));
    series
}

/// Every series of downloads.
fn of_downloads() -> Vec<SeriesInfo> {
    let mut series: Vec<_> = Sampled::DOWNLOADS.map(Sampled::info).into();
    series.extend(PerRequest::DOWNLOADS.map(PerRequest::info));
    series.extend(Counted::ALL.map(Counted::info));
    series
}

/// Every series of every arm.
fn of_all() -> Vec<SeriesInfo> {
    let about = "a finite input's time, from its first planned arrival to its last end";
    let mut series: Vec<_> = Sampled::BACKEND.map(Sampled::info).into();
    series.extend(PerRequest::ALL.map(PerRequest::info));
    series.push(info(MAKESPAN, Unit::Seconds, Kind::Steps, about));
    series.extend(Faulted::ALL.map(Faulted::info));
    series
}

/// Every series that does not depend on a law.
pub fn common() -> Vec<SeriesInfo> {
    [of_all(), of_calls(), of_downloads()].concat()
}

/// The prefix and the inner numbers of what is at work.
fn vitals(work: &Work) -> (&'static str, Vec<VitalInfo>) {
    match work {
        Work::Calls(calls) => (CONTROLLER, calls.controller.vitals()),
        Work::Downloads(_) => (LIMITER, limit::VITALS.to_vec()),
    }
}

fn fixed(work: &Work) -> Vec<SeriesInfo> {
    let own = match work {
        Work::Calls(_) => of_calls(),
        Work::Downloads(_) => of_downloads(),
    };
    [of_all(), own].concat()
}

/// Whether `name` is a series of the window, and the law has none. Then there are no values.
pub fn lacks_window(name: &str, work: &Work) -> bool {
    let has_none = matches!(work, Work::Calls(calls) if !calls.controller.has_window());
    has_none && [WINDOW, LIMIT].contains(&name)
}

/// The series called `name`, for an arm that does this work. `None` if such an arm has none.
pub fn find(name: &str, work: &Work) -> Option<(Unit, Kind)> {
    let of = |series: &SeriesInfo| (series.unit, series.kind);
    fixed(work).iter().find(|series| series.name == name).map(of).or_else(|| {
        let (prefix, vitals) = vitals(work);
        let vital = name.strip_prefix(prefix)?;
        let vital = vitals.iter().find(|info| info.name == vital)?;
        Some((vital.unit, Kind::Steps))
    })
}

/// The names of all series of an arm that does this work.
pub fn names(work: &Work) -> Vec<String> {
    let (prefix, vitals) = vitals(work);
    let vitals = vitals.iter().map(|vital| format!("{prefix}{}", vital.name));
    fixed(work).iter().map(|series| series.name.to_owned()).chain(vitals).collect()
}
