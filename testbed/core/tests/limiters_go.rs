//! Every recorded row of Go's `x/time/rate`, from `testbed/vectors`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use testbed_core::limit::{Ask, Limiter, LimiterConfig, Waiter};
use testbed_core::rng::Streams;
use testbed_core::time::Time;

const WAITER: Waiter = Waiter { id: 0, task: 0, queue: 0, segment: 0 };

/// The limiter that the first line of a file describes.
fn limiter(header: &str) -> Box<dyn Limiter> {
    let value = |name: &str| -> f64 {
        let (_, rest) = header.split_once(name).expect("the header names its parameters");
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    let (rate, burst) = (value("rate_per_s="), value("burst="));
    let yaml = format!(
        "reservation: {{ levels: {{ global: {{ rate: {rate}B/s, capacity: {burst}B }} }}, arithmetic: go }}"
    );
    let deserializer = serde_yaml::Deserializer::from_str(&yaml);
    let config: LimiterConfig =
        serde_yaml::with::singleton_map_recursive::deserialize(deserializer).unwrap();
    assert_eq!(config.invalid(), []);
    config.build(&Streams::new(0))
}

/// `ok` and `delay_ns` of one call. The holder of a reservation is served at its instant, which is
/// before the next row or does not matter to it.
fn answer(limiter: &mut dyn Limiter, op: &str, now: Time, n: u64, id: u32) -> (bool, u64) {
    let waiter = Waiter { id, ..WAITER };
    if op == "allow" {
        return (limiter.try_ask(now, waiter, n), 0);
    }
    let answer = match limiter.ask(now, waiter, n) {
        Ask::Granted => (true, 0),
        Ask::Waiting { quoted } => (true, quoted.unwrap().since(now).get()),
        Ask::Refused => (false, 0),
    };
    if op == "reserve_cancel" {
        limiter.cancel(now, id);
    }
    answer
}

fn replay(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let mut limiter = limiter(lines.next().unwrap());
    let rows: Vec<&str> = lines.skip(1).collect();
    for (id, row) in rows.iter().enumerate() {
        let fields: Vec<&str> = row.split(',').collect();
        let [_, op, now, n, ok, delay] = fields[..] else { panic!("{row}") };
        let now = Time::from_nanos(now.parse().unwrap());
        while limiter.on_wake(now).is_some() {}
        let answer = answer(&mut *limiter, op, now, n.parse().unwrap(), id as u32);
        assert_eq!(answer, (ok == "1", delay.parse().unwrap()), "{}: {row}", file.display());
    }
    rows.len()
}

#[test]
fn reservation_reproduces_every_row_of_go() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_go = |file: &std::path::PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("go_xtimerate_"))
    };
    let rows: Vec<usize> = files.filter(is_go).map(|file| replay(&file)).collect();
    assert_eq!((rows.len(), rows.iter().sum()), (3, 3800));
}
