//! What it costs to refuse a file that is made to cost much. A file of its own, because its allocator counts
//! for the whole process.
use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use testbed::experiment::{Overrides, load};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The most that a file may have.
const FILE: usize = 1 << 20;
/// MB of heap.
const MEMORY: f32 = 100.0;
/// CPU time: the aim is 100 ms in a release build. Without optimisation it may take twenty times that.
const TIME: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(2) } else { Duration::from_millis(100) };

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn bomb() -> String {
    let level = |i| format!("l{i}: &l{i} [{}]\n", vec![format!("*l{}", i - 1); 9].join(", "));
    "l0: &l0 [lol]\n".to_owned() + &(1..10).map(level).collect::<String>()
}

#[test]
fn what_is_refused_costs_little_time_and_memory() {
    for (what, text, message) in [
        ("10 MB", "a: b\n".repeat(2_000_000), "1 MiB is the limit"),
        ("lists in lists", "a: ".to_owned() + &"[".repeat(FILE - 3), "nest deeper than 32"),
        ("lists line by line", "- ".repeat(FILE / 2), "nest deeper than 32"),
        ("aliases of aliases", bomb(), "anchors and aliases are not used"),
        ("values", "a: [".to_owned() + &"1,".repeat(FILE / 2 - 3) + "]", "more than 50000 values"),
        ("one field again and again", "a: 1\n".repeat(20_000), "duplicate field"),
    ] {
        ALLOCATOR.reset_peak_usage();
        let begun = cpu_time();
        let report = load(what, &text, &Overrides::default()).unwrap_err().to_string();
        let (time, memory) = (cpu_time() - begun, ALLOCATOR.peak_usage_as_mb());
        println!("{what}: {time:?} of CPU, {memory} MB");
        assert!(report.contains(message), "{what}: {report}");
        assert!(memory <= MEMORY, "{what}: {memory} MB");
        assert!(time <= TIME, "{what}: {time:?}");
    }
}
