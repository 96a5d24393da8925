//! `GET` and `PUT /faults`: how a client outside this process injects HTTP faults.

use super::super::engine::Engine;
use super::super::server::BODY_LIMIT;
use super::refuse;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use testbed_core::service::{Counts, Rule};

const CURE: &str = "send a list such as [{\"name\":\"storm\",\"reject\":{\"status\":429,\
    \"share\":\"50%\"}}], or null to heal; kinds are reject, slow_headers, drip, truncate, \
    wrong_length, reset and no_answer";

/// The most rules at a time.
const RULES_MAX: usize = 64;
/// The most names that are counted under, those of rules that are gone among them.
const NAMES_MAX: usize = 1000;
/// The longest name, in characters.
const NAME_MAX: usize = 64;

/// What a client is shown.
#[derive(Serialize)]
struct View {
    /// The rules in force, in order.
    faults: Vec<Rule>,
    /// What each rule has done so far, those that are gone among them.
    counts: BTreeMap<String, CountsView>,
}

/// See [`Counts`].
#[derive(Serialize)]
struct CountsView {
    injected: u64,
    overflow: u64,
    active: u32,
}

impl From<Counts> for CountsView {
    fn from(Counts { injected, overflow, active }: Counts) -> Self {
        Self { injected, overflow, active }
    }
}

pub(super) async fn show(State(engine): State<Arc<Engine>>) -> Json<impl Serialize> {
    let counts = engine.injected().into_iter().map(|(name, counts)| (name, counts.into()));
    Json(View { faults: engine.rules(), counts: counts.collect() })
}

pub(super) async fn push(State(engine): State<Arc<Engine>>, body: Body) -> Response {
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        let error = format!("too long for a list of faults; {CURE}");
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, error);
    };
    let known = engine.injected().into_iter().map(|(name, _)| name).collect();
    match read(&body).and_then(|rules| check(&rules, known).map(|()| rules)) {
        Ok(rules) => {
            engine.set_rules(rules);
            show(State(engine)).await.into_response()
        }
        Err(error) => refuse(StatusCode::BAD_REQUEST, error),
    }
}

/// The rules in a body; `null` is none.
fn read(body: &[u8]) -> Result<Vec<Rule>, String> {
    serde_json::from_slice::<Option<Vec<Rule>>>(body)
        .map(Option::unwrap_or_default)
        .map_err(|err| format!("this is no list of faults: {err}; {CURE}"))
}

/// Refuses what cannot be carried out, and more than there is room for. `known` are the names that
/// are counted under already.
fn check(rules: &[Rule], mut known: BTreeSet<String>) -> Result<(), String> {
    if rules.len() > RULES_MAX {
        return Err(format!("{} faults are too many; send {RULES_MAX} at most", rules.len()));
    }
    let mut names = BTreeSet::new();
    for (place, Rule { name, fault }) in rules.iter().enumerate() {
        if name.is_empty() || name.chars().count() > NAME_MAX {
            return Err(format!("[{place}].name: write 1 to {NAME_MAX} characters"));
        }
        if !names.insert(name) {
            return Err(format!(
                "[{place}].name: `{name}` is there already; names are one of a kind"
            ));
        }
        if let Some(invalid) = fault.invalid().first() {
            let kind = fault.name();
            return Err(format!("[{place}].{kind}.{}: {}", invalid.field, invalid.message));
        }
        known.insert(name.clone());
    }
    if known.len() > NAMES_MAX {
        return Err(format!("{NAMES_MAX} names have counts already; use one of them again"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
