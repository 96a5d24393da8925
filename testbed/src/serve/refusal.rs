//! What the API says no with: a status, and JSON with the reason and the cure.

use super::catalogue::Unfound;
use super::runs::NotStarted;
use crate::experiment::problem::Report;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A refusal: `{"error": "..."}`, sometimes with more fields.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    body: Value,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, body: json!({ "error": error.into() }) }
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.body[field] = value;
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

impl From<Unfound> for Refusal {
    fn from(unfound: Unfound) -> Self {
        let status = match &unfound {
            Unfound::Name(_) => StatusCode::BAD_REQUEST,
            Unfound::Missing { .. } => StatusCode::NOT_FOUND,
            Unfound::Outside(_) => StatusCode::FORBIDDEN,
            Unfound::Unread { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            Unfound::Refused(report) => return Self::from(report),
        };
        Self::new(status, unfound.to_string())
    }
}

impl From<&Report> for Refusal {
    fn from(report: &Report) -> Self {
        let refusal = Self::new(StatusCode::UNPROCESSABLE_ENTITY, report.to_string());
        refusal.with("problems", report.to_json())
    }
}

impl From<NotStarted> for Refusal {
    fn from(not: NotStarted) -> Self {
        let error = not.to_string();
        match not {
            NotStarted::Busy(info) => {
                let running = json!({ "id": info.id, "experiment": info.experiment });
                Self::new(StatusCode::CONFLICT, error).with("running", running)
            }
            NotStarted::Closing | NotStarted::NoThread(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
            }
            NotStarted::Unwritten(_) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, error),
        }
    }
}
