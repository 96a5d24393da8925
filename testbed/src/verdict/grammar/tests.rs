mod against;
mod arithmetic;
mod limiters;
mod properties;

use super::{
    Aggregate, Bound, Claim, Clause, Comparison, Expression, Limit, Measure, Number, Operand,
    Place, Sentence, What, Written, in_unit, parse,
};
use testbed_core::vitals::Unit;

const WINDOW: &str = "controller.window";

fn operand(what: What) -> Expression {
    Expression::Operand(Operand { what, arm: None, place: Place(0) })
}

fn number(value: f64) -> Expression {
    operand(What::Number(Number { value, written: Written(None) }))
}

/// A sentence of one measure and a bound.
fn plain(measure: Measure, bound: Bound) -> Sentence {
    let limit = match bound {
        Bound::Compare(comparison, limit) => Limit::Compare(comparison, number(limit)),
        Bound::Within { centre, tolerance } => {
            Limit::Within { centre: number(centre), tolerance: number(tolerance) }
        }
    };
    Sentence::of(Clause::Claim(Claim { left: operand(What::Measure(measure)), limit }))
}

fn aggregate(aggregate: Aggregate, bound: Bound) -> Sentence {
    let series = WINDOW.to_owned();
    plain(Measure::Aggregate { aggregate, series }, bound)
}

fn time_to(comparison: Comparison, value: f64, bound: Bound) -> Sentence {
    let (series, value) = (WINDOW.to_owned(), Number { value, written: Written(None) });
    plain(Measure::TimeTo { series, comparison, value }, bound)
}

#[test]
fn sentences_read_and_write() {
    use Aggregate::{Last, Max, Mean, Min, Percentile};
    use Bound::{Compare, Within};
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let within = |centre, tolerance| Within { centre, tolerance };
    for (text, sentence, canonical) in [
        ("max(W) <= 2", aggregate(Max, Compare(LessOrEqual, 2.0)), "max(W) <= 2"),
        ("min( W )>2.5", aggregate(Min, Compare(Greater, 2.5)), "min(W) > 2.5"),
        (" mean (W)\n== 70% ", aggregate(Mean, Compare(Equal, 0.7)), "mean(W) == 0.7"),
        (
            "last(W) within 11 +- 1.5",
            aggregate(Last, within(11.0, 1.5)),
            "last(W) within 11 +- 1.5",
        ),
        ("last(W)within 80 %±5%", aggregate(Last, within(0.8, 0.05)), "last(W) within 0.8 +- 0.05"),
        (
            "p99.9(W) < 14.3ms",
            aggregate(Percentile(99.9), Compare(Less, 0.0143)),
            "p99.9(W) < 0.0143",
        ),
        (
            "p50(W) >= -3",
            aggregate(Percentile(50.0), Compare(GreaterOrEqual, -3.0)),
            "p50(W) >= -3",
        ),
        ("max(W) <= 90 / m", aggregate(Max, Compare(LessOrEqual, 1.5)), "max(W) <= 1.5"),
        ("max(W) <= 0/s", aggregate(Max, Compare(LessOrEqual, 0.0)), "max(W) <= 0"),
        (
            "time_to(W >= 9) <= 15s",
            time_to(GreaterOrEqual, 9.0, Compare(LessOrEqual, 15.0)),
            "time_to(W >= 9) <= 15s",
        ),
        (
            "time_to(W<20us) within 1.5m +- 500 ms",
            time_to(Less, 2e-5, within(90.0, 0.5)),
            "time_to(W < 0.00002) within 90s +- 0.5s",
        ),
    ] {
        let read = |text: &str| parse(&text.replace('W', WINDOW));
        assert_eq!(read(text), Ok(sentence.clone()), "{text}");
        assert_eq!(sentence.to_string().replace(WINDOW, "W"), canonical);
        assert_eq!(read(canonical), Ok(sentence), "{canonical}");
    }
}

#[test]
fn numbers_become_base_units() {
    for (number, value) in [
        ("512B", 512.0),
        ("16KiB", 16_384.0),
        ("1.5 MiB", 1_572_864.0),
        ("2GiB", 2_147_483_648.0),
        ("1.001kB", 1001.0), // to the nearest byte, not 1000.9999999999999
        ("2MB", 2e6),
        ("1GB", 1e9),
        ("-16KiB", -16_384.0),
        ("4MiB/s", 4_194_304.0),
        ("1.5 MB / s", 1.5e6),
        ("90/m", 1.5),
        ("70%", 0.7),
        ("1.5m", 90.0),
    ] {
        let bound = Bound::Compare(Comparison::Less, value);
        let (aggregate, series) = (Aggregate::Max, "a".to_owned());
        let sentence = plain(Measure::Aggregate { aggregate, series }, bound);
        assert_eq!(parse(&format!("max(a) < {number}")), Ok(sentence), "{number}");
    }
    let read = parse("time_to(a >= 4MiB/s) < 1s");
    let (series, comparison) = ("a".to_owned(), Comparison::GreaterOrEqual);
    let value = Number { value: 4_194_304.0, written: Written(None) };
    let measure = Measure::TimeTo { series, comparison, value };
    assert_eq!(read, Ok(plain(measure, Bound::Compare(Comparison::Less, 1.0))));
}

