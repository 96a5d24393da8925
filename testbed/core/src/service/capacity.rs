//! A backend that has fewer servers for a while, or stands still.

use super::backlog::Turn;
use super::{OVERFLOW_STATUS, Service, TURNED_AWAY_AFTER};
use crate::time::Time;
use std::cmp::Reverse;

impl<J> Service<J> {
    /// Another number of servers, or that of the file again. Those that work on go on until they
    /// are done; more servers take from the backlog at once.
    pub fn set_servers(&mut self, now: Time, servers: Option<u32>) {
        self.servers = servers.unwrap_or(self.config.servers);
        self.follow_background(now);
        self.fill_servers(now);
    }

    /// Stops the backend, or lets it go on. While it stands still nothing is begun, nothing is
    /// released and nobody is turned away; then everything goes on as if that time had not been. A
    /// garbage collector does this.
    pub fn set_frozen(&mut self, now: Time, frozen: bool) {
        if frozen {
            self.follow_background(now);
            self.frozen_at.get_or_insert(now);
        } else if let Some(since) = self.frozen_at.take() {
            self.thaw(now, since);
        }
    }

    /// What is wrong with it on purpose now: the names of rules and of slow starts, and `hold`,
    /// `servers` and `freeze`.
    pub fn faults(&self) -> Vec<String> {
        let rules = self.rules().iter().map(|rule| rule.name.as_str());
        let held = self.hold().is_some().then_some("hold");
        let fewer = (self.servers != self.config.servers).then_some("servers");
        let frozen = self.frozen_at.is_some().then_some("freeze");
        let others = [held, fewer, frozen].into_iter().flatten();
        rules.chain(self.slow_starts()).chain(others).map(str::to_owned).collect()
    }

    fn thaw(&mut self, now: Time, since: Time) {
        let stood = now.since(since);
        self.background.resume(now);
        self.follow_background(now);
        let departures = std::mem::take(&mut self.departures).into_vec();
        for Reverse((ready, sequence, slot)) in departures {
            // What was ready by then only waits for somebody to look.
            let ready = if ready > since { ready.after(stood) } else { ready };
            self.job_mut(slot).ready = ready;
            self.departures.push(Reverse((ready, sequence, slot)));
        }
        self.fill_servers(now);
        for (slot, rejected) in std::mem::take(&mut self.at_the_door) {
            self.enter(now, slot, rejected);
        }
    }

    /// Gives free servers what waits, from `now` on.
    pub(super) fn fill_servers(&mut self, now: Time) {
        while self.frozen_at.is_none()
            && self.busy < self.servers
            && let Some(turn) = self.backlog.pop(now)
        {
            match turn {
                Turn::Serve(slot) => self.start(now, slot),
                Turn::Away(slot) if self.job(slot).payload.is_some() => {
                    self.turn_away(now.after(TURNED_AWAY_AFTER), slot, OVERFLOW_STATUS);
                }
                Turn::Away(slot) | Turn::Drop(slot) => drop(self.forget(slot)),
            }
        }
    }

    /// Jobs that wait for a server, or to be let in.
    pub(super) fn queued(&self) -> u32 {
        (self.backlog.len() + self.at_the_door.len()) as u32
    }
}
