//! One process of the program.

use super::HUNG;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::NamedTempFile;
use testbed_clock::LiveClock;
use testbed_core::time::Time;

/// How often [`eventually`] looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Looks until there is something to see.
///
/// # Panics
/// When there is nothing within `limit`.
pub(crate) fn eventually<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = LiveClock::start();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        let waited = clock.now().since(Time::ZERO).as_std();
        assert!(waited < limit, "not within {limit:?}: {what}");
        thread::sleep(LOOK_AGAIN);
    }
}

/// A running process. It is killed if its test ends first.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) stdout: NamedTempFile,
    pub(crate) stderr: NamedTempFile,
}

/// What a process left behind.
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    pub(crate) fn start(dir: &Path, args: &[&str], stdin: Stdio) -> Self {
        Self::start_with(dir, args, stdin, &[])
    }

    /// Starts the program with these environment variables too.
    pub(crate) fn start_with(
        dir: &Path,
        args: &[&str],
        stdin: Stdio,
        variables: &[(&str, &str)],
    ) -> Self {
        // Files take whatever is written to them without anybody reading.
        let (stdout, stderr) = (NamedTempFile::new().unwrap(), NamedTempFile::new().unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_windtunnel"))
            .args(args)
            .envs(variables.iter().copied())
            .current_dir(dir)
            .stdin(stdin)
            .stdout(stdout.reopen().unwrap())
            .stderr(stderr.reopen().unwrap())
            .spawn()
            .unwrap();
        Self { child, stdout, stderr }
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// When it is not there within `limit`, or is a panic or a signal that was not handled.
    pub(crate) fn ends_within(mut self, limit: Duration) -> Finished {
        let ended = || self.child.try_wait().unwrap();
        let status = eventually(limit, "the process ends", ended);
        let (stdout, stderr) = (text(&self.stdout), text(&self.stderr));
        assert!(!stderr.contains("panicked"), "{stderr}");
        let code = status.code().unwrap_or_else(|| panic!("{status}: {stderr}"));
        Finished { code, stdout, stderr }
    }

    /// Where it serves metrics, as it says on standard error.
    pub(crate) fn metrics_addr(&self) -> SocketAddr {
        address(|| text(&self.stderr), "metrics: http://")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless the test broke off.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("standard error of the process:\n{}", text(&self.stderr));
        }
    }
}

/// Sends a signal, such as `INT`.
pub(crate) fn send(running: &Running, signal: &str) {
    let pid = running.child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
}

/// The address behind `prefix`, as soon as the text has it.
pub(crate) fn address(text: impl Fn() -> String, prefix: &str) -> SocketAddr {
    eventually(HUNG, prefix, || {
        let text = text();
        let (address, _) = text.split_once(prefix)?.1.split_once('/')?;
        address.parse().ok()
    })
}

/// What was written to a file so far.
pub(crate) fn text(file: &NamedTempFile) -> String {
    String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned()
}
