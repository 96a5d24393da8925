//! An ideal world: it does what it is told, and what is asked for is there at once or after a delay
//! of the test's choice. It checks that it is told nothing senseless.

use crate::ledger::Ledger;
use std::collections::BTreeMap;
use testbed_core::download::{Command, DownloadConfig, Downloads, Progress, TransferId};
use testbed_core::limit::LimiterConfig;
use testbed_core::limit::quantity::Bytes;
use testbed_core::request::Arm;
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

/// A transfer that is open.
#[derive(Debug)]
struct Transfer {
    id: TransferId,
    /// Bytes that it may still ask for.
    left: Option<u64>,
    is_read: bool,
}

/// A range that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opened {
    pub(crate) at: Time,
    pub(crate) id: TransferId,
    pub(crate) offset: u64,
    pub(crate) length: Option<u64>,
}

pub(crate) struct World {
    pub(crate) downloads: Downloads,
    pub(crate) ledger: Ledger,
    pub(crate) now: Time,
    config: DownloadConfig,
    /// How long the bytes of each read take, in turn; none at all, if it is empty.
    delays: Vec<Nanos>,
    /// Progress that will be told, whether or not anybody still wants to hear it.
    under_way: BTreeMap<(Time, usize), (TransferId, Progress)>,
    transfers: BTreeMap<u32, Transfer>,
    pub(crate) opened: Vec<Opened>,
    /// (instant, segment, bytes).
    pub(crate) reads: Vec<(Time, u32, u64)>,
}

impl World {
    pub(crate) fn new(config: &DownloadConfig, limiter: &LimiterConfig) -> Self {
        Self {
            downloads: Downloads::new(Arm(0), config, limiter, &Streams::new(7)),
            ledger: Ledger::new(config),
            now: Time::ZERO,
            config: config.clone(),
            delays: Vec::new(),
            under_way: BTreeMap::new(),
            transfers: BTreeMap::new(),
            opened: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// This limiter in place of the one that the twin is of.
    pub(crate) fn behind(self, limiter: &LimiterConfig) -> Self {
        Self { downloads: self.downloads.behind(limiter.build(&Streams::new(7))), ..self }
    }

    pub(crate) fn delayed(self, delays: Vec<Nanos>) -> Self {
        Self { delays, ..self }
    }

    /// Lets it go on for as long as anything happens, `until` included.
    pub(crate) fn run(&mut self, until: Time) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Lets it go on until all is done or given up.
    pub(crate) fn run_to_the_end(&mut self, at_most: Time) {
        while !self.downloads.is_over() {
            assert!(self.step(Time::NEVER), "nothing will ever happen, and {:?}", self.ledger);
            assert!(self.now <= at_most, "it takes longer than {at_most}");
        }
        assert!(self.transfers.is_empty(), "all are closed");
    }

    /// One thing that happens at `until` or before; whether there is any. What is here goes first.
    pub(crate) fn step(&mut self, until: Time) -> bool {
        let arrives = self.under_way.keys().next().map(|(at, _)| *at);
        let next = Time::earliest([arrives, self.downloads.next_wake()]);
        let Some(at) = next.filter(|at| *at <= until) else { return false };
        self.now = self.now.max(at);
        match self.under_way.pop_first() {
            Some(((arrives, _), (id, progress))) if arrives == at => self.tell(id, progress),
            not_yet => {
                self.under_way.extend(not_yet);
                self.downloads.step(self.now, &mut self.ledger);
                self.carry_out();
            }
        }
        true
    }

    /// Tells of progress. Of a transfer that is not open, it must change nothing.
    pub(crate) fn tell(&mut self, id: TransferId, progress: Progress) {
        let transfer = self.transfers.get_mut(&id.segment).filter(|open| open.id == id);
        let is_open = transfer.map(|open| open.is_read = false).is_some();
        let (events, commands) = (self.ledger.events, self.reads.len() + self.opened.len());
        self.downloads.on_progress(self.now, id, progress, &mut self.ledger);
        self.carry_out();
        if !is_open {
            let now = (self.ledger.events, self.reads.len() + self.opened.len());
            assert_eq!(now, (events, commands), "{id:?} is over");
        }
    }

    /// Breaks the connection of a segment, if it has one.
    pub(crate) fn break_connection(&mut self, segment: u32) {
        if let Some(id) = self.transfers.get(&segment).map(|open| open.id) {
            self.tell(id, Progress::Broken);
        }
    }

    fn carry_out(&mut self) {
        while let Some(command) = self.downloads.take_command() {
            match command {
                Command::Open { id, offset, length } => self.open(id, offset, length),
                Command::Read { id, bytes } => self.read(id, bytes),
                Command::Close { id } => self.close(id),
            }
        }
        self.downloads.look(self.now, &mut self.ledger);
    }

    fn open(&mut self, id: TransferId, offset: u64, length: Option<u64>) {
        let position = self.ledger.position(id.segment);
        let size = self.config.segment.map(Bytes::get);
        let begin = size.unwrap_or(0) * u64::from(id.segment % self.config.segments);
        assert_eq!(offset, begin + position, "it goes on where it is");
        assert_eq!(length, size.map(|size| size - position), "to the end of the segment");
        let old = self.transfers.insert(id.segment, Transfer { id, left: length, is_read: false });
        assert!(old.is_none(), "one transfer a segment: {old:?}");
        self.opened.push(Opened { at: self.now, id, offset, length });
    }

    fn read(&mut self, id: TransferId, bytes: u64) {
        let transfer = self.transfers.get_mut(&id.segment).expect("only what is open is read");
        assert_eq!(transfer.id, id);
        assert!(!std::mem::replace(&mut transfer.is_read, true), "one read at a time");
        assert!(bytes > 0 && transfer.left.is_none_or(|left| bytes <= left), "{bytes} B");
        transfer.left = transfer.left.map(|left| left - bytes);
        let number = self.reads.len();
        let delay = if self.delays.is_empty() { 0 } else { number % self.delays.len() };
        let delay = self.delays.get(delay).copied().unwrap_or_default();
        let arrives = (self.now.after(delay), number);
        self.under_way.insert(arrives, (id, Progress::Received(bytes)));
        self.reads.push((self.now, id.segment, bytes));
    }

    fn close(&mut self, id: TransferId) {
        let closed = self.transfers.remove(&id.segment).expect("only what is open is closed");
        assert_eq!(closed.id, id);
    }
}
