//! Whether the server can do what it is there for.

use super::api::Shared;
use super::refusal::Refusal;
use axum::http::StatusCode;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

/// Whether runs can be started, or one is under way.
///
/// # Errors
/// 503 with the reason and the cure.
pub(super) fn ready(shared: &Shared) -> Result<(), Refusal> {
    let unready = |error: String| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error);
    if shared.runs.is_closing() {
        return Err(unready("the server is shutting down; start it again".into()));
    }
    if shared.runs.is_busy() {
        return Ok(());
    }
    shared.catalogue.check().map_err(|error| {
        unready(format!("cannot read the folder of experiments: {error}; see --experiments"))
    })?;
    writable(&shared.out).map_err(|error| {
        let out = shared.out.display();
        unready(format!("cannot write run directories into {out}: {error}; see --out"))
    })
}

/// Permissions do not tell, for root or on a full disk: only trying does.
fn writable(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let probe = folder.join(format!(".ready-{}", std::process::id()));
    let wrote = OpenOptions::new().write(true).create(true).truncate(true).open(&probe);
    wrote.and_then(|_| fs::remove_file(&probe))
}
