//! Calls of the control API: HTTP/1.1 over a connection that is kept, one call at a time.

use super::error::BackendError;
use super::url::BackendUrl;
use crate::backend::control::wire::{ErrorBody, TESTBED_HEADER};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use testbed_clock::{Timer, unix_now};
use testbed_core::time::Nanos;
use tokio::net::TcpStream;

/// How long one call may take, its connection included.
const CALL: Nanos = Nanos::from_secs(5);
/// Bytes of an answer that are read.
const ANSWER_LIMIT: usize = 1 << 20;

/// What all calls of a run have in common.
#[derive(Debug)]
pub(super) struct Site {
    url: BackendUrl,
    /// Where the URL led at the beginning; a name is asked for once.
    address: SocketAddr,
    /// Who asks, as no other does.
    testbed: String,
    pub(super) timer: Timer,
    /// The first thing that went wrong in a task.
    failure: OnceLock<BackendError>,
}

/// One connection, made when it is needed.
#[derive(Debug)]
pub(super) struct Line {
    site: Arc<Site>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Site {
    /// Finds what answers at `url`.
    pub(super) async fn find(url: &BackendUrl, timer: Timer) -> Result<Arc<Self>, BackendError> {
        let connected = async { TcpStream::connect(url.authority()).await?.peer_addr() };
        let found = in_time(&timer, async { connected.await.map_err(|error| error.to_string()) });
        let no_answer = |why| BackendError::NoAnswer { url: url.clone(), why };
        let address = found.await.map_err(no_answer)?;
        let testbed = format!("{}-{}", std::process::id(), unix_now().get());
        let (url, failure) = (url.clone(), OnceLock::new());
        Ok(Arc::new(Self { url, address, testbed, timer, failure }))
    }

    /// A port of the host, as others write it and as this process connects there.
    pub(super) fn port(&self, port: u16) -> (String, SocketAddr) {
        (self.url.with_port(port), SocketAddr::new(self.address.ip(), port))
    }

    /// Keeps what went wrong for whoever asks.
    pub(super) fn fail(&self, error: BackendError) {
        // The first one counts.
        let _ = self.failure.set(error);
    }

    /// The first thing that went wrong in a task.
    pub(super) fn failure(&self) -> Option<BackendError> {
        self.failure.get().cloned()
    }

    /// The failure of a call.
    pub(super) fn failed(&self, call: impl Into<String>, why: impl ToString) -> BackendError {
        BackendError::Failed { url: self.url.clone(), call: call.into(), why: why.to_string() }
    }
}

impl Line {
    /// A line without a connection yet.
    pub(super) const fn new(site: Arc<Site>) -> Self {
        Self { site, sender: None }
    }

    pub(super) const fn site(&self) -> &Arc<Site> {
        &self.site
    }

    /// Makes a call and reads its answer.
    pub(super) async fn ask<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, BackendError> {
        let answer = self.call(&method, path, body).await?;
        let strange = |error| self.site.failed(format!("{method} {path}"), error);
        serde_json::from_slice(&answer).map_err(strange)
    }

    /// Makes a call whose answer is only that it is done.
    pub(super) async fn tell(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<(), BackendError> {
        self.call(&method, path, body).await.map(drop)
    }

    async fn call(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Bytes, BackendError> {
        let site = Arc::clone(&self.site);
        let failed = |why| site.failed(format!("{method} {path}"), why);
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| failed(error.to_string()))?.unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.site.address.to_string())
            .header(TESTBED_HEADER, &self.site.testbed)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body));
        let request = request.map_err(|error| failed(error.to_string()))?;
        in_time(&site.timer, self.exchange(request)).await.map_err(failed)
    }

    /// The body of an answer that says yes. A call that is given up or fails takes its connection along.
    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Bytes, String> {
        let mut sender = self.connection().await?;
        let answered = sender.send_request(request).await;
        let (head, body) = answered.map_err(|error| explained(&error))?.into_parts();
        let read = Limited::new(body, ANSWER_LIMIT).collect().await;
        let body = read.map_err(|error| error.to_string())?.to_bytes();
        self.sender = Some(sender);
        if head.status.is_success() { Ok(body) } else { Err(refusal(head.status, &body)) }
    }

    async fn connection(&mut self) -> Result<SendRequest<Full<Bytes>>, String> {
        if let Some(mut kept) = self.sender.take()
            && kept.ready().await.is_ok()
        {
            return Ok(kept);
        }
        dial(self.site.address).await
    }
}

async fn dial(address: SocketAddr) -> Result<SendRequest<Full<Bytes>>, String> {
    let connected = async {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let stream = connected.await.map_err(|error: std::io::Error| error.to_string())?;
    let shaken = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.map_err(|error| explained(&error))?;
    // How it ends is told to the call it is busy with.
    tokio::spawn(async move { drop(connection.await) });
    sender.ready().await.map_err(|error| explained(&error))?;
    Ok(sender)
}

async fn in_time<T>(
    timer: &Timer,
    call: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    tokio::select! {
        done = call => done,
        () = timer.sleep_until(timer.clock().now().after(CALL)) => {
            Err(format!("no answer within {CALL}"))
        }
    }
}

/// What hyper says, and the cause, which it leaves out.
fn explained(error: &hyper::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn refusal(status: StatusCode, body: &[u8]) -> String {
    let said = serde_json::from_slice(body).map(|ErrorBody { error }| error);
    said.unwrap_or_else(|_| format!("status {status}; is it `windtunnel backend --control`?"))
}
