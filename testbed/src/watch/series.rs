//! Every series that is recorded: its name, unit, kind and meaning. Vitals of laws come on top, as
//! `controller.<vital>`.

use testbed_core::control::ControllerConfig;
use testbed_core::request::Outcome;
use testbed_core::vitals::Unit;

/// How a series is recorded, and so what can be asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A value that holds until it changes; every change is recorded.
    Steps,
    /// Summed up over each sampling interval: exact mean, least and greatest.
    Intervals,
    /// One value a request, kept as a distribution for each phase.
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
/// From the first planned arrival of a finite input to its last end.
pub const MAKESPAN: &str = "load.makespan";

/// Distributions: one value a request.
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
}

impl PerRequest {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 7] =
        [Self::Wait, Self::Latency, Self::Rtt, Self::Age, Self::Lateness, Self::Lag, Self::SendLag];

    /// Name, unit and meaning.
    pub const fn info(self) -> SeriesInfo {
        let (name, about) = match self {
            Self::Wait => ("admission.wait", "from the planned arrival to admission"),
            Self::Latency => ("rpc.latency", "from the planned arrival to the end"),
            Self::Rtt => ("rpc.rtt", "from sending to the end: what controllers are told"),
            Self::Age => ("backend.age", "from arrival at the backend to the answer's release"),
            Self::Lateness => {
                ("backend.lateness", "how much later than planned answers were released (live)")
            }
            Self::Lag => ("load.lag", "how late arrivals were against their plan (live)"),
            Self::SendLag => ("rpc.send_lag", "from admission until the request is written (live)"),
        };
        info(name, Unit::Seconds, Kind::Distribution, about)
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
}

impl Sampled {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 6] = [
        Self::InFlight,
        Self::Waiting,
        Self::Goodput,
        Self::Utilisation,
        Self::InSystem,
        Self::Queued,
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
        };
        info(name, unit, Kind::Intervals, about)
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

/// Requests that found the queue full, counted since the run began.
pub const REJECTED: SeriesInfo =
    info("rpc.rejected", Unit::Count, Kind::Steps, "requests that found the queue full");

/// Every series of an arm that does not depend on its law.
pub fn common() -> Vec<SeriesInfo> {
    let mut series = vec![
        info(WINDOW, Unit::Requests, Kind::Steps, "the law's own value, at each update"),
        info(LIMIT, Unit::Requests, Kind::Steps, "what the law admits, at each update"),
    ];
    series.extend(Sampled::ALL.map(Sampled::info));
    series.extend(PerRequest::ALL.map(PerRequest::info));
    series.extend(Outcome::ALL.map(outcome_series));
    series.push(REJECTED);
    let about = "a finite input's time, from its first planned arrival to its last end";
    series.push(info(MAKESPAN, Unit::Seconds, Kind::Steps, about));
    series
}

/// The series called `name`, for an arm that runs `law`. `None` if such an arm has none.
pub fn find(name: &str, law: &ControllerConfig) -> Option<(Unit, Kind)> {
    let vital = name.strip_prefix(CONTROLLER);
    common()
        .iter()
        .find(|series| series.name == name)
        .map(|series| (series.unit, series.kind))
        .or_else(|| {
            let vital = law.vitals().iter().find(|info| Some(info.name) == vital)?;
            Some((vital.unit, Kind::Steps))
        })
}

/// The names of all series of an arm that runs `law`.
pub fn names(law: &ControllerConfig) -> Vec<String> {
    let vitals = law.vitals().iter().map(|vital| format!("{CONTROLLER}{}", vital.name));
    common().iter().map(|series| series.name.to_owned()).chain(vitals).collect()
}
