//! The shell: runs an experiment's arms in a world, virtual or live. It is written once and does
//! no thinking; laws, queues and models do.
//!
//! ```text
//! wait for the next answer, or for the next instant at which somebody has something to do
//!   answer   -> admission.finish -> controller; the load hears of it; the backend is fed
//!   chunk    -> downloads.on_progress -> limiter
//!   instant  -> timeline edge | sampling | load, drain, law or limiter that is due
//! then let go what may go
//! ```

use super::calls::Calls;
use super::timeline::{Change, Timeline};
use super::world::{ArmFaults, Closed, Signal, Step, World, WorldError};
use crate::experiment::plan::{self, Action, ArmPlan, FaultPlan, Plan};
use faults::Toxic;
use std::collections::BTreeSet;
use testbed_core::download::{Downloads, Progress, TransferId};
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::request::{Answer, Arm, Outcome, Ticket};
use testbed_core::rng::Streams;
use testbed_core::service::{BackendState, Rule};
use testbed_core::time::Time;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It went through all of its phases.
    Complete,
    /// It was stopped.
    Interrupted(Signal),
}

/// One variant.
struct ArmState {
    arm: Arm,
    work: Work,
    faults: ArmFaults,
}

/// What it does.
enum Work {
    Calls(Box<Calls>),
    Downloads(Box<Downloads>),
}

/// Runs an experiment.
pub struct Shell<'a, W, O> {
    plan: &'a Plan,
    world: W,
    observer: O,
    arms: Vec<ArmState>,
    timeline: Timeline,
    faults_on: BTreeSet<usize>,
    next_tick: Time,
    last_tick: Time,
}

impl<'a, W: World, O: Observer> Shell<'a, W, O> {
    /// A run at its beginning.
    pub fn new(plan: &'a Plan, mut world: W, observer: O) -> Self {
        let streams = Streams::new(plan.seed);
        let arms = (0u16..).map(Arm).zip(&plan.arms);
        Self {
            arms: arms.map(|(arm, plan)| ArmState::new(arm, plan, &streams, &mut world)).collect(),
            timeline: Timeline::new(plan),
            faults_on: BTreeSet::new(),
            next_tick: Time::ZERO.after(plan.sample_every),
            last_tick: Time::ZERO,
            plan,
            world,
            observer,
        }
    }

    /// Runs to the end of the last phase, or until interrupted. However it ends, faults are healed
    /// and every ticket has ended.
    ///
    /// # Errors
    /// When the world breaks. Faults have been healed as far as it let them.
    pub fn run(mut self) -> Result<Ending, WorldError> {
        let ran = self.run_phases();
        let now = self.world.now();
        let healed = self.heal(now);
        let closed = self.close(now);
        let ending = ran?;
        healed.and(closed)?;
        Ok(ending)
    }

    fn run_phases(&mut self) -> Result<Ending, WorldError> {
        self.apply_due_changes(Time::ZERO)?;
        for arm in &mut self.arms {
            if let Work::Calls(calls) = &mut arm.work {
                calls.announce(Time::ZERO, &mut self.observer);
            }
        }
        self.let_go_all(Time::ZERO);
        while !self.timeline.is_over() {
            match self.world.step(self.next_instant())? {
                Step::Answer { arm, ticket, answer } => self.take_back(arm, ticket, &answer),
                Step::Transfer { arm, id, progress } => self.come_on(arm, id, progress),
                Step::Reached => self.on_instant(self.world.now())?,
                Step::Interrupted(signal) => return Ok(Ending::Interrupted(signal)),
            }
        }
        Ok(Ending::Complete)
    }

    fn next_instant(&self) -> Time {
        let arms = self.arms.iter().filter_map(ArmState::next_wake).min();
        arms.unwrap_or(Time::NEVER).min(self.next_tick).min(self.timeline.next())
    }

    fn take_back(&mut self, arm: Arm, ticket: Ticket, answer: &Answer) {
        let now = self.world.now();
        let Work::Calls(calls) = &mut self.arms[arm.index()].work else { return };
        let feed = calls.take_back(now, ticket, answer, &mut self.observer);
        self.world.feed(arm, feed);
        calls.let_go(now, &mut self.world, &mut self.observer);
    }

    fn come_on(&mut self, arm: Arm, id: TransferId, progress: Progress) {
        let now = self.world.now();
        let state = &mut self.arms[arm.index()];
        if let Work::Downloads(downloads) = &mut state.work {
            downloads.on_progress(now, id, progress, &mut self.observer);
        }
        state.carry_out(&mut self.world);
    }

