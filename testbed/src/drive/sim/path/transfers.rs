//! Transfers on an arm's way: range downloads that are read chunk by chunk.
//!
//! The service model decides when the first byte leaves. From then on the backend has what is asked
//! for at once, and a chunk takes what the toxics make it take. Nothing is read ahead: a simulated
//! transfer has no socket buffers.

use super::answer::Harmed;
use super::connection::Cargo;
use super::{Back, Chunk, Path, REFUSED_AFTER};
use crate::backend::pattern::FILE_BYTES;
use faults::Item;
use std::cmp::Reverse;
use testbed_core::download::{Command, Progress, TransferId};
use testbed_core::service::Harm;
use testbed_core::time::Time;

/// One transfer on its connection.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) id: TransferId,
    /// Bytes that it is of.
    length: u64,
    /// Whether the backend has begun to answer.
    started: bool,
    /// Bytes of the read under way, if there is one.
    wanted: Option<u64>,
}

impl Transfer {
    /// The bytes of the read are through.
    pub(super) fn received(&mut self) -> Option<Back> {
        let bytes = self.wanted.take()?;
        Some(Back::Transfer(self.id, Progress::Received(bytes)))
    }
}

impl Path {
    pub(in super::super) fn transfer(&mut self, now: Time, command: Command) {
        match command {
            Command::Open { id, offset, length } => {
                let length = length.unwrap_or_else(|| FILE_BYTES.saturating_sub(offset));
                let transfer = Transfer { id, length, started: false, wanted: None };
                self.open_transfer(now, transfer);
            }
            Command::Read { id, bytes } => self.read(now, id, bytes),
            Command::Close { id } => self.close_transfer(id),
        }
    }

    fn open_transfer(&mut self, now: Time, transfer: Transfer) {
        let (id, cargo) = (transfer.id, Cargo::Transfer(transfer));
        if !self.faults.enabled() {
            self.lose(now.after(REFUSED_AFTER), cargo, false);
            return;
        }
        let connection = self.open(now);
        self.transfers.insert(id, connection);
        self.request(now, connection, cargo);
    }

    fn read(&mut self, now: Time, id: TransferId, bytes: u64) {
        let Some(&index) = self.transfers.get(&id) else { return };
        let Some(Cargo::Transfer(transfer)) = &mut self.connections[index].carries else { return };
        transfer.wanted = Some(bytes);
        if transfer.started {
            self.send_chunk(now, index, bytes);
        }
    }

    /// The backend's answer begins; anything but a success breaks the transfer.
    pub(super) fn start_transfer(
        &mut self,
        now: Time,
        index: usize,
        status: u16,
        harm: Option<Box<Harm>>,
    ) -> Option<Back> {
        let connection = &mut self.connections[index];
        let Some(Cargo::Transfer(transfer)) = &mut connection.carries else {
            return None;
        };
        let id = transfer.id;
        match (harm, (200..300).contains(&status)) {
            (None, true) => {}
            (Some(harm), true) => {
                connection.harmed = Some(Harmed::transfer(transfer.length, now, *harm));
            }
            (Some(harm), false) => {
                connection.harmed = Some(Harmed::refusal(now, *harm));
                self.schedule(index);
                return None;
            }
            (None, false) => {
                self.close_transfer(id);
                return Some(Back::Transfer(id, Progress::Broken));
            }
        }
        transfer.started = true;
        if let Some(bytes) = transfer.wanted {
            self.send_chunk(now, index, bytes);
        }
        None
    }

    fn send_chunk(&mut self, now: Time, index: usize, bytes: u64) {
        let connection = &mut self.connections[index];
        if let Some(harmed) = &mut connection.harmed {
            harmed.ask(bytes);
            connection.missing = bytes;
            self.moves.push(Reverse((now, index)));
            return;
        }
        if connection.down.is_plain() {
            if let Some(Cargo::Transfer(transfer)) = &mut connection.carries
                && let Some(back) = transfer.received()
            {
                self.know(now, back);
            }
            return;
        }
        connection.missing = bytes;
        connection.down.push(now, Item::Data(Chunk(bytes)));
        self.moves.push(Reverse((now, index)));
    }

    fn close_transfer(&mut self, id: TransferId) {
        if let Some(index) = self.transfers.remove(&id) {
            self.leave(index);
        }
    }
}