#[test]
fn bytes_are_exact_or_have_decimals() {
    for (bytes, text) in [
        (0.0, "0B"),
        (512.0, "512B"),
        (512.5, "512.5000B"),
        (1000.0, "1000B"),
        (16_384.0, "16KiB"),
        (16_385.0, "16.0010KiB"),
        (1_572_864.0, "1536KiB"),
        (4_194_304.0, "4MiB"),
        (4_194_305.0, "4.0000MiB"),
        (4e6, "3.8147MiB"),
        (3.0 * 1024.0 * 1024.0 * 1024.0, "3GiB"),
        (-16_384.0, "-16KiB"),
        (-100.25, "-100.2500B"),
    ] {
        assert_eq!(in_unit(bytes, Unit::Bytes), text);
        assert_eq!(in_unit(bytes, Unit::BytesPerSecond), format!("{text}/s"));
    }
}

#[test]
fn no_rate_reads_as_nothing_because_it_is_small() {
    for (value, text) in
        [(0.0, "0/s"), (99.123_45, "99.1235/s"), (0.012_34, "0.0123/s"), (0.000_04, "0.00004/s")]
    {
        assert_eq!(in_unit(value, Unit::PerSecond), text);
    }
}

/// Each text fails at the column (of characters) with the message, and all with the same cure.
fn assert_cure(help: &str, rows: &[(&str, usize, &str)]) {
    for &(text, column, message) in rows {
        let error = parse(text).unwrap_err();
        assert_eq!((error.column, error.message.as_str()), (column, message), "{text}");
        assert_eq!(error.help, help, "{text}");
    }
}

#[test]
fn functions_and_series_are_named_when_wrong() {
    assert_cure(
        "one of: max, min, mean, last, p50 to p99.9, count, sum, stddev, rate, slope, time_to, \
         settling, overshoot, oscillation, reaction, recovery, error, convergence, increase, jain, \
         zero_progress, regret; or alone: makespan, overtakes",
        &[
            ("", 1, "expected a function, found the end"),
            ("maximum(a) <= 2", 1, "unknown function `maximum` (did you mean `max`?)"),
            ("  median(a) <= 2", 3, "unknown function `median` (did you mean `p50`?)"),
            ("jian(a) <= 2", 1, "unknown function `jian` (did you mean `jain`?)"),
            ("fairness(a) <= 2", 1, "unknown function `fairness` (did you mean `jain`?)"),
            (
                "zero_progres(a) > 2",
                1,
                "unknown function `zero_progres` (did you mean `zero_progress`?)",
            ),
            ("starved(a) <= 2", 1, "unknown function `starved` (did you mean `zero_progress`?)"),
            ("gini(a) <= 2", 1, "unknown function `gini`"),
        ],
    );
    assert_cure(
        "write p and a number above 0 and below 100, such as p99.9",
        &[
            ("p100(a) < 2", 1, "`p100` is not a percentile"),
            ("p0(a) < 2", 1, "`p0` is not a percentile"),
        ],
    );
    assert_cure(
        "lowercase words joined by dots, such as controller.window",
        &[
            ("max() < 2", 5, "expected a series, found `)`"),
            ("max(a.Bc) < 2", 5, "`a.Bc` is not the name of a series"),
            ("max(a..b) < 2", 5, "`a..b` is not the name of a series"),
            ("max(é) <= 1", 5, "`é` is not the name of a series"),
        ],
    );
    let help = "write a function and a series: max(controller.window)";
    assert_cure(
        help,
        &[
            ("a.b <= 2", 1, "`a.b` stands without a function"),
            ("makspan <= 2s", 1, "`makspan` stands without a function (did you mean `makespan`?)"),
        ],
    );
    let help = "close the function: max(controller.window)";
    assert_cure(help, &[("max(a < 2", 7, "expected `)`, found `<`")]);
}

