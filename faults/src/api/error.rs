//! What a call of the API is refused with: Toxiproxy's statuses and words.

use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use thiserror::Error;

/// As Go's `http.Error` labels what it writes, JSON or not.
const PLAIN: &str = "text/plain; charset=utf-8";

/// Why a call was refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ApiError {
    /// The body is not the JSON that the call takes.
    #[error("bad request body: {0}")]
    BadBody(String),
    /// The body is longer than any the API takes.
    #[error("bad request body: longer than {0} bytes")]
    LongBody(usize),
    /// A field that must be there is not, or is empty.
    #[error("missing required field: {0}")]
    Missing(String),
    /// There is no proxy of this name.
    #[error("proxy not found")]
    NoProxy,
    /// There is a proxy of this name.
    #[error("proxy already exists")]
    ProxyExists,
    /// There is no toxic of this name on the proxy.
    #[error("toxic not found")]
    NoToxic,
    /// There is a toxic of this name on the proxy, in either direction.
    #[error("toxic already exists")]
    ToxicExists,
    /// There is no such kind of toxic.
    #[error("invalid toxic type")]
    ToxicType,
    /// A stream is neither of the two.
    #[error("stream was invalid, can be either upstream or downstream")]
    Stream,
    /// Attributes that no link can live up to.
    #[error("impossible attributes: {0}")]
    Impossible(String),
    /// More of something than there may be.
    #[error("too many {what}: {limit} at most")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// An address that is none.
    #[error("{0}")]
    Address(String),
    /// An address that cannot be listened on.
    #[error("{0}")]
    Bind(String),
    /// The API broke a promise of its own.
    #[error("internal error")]
    Internal,
}

/// An error as it goes over the wire.
#[derive(Serialize)]
pub(super) struct ErrorView {
    error: String,
    status: u16,
}

impl ApiError {
    /// The HTTP status that goes with it.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::BadBody(_)
            | Self::Missing(_)
            | Self::ToxicType
            | Self::Stream
            | Self::Impossible(_)
            | Self::TooMany { .. } => StatusCode::BAD_REQUEST,
            Self::LongBody(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoProxy | Self::NoToxic => StatusCode::NOT_FOUND,
            Self::ProxyExists | Self::ToxicExists => StatusCode::CONFLICT,
            Self::Address(_) | Self::Bind(_) | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What is written about it.
    pub(super) fn view(&self) -> ErrorView {
        ErrorView { error: self.to_string(), status: self.status().as_u16() }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let json = serde_json::to_string(&self.view()).expect("two plain fields are JSON");
        plain(self.status(), json)
    }
}

/// Text as Go's `http.Error` writes it: with a newline, and not to be guessed at.
pub(super) fn plain(status: StatusCode, text: impl Into<String>) -> Response {
    let header = |name, value| (name, HeaderValue::from_static(value));
    let no_guess = HeaderName::from_static("x-content-type-options");
    let headers = [header(CONTENT_TYPE, PLAIN), header(no_guess, "nosniff")];
    (status, HeaderMap::from_iter(headers), text.into() + "\n").into_response()
}
