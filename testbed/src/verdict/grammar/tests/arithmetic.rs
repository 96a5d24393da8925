//! Arithmetic, arms, functions of response, and statements about instants.

use super::assert_cure;
use crate::verdict::grammar::{Clause, condition, parse};

#[test]
fn sentences_have_one_canonical_text() {
    for (text, canonical) in [
        ("mean(a)of x>=1.5*mean(a) of y", "mean(a) of x >= 1.5 * mean(a) of y"),
        ("max(a) - min(a) <= 20ms", "max(a) - min(a) <= 0.02s"),
        ("max(a) - (min(a) - 1) <= 3", "max(a) - (min(a) - 1) <= 3"),
        ("(max(a) - min(a)) - 1 <= 3", "max(a) - min(a) - 1 <= 3"),
        ("(max(a) + 1) * 2 <= 3", "(max(a) + 1) * 2 <= 3"),
        ("max(a) + (1 * 2) <= 3", "max(a) + 1 * 2 <= 3"),
        ("max(a) / (2 / 3) <= 3", "max(a) / (2 / 3) <= 3"),
        ("max(a) + -3 <= 70%", "max(a) + -3 <= 0.7"),
        ("max(a) within 2*min(a) +- 16KiB", "max(a) within 2 * min(a) +- 16384B"),
        ("max(a) <= 5/s*min(b)", "max(a) <= 5/s * min(b)"),
        ("max(limiter.wait)/fifo of x < 3", "max(limiter.wait) / fifo of x < 3"),
        ("max(limiter.wait) / 3 <= 3", "max(limiter.wait) / 3 <= 3"),
        (
            "makespan of x <= 2*makespan of y",
            "last(load.makespan) of x <= 2 * last(load.makespan) of y",
        ),
        ("settling(a) <= 2s", "settling(a, band=0.1) <= 2s"),
        ("reaction(a,band=5%,fault=f) <= 2s", "reaction(a, fault=f, band=0.05) <= 2s"),
        ("recovery(a, fault=b.c-d) > 1m", "recovery(a, fault=b.c-d, band=0.1) > 60s"),
        (
            "regret(rpc.goodput) of x <= 10/s",
            "mean(oracle.goodput) of x - mean(rpc.goodput) of x <= 10/s",
        ),
        (
            "2 * regret(rpc.goodput) <= 10/s",
            "2 * (mean(oracle.goodput) - mean(rpc.goodput)) <= 10/s",
        ),
        ("always a.b>=2", "always a.b >= 2"),
        ("never a.b of x > a.b of y for 1.5 s", "never a.b of x > a.b of y for 1.5s"),
        ("eventually a.b >= 0.9 * max(a.b) for 10s", "eventually a.b >= 0.9 * max(a.b) for 10s"),
        ("max(a) < 1 and min(a) > 0 or p9(a) < 3", "max(a) < 1 and min(a) > 0 or p9(a) < 3"),
        ("max(a) < 1 or always b > 0 and max(c) < 2", "max(a) < 1 or always b > 0 and max(c) < 2"),
    ] {
        let sentence = parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(sentence.to_string(), canonical, "{text}");
        assert_eq!(parse(canonical), Ok(sentence), "{canonical}");
    }
}

#[test]
fn only_a_measure_against_numbers_is_plain() {
    for (text, plain) in [
        ("max(a) <= 2", true),
        ("max(a) of x within 11 +- 1.5", true),
        ("max(a) <= 2 * 3", false),
        ("max(a) - 1 <= 2", false),
        ("max(a) <= min(a)", false),
    ] {
        let sentence = parse(text).unwrap();
        let Clause::Claim(claim) = &sentence.alternatives[0][0] else { panic!("{text}") };
        assert_eq!(claim.plain().is_some(), plain, "{text}");
    }
}

#[test]
fn a_condition_is_one_comparison_of_series() {
    let read = condition("rpc.goodput of x < 0.5 * oracle.capacity for 10s").unwrap();
    assert_eq!(read.to_string(), "rpc.goodput of x < 0.5 * oracle.capacity for 10s");
    let error = condition("rpc.goodput < 3 and more").unwrap_err();
    assert_eq!((error.column, error.message.as_str()), (17, "expected nothing more, found `and`"));
}

#[test]
fn what_goes_wrong_is_named() {
    let deep = format!("{}max(a){} < 1", "(".repeat(17), ")".repeat(17));
    let long = format!("max(a) < 1{}", " or max(a) < 1".repeat(100));
    for (help, text, column, message) in [
        (
            "write a number such as 2, 1.5, 150ms, 70%, 1000/s, 16KiB or 4MiB/s",
            "max(a) <= 2 * many",
            15,
            "expected a number, found `many`",
        ),
        ("close the parenthesis: (2 + 3) * 4", "(max(a) + 1 <= 2", 13, "expected `)`, found `<=`"),
        (
            "leave out the `for`, or write `eventually`",
            "always a > 2 for 3s",
            20,
            "`always` speaks of every instant; `for` adds nothing to it",
        ),
        ("such as 10s", "never a > 2 for 10", 17, "for is compared with a time; `10` needs a unit"),
        ("write how long, such as 10s", "never a > 2 for 0s", 17, "`0s` is no length of time"),
        ("write it with fewer", &deep, 18, "more than 16 parentheses stand in one another"),
        ("write several expectations", &long, 1, "1008 characters are too many; 1000 are allowed"),
        (
            "name a fault of the file: reaction(controller.window, fault=storm)",
            "reaction(a) < 2s",
            11,
            "`reaction` needs a fault",
        ),
        (
            "write a share above 0%, such as band=10%",
            "settling(a, band=0%) < 2s",
            18,
            "`0%` is no band",
        ),
        (
            "write `fault=NAME`, `band=10%`, or nothing more",
            "settling(a, width=3) < 2s",
            13,
            "`width` is unknown here, or there already",
        ),
        (
            "such as 2s",
            "settling(a) < 2",
            15,
            "settling(...) is compared with a time; `2` needs a unit",
        ),
        (
            "write the arm behind it: max(controller.window) of double",
            "max(a) of < 2",
            11,
            "expected the name of an arm, found `<`",
        ),
    ] {
        assert_cure(help, &[(text, column, message)]);
    }
}