#[test]
fn bounds_are_named_when_wrong() {
    assert_cure(
        "write `<= 2` (or <, >=, >, ==), or `within 11 +- 1.5`",
        &[
            ("max(a) =< 2", 8, "expected a comparison or `within`, found `=<`"),
            ("max(a)", 7, "expected a comparison or `within`, found the end"),
        ],
    );
    assert_cure(
        "the phase is the field `in` beside the sentence, and an arm stands behind its series: last(rpc.ok) of double",
        &[
            ("max(a) in degraded <= 2", 8, "expected a comparison or `within`, found `in`"),
            ("max(a) <= 2 in degraded", 13, "expected nothing more, found `in`"),
            ("max(a) < max(a) in double", 17, "expected nothing more, found `in`"),
        ],
    );
    for (help, text, column, message) in [
        ("one of: <=, <, >=, >, ==", "time_to(a) <= 15s", 10, "expected a comparison, found `)`"),
        ("write: within 11 +- 1.5", "max(a) within 11 + 1", 21, "expected `+-`, found the end"),
        (
            "write it without the minus",
            "max(a) within 1 ± -1",
            19,
            "the tolerance `-1` is negative",
        ),
        (
            "write both with the same unit",
            "max(a) within 11 +- 5%",
            21,
            "`11` and `5%` differ in unit",
        ),
        (
            "a sentence has one bound; write a second expectation, or join them by `and` or `or`",
            "max(a) <= 2 && more",
            13,
            "expected nothing more, found `&&`",
        ),
    ] {
        assert_cure(help, &[(text, column, message)]);
    }
}

#[test]
fn numbers_and_units_are_named_when_wrong() {
    let huge = format!("max(a) < {}", "9".repeat(400));
    assert_cure(
        "write a number such as 2, 1.5, 150ms, 70%, 1000/s, 16KiB or 4MiB/s",
        &[
            ("max(a) <= many", 11, "expected a number, found `many`"),
            (&huge, 10, &format!("`{}` is too large", &huge[9..])),
        ],
    );
    let help = "units are ns, us, ms, s, m and h; %; B, KiB, MiB, GiB, kB, MB and GB; and rates \
                such as /s or MiB/s";
    assert_cure(
        help,
        &[
            ("max(a) <= 10 parsecs", 11, "`10 parsecs` has an unknown unit"),
            ("max(a) <= 16kib", 11, "`16kib` has an unknown unit"),
            ("max(a) <= 4MiB/m", 11, "`4MiB/m` has an unknown unit"),
            ("max(a) <= 4s/s", 11, "`4s/s` has an unknown unit"),
        ],
    );
    let message = "time_to(...) is compared with a time; `15` needs a unit";
    assert_cure("such as 15s", &[("time_to(a >= 9) <= 15", 20, message)]);
    let message = "time_to(...) is compared with a time; `15%` is none";
    assert_cure("write a time, such as 15s", &[("time_to(a >= 9) <= 15%", 20, message)]);
}

#[test]
fn bounds_hold_at_their_edges() {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    for (comparison, at_two) in [
        (Less, false),
        (LessOrEqual, true),
        (Greater, false),
        (GreaterOrEqual, true),
        (Equal, true),
    ] {
        assert_eq!(Bound::Compare(comparison, 2.0).holds(2.0), at_two, "{comparison}");
        assert!(!Bound::Compare(comparison, 2.0).holds(f64::NAN), "{comparison}");
    }
    assert!(!LessOrEqual.holds(2.0_f64.next_up(), 2.0), "comparisons are exact");
    let bound = Bound::Within { centre: 0.8, tolerance: 0.05 };
    for (value, holds) in [
        (0.75, true),
        (0.85, true),
        (0.85 + 1e-14, true),
        (0.85 + 1e-9, false),
        (0.7, false),
        (f64::NAN, false),
    ] {
        assert_eq!(bound.holds(value), holds, "{value}");
    }
    assert_eq!(bound.to_string(), "within 0.8 +- 0.05");
}

#[test]
fn no_text_makes_it_panic() {
    for sentence in [
        "time_to(controller.window >= 9.5µs) within 11 % ± -1.5/s",
        "p99.9(limiter.wait) / fifo <= 1.5MiB / s",
        "max(real - quoted) < zero_progress(0.5 rounds)",
        "jain(download.granted by waiter) > makespan",
        "(2 + max(a) of b) * 3/s - -1 <= regret(rpc.goodput) or never a.b of c < 2 * d for 1.5s",
        "settling(a, band=10%) < 2s and reaction(a, fault=f-1.x) within 1s +- 2 * recovery(a,fault=f)",
    ] {
        parts_of(sentence);
    }
}

fn parts_of(sentence: &str) {
    let chars: Vec<char> = sentence.chars().collect();
    for start in 0..chars.len() {
        for end in start..=chars.len() {
            let part: String = chars[start..end].iter().collect();
            let without: String = chars[..start].iter().chain(&chars[end..]).collect();
            for text in [part, without] {
                if let Err(error) = parse(&text) {
                    assert!(error.column <= text.chars().count() + 1 && !error.message.is_empty());
                }
            }
        }
    }
}
