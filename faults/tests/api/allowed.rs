//! What the API may answer, whatever it is sent. The tests and the fuzz target `api` share it.

use faults::api::Config;
use serde_json::Value;

/// 500 is for addresses only.
const STATUSES: [u16; 9] = [200, 201, 204, 400, 403, 404, 405, 409, 500];

/// Checks one answer; `call` is said when it is wrong.
pub(crate) fn assert_allowed(call: &str, status: u16, body: &str) {
    assert!(STATUSES.contains(&status), "{call}: {status} {body}");
    assert!(!body.contains("internal error"), "{call}: {status} {body}");
    assert!(status != 204 || body.is_empty(), "{call}: {status} {body}");
    if status >= 400 && body.starts_with('{') {
        let error: Value = serde_json::from_str(body).unwrap_or_else(|e| panic!("{call}: {e}"));
        assert_eq!(error["status"], status, "{call}: {body}");
        assert!(error["error"].is_string(), "{call}: {body}");
    }
}

/// Checks the answer to a question for all proxies: what is shown can be read again, but for a proxy
/// whose upstream was taken away, which an update may do here as in the real server.
pub(crate) fn assert_is_a_configuration(body: &str) {
    let shown: Value = serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {body}"));
    let proxies = shown.as_object().unwrap_or_else(|| panic!("no object: {body}"));
    let whole = proxies.values().filter(|proxy| proxy["upstream"] != "");
    let document = Value::Array(whole.cloned().collect());
    let read = Config::read(&document);
    assert!(read.is_ok(), "{read:?}: {body}");
}
