//! The rules of HTTP faults: which of them decides, what they count, and that nothing stays under
//! them.

use proptest::prelude::*;
use serde_yaml::with::singleton_map_recursive;
use std::collections::BTreeMap;
use testbed_core::distribution::Distribution;
use testbed_core::limit::quantity::Bytes;
use testbed_core::quantity::{Rate, Share};
use testbed_core::rng::Streams;
use testbed_core::service::{
    Calls, Counts, Drip, HttpFault, Manner, NoAnswer, Reject, Released, Request, Reset, RetryAfter,
    Rule, Service, ServiceConfig, SlowHeaders, Truncate, Which, WrongLength,
};
use testbed_core::time::{Nanos, Time};

fn backend() -> Service<u32> {
    let service = Distribution::Constant(Nanos::from_millis(10));
    Service::new(&ServiceConfig::new(1000, service, 0), &Streams::new(1))
}

fn rule(name: &str, fault: HttpFault) -> Rule {
    Rule { name: name.to_owned(), fault }
}

/// A rejection by which a test knows the rule: its status.
fn reject(name: &str, status: u16, which: Which) -> Rule {
    rule(name, HttpFault::Reject(Reject { which, ..Reject::all(status) }))
}

fn share(share: f64) -> Which {
    Which { share: Share::new(share).expect("within 0 to 1"), ..Which::ALL }
}

/// Everything that comes out, by job.
fn run(service: &mut Service<u32>) -> BTreeMap<u32, Released<u32>> {
    let mut out = BTreeMap::new();
    while let Some(at) = service.next_wake() {
        while let Some(released) = service.release(at) {
            out.insert(released.job, released);
        }
    }
    out
}

/// The statuses of calls with these paths and classes.
fn statuses(service: &mut Service<u32>, calls: &[(&str, Option<&str>)]) -> Vec<u16> {
    for (job, (path, class)) in (0u32..).zip(calls) {
        service.arrive(Time::ZERO, Request { path, class: *class, ..Request::CALL }, job);
    }
    run(service).values().map(|released| released.status).collect()
}

fn counts(service: &Service<u32>) -> Vec<(String, u64, u64, u32)> {
    let row = |(name, counts): (&str, Counts)| {
        (name.to_owned(), counts.injected, counts.overflow, counts.active)
    };
    service.injected().map(row).collect()
}

#[test]
fn a_rejection_by_rate_lets_a_burst_and_the_rate_pass_and_no_other_rule_is_asked() {
    let mut service = backend();
    let above = Rate::per_second(10.0);
    let gold = Which { class: Some("gold".into()), ..Which::ALL };
    let limit = Reject { above, burst: Some(2), which: gold, ..Reject::all(429) };
    service.set_rules(vec![
        rule("limit", HttpFault::Reject(limit)),
        reject("others", 503, Which::ALL),
    ]);
    let gold = ("/", Some("gold"));
    let statuses = statuses(&mut service, &[gold, ("/", None), gold, gold]);
    assert_eq!(statuses, [200, 503, 200, 429]);
    let counted = [("limit".to_owned(), 1, 0, 0), ("others".to_owned(), 1, 0, 0)];
    assert_eq!(counts(&service), counted, "what passes is not counted");
}

#[test]
fn the_first_rule_that_matches_decides() {
    let gold = Which { class: Some("gold".into()), ..Which::ALL };
    let file = Which { path: Some("/file".into()), ..Which::ALL };
    let third = Which { every: Some(3), ..Which::ALL };
    let mut service = backend();
    service.set_rules(vec![
        reject("gold", 503, gold),
        reject("file", 404, file),
        reject("third", 500, third),
    ]);
    let calls = [
        ("/file", Some("gold")), // gold, and never asked whether it is a file
        ("/file", None),
        ("/", None), // the first for `third`
        ("/", Some("tin")),
        ("/", Some("gold")),
        ("/", None), // its third
        ("/", None),
    ];
    let expected = [503, 404, 200, 200, 503, 500, 200];
    assert_eq!(statuses(&mut service, &calls), expected);
    let expected = [("file", 1), ("gold", 2), ("third", 1)].map(|(n, i)| (n.to_owned(), i, 0, 0));
    assert_eq!(counts(&service), expected);
}

