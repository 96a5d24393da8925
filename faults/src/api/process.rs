//! `process_*` metrics, as the real server has them: what Linux says of this process in files below
//! /proc. Other systems have no such files, and then there are no such metrics.
//!
//! The real server's `go_*` speak of a runtime that is not here.

use std::fmt::Write as _;
use std::fs;

/// Ticks of the kernel's accounting, as it shows them to programs.
const TICKS_A_SECOND: f64 = 100.0;

/// Name, type and help of a metric, and how to get it.
type Metric = (&'static str, &'static str, &'static str, fn(&Process) -> Option<f64>);

const METRICS: [Metric; 6] = [
    ("cpu_seconds_total", "counter", "User and system CPU time.", Process::cpu_seconds),
    ("max_fds", "gauge", "File descriptors that may be open.", Process::max_fds),
    ("open_fds", "gauge", "File descriptors that are open.", |_| open_fds()),
    ("resident_memory_bytes", "gauge", "Memory in use.", |of| of.memory("VmRSS:")),
    ("start_time_seconds", "gauge", "Start, in seconds since 1970.", Process::start),
    ("virtual_memory_bytes", "gauge", "Memory asked for.", |of| of.memory("VmSize:")),
];

/// What the system says of it.
struct Process {
    stat: String,
    status: String,
    limits: String,
    system: String,
}

/// Adds the metrics to a text in the format of Prometheus.
pub(super) fn render(text: &mut String) {
    let Some(process) = Process::look() else { return };
    for (name, kind, help, read) in METRICS {
        if let Some(value) = read(&process) {
            let name = format!("process_{name}");
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}")
                .expect("a String takes all");
        }
    }
}

impl Process {
    fn look() -> Option<Self> {
        let read = |path| fs::read_to_string(path).ok();
        Some(Self {
            stat: read("/proc/self/stat")?,
            status: read("/proc/self/status")?,
            limits: read("/proc/self/limits")?,
            system: read("/proc/stat")?,
        })
    }

    /// A field of `stat` by its number in proc(5); those from the third on come behind a name that may
    /// have spaces in it.
    fn field(&self, number: usize) -> Option<f64> {
        let (_, behind_name) = self.stat.rsplit_once(')')?;
        behind_name.split_whitespace().nth(number - 3)?.parse().ok()
    }

    fn cpu_seconds(&self) -> Option<f64> {
        Some((self.field(14)? + self.field(15)?) / TICKS_A_SECOND)
    }

    /// When it started: so many ticks after the system did.
    fn start(&self) -> Option<f64> {
        Some(number_after(&self.system, "btime")? + self.field(22)? / TICKS_A_SECOND)
    }

    fn memory(&self, which: &str) -> Option<f64> {
        number_after(&self.status, which).map(|kib| kib * 1024.0)
    }

    fn max_fds(&self) -> Option<f64> {
        number_after(&self.limits, "Max open files")
    }
}

fn open_fds() -> Option<f64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as f64)
}

/// The first number on the line that begins so.
fn number_after(text: &str, start: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(start))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_systems_files() {
        let fields: Vec<String> = (3..=52).map(|number| format!("{number}00")).collect();
        let process = Process {
            stat: format!("7 (a name) of) {}", fields.join(" ")),
            status: "VmSize:\t    8 kB\nVmRSS:\t    4 kB\n".to_owned(),
            limits: "Limit Soft Hard\nMax open files            1024      4096   files\n"
                .to_owned(),
            system: "cpu 1 2\nbtime 1000\n".to_owned(),
        };
        let read = |(name, _, _, read): Metric| (name, read(&process));
        for (name, value) in METRICS.map(read) {
            let expected = match name {
                "cpu_seconds_total" => Some(29.0),
                "max_fds" => Some(1024.0),
                "resident_memory_bytes" => Some(4096.0),
                "start_time_seconds" => Some(1022.0),
                "virtual_memory_bytes" => Some(8192.0),
                _ => value,
            };
            assert_eq!(value, expected, "{name}");
        }
    }
}
