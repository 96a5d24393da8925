//! Measures of one series that heed another.

use super::{assert_cure, plain};
use crate::verdict::grammar::{Bound, Comparison, Measure, Number, Written, expression, parse};
use testbed_core::time::Nanos;

#[test]
fn measures_read_and_write() {
    let (series, target) = ("a.x".to_owned(), "b.y".to_owned());
    let below = Number { value: 0.8, written: Written(None) };
    let lasting = Nanos::from_millis(1500);
    for (text, measure, canonical) in [
        (
            "error ( a.x,to = b.y )",
            Measure::Error { series: series.clone(), target: target.clone() },
            "error(a.x, to=b.y)",
        ),
        (
            "convergence(a.x, to=b.y, band=20%, for=1500ms)",
            Measure::Convergence {
                series: series.clone(),
                target: target.clone(),
                band: 0.2,
                lasting,
            },
            "convergence(a.x, to=b.y, band=0.2, for=1.5s)",
        ),
        (
            "increase(a.x, while=b.y, below=80%)",
            Measure::Increase { series, while_series: target, below },
            "increase(a.x, while=b.y, below=0.8)",
        ),
    ] {
        let sentence = plain(measure, Bound::Compare(Comparison::LessOrEqual, 3.0));
        let unit = if canonical.starts_with("conv") { "s" } else { "" };
        assert_eq!(parse(&format!("{text} <= 3{unit}")), Ok(sentence.clone()), "{text}");
        assert_eq!(sentence.to_string(), format!("{canonical} <= 3{unit}"));
    }
}

#[test]
fn measures_are_named_when_wrong() {
    assert_cure(
        "write: error(controller.limit, to=oracle.window)",
        &[
            ("error(a) <= 1", 8, "expected `, to=`, found `)`"),
            ("error(a, from=b) <= 1", 10, "expected `to`, found `from`"),
            ("error(a, to b) <= 1", 13, "expected `=`, found `b)`"),
        ],
    );
    assert_cure(
        "write: convergence(rpc.goodput, to=oracle.goodput, band=10%, for=2s)",
        &[("convergence(a, to=b) < 1s", 20, "expected `, band=`, found `)`")],
    );
    let message = "`0%` is no band";
    assert_cure(
        "write a share above 0%, such as band=10%",
        &[("convergence(a, to=b, band=0%, for=1s) < 1s", 27, message)],
    );
    assert_cure(
        "write how long, such as 10s",
        &[("convergence(a, to=b, band=1%, for=0s) < 1s", 35, "`0s` is no length of time")],
    );
}

#[test]
fn an_expression_stands_alone() {
    let read = expression("max(a.x) / (2 * last(b.y) of c)").unwrap();
    assert_eq!(read.to_string(), "max(a.x) / (2 * last(b.y) of c)");
    let error = expression("max(a.x) <= 2").unwrap_err();
    assert_eq!((error.column, &*error.message), (10, "expected nothing more, found `<=`"));
    assert_eq!(error.help, "a measure is a number: leave out what it is compared with");
}