#[test]
fn every_counts_what_meets_the_other_conditions_also_while_it_is_off() {
    let which = Which {
        calls: Some(Calls { from: 2, until: 100 }),
        every: Some(2),
        path: Some("/a*".into()),
        ..Which::ALL
    };
    let rules = vec![reject("r", 500, which)];
    let mut service = backend();
    service.set_rules(rules.clone());
    let calls = ["/a", "/a", "/a", "/b", "/ab", "/a"].map(|path| (path, None));
    assert_eq!(statuses(&mut service, &calls), [200, 200, 200, 200, 500, 200]);
    // It is off for a call, which it does not count, and goes on where it was.
    service.set_rules(Vec::new());
    assert_eq!(statuses(&mut service, &calls[..1]), [200]);
    service.set_rules(rules);
    assert_eq!(statuses(&mut service, &calls[..1]), [500]);
    assert_eq!(counts(&service), [("r".to_owned(), 2, 0, 0)]);
}

#[test]
fn a_share_draws_once_for_each_rule_whose_other_conditions_hold() {
    let half = |calls: Option<Calls>| Which { calls, ..share(0.5) };
    let calls = [("/", None); 400];
    let drawn = |rules: Vec<Rule>| {
        let mut service = backend();
        service.set_rules(rules);
        statuses(&mut service, &calls)
    };
    let alone = drawn(vec![reject("r", 500, half(None))]);
    let failed = alone.iter().filter(|status| **status == 500).count();
    assert!((150..250).contains(&failed), "{failed} of 400");
    let elsewhere = reject("before", 503, half(Some(Calls { from: 400, until: 500 })));
    assert_eq!(drawn(vec![elsewhere, reject("r", 500, half(None))]), alone);
    let here = reject("before", 503, half(Some(Calls { from: 0, until: 1 })));
    assert_ne!(drawn(vec![here, reject("r", 500, half(None))])[1..], alone[1..]);
}

#[test]
fn beyond_max_active_requests_pass_unharmed_until_an_answer_is_over() {
    let slow = HttpFault::SlowHeaders(SlowHeaders {
        delay: Nanos::from_millis(5),
        which: Which { max_active: Some(2), ..Which::ALL },
    });
    let mut service = backend();
    service.set_rules(vec![rule("slow", slow), reject("behind", 500, Which::ALL)]);
    (0..4).for_each(|job| service.arrive(Time::ZERO, Request::CALL, job));
    let mut out = run(&mut service);
    let harmed: Vec<_> = out.values().map(|released| released.harm.is_some()).collect();
    assert_eq!(harmed, [true, true, false, false]);
    assert!(out.values().all(|released| released.status == 200), "no rule behind is asked");
    assert_eq!(counts(&service)[1], ("slow".to_owned(), 2, 2, 2), "released is not over");
    out.remove(&0);
    assert_eq!(counts(&service)[1].3, 1);
    service.arrive(Time::ZERO, Request::CALL, 9);
    service.arrive(Time::ZERO, Request::CALL, 10);
    assert_eq!(counts(&service)[1], ("slow".to_owned(), 3, 3, 2));
    service.drain();
    drop(out);
    assert_eq!(counts(&service)[1].3, 0);
}

#[test]
fn a_rejection_carries_its_age_and_when_to_come_back() {
    let mut service = backend();
    let retry_after = Some(RetryAfter::Seconds(2));
    let after = Nanos::from_millis(3);
    let storm = Reject { after, retry_after: retry_after.clone(), ..Reject::all(429) };
    service.set_rules(vec![rule("storm", HttpFault::Reject(storm))]);
    service.arrive(Time::ZERO, Request::CALL, 0);
    let at = service.next_wake().expect("one is inside");
    let released = service.release(at).expect("it is due");
    assert_eq!((released.status, released.served.age), (429, after));
    let harm = released.harm.expect("a rule has decided");
    assert_eq!((harm.retry_after, harm.manner), (retry_after, Manner::Plain));
}

