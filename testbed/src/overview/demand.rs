//! What an arm offers, and what its backend or its limiter can do about it.

use super::row::Band;
use crate::digits::significant;
use crate::experiment::file::Mode;
use crate::experiment::plan::{Action, ArmPlan, Calls, Downloads, FaultPlan, Plan, Work};
use crate::verdict::grammar::in_unit;
use testbed_core::hold::Hold;
use testbed_core::limit::Level;
use testbed_core::load::LoadConfig;
use testbed_core::load::pace::PaceConfig;
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Unit;

/// One arm's load and capacity over the run.
#[derive(Debug)]
pub(super) struct Demand {
    pub(super) offered: Vec<Band>,
    pub(super) capacity: Vec<Band>,
    /// Requests, or bytes of downloads, at most.
    most: f64,
    of: Unit,
}

/// What a backend can do in a span of time.
struct Span {
    begin: Time,
    end: Time,
    /// Seconds that a server works on a request alone, on average; infinite if it stands still.
    service: f64,
    /// Requests; infinite if they take no time.
    per_second: f64,
}

impl Demand {
    /// Of the arm at this index.
    pub(super) fn of(plan: &Plan, index: usize) -> Self {
        let arm = &plan.arms[index];
        let all = |text: &str| vec![Band::new(Time::ZERO, Time::ZERO.after(plan.length()), text)];
        let spans = spans(plan, index, arm);
        match &arm.work {
            Work::Calls(calls) => Self {
                offered: all(&offered(calls, plan.length())),
                capacity: spans.iter().map(Span::band).collect(),
                most: requests(calls, &spans, plan.length()),
                of: Unit::Requests,
            },
            Work::Downloads(downloads) => Self {
                offered: all(&tasks(downloads)),
                capacity: all(&limits(downloads)),
                most: bytes(downloads, plan.length()),
                of: Unit::Bytes,
            },
        }
    }
}

/// The run, cut where a fault changes what the arm's backend can do.
fn spans(plan: &Plan, index: usize, arm: &ArmPlan) -> Vec<Span> {
    let faults: Vec<_> = plan.faults.iter().filter(|fault| fault.arms.contains(&index)).collect();
    let changing = faults.iter().filter(|fault| changes(&fault.action));
    let mut edges: Vec<_> = changing.flat_map(|fault| [fault.begin, fault.end]).collect();
    edges.extend([Time::ZERO, Time::ZERO.after(plan.length())]);
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).map(|edge| span(edge[0], edge[1], arm, &faults)).collect()
}

const fn changes(action: &Action) -> bool {
    matches!(
        action,
        Action::Servers(_) | Action::Freeze | Action::Down | Action::Hold(Hold::Scale(_))
    )
}

fn span(begin: Time, end: Time, arm: &ArmPlan, faults: &[&FaultPlan]) -> Span {
    let (mut servers, mut stretch) = (arm.backend.servers, 1.0);
    for fault in faults.iter().filter(|fault| fault.begin <= begin && end <= fault.end) {
        match fault.action {
            Action::Servers(some) => servers = some,
            Action::Hold(Hold::Scale(scale)) => stretch *= scale,
            Action::Freeze | Action::Down => stretch = f64::INFINITY,
            _ => {}
        }
    }
    let per_second =
        if stretch.is_finite() { arm.backend.capacity(servers) / stretch } else { 0.0 };
    let service = arm.backend.service.mean().as_secs_f64() * stretch;
    Span { begin, end, service, per_second }
}

impl Span {
    fn seconds(&self) -> f64 {
        self.end.since(self.begin).as_secs_f64()
    }

    fn band(&self) -> Band {
        let rate = self.per_second;
        let text = if rate.is_finite() { short_rate(rate) } else { "no limit".to_owned() };
        Band::new(self.begin, self.end, &text)
    }
}

/// Three digits are enough for a plan.
fn short_rate(rate: f64) -> String {
    format!("{}/s", significant(rate, 3))
}

fn offered(calls: &Calls, length: Nanos) -> String {
    match &calls.load {
        LoadConfig::Closed(closed) => match &closed.think {
            Some(think) => format!("{} clients, think {}", closed.clients, think.mean()),
            None => format!("{} clients", closed.clients),
        },
        LoadConfig::Open(pace) => {
            let arrivals = pace.expected(Time::ZERO.after(length));
            let rate = short_rate(arrivals / length.as_secs_f64());
            match pace {
                PaceConfig::Trace(_) => format!("{arrivals} recorded, {rate}"),
                _ => rate,
            }
        }
        LoadConfig::Input(input) => format!("{} requests at 0s", input.requests),
    }
}

/// Requests at most: what arrives, or what so many clients can ask of such a backend.
fn requests(calls: &Calls, spans: &[Span], length: Nanos) -> f64 {
    match &calls.load {
        LoadConfig::Open(pace) => pace.expected(Time::ZERO.after(length)),
        LoadConfig::Input(input) => input.requests as f64,
        LoadConfig::Closed(closed) => {
            let think = closed.think.as_ref().map_or(0.0, |think| think.mean().as_secs_f64());
            let clients = f64::from(closed.clients);
            let answered = |span: &Span| {
                (clients / (span.service + think)).min(span.per_second) * span.seconds()
            };
            // The last request of each client need not be answered.
            clients + spans.iter().map(answered).sum::<f64>()
        }
    }
}

fn tasks(Downloads { load, .. }: &Downloads) -> String {
    let size = load.segment.map_or_else(|| "endless".to_owned(), |size| size.to_string());
    let parts =
        if load.segments == 1 { String::new() } else { format!(" of {} parts", load.segments) };
    format!("{} tasks{parts}, {size}", load.tasks)
}

/// The levels that have a limit, and their rates.
fn limits(Downloads { limiter, .. }: &Downloads) -> String {
    let levels = limiter.levels();
    let limit = |level: Level| {
        let bucket = levels?.bucket(level)?;
        Some(format!("{} {}", level.name(), bucket.rate))
    };
    let limits: Vec<_> = Level::ALL.into_iter().filter_map(limit).collect();
    if limits.is_empty() { "no limit".to_owned() } else { limits.join(", ") }
}

/// Bytes at most, by the global limit and by what there is to download; infinite if nothing limits them.
fn bytes(Downloads { limiter, load }: &Downloads, length: Nanos) -> f64 {
    let global = limiter.levels().and_then(|levels| levels.bucket(Level::Global));
    let limit = global.map_or(f64::INFINITY, |bucket| {
        bucket.rate.get() as f64 * length.as_secs_f64() + bucket.capacity() as f64
    });
    load.total().map_or(f64::INFINITY, |total| total as f64).min(limit)
}

/// What the run costs: time, and requests or bytes of all arms together.
pub(super) fn cost(plan: &Plan, demands: &[Demand]) -> String {
    let time = match plan.mode {
        Mode::Virtual => format!("{} of virtual time", plan.length()),
        Mode::Live => format!("{} of real time", plan.length()),
    };
    let sum = |unit: Unit| {
        let amounts = demands.iter().filter(|demand| demand.of == unit).map(|demand| demand.most);
        amounts.fold(None, |sum: Option<f64>, most| Some(sum.unwrap_or(0.0) + most))
    };
    let part = |unit: Unit, what: &str| match sum(unit) {
        None => String::new(),
        Some(most) if most.is_finite() => {
            format!("; {} {what} at most", in_unit(most.round(), unit))
        }
        Some(_) => format!("; {what} without a limit"),
    };
    let (requests, bytes) = (part(Unit::Requests, "requests"), part(Unit::Bytes, "downloaded"));
    format!("costs {time}{requests}{bytes}\n")
}
