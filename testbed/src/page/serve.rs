//! `windtunnel report --serve`: the page of a run that is over.

use super::stage::Stage;
use super::{ReportError, read};
use crate::say;
use crate::watch::exemplars::Exemplars;
use crate::watch::prometheus::idle;
use crate::watch::serve::MetricsServer;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How often it is asked whether to stop: often enough to seem prompt to a person.
const STOP_POLL: Duration = Duration::from_millis(20);

/// Serves the page of the run in `run_dir` at `listen` until `stop` says so. It is read anew whenever somebody
/// opens it, so one may watch a run of another process, too.
///
/// # Errors
/// When there is no run, or the address cannot be listened on.
pub fn serve_report(
    run_dir: &Path,
    listen: SocketAddr,
    stop: impl Fn() -> bool,
) -> Result<(), ReportError> {
    read::head(run_dir)?;
    let stage = Stage::default();
    stage.show_finished(run_dir.to_owned());
    let server = MetricsServer::start(listen, idle(), Exemplars::default(), stage)?;
    say::err(&format!("page: http://{}/", server.addr()));
    while !stop() {
        thread::sleep(STOP_POLL);
    }
    Ok(())
}
