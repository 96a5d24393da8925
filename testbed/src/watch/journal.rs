//! The journal: `events.jsonl`, one line an event, written as the run goes.

use super::prometheus::ArmLabel;
use super::regime::{Regime, Regimes};
use super::waits::waiter_name;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use testbed_core::download::Change;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::time::Time;
use testbed_core::vitals::Vitals;

/// An observer that appends phases, faults and their healing, controller updates, changes of regime and
/// ends of inputs to a file.
pub struct Journal<W: Write> {
    arms: Vec<String>,
    regimes: Regimes,
    entries: Entries,
    out: W,
    live: bool,
    failure: Option<io::Error>,
}

/// How often each arm came into each regime.
#[derive(Clone, Debug, Default)]
pub struct Entries(Vec<[u64; Regime::ALL.len()]>);

impl Entries {
    /// How often the arm of that index came into `regime`.
    pub fn of(&self, arm: usize, regime: Regime) -> u64 {
        self.0[arm][regime as usize]
    }
}

#[derive(Serialize)]
struct Line<'a> {
    t_ns: u64,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum What<'a> {
    Phase {
        phase: &'a str,
    },
    Fault {
        fault: &'a str,
        on: bool,
    },
    Update {
        arm: &'a str,
        old: Option<f64>,
        new: Option<f64>,
        limit: Option<u64>,
        direction: &'a str,
        reason: &'a str,
        vitals: BTreeMap<&'static str, f64>,
    },
    Transfer {
        arm: &'a str,
        waiter: String,
        #[serde(flatten)]
        change: Changed,
    },
    InputDone {
        arm: &'a str,
        makespan_ns: u64,
    },
    Healed {
        arm: &'a str,
        up: bool,
        left: &'a [String],
    },
    Regime {
        arm: &'a str,
        regime: &'a str,
    },
    End,
}

#[derive(Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
enum Changed {
    Opened { attempt: u32 },
    Aborted { reason: &'static str, lost: u64 },
    Done { task_done: bool },
    Failed,
}

impl Changed {
    const fn of(change: Change) -> Self {
        match change {
            Change::Opened { attempt } => Self::Opened { attempt },
            Change::Aborted { reason, lost } => Self::Aborted { reason: reason.name(), lost },
            Change::Done { task_done } => Self::Done { task_done },
            Change::Failed => Self::Failed,
        }
    }
}

impl<W: Write> Journal<W> {
    /// A journal for these arms. In a live run every line is flushed at the next sampling instant.
    pub fn new(arms: &[ArmLabel], live: bool, out: W) -> Self {
        let names = arms.iter().map(|arm| arm.name.clone()).collect();
        let (regimes, entries) =
            (Regimes::new(arms), Entries(vec![Default::default(); arms.len()]));
        Self { arms: names, regimes, entries, out, live, failure: None }
    }

    /// Closes the journal, and says how often arms came into which regime.
    ///
    /// # Errors
    /// The first failure to write, if any.
    pub fn finish(mut self) -> io::Result<Entries> {
        self.out.flush()?;
        self.failure.map_or(Ok(self.entries), Err)
    }

    /// A line for each arm whose regime is another now.
    fn note_regimes(&mut self, now: Time, event: &Event<'_>) {
        for (arm, regime) in self.regimes.follow(now, event) {
            self.entries.0[arm.index()][regime as usize] += 1;
            let regime = regime.name();
            let what = What::Regime { arm: &self.arms[arm.index()], regime };
            let written = write(&mut self.out, now, what);
            self.failure = self.failure.take().or_else(|| written.err());
        }
    }

    fn flush(&mut self) {
        let flushed = self.out.flush();
        self.failure = self.failure.take().or_else(|| flushed.err());
    }
}

fn write(out: &mut impl Write, now: Time, what: What<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Line { t_ns: now.as_nanos(), what })?;
    out.write_all(b"\n")
}

fn by_name(vitals: &Vitals) -> BTreeMap<&'static str, f64> {
    vitals.iter().map(|vital| (vital.name, vital.value)).collect()
}

impl<W: Write> Observer for Journal<W> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.note_regimes(now, event);
        let what = match *event {
            Event::Phase { name, .. } => What::Phase { phase: name },
            Event::Fault { name, on, .. } => What::Fault { fault: name, on },
            Event::Updated { arm, update, vitals } => What::Update {
                arm: &self.arms[arm.index()],
                old: update.old_window(),
                new: update.window(),
                limit: update.bound(),
                direction: update.direction(),
                reason: update.reason,
                vitals: by_name(vitals),
            },
            Event::Transfer { arm, waiter, change, .. } => {
                let arm = &self.arms[arm.index()];
                What::Transfer { arm, waiter: waiter_name(waiter), change: Changed::of(change) }
            }
            Event::InputDone { arm, makespan } => {
                What::InputDone { arm: &self.arms[arm.index()], makespan_ns: makespan.get() }
            }
            Event::Healed { arm, up, left } => {
                What::Healed { arm: &self.arms[arm.index()], up, left }
            }
            Event::End => What::End,
            Event::Tick => {
                if self.live {
                    self.flush();
                }
                return;
            }
            // One line a request would drown the journal; series.csv has their sums.
            Event::Arrived { .. }
            | Event::Rejected { .. }
            | Event::Queue { .. }
            | Event::Admitted { .. }
            | Event::Finished { .. }
            | Event::Abandoned { .. }
            | Event::Asked { .. }
            | Event::WaitEnded { .. }
            | Event::Limiter { .. }
            | Event::Injected { .. }
            | Event::Network { .. }
            | Event::Fed { .. }
            | Event::Runtime { .. }
            | Event::Backend { .. } => return,
        };
        let written = write(&mut self.out, now, what);
        self.failure = self.failure.take().or_else(|| written.err());
    }
}
