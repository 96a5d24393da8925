//! Looks at what a run has recorded so far, and tells its history how expectations stand.
//!
//! It looks on the run's own thread, between two events, so it takes little of its time: at a sampling instant one slice at
//! most, then nothing for a hundred times as long as that took. Whatever takes too long once is left to the end.

use super::history::History;
use super::wire::Message;
use crate::experiment::plan::{Expectation, Plan};
use crate::verdict::evaluate::Evidence;
use crate::verdict::judge::Judge;
use crate::verdict::referee::Referee;
use crate::verdict::standing::{Stand, Standing};
use std::collections::BTreeMap;
use std::io::Write;
use testbed_clock::LiveClock;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::time::{Nanos, Time};

/// What is told at least so far apart, in wall time: people read it.
const EVERY: Nanos = Nanos::from_secs(1);
/// Wall time after which a look goes on at a later sampling instant: a tenth of what the guards let a load be late.
const SLICE: Nanos = Nanos::from_millis(1);
/// Wall time of one expectation that is too long to ask again: the load would be late by that much each time.
const TOO_LONG: Nanos = Nanos::from_millis(5);
/// Looks take at most one part in so many of the run's time.
const PATIENCE: u64 = 100;

/// A referee, and who looks over its shoulder if somebody may watch.
pub(crate) struct Onlooker<'p, W: Write> {
    /// Whom it looks at.
    referee: Referee<'p, W>,
    look: Option<Look<'p>>,
}

/// How far a look has come.
struct Look<'p> {
    plan: &'p Plan,
    history: History,
    clock: LiveClock,
    /// Each expectation of each arm.
    rows: Vec<(&'p Expectation, usize, Standing)>,
    /// The row that comes next.
    next: usize,
    /// Those that stand otherwise than was told.
    news: BTreeMap<usize, Standing>,
    /// From when on it may look again.
    due: Time,
    /// From when on the next round may begin.
    round_due: Time,
}

impl<'p, W: Write> Onlooker<'p, W> {
    /// Looks at `referee` on behalf of those who read `history`, if there is one.
    pub(crate) fn new(plan: &'p Plan, referee: Referee<'p, W>, history: Option<History>) -> Self {
        Self { referee, look: history.map(|history| Look::new(plan, history)) }
    }

    /// Whom it has looked at.
    pub(crate) fn into_referee(self) -> Referee<'p, W> {
        self.referee
    }
}

impl<W: Write> Observer for Onlooker<'_, W> {
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.referee.on_event(now, event);
        if let (Some(look), Event::Tick) = (&mut self.look, event) {
            look.tick(now, &self.referee);
        }
    }
}

