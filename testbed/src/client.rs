//! The live client: real HTTP/1.1 calls and downloads from one arm's address.
//!
//! It is hyper's connection under a small pool of its own: a ready-made pool brings idle timers in
//! whole milliseconds, a race between dialling and waiting, and a retry of its own; each of them
//! would be measured as if the backend had done it.

mod download;
mod pool;
mod retry_after;

pub use download::Download;

use crate::backend::{
    AGE_HEADER, ARM_HEADER, CLASS_HEADER, LATENESS_HEADER, PATIENCE_HEADER, TRACE_HEADER,
};
use crate::trace_ids::{CALL_SPAN, TraceIds};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Request, Response};
use pool::Pool;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use testbed_core::client::{ClientConfig, Patience};
use testbed_core::request::{Arm, Arrival, Served};
use testbed_core::time::{Nanos, Time};

/// Request header: the number of the request in its arm, decimal.
pub const REQUEST_HEADER: &str = "x-windtunnel-request";
/// Request header: how often the request was tried before, decimal; absent at the first attempt.
pub const ATTEMPT_HEADER: &str = "x-windtunnel-attempt";

/// The longest body that is read: 1 MiB.
const BODY_LIMIT: u64 = 1024 * 1024;

/// A client of one address. Clones share its connections.
#[derive(Clone, Debug)]
pub struct Client {
    pool: Arc<Pool>,
    host: HeaderValue,
    /// The names of its classes of requests.
    classes: Arc<[HeaderValue]>,
    patience: Patience,
    /// The arm that it says it is of, if it says so.
    arm: Option<HeaderValue>,
    /// Where the ids of traces come from, and the arm whose they are, if there are traces.
    traced: Option<(TraceIds, Arm)>,
}

/// Where an attempt puts its connection's address on this side.
pub type Local = OnceLock<SocketAddr>;

/// What came back from a call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reply {
    /// The HTTP status; `None` if the connection failed or the answer was broken.
    pub status: Option<u16>,
    /// Body bytes received, those of a broken answer too.
    pub bytes: u64,
    /// The backend's own account; `None` if the answer is not of its service.
    pub served: Option<Served>,
    /// How long it asks its client to wait before the next attempt; `None` if it does not say so,
    /// or in no way that makes sense.
    pub retry_after: Option<Nanos>,
    /// What went wrong, if there is no status.
    pub error: Option<String>,
}

impl Client {
    /// A client of `addr` that keeps its connections and has no classes.
    pub fn new(addr: SocketAddr) -> Self {
        Self::with(addr, &ClientConfig::default())
    }

    /// A client of `addr` that does as `config` says, without a connection yet.
    pub fn with(addr: SocketAddr, config: &ClientConfig) -> Self {
        let header =
            |text: &str| HeaderValue::try_from(text).expect("plain text is a header value");
        let classes = config.classes.keys().map(|class| header(class)).collect();
        let pool = Arc::new(Pool::new(addr, config.connections));
        let (host, patience) = (header(&addr.to_string()), config.patience());
        Self { pool, host, classes, patience, arm: None, traced: None }
    }

    /// Has each attempt say that it is of this arm from now on. A name that no header can say is not
    /// said.
    pub fn name(&mut self, arm: &str) {
        self.arm = HeaderValue::try_from(arm).ok();
    }

    /// Has each attempt carry the context of its trace from now on, as the arm's.
    pub const fn trace(&mut self, ids: TraceIds, arm: Arm) {
        self.traced = Some((ids, arm));
    }

    /// Sends `GET /` as this attempt of a request, admitted at `start`, on an idle connection or a new one, and reads the
    /// whole answer. Tries once and waits as long as it takes; dropping the future gives the call
    /// up and closes its connection. `local` is told the connection's address on this side as soon
    /// as there is one. Must be called within a tokio runtime.
    pub async fn attempt(&self, arrival: &Arrival, start: Time, local: &Local) -> Reply {
        let mut reply = Reply::default();
        let request = self.request(arrival, start);
        if let Err(error) = self.exchange(request, local, &mut reply).await {
            reply = Reply { bytes: reply.bytes, error: Some(error), ..Reply::default() };
        }
        reply
    }

    /// The first attempt of a request of no class.
    #[cfg(test)]
    pub(crate) async fn call(&self, request: u64) -> Reply {
        self.attempt(&Arrival::new(request, 0, Time::ZERO), Time::ZERO, &Local::new()).await
    }

    async fn exchange(
        &self,
        request: Request<Empty<Bytes>>,
        local: &Local,
        reply: &mut Reply,
    ) -> Result<(), String> {
        let addr = self.pool.addr();
        let connect = self.pool.take().await;
        let mut connection = connect.map_err(|err| explain("cannot connect to", addr, &err))?;
        // Each attempt has a cell of its own, so it is empty.
        let _ = local.set(connection.local);
        let response = connection.sender.send_request(request).await;
        let mut response = response.map_err(|err| explain("no answer from", addr, &err))?;
        self.read(&mut response, &mut reply.bytes).await?;
        self.pool.put(connection);
        let headers = response.headers();
        reply.status = Some(response.status().as_u16());
        (reply.served, reply.retry_after) = (served(headers), retry_after::of(headers));
        Ok(())
    }

    fn request(&self, arrival: &Arrival, start: Time) -> Request<Empty<Bytes>> {
        let attempt = arrival.attempt();
        let mut request = Request::new(Empty::new());
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        headers.insert(REQUEST_HEADER, attempt.request.into());
        if attempt.number > 0 {
            headers.insert(ATTEMPT_HEADER, attempt.number.into());
        }
        if let Some(class) = self.classes.get(usize::from(arrival.class.0)) {
            headers.insert(CLASS_HEADER, class.clone());
        }
        if let Some(arm) = &self.arm {
            headers.insert(ARM_HEADER, arm.clone());
        }
        if let Some(patience) = self.patience.left(arrival, start) {
            headers.insert(PATIENCE_HEADER, patience.get().into());
        }
        if let Some((ids, arm)) = self.traced {
            let ids = ids.attempt(arm, attempt);
            let context = ids.traceparent(ids.span(CALL_SPAN));
            let context = HeaderValue::from_bytes(&context).expect("digits are a header value");
            headers.insert(&TRACE_HEADER, context);
        }
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
