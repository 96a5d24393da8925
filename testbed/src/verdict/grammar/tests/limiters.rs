//! What is asked of limiters and their waiters.

use super::{assert_cure, plain};
use crate::verdict::grammar::{Aggregate, Bound, Comparison, Measure, parse};

#[test]
fn measures_read_and_write() {
    use Aggregate::{Last, Max, Mean, Min, Percentile};
    let of = |aggregate, series: &str| {
        let series = series.to_owned();
        Measure::Aggregate { aggregate, series }
    };
    for (text, measure, canonical) in [
        ("max(limiter.wait) / fifo", Measure::OverFifo(Max), "max(limiter.wait) / fifo"),
        ("min ( limiter.wait )/fifo", Measure::OverFifo(Min), "min(limiter.wait) / fifo"),
        ("mean(limiter.wait)/ fifo", Measure::OverFifo(Mean), "mean(limiter.wait) / fifo"),
        ("last(limiter.wait) /fifo", Measure::OverFifo(Last), "last(limiter.wait) / fifo"),
        (
            "p99.9(limiter.wait) / fifo",
            Measure::OverFifo(Percentile(99.9)),
            "p99.9(limiter.wait) / fifo",
        ),
        ("max(limiter.wait)", of(Max, "limiter.wait"), "max(limiter.wait)"),
        ("jain(download.granted by waiter)", Measure::Jain, "jain(download.granted by waiter)"),
        (
            "jain ( download.granted  by\nwaiter )",
            Measure::Jain,
            "jain(download.granted by waiter)",
        ),
        (
            "zero_progress(20 rounds)",
            Measure::ZeroProgress { rounds: 20.0 },
            "zero_progress(20 rounds)",
        ),
        (
            "zero_progress( 0.5rounds )",
            Measure::ZeroProgress { rounds: 0.5 },
            "zero_progress(0.5 rounds)",
        ),
        ("zero_progress(1 round)", Measure::ZeroProgress { rounds: 1.0 }, "zero_progress(1 round)"),
        ("makespan", of(Last, "load.makespan"), "last(load.makespan)"),
        ("overtakes", of(Last, "limiter.overtakes"), "last(limiter.overtakes)"),
        ("p99(real - quoted)", of(Percentile(99.0), "limiter.overrun"), "p99(limiter.overrun)"),
        ("max( real-quoted )", of(Max, "limiter.overrun"), "max(limiter.overrun)"),
        ("max(real)", of(Max, "real"), "max(real)"),
    ] {
        let bound = Bound::Compare(Comparison::LessOrEqual, 3.0);
        let sentence = plain(measure, bound);
        assert_eq!(parse(&format!("{text} <= 3")), Ok(sentence.clone()), "{text}");
        assert_eq!(sentence.to_string(), format!("{canonical} <= 3"));
        assert_eq!(parse(&sentence.to_string()), Ok(sentence), "{canonical}");
    }
}

#[test]
fn measures_are_named_when_wrong() {
    let many = "9".repeat(400);
    let nothing = "has nothing to be divided by in a FIFO queue";
    assert_cure(
        "write: max(limiter.wait) / fifo",
        &[
            ("max(rpc.rtt) / fifo <= 3", 14, &format!("`max(rpc.rtt)` {nothing}")),
            ("overtakes / fifo <= 3", 11, &format!("`last(limiter.overtakes)` {nothing}")),
        ],
    );
    assert_cure(
        "write: jain(download.granted by waiter)",
        &[
            ("jain <= 1", 1, "`jain` stands without what it asks for"),
            ("jain() <= 1", 6, "expected `download.granted`, found `)`"),
            (
                "jain(limiter.wait by waiter) > 1",
                6,
                "expected `download.granted`, found `limiter.wait`",
            ),
            ("jain(download.granted) <= 1", 22, "expected `by waiter`, found `)`"),
            ("jain(download.granted by task) > 1", 26, "expected `waiter`, found `task)`"),
            ("max(download.granted by waiter) > 1", 22, "only `jain` asks by waiter"),
        ],
    );
    assert_cure(
        "write a number above 0 and the word: zero_progress(20 rounds)",
        &[
            ("zero_progress == 0", 1, "`zero_progress` stands without a number of rounds"),
            ("zero_progress(rounds) == 0", 15, "expected a number of rounds, found `rounds)`"),
            ("zero_progress(-1 rounds) > 0", 15, "expected a number of rounds, found `-1`"),
            ("zero_progress(20) == 0", 17, "expected `rounds`, found `)`"),
            ("zero_progress(20s) == 0", 17, "expected `rounds`, found `s)`"),
            ("zero_progress(0 rounds) > 0", 15, "`0` is not a number of rounds to wait for"),
            (
                &format!("zero_progress({many} rounds) > 0"),
                15,
                &format!("`{many}` is not a number of rounds to wait for"),
            ),
        ],
    );
    let message = "expected `quoted`, found `promised)`";
    assert_cure("write: max(real - quoted)", &[("max(real - promised) < 1", 12, message)]);
    let message = "`makespan` stands alone, without parentheses";
    assert_cure("such as `makespan <= 60`", &[("makespan(a) <= 60s", 1, message)]);
    assert_cure(
        "write a number without a unit, such as 2",
        &[
            (
                "max(limiter.wait) / fifo <= 3s",
                29,
                "`max(limiter.wait) / fifo` has no unit; `3s` has one",
            ),
            (
                "zero_progress(2 rounds) < 1B",
                27,
                "`zero_progress(2 rounds)` has no unit; `1B` has one",
            ),
        ],
    );
}
