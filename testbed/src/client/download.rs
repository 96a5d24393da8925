//! A download: a range of the backend's file on a connection of its own, read bit by bit.

use super::{Client, explain};
use crate::backend::FILE_PATH;
use crate::backend::pattern::{FILE_BYTES, first_wrong};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::header::{CONTENT_RANGE, HOST, RANGE};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::error::Error;
use std::future::{self, Future};
use std::net::SocketAddr;
use std::pin::Pin;
use tokio::net::TcpSocket;

/// The most bytes that are taken off the socket at a time: what a download reads ahead is a few of
/// these. What is not taken fills the system's buffers, and then the backend stops.
const READ_AHEAD: usize = 64 * 1024;

/// The system's buffer for what has come and was not read. It is kept small since a transfer waits for
/// its limiter most of the time: of 160 transfers the system would otherwise take in some gigabytes in
/// the first second, and both processors with it.
const UNREAD: u32 = 64 * 1024;

/// The connection at work. Nothing moves on it while nobody waits for it.
type Connection = Pin<Box<dyn Future<Output = Infallible> + Send>>;

/// A range under way. Dropping it closes its connection.
pub struct Download {
    addr: SocketAddr,
    connection: Connection,
    body: Incoming,
    /// The place in the file of the next byte to come.
    next: u64,
    /// Bytes that have come and been found right, and that no read has asked for yet.
    ahead: u64,
}

impl Client {
    /// Asks for `length` bytes of the backend's file from `offset` on, or for all that follow, on a
    /// new connection, as curl does. Returns when the backend begins to answer.
    ///
    /// # Errors
    /// If the connection fails, or what is answered is not that range.
    pub async fn download(&self, offset: u64, length: Option<u64>) -> Result<Download, String> {
        let addr = self.pool.addr();
        let last = length.map_or(FILE_BYTES, |length| offset.saturating_add(length));
        let last = last.saturating_sub(1);
        let connected = connect(addr).await;
        let (mut sender, mut connection) =
            connected.map_err(|err| explain("cannot connect to", addr, &*err))?;
        let request = self.range_request(offset, length.map(|_| last));
        let response = driven(&mut connection, sender.send_request(request)).await;
        let response = response.map_err(|err| explain("no answer from", addr, &err))?;
        check(&response, &format!("bytes {offset}-{last}/{FILE_BYTES}"))
            .map_err(|what| format!("{addr} answered with {what}"))?;
        Ok(Download { addr, connection, body: response.into_body(), next: offset, ahead: 0 })
    }

    fn range_request(&self, first: u64, last: Option<u64>) -> Request<Empty<Bytes>> {
        let last = last.map(|last| last.to_string()).unwrap_or_default();
        let range = format!("bytes={first}-{last}");
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = Uri::from_static(FILE_PATH);
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        headers.insert(RANGE, range.try_into().expect("digits are a header value"));
        request
    }
}

impl Download {
    /// Waits until so many further bytes are here, and has seen that they are the file's.
    ///
    /// # Errors
    /// If the connection breaks or ends before, or a byte is wrong. The download is over then.
    pub async fn read(&mut self, bytes: u64) -> Result<(), String> {
        while self.ahead < bytes {
            let frame = driven(&mut self.connection, self.body.frame()).await;
            let frame = frame.ok_or_else(|| self.tell("the range ended"))?;
            let frame = frame.map_err(|err| explain("broken download from", self.addr, &err))?;
            self.take_in(frame.data_ref().unwrap_or(&Bytes::new()))?;
        }
        self.ahead -= bytes;
        Ok(())
    }

    fn take_in(&mut self, data: &[u8]) -> Result<(), String> {
        if let Some(wrong) = first_wrong(self.next, data) {
            self.next = wrong;
            return Err(self.tell("there is a wrong byte"));
        }
        self.next += data.len() as u64;
        self.ahead += data.len() as u64;
        Ok(())
    }

    fn tell(&self, what: &str) -> String {
        format!("broken download from {}: {what} at {}", self.addr, self.next)
    }
}

async fn connect(
    addr: SocketAddr,
) -> Result<(SendRequest<Empty<Bytes>>, Connection), Box<dyn Error + Send + Sync>> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_recv_buffer_size(UNREAD)?;
    let stream = socket.connect(addr).await?;
    stream.set_nodelay(true)?;
    let shake_hands = Builder::new().max_buf_size(READ_AHEAD).handshake(TokioIo::new(stream));
    let (sender, connection) = shake_hands.await?;
    let connection = Box::pin(async move {
        // How it ends is told to whoever waits for its answer.
        drop(connection.await);
        future::pending().await
    });
    Ok((sender, connection))
}

/// What `wanted` comes to, with the connection at work meanwhile.
async fn driven<T>(connection: &mut Connection, wanted: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        output = wanted => output,
        never = connection => match never {},
    }
}

/// What an answer is, if it is not that range.
fn check(response: &Response<Incoming>, expected: &str) -> Result<(), String> {
    if response.status() != StatusCode::PARTIAL_CONTENT {
        return Err(format!("status {}, not 206", response.status().as_u16()));
    }
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    match range {
        Some(range) if range == expected => Ok(()),
        Some(range) => Err(format!("content-range `{range}`, not `{expected}`")),
        None => Err(format!("no content-range, not `{expected}`")),
    }
}

#[cfg(test)]
mod tests;
