//! One direction of one connection: reads, chain, writes.

use super::Shared;
use super::splice::Pipe;
use super::stats::StreamCounters;
use crate::chain::{Chain, Item, Tally};
use crate::control::{ProxyFaults, link_rng};
use crate::toxic::Stream;
use bytes::{Bytes, BytesMut};
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use testbed_clock::Timer;
use testbed_core::time::Time;
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;

/// The largest chunk, as Toxiproxy's.
const CHUNK: usize = 32 * 1024;

/// What a link waits for.
enum Event {
    /// The proxy's faults may have changed.
    Changed,
    /// Something held may leave.
    Due,
    /// There may be something to read.
    Readable,
}

/// How a link ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By closing.
    Closed,
    /// By a toxic that resets both sides.
    Reset,
}

/// One direction of one connection.
pub(super) struct Link<'a> {
    shared: &'a Shared,
    stream: Stream,
    chain: Chain<Bytes>,
    faults: watch::Receiver<ProxyFaults>,
    /// Whether a toxic acts here now, for others to read.
    struck: &'a AtomicBool,
    reader: ReadHalf<'a>,
    writer: WriteHalf<'a>,
    at_eof: bool,
    /// Bytes that are being written and have not gone yet.
    unsent: usize,
    /// While bulk data flows.
    pipe: Option<Pipe>,
}

impl<'a> Link<'a> {
    /// The link of connection `number`, from `reader` to `writer`.
    pub(super) fn new(
        shared: &'a Shared,
        number: u64,
        stream: Stream,
        struck: &'a AtomicBool,
        reader: ReadHalf<'a>,
        writer: WriteHalf<'a>,
    ) -> Self {
        let rng = link_rng(&shared.streams, &shared.name, number, stream);
        let mut faults = shared.faults.subscribe();
        // The faults that are there already count as a change, too.
        faults.mark_changed();
        let chain = Chain::new(stream, rng);
        shared.counters.of(stream).opened();
        Self {
            shared,
            stream,
            chain,
            faults,
            struck,
            reader,
            writer,
            at_eof: false,
            unsent: 0,
            pipe: None,
        }
    }

    /// Carries bytes until the end of the link.
    ///
    /// # Errors
    /// If a write fails. A failed read ends the link in order, behind what came before it.
    pub(super) async fn run(mut self) -> io::Result<End> {
        loop {
            self.follow_faults();
            while let Some(item) = self.chain.pop(self.now()) {
                match item {
                    Item::Data(chunk) => self.write(&chunk).await?,
                    Item::Eof => return Ok(End::Closed),
                    Item::Reset => return Ok(End::Reset),
                }
            }
            self.report();
            if let Event::Readable = self.next_event().await {
                match self.pipe.take() {
                    Some(pipe) => self.receive_through(pipe).await?,
                    None => self.receive().await?,
                }
            }
        }
    }

    async fn next_event(&mut self) -> Event {
        let wake = self.chain.next_wake();
        let accepts = !self.at_eof && self.chain.can_accept();
        tokio::select! {
            biased;
            _ = self.faults.changed() => {
                self.faults.mark_changed();
                Event::Changed
            }
            () = sleep_until(&self.shared.timer, wake) => Event::Due,
            _ = self.reader.readable(), if accepts => Event::Readable,
        }
    }

    /// Reads one chunk and sends it on its way. Its buffer is made only now, so that an idle
    /// connection has none.
    async fn receive(&mut self) -> io::Result<()> {
        let mut buffer = BytesMut::with_capacity(CHUNK);
        match self.reader.try_read_buf(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Ok(0) | Err(_) => {
                self.end();
                Ok(())
            }
            Ok(length) => {
                self.counters().received(length);
                self.take(buffer).await
            }
        }
    }

    /// Takes a chunk in, under the faults of this moment: after the read, so that no byte received
    /// after a change escapes it.
    async fn take(&mut self, buffer: BytesMut) -> io::Result<()> {
        self.follow_faults();
        if self.chain.is_plain() {
            if buffer.len() == CHUNK {
                // There may be more where that came from.
                self.pipe = Pipe::open();
            }
            return self.write(&buffer).await;
        }
        let now = self.now();
        self.chain.push(now, Item::Data(compact(buffer)));
        Ok(())
    }

    /// As [`Link::receive`], with a pipe, which is kept until nothing more is there at once.
    async fn receive_through(&mut self, pipe: Pipe) -> io::Result<()> {
        match pipe.fill(self.reader.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Ok(0) | Err(_) => {
                self.end();
                Ok(())
            }
            Ok(length) => {
                self.counters().received(length);
                self.pass_on(pipe, length).await
            }
        }
    }

    /// As [`Link::take`]. Where a toxic has come meanwhile, it gets chunks of the usual size.
    async fn pass_on(&mut self, pipe: Pipe, length: usize) -> io::Result<()> {
        self.follow_faults();
        if !self.chain.is_plain() {
            let mut bytes = pipe.take(length)?.freeze();
            let now = self.now();
            while !bytes.is_empty() {
                let chunk = bytes.split_to(CHUNK.min(bytes.len()));
                self.chain.push(now, Item::Data(chunk));
            }
            return Ok(());
        }
        self.unsent = length;
        while self.unsent > 0 {
            let sent = pipe.send(self.unsent, self.writer.as_ref()).await?;
            self.sent(sent)?;
        }
        self.pipe = Some(pipe);
        Ok(())
    }

    fn end(&mut self) {
        self.at_eof = true;
        let now = self.now();
        self.chain.push(now, Item::Eof);
    }

    fn follow_faults(&mut self) {
        if self.faults.has_changed().unwrap_or(false) {
            let now = self.now();
            self.chain.apply(now, &self.faults.borrow_and_update());
            self.struck.store(self.chain.is_struck(), Relaxed);
        }
    }

    async fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.unsent = chunk.len();
        while self.unsent > 0 {
            let sent = self.writer.write(&chunk[chunk.len() - self.unsent..]).await?;
            self.sent(sent)?;
        }
        Ok(())
    }

    /// Counts what was written of what is unsent.
    fn sent(&mut self, bytes: usize) -> io::Result<()> {
        self.unsent -= bytes;
        self.counters().sent(bytes);
        // A socket that takes nothing will never take more.
        if bytes > 0 { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn counters(&self) -> &StreamCounters {
        self.shared.counters.of(self.stream)
    }

    /// Adds what the toxics have done to the proxy's counters.
    fn report(&mut self) {
        let tally = self.chain.take_tally();
        if tally != Tally::NOTHING {
            self.counters().add(tally);
        }
    }

    fn now(&self) -> Time {
        self.shared.timer.clock().now()
    }
}

impl Drop for Link<'_> {
    /// However the connection ends, what is held or being written is lost with it, and counts.
    fn drop(&mut self) {
        self.chain.discard();
        self.report();
        let dropped = self.unsent as u64;
        self.counters().add(Tally { dropped, ..Tally::NOTHING });
    }
}

/// Ready at `wake`; never without one.
async fn sleep_until(timer: &Timer, wake: Option<Time>) {
    match wake {
        Some(at) => timer.sleep_until(at).await,
        None => pending().await,
    }
}

/// A chunk to hold: a small one must not keep its large buffer.
fn compact(buffer: BytesMut) -> Bytes {
    if buffer.len() < CHUNK / 4 { Bytes::copy_from_slice(&buffer) } else { buffer.freeze() }
}