    fn on_instant(&mut self, now: Time) -> Result<(), WorldError> {
        if now >= self.next_tick {
            self.tick(now);
        }
        if now >= self.timeline.next() {
            self.apply_due_changes(now)?;
        }
        self.let_go_all(now);
        Ok(())
    }

    fn let_go_all(&mut self, now: Time) {
        for arm in &mut self.arms {
            if arm.next_wake().is_some_and(|due| due <= now) {
                arm.go_on(now, &mut self.world, &mut self.observer);
            }
        }
    }

    /// A sampling instant. Those that a slow machine missed are not made up for.
    fn tick(&mut self, now: Time) {
        while self.next_tick <= now {
            self.next_tick = self.next_tick.after(self.plan.sample_every);
        }
        if now == self.last_tick {
            return;
        }
        self.last_tick = now;
        let mut looks: Vec<BackendState> = Vec::new();
        for (state, plan) in self.arms.iter_mut().zip(&self.plan.arms) {
            match &mut state.work {
                Work::Calls(calls) => calls.look(now, &mut self.observer),
                Work::Downloads(downloads) => downloads.look(now, &mut self.observer),
            }
            for lag in self.world.feed_lags(state.arm) {
                self.observer.on_event(now, &Event::Fed { arm: state.arm, lag });
            }
            // Utilisation counts from the look before, so a shared backend is looked at once.
            let look = looks.get(plan.host).copied();
            let look = look.unwrap_or_else(|| self.world.look(state.arm));
            looks.push(look);
            let backend = Event::Backend {
                arm: state.arm,
                in_system: look.in_system,
                queued: look.queued,
                utilisation: look.utilisation,
            };
            self.observer.on_event(now, &backend);
        }
        self.count_faults(now);
        if let Some(lag) = self.world.runtime_lag() {
            self.observer.on_event(now, &Event::Runtime { lag });
        }
        self.observer.on_event(now, &Event::Tick);
    }

    /// What faults have done so far.
    fn count_faults(&mut self, now: Time) {
        for arm in self.arms.iter().map(|state| state.arm) {
            for (name, counts) in self.world.injected(arm) {
                self.observer.on_event(now, &Event::Injected { arm, name: &name, counts });
            }
            if let Some(network) = self.world.network(arm) {
                self.observer.on_event(now, &Event::Network { arm, network });
            }
        }
    }

    fn apply_due_changes(&mut self, now: Time) -> Result<(), WorldError> {
        if now > Time::ZERO {
            self.tick(now);
        }
        while let Some(change) = self.timeline.take(now) {
            match change {
                Change::Phase(index) => {
                    let name = &self.plan.phases[index].name;
                    self.observer.on_event(now, &Event::Phase { index, name });
                    // A gate that was not met: no fault is switched on after it.
                    if self.world.halted() {
                        return Ok(());
                    }
                }
                Change::Fault { index, on } => self.switch(now, index, on)?,
                Change::End => {}
            }
        }
        Ok(())
    }

    fn switch(&mut self, now: Time, index: usize, on: bool) -> Result<(), WorldError> {
        let fault = &self.plan.faults[index];
        if on {
            self.faults_on.insert(index);
        } else {
            self.faults_on.remove(&index);
        }
        for &arm in &fault.arms {
            let state = &mut self.arms[arm];
            state.faults.switch(now, self.plan, arm, index, &self.faults_on);
            self.world.set_faults(state.arm, &state.faults)?;
        }
        self.observer.on_event(now, &Event::Fault { index, name: &fault.name, on });
        Ok(())
    }

    /// Switches off what is on, and has the engine say that it is off, whatever became of the run.
    fn heal(&mut self, now: Time) -> Result<(), WorldError> {
        let still_on = self.faults_on.clone();
        let switched: Vec<_> =
            still_on.into_iter().map(|index| self.switch(now, index, false)).collect();
        let arms: Vec<_> = self.arms.iter().map(|state| state.arm).collect();
        let proven: Vec<_> = arms.into_iter().map(|arm| self.prove_healed(now, arm)).collect();
        switched.into_iter().chain(proven).collect()
    }

    fn prove_healed(&mut self, now: Time, arm: Arm) -> Result<(), WorldError> {
        let state = self.world.read_back(arm)?;
        self.observer.on_event(now, &Event::Healed { arm, up: state.up, left: &state.left });
        let arm = self.plan.arms[arm.index()].name.clone();
        state.unhealed().map_or(Ok(()), |what| Err(WorldError::NotHealed { arm, what }))
    }

