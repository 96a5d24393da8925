//! The numbers, each from rounds in which direct and proxied take turns.

use super::api::Remote;
use super::load::{BULK, Backend, bulk_seconds, connect, echo, echo_seconds, median, sees_reset};
use std::net::SocketAddr;

const ROUNDS: usize = 5;
const ECHOES: usize = 3000;
const SLOW_ECHOES: usize = 50;
/// The latency of the toxic, in milliseconds.
const LATENCY: f64 = 10.0;
/// Few enough for the 1024 files that a process may have open by default.
const IDLE: usize = 400;
const RESETS: usize = 50;

/// A number of a proxy; `None` where it cannot be told.
pub(crate) type Measure = fn(&Setting<'_>) -> Option<f64>;

/// A backend, reached directly and through a proxy.
pub(crate) struct Setting<'a> {
    remote: &'a Remote,
    direct: SocketAddr,
    proxied: SocketAddr,
}

impl<'a> Setting<'a> {
    pub(crate) fn new(backend: &Backend, remote: &'a Remote) -> Self {
        Self { remote, direct: backend.address, proxied: remote.proxy(backend.address) }
    }

    /// The median over rounds of what `compare` makes of one number direct and one through the
    /// proxy.
    fn median_of(
        &self,
        measure: impl Fn(SocketAddr) -> f64,
        compare: impl Fn(f64, f64) -> f64,
    ) -> f64 {
        let round = |_| compare(measure(self.direct), measure(self.proxied));
        median((0..ROUNDS).map(round).collect())
    }
}

/// Throughput of one stream, as a share of direct.
pub(crate) fn bulk_share(setting: &Setting<'_>) -> Option<f64> {
    Some(setting.median_of(bulk_seconds, |direct, proxied| direct / proxied))
}

/// What the proxy works for a GB of one stream; unlike the throughput it hardly depends on what else
/// the machine does.
pub(crate) fn bulk_cpu_seconds(setting: &Setting<'_>) -> Option<f64> {
    let before = setting.remote.cpu_seconds()?;
    for _ in 0..ROUNDS {
        bulk_seconds(setting.proxied);
    }
    let spent = setting.remote.cpu_seconds()? - before;
    Some(spent / (ROUNDS * BULK) as f64 * 1e9)
}

/// What the proxy adds to the median echo.
pub(crate) fn echo_added_us(setting: &Setting<'_>) -> Option<f64> {
    let echo = |address| echo_seconds(address, ECHOES);
    Some(setting.median_of(echo, |direct, proxied| (proxied - direct) * 1e6))
}

/// How far the median echo is from direct and the latency of a toxic.
pub(crate) fn latency_off_ms(setting: &Setting<'_>) -> Option<f64> {
    setting.remote.toxic(r#"{"type":"latency","attributes":{"latency":10}}"#);
    let echo = |address| echo_seconds(address, SLOW_ECHOES);
    Some(setting.median_of(echo, |direct, proxied| (proxied - direct) * 1e3 - LATENCY))
}

/// Memory for idle connections that have been used, per thousand.
pub(crate) fn idle_megabytes(setting: &Setting<'_>) -> Option<f64> {
    echo(&mut connect(setting.proxied));
    let before = setting.remote.resident_bytes()?;
    let mut idle: Vec<_> = (0..IDLE).map(|_| connect(setting.proxied)).collect();
    idle.iter_mut().for_each(echo);
    let after = setting.remote.resident_bytes()?;
    Some((after - before) / IDLE as f64 * 1000.0 / 1e6)
}

/// The share of connections under `reset_peer` that see a reset.
pub(crate) fn resets_seen(setting: &Setting<'_>) -> Option<f64> {
    setting.remote.toxic(r#"{"type":"reset_peer"}"#);
    let seen = (0..RESETS).filter(|_| sees_reset(setting.proxied)).count();
    Some(seen as f64 / RESETS as f64)
}
