//! Bulk data between two sockets without a copy through this process: splice(2), over a pipe.
//!
//! Linux only. Elsewhere there is never a [`Pipe`], and chunks are read and written.

use bytes::BytesMut;
use std::io::{self, PipeReader, PipeWriter, Read as _};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::task::coop::consume_budget;

/// What a pipe is asked to hold. That is few calls for much data, and 256 streams at a time stay
/// below what Linux lets a user have by default; beyond it pipes are small.
const SIZE: usize = 256 << 10;

/// A pipe for one direction, empty between calls but for what [`Pipe::fill`] has told of.
#[derive(Debug)]
pub(super) struct Pipe {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Pipe {
    /// A new pipe, unless the system has none to give: no file descriptor may be left.
    pub(super) fn open() -> Option<Self> {
        let (reader, writer) =
            if cfg!(target_os = "linux") { io::pipe().ok()? } else { return None };
        system::enlarge(&writer, SIZE);
        Some(Self { reader, writer })
    }

    /// Takes what a socket has received into the pipe, which is empty; like a read, 0 is the end.
    pub(super) fn fill(&self, from: &TcpStream) -> io::Result<usize> {
        from.try_io(Interest::READABLE, || system::splice(from, &self.writer, SIZE))
    }

    /// Sends some of the `length` bytes in the pipe; how many.
    pub(super) async fn send(&self, length: usize, into: &TcpStream) -> io::Result<usize> {
        // The calls below do not yield by themselves, and a fast stream is never not ready.
        consume_budget().await;
        loop {
            let splice = || system::splice(&self.reader, into, length);
            match into.try_io(Interest::WRITABLE, splice) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => into.writable().await?,
                sent => return sent,
            }
        }
    }

    /// Takes the `length` bytes in the pipe out to this process.
    pub(super) fn take(mut self, length: usize) -> io::Result<BytesMut> {
        let mut bytes = BytesMut::zeroed(length);
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::pipe::{SpliceFlags, fcntl_setpipe_size};
    use std::io;
    use std::os::fd::AsFd;

    pub(super) fn enlarge(pipe: impl AsFd, size: usize) {
        // It works with any size; a large one saves calls.
        let _ = fcntl_setpipe_size(pipe, size);
    }

    pub(super) fn splice(from: impl AsFd, into: impl AsFd, length: usize) -> io::Result<usize> {
        Ok(rustix::pipe::splice(from, None, into, None, length, SpliceFlags::NONBLOCK)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    pub(super) fn enlarge<P>(_pipe: P, _size: usize) {}

    pub(super) fn splice<F, I>(_from: F, _into: I, _length: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
