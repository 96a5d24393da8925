//! The live client: real HTTP/1.1 calls and downloads from one arm's address.
//!
//! It is hyper's connection under a small pool of its own: a ready-made pool brings idle timers in
//! whole milliseconds, a race between dialling and waiting, and a retry of its own; each of them
//! would be measured as if the backend had done it.

mod download;
mod pool;

pub use download::Download;

use crate::backend::{AGE_HEADER, LATENESS_HEADER};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Request, Response};
use pool::Pool;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use testbed_core::request::Served;
use testbed_core::time::Nanos;

/// Request header: the number of the request in its arm, decimal.
pub const REQUEST_HEADER: &str = "x-windtunnel-request";

/// The longest body that is read: 1 MiB.
const BODY_LIMIT: u64 = 1024 * 1024;

/// A client of one address. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Client {
    pool: Arc<Pool>,
    host: HeaderValue,
}

/// What came back from a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The HTTP status; `None` if the connection failed or the answer was broken.
    pub status: Option<u16>,
    /// Body bytes received, those of a broken answer too.
    pub bytes: u64,
    /// The backend's own account; `None` if the answer is not of its service.
    pub served: Option<Served>,
    /// What went wrong, if there is no status.
    pub error: Option<String>,
}

impl Client {
    /// A client of `addr`, without a connection yet.
    pub fn new(addr: SocketAddr) -> Self {
        let host = HeaderValue::try_from(addr.to_string()).expect("an address is a header value");
        Self { pool: Arc::new(Pool::new(addr)), host }
    }

    /// Sends `GET /` as request `request_id`, on an idle connection or a new one, and reads the
    /// whole answer. Tries once and waits as long as it takes; dropping the future gives the call
    /// up and closes its connection. Must be called within a tokio runtime.
    pub async fn call(&self, request_id: u64) -> Reply {
        let mut bytes = 0;
        match self.exchange(request_id, &mut bytes).await {
            Ok((status, served)) => Reply { status: Some(status), bytes, served, error: None },
            Err(error) => Reply { status: None, bytes, served: None, error: Some(error) },
        }
    }

    async fn exchange(
        &self,
        request_id: u64,
        bytes: &mut u64,
    ) -> Result<(u16, Option<Served>), String> {
        let addr = self.pool.addr();
        let connect = self.pool.take().await;
        let mut connection = connect.map_err(|err| explain("cannot connect to", addr, &err))?;
        let response = connection.send_request(self.request(request_id)).await;
        let mut response = response.map_err(|err| explain("no answer from", addr, &err))?;
        self.read(&mut response, bytes).await?;
        self.pool.put(connection);
        Ok((response.status().as_u16(), served(response.headers())))
    }

    fn request(&self, request_id: u64) -> Request<Empty<Bytes>> {
        let mut request = Request::new(Empty::new());
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        headers.insert(REQUEST_HEADER, request_id.into());
        request
    }

    /// Reads the body and drops it, adding up its bytes.
    async fn read(&self, response: &mut Response<Incoming>, bytes: &mut u64) -> Result<(), String> {
        while let Some(frame) = response.body_mut().frame().await {
            let addr = self.pool.addr();
            let frame = frame.map_err(|err| explain("broken answer from", addr, &err))?;
            *bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if *bytes > BODY_LIMIT {
                return Err(format!("answer of more than 1 MiB from {}", self.pool.addr()));
            }
        }
        Ok(())
    }
}

/// What failed, where, and why down to the last cause; hyper names only the first.
fn explain(what: &str, addr: SocketAddr, err: &dyn Error) -> String {
    let mut text = format!("{what} {addr}: {err}");
    let mut cause = err.source();
    while let Some(err) = cause {
        text.push_str(&format!(": {err}"));
        cause = err.source();
    }
    text
}

/// The account in an answer of the service: both headers, or none of it counts.
fn served(headers: &HeaderMap) -> Option<Served> {
    let nanos = |name| headers.get(name)?.to_str().ok()?.parse().ok().map(Nanos::new);
    Some(Served { age: nanos(AGE_HEADER)?, lateness: nanos(LATENESS_HEADER)? })
}

#[cfg(test)]
mod tests;