#[test]
fn kinds_read_as_they_are_written_and_say_what_they_cannot_do() {
    for (text, field) in [
        ("reject: { status: 429 }", None),
        ("reject: { status: 429, share: 50%, calls: { from: 1, until: 2 }, after: 0s }", None),
        ("reject: { status: 503, every: 10, path: /a/*, class: gold, max_active: 5 }", None),
        ("reject: { status: 429, retry_after: { seconds: 2 } }", None),
        ("reject: { status: 429, retry_after: { date: 2s } }", None),
        ("reject: { status: 429, retry_after: { past: 5s } }", None),
        ("reject: { status: 429, retry_after: { text: soon } }", None),
        ("slow_headers: { delay: 200ms, share: 10% }", None),
        ("drip: { bytes: 1B, pause: 10ms, every: 2 }", None),
        ("truncate: { after: 0B }", None),
        ("wrong_length: { declared: 1000B }", None),
        ("reset: { after: 1B }", None),
        ("no_answer: {}", None),
        ("no_answer: { class: gold }", None),
        ("reject: { status: 399 }", Some("status")),
        ("reject: { status: 600 }", Some("status")),
        ("reject: { status: 429, retry_after: { text: \"\" } }", Some("retry_after")),
        ("slow_headers: { delay: 0s }", Some("delay")),
        ("drip: { bytes: 0B, pause: 10ms }", Some("bytes")),
        ("drip: { bytes: 1B, pause: 0s }", Some("pause")),
        ("reset: { after: 1B, calls: { from: 2, until: 2 } }", Some("calls")),
        ("no_answer: { every: 0 }", Some("every")),
        ("no_answer: { path: file }", Some("path")),
        ("no_answer: { class: \"\" }", Some("class")),
        ("no_answer: { max_active: 0 }", Some("max_active")),
    ] {
        let (kind, _) = text.split_once(':').expect("a kind and its settings");
        let fault = read(text).expect(text);
        assert_eq!(fault.name(), kind);
        let invalid: Vec<_> = fault.invalid().iter().map(|invalid| invalid.field).collect();
        assert_eq!(invalid, field.as_slice(), "{text}");
        let mut written = Vec::new();
        let mut writer = serde_yaml::Serializer::new(&mut written);
        singleton_map_recursive::serialize(&fault, &mut writer).expect(text);
        let written = String::from_utf8(written).expect("YAML is text");
        assert_eq!(read(&written).expect(&written), fault);
    }
    for wrong in ["no_answer: { share: 50 }", "no_answer: { stat: 1 }", "drip: { bytes: 1B }"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

/// As experiment files are read: a kind is a field.
fn read(text: &str) -> Result<HttpFault, serde_yaml::Error> {
    singleton_map_recursive::deserialize(serde_yaml::Deserializer::from_str(text))
}

fn any_which() -> impl Strategy<Value = Which> {
    let calls = proptest::option::of((0..40u64, 1..40u64));
    let path = proptest::option::of(prop::sample::select(vec!["/", "/file", "/*", "/f*"]));
    let class = proptest::option::of(prop::sample::select(vec!["gold", "tin"]));
    let guard = (proptest::option::of(1..5u64), proptest::option::of(1..4u32));
    (0.0..=1.0f64, calls, path, class, guard).prop_map(|(some, calls, path, class, guard)| Which {
        calls: calls.map(|(from, length)| Calls { from, until: from + length }),
        every: guard.0,
        path: path.map(str::to_owned),
        class: class.map(str::to_owned),
        max_active: guard.1,
        ..share(some)
    })
}

fn any_fault() -> impl Strategy<Value = HttpFault> {
    (0..7u8, any_which()).prop_map(|(kind, which)| match kind {
        0 => HttpFault::Reject(Reject { which, ..Reject::all(429) }),
        1 => HttpFault::SlowHeaders(SlowHeaders { delay: Nanos::new(5), which }),
        2 => HttpFault::Drip(Drip { bytes: Bytes::new(1), pause: Nanos::new(5), which }),
        3 => HttpFault::Truncate(Truncate { after: Bytes::new(1), which }),
        4 => HttpFault::WrongLength(WrongLength { declared: Bytes::new(9), which }),
        5 => HttpFault::Reset(Reset { after: Bytes::new(1), which }),
        _ => HttpFault::NoAnswer(NoAnswer { which }),
    })
}

#[derive(Clone, Debug)]
enum Operation {
    Arrive(&'static str, Option<&'static str>),
    /// Time goes on until the next answer is released, which is kept.
    Release,
    /// The oldest answer that is kept is over.
    Over,
    /// The rules after this one are switched off, those before it on.
    Rules(usize),
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let path = prop::sample::select(vec!["/", "/file", "/files"]);
    let class = prop::sample::select(vec![None, Some("gold"), Some("tin")]);
    prop_oneof![
        4 => (path, class).prop_map(|(path, class)| Operation::Arrive(path, class)),
        2 => Just(Operation::Release),
        2 => Just(Operation::Over),
        1 => (0..5usize).prop_map(Operation::Rules),
    ]
}

/// Whether a request meets the conditions of a rule that need neither memory nor chance, said anew.
fn meets(which: &Which, call: u64, path: &str, class: Option<&str>) -> bool {
    let in_range = match &which.calls {
        Some(calls) => calls.from <= call && call < calls.until,
        None => true,
    };
    let right_path = match which.path.as_deref() {
        None | Some("/*") => true,
        Some("/f*") => path.starts_with("/f"),
        Some(exact) => exact == path,
    };
    in_range && right_path && which.class.as_deref().is_none_or(|wanted| class == Some(wanted))
}

/// What the counts say was decided about a request: the rule, and whether it was injected.
fn decided(
    before: &[(String, u64, u64, u32)],
    after: &[(String, u64, u64, u32)],
) -> Vec<(String, bool)> {
    let pairs = before.iter().zip(after);
    let changed = pairs.filter(|(old, new)| (old.1, old.2) != (new.1, new.2));
    changed.map(|(old, new)| (new.0.clone(), new.1 > old.1)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the rules and calls: at most one rule decides about a request, and one that matches;
    /// no rule before it would have decided for certain; what is counted adds up to what came; and
    /// when everything is over nothing is active.
    #[test]
    fn one_rule_decides_and_nothing_stays_under_it(
        faults in prop::collection::vec(any_fault(), 1..5),
        operations in prop::collection::vec(any_operation(), 1..80),
    ) {
        let names = ["a", "b", "c", "d"];
        let all: Vec<_> =
            names.iter().zip(faults).map(|(name, fault)| rule(name, fault)).collect();
        let mut service = backend();
        service.set_rules(all.clone());
        let (mut on, mut call, mut now) = (all.len(), 0, Time::ZERO);
        let (mut kept, mut harmed) = (Vec::new(), 0);
        for operation in operations {
            match operation {
                Operation::Arrive(path, class) => {
                    let before = counts(&service);
                    service.arrive(now, Request { path, class, ..Request::CALL }, 0);
                    let decided = decided(&before, &counts(&service));
                    prop_assert!(decided.len() <= 1, "{decided:?}");
                    let certain = |rule: &&Rule| {
                        let which = rule.fault.which();
                        which.share == Share::ALL && which.every.is_none()
                            && meets(which, call, path, class)
                    };
                    if let Some((name, injected)) = decided.first() {
                        let place = all.iter().position(|rule| rule.name == *name);
                        let place = place.expect("a rule of that name");
                        prop_assert!(place < on, "it is switched off");
                        let which = all[place].fault.which();
                        prop_assert!(meets(which, call, path, class));
                        prop_assert_eq!(all[..place].iter().find(certain), None);
                        harmed += u64::from(*injected);
                        let active = before.iter().find(|row| row.0 == *name).map_or(0, |row| row.3);
                        let full = which.max_active.is_some_and(|most| active >= most);
                        prop_assert_eq!(full, !injected);
                    } else {
                        prop_assert_eq!(all[..on].iter().find(certain), None);
                    }
                    call += 1;
                }
                Operation::Release => if let Some(at) = service.next_wake() {
                    now = now.max(at);
                    kept.extend(service.release(now));
                },
                Operation::Over => if !kept.is_empty() {
                    kept.remove(0);
                },
                Operation::Rules(until) => {
                    on = until.min(all.len());
                    service.set_rules(all[..on].to_vec());
                }
            }
            let injected: u64 = counts(&service).iter().map(|row| row.1).sum();
            prop_assert_eq!(injected, harmed);
        }
        while let Some(at) = service.next_wake() {
            kept.extend(service.release(at));
        }
        let with_harm = kept.iter().filter(|released| released.harm.is_some()).count();
        let active: u32 = counts(&service).iter().map(|row| row.3).sum();
        prop_assert_eq!(active as usize, with_harm, "whose answers are not over");
        drop(kept);
        prop_assert!(counts(&service).iter().all(|row| row.3 == 0));
    }
}
