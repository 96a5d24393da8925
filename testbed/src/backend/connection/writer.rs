//! Answers that leave in another manner, byte by byte on the socket.

use super::resumed::Resumed;
use super::{Asked, BUFFER, Handed};
use axum::body::{Body, Bytes};
use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use axum::http::response::Parts;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use std::future;
use std::io;
use testbed_clock::Timer;
use testbed_core::service::{End, Leaving, Schedule};
use testbed_core::time::Nanos;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

/// The most bytes of a body that are written at a time.
const FRAME: u64 = 64 * 1024;

/// Writes an answer in its manner; the socket, if it is there for the next request. Ends early if the
/// client closes its side.
pub(super) async fn write(io: Resumed, handed: Handed, timer: &Timer) -> Option<Resumed> {
    // The place under the rule is kept until the answer is over.
    let Handed { response, harm, asked } = handed;
    let released = timer.clock().now();
    let (head, body) = response.into_parts();
    let schedule = asked.schedule(harm.manner.schedule(length(&head, &body)));
    let (mut stream, ahead) = io.into_parts();
    if schedule.delay == Nanos::MAX {
        finish(stream, End::StaysOpen).await;
        return None;
    }
    let mut answer = Answer {
        written: write_head(&head, &schedule),
        body,
        frame: Bytes::new(),
        leaving: Leaving::new(schedule, released),
    };
    let mut ahead = Vec::from(ahead);
    let (mut from, mut to) = stream.split();
    let end = tokio::select! {
        biased;
        sent = answer.send(&mut to, timer) => sent.ok()?,
        () = left(&mut from, &mut ahead) => return None,
    };
    finish(stream, end).await.map(|stream| Resumed::new(stream).behind(ahead.into()))
}

/// Ends the answer; the socket, if it is kept.
async fn finish(mut stream: TcpStream, end: End) -> Option<TcpStream> {
    match end {
        End::KeepAlive => return Some(stream),
        // Fails if the client was faster.
        End::Close => drop(stream.shutdown().await),
        // With this a close sends a reset.
        End::Reset => drop(stream.set_zero_linger()),
        End::StaysOpen => {
            let mut nobody_reads_this = [0; 1024];
            while let Ok(1..) = stream.read(&mut nobody_reads_this).await {}
        }
    }
    None
}

/// Ready when the client has closed its side. What it sends before is kept, as much as a connection
/// holds of requests.
async fn left(from: &mut ReadHalf<'_>, ahead: &mut Vec<u8>) {
    while ahead.len() < BUFFER {
        if !matches!(from.read_buf(ahead).await, Ok(1..)) {
            return;
        }
    }
    future::pending().await
}

impl Asked {
    /// The schedule of an answer to such a request.
    fn schedule(self, schedule: Schedule) -> Schedule {
        let sent = if self.head_only { 0 } else { schedule.sent };
        let end = match schedule.end {
            End::KeepAlive if !self.keep_alive => End::Close,
            end => end,
        };
        Schedule { sent, end, ..schedule }
    }
}

/// The length of a body. An answer to `HEAD` may have lost it, and says how long it was.
fn length(head: &Parts, body: &Body) -> u64 {
    let told =
        head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    told.unwrap_or_else(|| body.size_hint().lower())
}

fn write_head(head: &Parts, schedule: &Schedule) -> Vec<u8> {
    let reason = head.status.canonical_reason().unwrap_or_default();
    let mut bytes = format!("HTTP/1.1 {} {reason}\r\n", head.status.as_str()).into_bytes();
    let mut line = |name: &str, value: &[u8]| {
        bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    };
    for (name, value) in head.headers.iter().filter(|(name, _)| **name != CONTENT_LENGTH) {
        line(name.as_str(), value.as_bytes());
    }
    line(CONTENT_LENGTH.as_str(), schedule.declared.to_string().as_bytes());
    if schedule.is_last() {
        line(CONNECTION.as_str(), b"close");
    }
    bytes.extend(b"\r\n");
    bytes
}

/// An answer that is leaving.
struct Answer {
    /// What leaves next: at first the head.
    written: Vec<u8>,
    body: Body,
    /// What is left of the frame that the body gave last.
    frame: Bytes,
    leaving: Leaving,
}

impl Answer {
    /// Writes all of it, each piece when it is due; how it is to end.
    async fn send(&mut self, to: &mut WriteHalf<'_>, timer: &Timer) -> io::Result<End> {
        loop {
            timer.sleep_until(self.leaving.due()).await;
            let bytes = self.leaving.take(FRAME);
            self.fill(bytes).await;
            to.write_all(&self.written).await?;
            self.written.clear();
            if self.leaving.left() == 0 {
                return Ok(self.leaving.schedule().end);
            }
        }
    }

    /// Takes so many bytes of the body. It has them: their number is its own.
    async fn fill(&mut self, mut bytes: u64) {
        while bytes > 0 {
            if self.frame.is_empty() {
                let Some(Ok(frame)) = self.body.frame().await else { return };
                self.frame = frame.into_data().unwrap_or_default();
            }
            let taken = bytes.min(self.frame.len() as u64);
            self.written.extend_from_slice(&self.frame.split_to(taken as usize));
            bytes -= taken;
        }
    }
}
