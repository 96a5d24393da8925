//! The body of an event stream: the messages of a run, as fast as its client takes them.

use super::history::Reader;
use hyper::body::{Body, Bytes, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Server-sent events, until the run is over or the client was too slow.
#[derive(Debug)]
pub(crate) struct Events {
    reader: Reader,
}

impl From<Reader> for Events {
    fn from(reader: Reader) -> Self {
        Self { reader }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.reader.poll_next(context).map(|next| next.map(|event| Ok(Frame::data(event))))
    }
}
