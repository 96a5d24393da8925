//! What holds for any sentence, and for any text.

use super::{number, operand};
use crate::verdict::grammar::{
    Aggregate, Claim, Clause, Comparison, Condition, Expression, Limit, Measure, Number, Operand,
    Operator, Place, Response, Sentence, Watch, What, When, Written, parse,
};
use proptest::collection::vec;
use proptest::prelude::*;
use testbed_core::time::Nanos;
use testbed_core::vitals::Unit;

fn written() -> impl Strategy<Value = Expression> {
    let unit = prop_oneof![
        Just(None),
        Just(Some(Unit::Seconds)),
        Just(Some(Unit::PerSecond)),
        Just(Some(Unit::Bytes)),
        Just(Some(Unit::BytesPerSecond)),
    ];
    // Whole numbers: times are kept in nanoseconds, sizes in bytes.
    (-1_000_000i32..1_000_000, unit).prop_map(|(value, unit)| {
        let number = Number { value: f64::from(value), written: Written(unit) };
        operand(What::Number(number))
    })
}

/// With a dot, as every series has one: `s` alone could be a unit.
fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,5}(\\.[a-z][a-z0-9_]{0,5}){1,2}"
}

fn measure() -> impl Strategy<Value = Measure> {
    let aggregate = prop_oneof![
        Just(Aggregate::Max),
        Just(Aggregate::Last),
        (1u32..999).prop_map(|tenths| Aggregate::Percentile(f64::from(tenths) / 10.0)),
        Just(Aggregate::Count),
        Just(Aggregate::Slope),
        Just(Aggregate::Oscillation),
    ];
    let response = prop_oneof![Just(Response::Reaction), Just(Response::Recovery)];
    let fault = "[A-Za-z][A-Za-z0-9._-]{0,6}";
    prop_oneof![
        (aggregate, name())
            .prop_map(|(aggregate, series)| Measure::Aggregate { aggregate, series }),
        (name(), comparison(), 0u32..1000).prop_map(|(series, comparison, value)| {
            let value = Number { value: f64::from(value), written: Written(None) };
            Measure::TimeTo { series, comparison, value }
        }),
        (name(), 1u32..100).prop_map(|(series, percent)| {
            Measure::Settling { series, band: f64::from(percent) / 100.0 }
        }),
        (response, name(), fault).prop_map(|(response, series, fault)| {
            Measure::Response { response, series, fault, band: 0.1 }
        }),
        (name(), name()).prop_map(|(series, target)| Measure::Error { series, target }),
        (name(), name(), 1u64..100).prop_map(|(series, target, tenths)| {
            let lasting = Nanos::from_millis(tenths * 100);
            Measure::Convergence { series, target, band: 0.2, lasting }
        }),
        (name(), name(), 0u32..1000).prop_map(|(series, while_series, below)| {
            let below = Number { value: f64::from(below), written: Written(None) };
            Measure::Increase { series, while_series, below }
        }),
        Just(Measure::Jain),
        Just(Measure::OverFifo(Aggregate::Mean)),
        (1u32..50).prop_map(|rounds| Measure::ZeroProgress { rounds: f64::from(rounds) / 2.0 }),
    ]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop_oneof![
        Just(Comparison::Less),
        Just(Comparison::LessOrEqual),
        Just(Comparison::Greater),
        Just(Comparison::GreaterOrEqual),
        Just(Comparison::Equal),
    ]
}

fn arm() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[A-Za-z0-9][A-Za-z0-9._-]{0,6}")
}

fn expression(series: bool) -> impl Strategy<Value = Expression> {
    let of = |(what, arm)| Expression::Operand(Operand { what, arm, place: Place(0) });
    let what = if series {
        prop_oneof![measure().prop_map(What::Measure), name().prop_map(What::Series)].boxed()
    } else {
        measure().prop_map(What::Measure).boxed()
    };
    let part = prop_oneof![written(), (what, arm()).prop_map(of)];
    part.prop_recursive(4, 12, 2, |inner| {
        let operator = prop_oneof![
            Just(Operator::Plus),
            Just(Operator::Minus),
            Just(Operator::Times),
            Just(Operator::Over),
        ];
        (inner.clone(), operator, inner).prop_map(|(left, operator, right)| Expression::Of {
            left: Box::new(left),
            operator,
            right: Box::new(right),
        })
    })
}

fn claim() -> impl Strategy<Value = Clause> {
    // The unit of a plain limit is that of its measure, so its own is not drawn.
    let measured = (measure(), arm()).prop_map(|(measure, arm)| {
        let what = What::Measure(measure);
        Expression::Operand(Operand { what, arm, place: Place(0) })
    });
    let plain = (measured, comparison(), -1000i32..1000).prop_map(|(left, comparison, limit)| {
        Claim { left, limit: Limit::Compare(comparison, number(f64::from(limit))) }
    });
    let side = || {
        expression(false).prop_map(|side| Expression::Of {
            left: Box::new(side),
            operator: Operator::Plus,
            right: Box::new(number(1.0)),
        })
    };
    let compared = (side(), comparison(), side()).prop_map(|(left, comparison, limit)| Claim {
        left,
        limit: Limit::Compare(comparison, limit),
    });
    let within = (side(), side(), side()).prop_map(|(left, centre, tolerance)| Claim {
        left,
        limit: Limit::Within { centre, tolerance },
    });
    prop_oneof![plain, compared, within].prop_map(Clause::Claim)
}

fn watch() -> impl Strategy<Value = Clause> {
    let when = prop_oneof![Just(When::Always), Just(When::Never), Just(When::Eventually)];
    (when, expression(true), comparison(), expression(true), 0u64..1000).prop_map(
        |(when, left, comparison, right, tenths)| {
            let lasting = if when == When::Always { 0 } else { tenths * 100 };
            let lasting = Nanos::from_millis(lasting);
            Clause::Watch(Watch { when, condition: Condition { left, comparison, right, lasting } })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_text_of_a_sentence_reads_back_as_the_same(
        alternatives in vec(vec(prop_oneof![claim(), watch()], 1..3), 1..3),
    ) {
        let sentence = Sentence { alternatives };
        let text = sentence.to_string();
        prop_assume!(text.chars().filter(|c| !c.is_whitespace()).count() <= 1000);
        prop_assert_eq!(parse(&text), Ok(sentence), "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_row_of_words_makes_the_parser_panic(words in vec(word(), 0..40)) {
        let text = words.concat();
        if let Err(error) = parse(&text) {
            prop_assert!(error.column <= text.chars().count() + 1, "{}: {:?}", text, error);
            prop_assert!(!error.message.is_empty() && !error.help.is_empty(), "{}: {:?}", text, error);
        }
    }
}

/// What sentences are made of.
fn word() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "max(",
        "p99.9(",
        "time_to(",
        "settling(",
        "reaction(",
        "error(",
        "convergence(",
        "increase(",
        "jain(",
        "regret(",
        "rpc.goodput",
        "makespan",
        "fifo",
        "always ",
        "never ",
        "eventually ",
        " for ",
        " of ",
        " and ",
        " or ",
        "within ",
        "+-",
        "±",
        "by waiter",
        "rounds",
        "fault=",
        "band=",
        "to=",
        "for=",
        "while=",
        "below=",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "<=",
        ">",
        "==",
        "=",
        ",",
        "2",
        "1.5",
        "10s",
        "/s",
        "%",
        "KiB",
        "9",
        ".",
        " ",
        "é",
        "\n",
    ])
}
