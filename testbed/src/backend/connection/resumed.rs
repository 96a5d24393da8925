//! A socket for hyper to begin on, or to go on with.

use axum::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// A socket, and what was read from it before without being understood.
pub(super) struct Resumed {
    ahead: Bytes,
    stream: TokioIo<TcpStream>,
    stuck: Stuck,
}

/// Whether the socket did not take all of what it was last given. hyper gives it all it has, so if
/// not, it holds nothing back.
#[derive(Clone, Default)]
pub(super) struct Stuck(Arc<AtomicBool>);

impl Resumed {
    /// A socket from which nothing has been read.
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { ahead: Bytes::new(), stream: TokioIo::new(stream), stuck: Stuck::default() }
    }

    /// The same, where this was read before.
    pub(super) fn behind(self, read: Bytes) -> Self {
        // hyper begins with what was ahead, so only if it has read all of it, there is something new.
        let ahead = if self.ahead.is_empty() { read } else { [read, self.ahead].concat().into() };
        Self { ahead, ..self }
    }

    /// The socket itself, and what was read from it before.
    pub(super) fn into_parts(self) -> (TcpStream, Bytes) {
        (self.stream.into_inner(), self.ahead)
    }

    /// Tells whether hyper holds something back.
    pub(super) fn stuck(&self) -> Stuck {
        self.stuck.clone()
    }

    fn note(&self, written: &Poll<io::Result<usize>>, given: usize) {
        let all = matches!(written, Poll::Ready(Ok(written)) if *written == given);
        self.stuck.0.store(!all, Ordering::Relaxed);
    }
}

impl Stuck {
    /// See [`Stuck`].
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Read for Resumed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        let length = into.remaining().min(self.ahead.len());
        into.put_slice(&self.ahead.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl Write for Resumed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(&written, bytes.len());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(&written, slices.iter().map(|slice| slice.len()).sum());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
