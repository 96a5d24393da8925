//! HTTP/1.1 to a server: a request on a connection of its own.

use super::RemoteError;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::fmt;
use tokio::net::TcpStream;

/// Bytes of an answer that are read: a run with all that may be in it is shorter.
pub(super) const ANSWER_LIMIT: usize = 16 << 20;
const DEFAULT_PORT: u16 = 80;

/// Where a server is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Target {
    host: String,
    port: u16,
    /// What stands before every path; empty, or begins with a slash and does not end with one.
    base: String,
}

impl Target {
    /// Reads `http://HOST[:PORT][/BASE]`.
    pub(super) fn parse(url: &str) -> Result<Self, RemoteError> {
        let refused = || RemoteError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| refused())?;
        if uri.scheme_str() != Some("http") || uri.query().is_some() {
            return Err(refused());
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(refused)?.to_owned();
        let port = uri.port_u16().unwrap_or(DEFAULT_PORT);
        let base = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { host, port, base })
    }

    /// The path that its URL had, or this one if it had none.
    pub(super) fn or_path(mut self, path: &str) -> (Self, String) {
        let own = std::mem::take(&mut self.base);
        let path = if own.is_empty() { path.to_owned() } else { own };
        (self, path)
    }

    /// Sends a request, with a body of JSON if there is one, and gives the answer's head.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<Response<Incoming>, RemoteError> {
        let unreachable = |reason: String| self.unreachable(reason);
        let address = (self.host.trim_matches(['[', ']']), self.port);
        let stream = TcpStream::connect(address).await;
        let stream = stream.map_err(|error| unreachable(error.to_string()))?;
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = shaken.map_err(|error| unreachable(error.to_string()))?;
        // How it ends is told to the request it is busy with.
        tokio::spawn(async move { drop(connection.await) });
        let request = self.request(method, path, body)?;
        sender.send_request(request).await.map_err(|error| unreachable(error.to_string()))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<Request<Full<Bytes>>, RemoteError> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(HOST, format!("{}:{}", self.host, self.port));
        let request = match body {
            Some(_) => request.header(CONTENT_TYPE, "application/json"),
            None => request,
        };
        let body = Full::from(body.unwrap_or_default());
        request.body(body).map_err(|error| RemoteError::Broken(error.to_string()))
    }

    fn unreachable(&self, reason: String) -> RemoteError {
        RemoteError::Unreachable { server: self.to_string(), reason }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}{}", self.host, self.port, self.base)
    }
}

/// The body of an answer that says yes.
///
/// # Errors
/// The reason of an answer that says no.
pub(super) async fn accepted(mut response: Response<Incoming>) -> Result<String, RemoteError> {
    let status = response.status();
    let mut body = Vec::new();
    while let Some(frame) = response.body_mut().frame().await {
        let frame =
            frame.map_err(|error| RemoteError::Broken(format!("broken answer: {error}")))?;
        body.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        if body.len() > ANSWER_LIMIT {
            return Err(RemoteError::Broken("an answer of more than 16 MiB".into()));
        }
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    if status.is_success() { Ok(text) } else { Err(refused(status.as_u16(), &text)) }
}

/// Lets an answer that begins with yes go on.
pub(super) async fn going_on(response: Response<Incoming>) -> Result<Incoming, RemoteError> {
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    Err(match accepted(response).await {
        Ok(_) => RemoteError::Broken("an answer that changes its mind".into()),
        Err(error) => error,
    })
}

fn refused(status: u16, body: &str) -> RemoteError {
    let said = serde_json::from_str::<Value>(body).ok();
    let said = said.as_ref().and_then(|body| body["error"].as_str());
    let error = said.map_or_else(
        || format!("the server answered {status}; is it `windtunnel serve`?"),
        str::to_owned,
    );
    RemoteError::Refused { status, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_host_a_port_and_perhaps_a_base() {
        for (url, read) in [
            ("http://127.0.0.1:9464", Some("http://127.0.0.1:9464")),
            ("http://wind:9464/", Some("http://wind:9464")),
            ("http://[::1]:9464/lab/", Some("http://[::1]:9464/lab")),
            ("http://wind", Some("http://wind:80")),
            ("https://wind", None),
            ("wind:9464", None),
            ("/wind", None),
            ("http://wind/?a", None),
            ("http://", None),
            ("", None),
        ] {
            let target = Target::parse(url).ok().map(|target| target.to_string());
            assert_eq!(target.as_deref(), read, "{url}");
        }
    }

    #[test]
    fn a_refusal_says_what_the_server_said() {
        for (body, error) in [
            (r#"{"error":"no room"}"#, "no room"),
            ("<html>", "the server answered 404; is it `windtunnel serve`?"),
        ] {
            assert_eq!(refused(404, body).to_string(), error);
        }
    }
}
