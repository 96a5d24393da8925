//! Range downloads: an answer with a part of the file, made as it is taken. Bodies of other answers are parts of it, too.

use super::pattern::{self, FILE_BYTES};
use super::range::{NoRange, Range};
use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT_RANGES, CONTENT_RANGE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The most bytes that are made at a time.
const FRAME: u64 = 64 * 1024;

/// An answer for people who try the backend by hand.
const OK: &str = "ok\n";

const CURE: &str = "the file is served by one range at a time; send `Range: bytes=0-1048575` or \
    `Range: bytes=1048576-`\n";

/// The answer to a request with these headers.
pub(super) fn respond(headers: &HeaderMap) -> Response {
    match Range::of(headers) {
        Ok(range) => part(range),
        Err(NoRange::Malformed) => (StatusCode::BAD_REQUEST, CURE).into_response(),
        Err(NoRange::Unsatisfiable) => {
            let size = [(CONTENT_RANGE, format!("bytes */{FILE_BYTES}"))];
            (StatusCode::RANGE_NOT_SATISFIABLE, size, CURE).into_response()
        }
    }
}

/// The first so many bytes of the file; of three, which is what an answer has unless its backend says otherwise, a word.
pub(super) fn body(bytes: u64) -> Body {
    if bytes == OK.len() as u64 { Body::from(OK) } else { Body::new(Part { next: 0, left: bytes }) }
}

fn part(range: Range) -> Response {
    let Range { first, last } = range;
    let place = (CONTENT_RANGE, format!("bytes {first}-{last}/{FILE_BYTES}"));
    let headers = [(ACCEPT_RANGES, "bytes".to_owned()), place];
    let body = Body::new(Part { next: first, left: range.length() });
    (StatusCode::PARTIAL_CONTENT, headers, body).into_response()
}

/// What is still to be sent of a range. It makes a frame when it is asked for one, and it is asked
/// when the connection has room.
struct Part {
    /// The next byte.
    next: u64,
    /// Bytes that are left.
    left: u64,
}

impl hyper::body::Body for Part {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.left.min(FRAME);
        if length == 0 {
            return Poll::Ready(None);
        }
        let frame = pattern::bytes(self.next, length as usize);
        self.next += length;
        self.left -= length;
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests;