    fn close(&mut self, now: Time) -> Result<(), WorldError> {
        self.tick(now);
        let Closed { tickets, outcome } = self.world.close();
        for (arm, ticket) in tickets {
            let cut_off = Answer::without(Outcome::Cancelled, ticket.start, now);
            if let Work::Calls(calls) = &mut self.arms[arm.index()].work {
                calls.finish(now, ticket, &cut_off, &mut self.observer);
            }
        }
        for state in &mut self.arms {
            match &mut state.work {
                Work::Calls(calls) => calls.abandon(now, &mut self.observer),
                Work::Downloads(downloads) => downloads.cut_off(now, &mut self.observer),
            }
        }
        self.observer.on_event(now, &Event::End);
        outcome
    }
}

impl ArmState {
    fn new<W: World>(arm: Arm, plan: &ArmPlan, streams: &Streams, world: &mut W) -> Self {
        let work = match &plan.work {
            plan::Work::Calls(calls) => Work::Calls(Box::new(Calls::new(arm, calls, streams))),
            plan::Work::Downloads(plan) => {
                let own = Downloads::new(arm, &plan.load, &plan.limiter, streams);
                let downloads = match world.limiter(arm, &plan.limiter) {
                    Some(limiter) => own.behind(limiter),
                    None => own,
                };
                Work::Downloads(Box::new(downloads))
            }
        };
        Self { arm, work, faults: ArmFaults::default() }
    }

    fn next_wake(&self) -> Option<Time> {
        match &self.work {
            Work::Calls(calls) => calls.next_wake(),
            Work::Downloads(downloads) => downloads.next_wake(),
        }
    }

    /// Does what is due, and sends what may go.
    fn go_on<W: World, O: Observer>(&mut self, now: Time, world: &mut W, observer: &mut O) {
        match &mut self.work {
            Work::Calls(calls) => calls.go_on(now, world, observer),
            Work::Downloads(downloads) => downloads.step(now, observer),
        }
        self.carry_out(world);
    }

    fn carry_out<W: World>(&mut self, world: &mut W) {
        if let Work::Downloads(downloads) = &mut self.work {
            while let Some(command) = downloads.take_command() {
                world.transfer(self.arm, command);
            }
        }
    }
}

impl ArmFaults {
    /// Switches the fault `index` of `plan` at `now`; `on` are those that are on by then. What several faults
    /// may want of one part is worked out anew from all of them, in the order of the file.
    fn switch(&mut self, now: Time, plan: &Plan, arm: usize, index: usize, on: &BTreeSet<usize>) {
        // Toxics are switched one by one, and stay.
        let mut all = Self { proxy: std::mem::take(&mut self.proxy), ..Self::default() };
        all.proxy.set_enabled(true);
        let acting = on.iter().map(|index| &plan.faults[*index]);
        acting.filter(|fault| fault.arms.contains(&arm)).for_each(|fault| all.add(fault));
        *self = all;
        let FaultPlan { name, action, .. } = &plan.faults[index];
        if let Action::Toxic(toxic) = action {
            self.switch_toxic(now, name, toxic, on.contains(&index));
        }
    }

    fn add(&mut self, FaultPlan { name, action, .. }: &FaultPlan) {
        let name = name.clone();
        match action {
            Action::Http(fault) => self.rules.push(Rule { name, fault: fault.clone() }),
            Action::Hold(of) => self.hold = Some(*of),
            Action::Down => self.proxy.set_enabled(false),
            Action::Servers(n) => {
                self.servers = Some(self.servers.map_or(*n, |least| least.min(*n)));
            }
            Action::Freeze => self.frozen = true,
            Action::SlowStart(start) => self.slow_starts.push((name, start.clone())),
            Action::Toxic(_) => {}
        }
    }

    /// A toxic keeps its place and its draws while others come and go, so it is added and removed.
    fn switch_toxic(&mut self, now: Time, name: &str, toxic: &Toxic, on: bool) {
        let toxic = Toxic { name: Some(name.to_owned()), ..toxic.clone() };
        // Names of faults are one of a kind and each is switched on before it is off, so neither
        // can be refused.
        let switched = if on {
            self.proxy.add(now, toxic).map(drop)
        } else {
            self.proxy.remove(name).map(drop)
        };
        debug_assert_eq!(switched, Ok(()));
    }
}

#[cfg(test)]
mod tests;
