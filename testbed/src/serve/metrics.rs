//! What `/metrics` says beside the run: which program this is, and how its process does.

use crate::watch::names;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge, Opts, Registry};
use std::fs;
use testbed_clock::unix_seconds;

/// Ticks of `/proc/self/stat` a second, the same on every Linux: its `USER_HZ`.
const TICKS_PER_S: f64 = 100.0;
/// Bytes of the kB of `/proc/self/status`.
const BYTES_PER_KB: f64 = 1024.0;

/// Metrics of the process, under the names that Prometheus's own clients give them. All but the
/// start are read from `/proc` as they are fetched, and 0 on systems without it.
#[derive(Clone, Debug)]
pub(super) struct Basics {
    start: Gauge,
    cpu: Counter,
    memory: Gauge,
    files: Gauge,
    threads: Gauge,
}

impl Basics {
    /// The process starts now.
    pub(super) fn new() -> Self {
        let gauge = |name, help| Gauge::new(name, help).expect("a valid name");
        let cpu = "CPU time that the process has used, in seconds.";
        let basics = Self {
            start: gauge("process_start_time_seconds", "When the process began, in Unix time."),
            cpu: Counter::new("process_cpu_seconds_total", cpu).expect("a valid name"),
            memory: gauge("process_resident_memory_bytes", "Memory of the process, in bytes."),
            files: gauge("process_open_fds", "Files and sockets that the process has open."),
            threads: gauge("process_threads", "Threads of the process."),
        };
        basics.start.set(unix_seconds() as f64);
        basics
    }

    /// Shows them in this registry too.
    pub(super) fn join(&self, registry: &Registry) {
        let joined = registry.register(Box::new(self.clone()));
        joined.expect("no metric of a run has such a name");
    }

    /// A registry for the time before the first run.
    pub(super) fn alone(&self) -> Registry {
        let registry = Registry::new();
        let metric = names::BUILD_INFO;
        let opts = Opts::new(metric.name, metric.help);
        let opts = opts.const_label(metric.labels[0], env!("CARGO_PKG_VERSION"));
        let build = Gauge::with_opts(opts).expect("names.rs holds valid names");
        build.set(1.0);
        registry.register(Box::new(build)).expect("it is the first");
        self.join(&registry);
        registry
    }

    fn refresh(&self) {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        let (status, stat) = (read("/proc/self/status"), read("/proc/self/stat"));
        let field = |name| field(&status, name).unwrap_or(0.0);
        self.memory.set(field("VmRSS:") * BYTES_PER_KB);
        self.threads.set(field("Threads:"));
        self.files.set(fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as f64);
        self.cpu.inc_by((cpu_seconds(&stat).unwrap_or(0.0) - self.cpu.get()).max(0.0));
    }
}

impl Collector for Basics {
    fn desc(&self) -> Vec<&Desc> {
        let gauges = [&self.start, &self.memory, &self.files, &self.threads];
        gauges.into_iter().flat_map(Collector::desc).chain(self.cpu.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.refresh();
        let gauges = [&self.start, &self.memory, &self.files, &self.threads];
        gauges.into_iter().flat_map(Collector::collect).chain(self.cpu.collect()).collect()
    }
}

/// The first number after `name` in `/proc/self/status`.
fn field(status: &str, name: &str) -> Option<f64> {
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// User and system time in `/proc/self/stat`, the fields 14 and 15 of proc(5). The second field,
/// in parentheses, may have anything in it.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::prometheus::render;

    #[test]
    fn proc_files_are_read_field_by_field() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 9 0 123";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("7 (a) S 1"), None);
        let status = "Name:\tVmRSS: x\nVmRSS:\t   512 kB\nThreads:\t3\n";
        assert_eq!(field(status, "VmRSS:"), Some(512.0));
        assert_eq!(field(status, "Threads:"), Some(3.0));
        assert_eq!(field(status, "Else:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_is_shown_before_the_first_run() {
        let text = render(&Basics::new().alone());
        let version = env!("CARGO_PKG_VERSION");
        assert!(text.contains(&format!("windtunnel_build_info{{version=\"{version}\"}} 1\n")));
        for (name, least) in [
            ("process_start_time_seconds", 1.6e9),
            ("process_cpu_seconds_total", 0.0),
            ("process_resident_memory_bytes", 1e6),
            ("process_open_fds", 3.0),
            ("process_threads", 1.0),
        ] {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let value: f64 = value.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap();
            assert!(value >= least, "{name} {value}");
        }
    }
}