impl<'p> Look<'p> {
    fn new(plan: &'p Plan, history: History) -> Self {
        let of = |expectation: &'p Expectation| {
            let row = move |&arm: &usize| (expectation, arm, Standing::new(plan, expectation, arm));
            expectation.arms.iter().map(row)
        };
        let rows: Vec<_> = plan.expect.iter().flat_map(of).collect();
        let news = rows.iter().map(|(_, _, standing)| standing.clone()).enumerate().collect();
        let clock = LiveClock::start();
        let (due, round_due) = (Time::ZERO, Time::ZERO);
        Self { plan, history, clock, rows, next: 0, news, due, round_due }
    }

    fn tick<W: Write>(&mut self, now: Time, referee: &Referee<'_, W>) {
        let begin = self.clock.now();
        if begin < self.due || self.next == 0 && begin < self.round_due {
            return;
        }
        let slice_end = begin.after(SLICE);
        let judge = Judge::new(self.plan, Evidence::new(self.plan, referee.store()));
        while self.next < self.rows.len() && self.clock.now() < slice_end {
            self.row(&judge, referee);
        }
        if self.next == self.rows.len() && self.clock.now() < slice_end {
            self.round(now);
            self.round_due = begin.after(EVERY);
        }
        let end = self.clock.now();
        self.due = end.after(Nanos::new(end.since(begin).get().saturating_mul(PATIENCE)));
    }

    fn row<W: Write>(&mut self, judge: &Judge<'_>, referee: &Referee<'_, W>) {
        let (expectation, arm, standing) = &mut self.rows[self.next];
        let index = self.next;
        self.next += 1;
        let (before, begin) = (standing.clone(), self.clock.now());
        standing.look(judge, referee.store(), expectation, *arm);
        if self.clock.now().since(begin) > TOO_LONG && !standing.is_settled() {
            (standing.stand, standing.text) = (Stand::AtEnd, String::new());
        }
        if *standing != before {
            self.news.insert(index, standing.clone());
        }
    }

    /// All rows have been looked at.
    fn round(&mut self, now: Time) {
        self.next = 0;
        if !self.news.is_empty() {
            let expectations = std::mem::take(&mut self.news).into_iter().collect();
            self.history.tell(&Message::Standing { t_ns: now.as_nanos(), expectations });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::example;
    use super::*;
    use crate::drive::interrupt::Interrupt;
    use crate::experiment::{self, Overrides};
    use crate::watch::recorder::Recorder;
    use crate::watch::server::ServerMetrics;
    use std::task::{Context, Poll, Waker};

    /// Ticks with which a round must be over, however slow the machine is: a pause each.
    const ROUND_TICKS: u64 = 1000;

    fn plan() -> Plan {
        let text = "version: 1\nname: s\narms: { a: { controller: { fixed: { limit: 8 } } } }\n\
                    backend: { servers: 1, service: { constant: 1ms } }\nload: { closed: { clients: 1 } }\n\
                    phases: [ { name: p, for: 100s } ]\n\
                    expect:\n\
                    - { id: low, that: max(admission.in_flight) < 9 }\n\
                    - { id: back, that: 'settling(controller.window, band=5%) < 9s' }\n";
        experiment::load("s", text, &Overrides::default()).unwrap()
    }

    /// The messages that a history has now.
    fn told(history: &History) -> Vec<Message> {
        let mut reader = history.reader().unwrap();
        let mut all = Vec::new();
        while let Poll::Ready(Some(frame)) = reader.poll_next(&Context::from_waker(Waker::noop())) {
            let text = String::from_utf8(frame.to_vec()).unwrap();
            let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            all.push(serde_json::from_str(data).unwrap());
        }
        all
    }

    #[test]
    fn every_expectation_is_told_once_and_again_only_if_it_stands_otherwise() {
        let (plan, history) = (plan(), History::new(example(), ServerMetrics::default()));
        let recorder = Recorder::new(&plan.arms, false, std::io::sink());
        let referee = Referee::new(&plan, recorder, Interrupt::default());
        let mut onlooker = Onlooker::new(&plan, referee, Some(history.clone()));
        onlooker.on_event(Time::ZERO, &Event::Phase { index: 0, name: "p" });
        // Nobody is in flight, at any tick: after the first round nothing is new.
        for tick in 1..=ROUND_TICKS {
            onlooker.on_event(Time::ZERO.after(Nanos::from_millis(tick)), &Event::Tick);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let stands = told(&history).into_iter().filter_map(|message| match message {
            Message::Standing { expectations, .. } => Some(expectations),
            _ => None,
        });
        let stands: Vec<_> = stands.collect();
        let words =
            |(place, standing): &(usize, Standing)| (*place, standing.id.clone(), standing.stand);
        let first: Vec<_> = stands[0].iter().map(words).collect();
        assert_eq!(
            first,
            [(0, "low".to_owned(), Stand::Holds), (1, "back".to_owned(), Stand::AtEnd)]
        );
        assert_eq!(stands.len(), 1, "{stands:?}");
    }

    #[test]
    fn without_readers_nobody_looks() {
        let plan = plan();
        let recorder = Recorder::new(&plan.arms, false, std::io::sink());
        let referee = Referee::new(&plan, recorder, Interrupt::default());
        assert!(Onlooker::new(&plan, referee, None).look.is_none());
    }
}
