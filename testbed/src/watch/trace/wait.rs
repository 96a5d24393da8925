//! The span of one wait for tokens, made when it is over: a trace of its own, as long as the wait.

use super::choose::{How, Why};
use super::request::{Maker, number};
use super::{Tracer, names};
use crate::trace_ids::Ids;
use crate::watch::waits::waiter_name;
use opentelemetry::trace::Link;
use opentelemetry::{KeyValue, StringValue};
use testbed_core::request::{Arm, Attempt};
use testbed_core::time::Time;
use testbed_core::wait::{Wait, WaitEnd};

/// A wait for tokens that is over.
#[derive(Debug)]
pub(super) struct OverWait<'a> {
    pub(super) arm: Arm,
    pub(super) wait: &'a Wait,
    pub(super) end: WaitEnd,
    /// Waits that its grant overtook.
    pub(super) overtook: u32,
    /// Asks that still wait.
    pub(super) waiting: u32,
}

/// The asks of an arm's waiters, each by its number among those of its waiter. They stand for attempts:
/// a waiter asks again and again, and has one wait at a time.
#[derive(Debug, Default)]
pub(super) struct Asks {
    /// Waits of each waiter that have ended, by its id.
    ended: Vec<u32>,
}

impl Asks {
    /// The ask that this waiter waits for, or will make next.
    pub(super) fn present(&self, wait: &Wait) -> Attempt {
        let number = self.ended.get(wait.waiter.id as usize).copied().unwrap_or(0);
        Attempt { request: wait.waiter.id.into(), number }
    }

    /// The wait is over. Which it was.
    pub(super) fn end(&mut self, wait: &Wait) -> Attempt {
        let (ask, index) = (self.present(wait), wait.waiter.id as usize);
        if index >= self.ended.len() {
            self.ended.resize(index + 1, 0);
        }
        self.ended[index] = ask.number.wrapping_add(1);
        ask
    }
}

impl Tracer {
    /// Somebody asked for tokens.
    pub(super) fn asked(&mut self, arm: Arm, wait: &Wait) {
        let traced = &mut self.arms[arm.index()];
        traced.chooser.arrived(traced.asks.present(wait));
    }

    /// A wait for tokens is over. Near saturation it is long in any queue, so only what it lasted beyond
    /// what a fair one would have made of it can make it remarkable.
    pub(super) fn waited(&mut self, over: &OverWait<'_>) {
        let OverWait { arm, wait, end, .. } = *over;
        let lasted = self.now.since(wait.asked_at);
        let traced = &mut self.arms[arm.index()];
        let ask = traced.asks.end(wait);
        let (ids, how) = (self.ids.attempt(arm, ask), How::Waited(end));
        let unfair = lasted.minus(wait.fifo_wait());
        let choice = traced.chooser.ended(self.now, ask, how, unfair, ids.rank());
        let name = traced.name.clone();
        let Some(why) = self.tally.ended(choice) else { return };
        if !self.has_room(1) {
            return;
        }
        self.maker.wait(ids, &name, over, why, self.now);
        // What the end of the run cut off is in no histogram.
        if end != WaitEnd::CutOff {
            self.exemplar(&names::WAIT, &[name.as_str()], lasted, ids.trace);
        }
    }
}

impl Maker {
    /// Makes the span of a wait of the arm called `arm`.
    fn wait(&self, ids: Ids, arm: &StringValue, over: &OverWait<'_>, why: Why, end: Time) {
        let mut attributes = attributes(over);
        attributes.extend([
            KeyValue::new("windtunnel.run", self.run_name.clone()),
            KeyValue::new("windtunnel.arm", arm.clone()),
            KeyValue::new("windtunnel.chosen", why.name()),
        ]);
        let span = self.span("wait", over.wait.asked_at).with_attributes(attributes);
        let span = span.with_links(vec![Link::with_context(self.run.clone())]);
        self.end(ids, (0, None), span, None, end);
    }
}

fn attributes(over: &OverWait<'_>) -> Vec<KeyValue> {
    let wait = over.wait;
    let mut attributes = vec![
        KeyValue::new("windtunnel.waiter", waiter_name(wait.waiter)),
        KeyValue::new("windtunnel.outcome", over.end.name()),
        KeyValue::new("windtunnel.bytes", number(wait.cost)),
        KeyValue::new("windtunnel.fifo_wait_ns", number(wait.fifo_wait().get())),
        KeyValue::new("windtunnel.overtook", i64::from(over.overtook)),
        KeyValue::new("windtunnel.waiting", i64::from(over.waiting)),
    ];
    // Absent where the policy tells none.
    let quoted = wait.quoted_wait();
    attributes
        .extend(quoted.map(|wait| KeyValue::new("windtunnel.quoted_wait_ns", number(wait.get()))));
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed_core::limit::Waiter;

    fn wait(id: u32) -> Wait {
        let waiter = Waiter { id, ..Waiter::default() };
        Wait { waiter, cost: 1, asked_at: Time::ZERO, quoted: None, fifo_at: Time::ZERO }
    }

    #[test]
    fn asks_are_numbered_for_each_waiter_from_the_ask_to_its_end() {
        let mut asks = Asks::default();
        for (id, number) in [(5, 0), (5, 1), (0, 0), (5, 2), (0, 1)] {
            let ask = Attempt { request: id.into(), number };
            assert_eq!(asks.present(&wait(id)), ask);
            assert_eq!(asks.end(&wait(id)), ask);
        }
    }
}
