//! One suite over every registered law, without naming one.

use std::collections::BTreeSet;
use testbed_core::control::{Controller, ControllerConfig, Decision, bounded};
use testbed_core::request::{Arrival, Outcome, Sample};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};
use testbed_core::vitals::Vitals;

fn sample(start: Time, rtt: Nanos, outcome: Outcome) -> Sample {
    Sample {
        start,
        sent: start,
        end: start.after(rtt),
        in_flight_at_start: 1,
        in_flight_at_end: 1,
        limit_at_start: 1,
        outcome,
        bytes: 0,
    }
}

/// Healthy, slower, overloaded, broken, and back: every input that a law can meet.
fn history() -> Vec<Sample> {
    let legs = [
        (100, 10_000, Outcome::Success),
        (100, 14_300, Outcome::Success),
        (20, 100, Outcome::Overload),
        (20, 0, Outcome::Error),
        (20, 1_000_000, Outcome::Timeout),
        (20, u64::MAX / 1000, Outcome::Success),
        (20, 0, Outcome::Cancelled),
        (200, 10_000, Outcome::Success),
    ];
    let repeat = |(times, us, outcome)| std::iter::repeat_n((us, outcome), times);
    let inputs = legs.into_iter().flat_map(repeat);
    let at = |(index, (us, outcome))| {
        sample(Time::from_nanos(index as u64 * 1_000_000), Nanos::from_micros(us), outcome)
    };
    inputs.enumerate().map(at).collect()
}

fn vitals(law: &dyn Controller) -> Vitals {
    let mut vitals = Vitals::new();
    law.vitals(&mut vitals);
    vitals
}

fn assert_sound(config: &ControllerConfig, law: &dyn Controller) {
    let name = config.name();
    assert!(law.limit() >= 1, "{name}: nothing may go");
    assert!(law.window().is_finite() && law.window() >= 0.0, "{name}: {}", law.window());
    let has_window = bounded(law.limit()).is_some();
    assert_eq!(has_window, config.has_window(), "{name}: a law has a window or has none");
    let ceiling = config.ceiling().unwrap_or(f64::INFINITY);
    assert!(law.window() <= ceiling, "{name}: {} is above its ceiling", law.window());
    let known: BTreeSet<_> = config.vitals().iter().map(|vital| vital.name).collect();
    let mut seen = BTreeSet::new();
    for vital in &vitals(law) {
        assert!(known.contains(vital.name), "{name}: `{}` is not in VITALS", vital.name);
        assert!(seen.insert(vital.name), "{name}: `{}` is there twice", vital.name);
        assert!(vital.value.is_finite(), "{name}: `{}` is {}", vital.name, vital.value);
    }
    let shown = vitals(law).get("baseline_rtt").is_some();
    assert_eq!(shown, law.baseline_rtt().is_some(), "{name}: a baseline is shown and followed");
    let tolerated = law.tolerated_rtt();
    assert_eq!(shown, tolerated.is_some(), "{name}: what it tolerates is more than a baseline");
    assert!(tolerated >= law.baseline_rtt(), "{name}: it tolerates no baseline");
}

#[test]
fn laws_stay_sound_and_say_what_they_did() {
    for config in ControllerConfig::all() {
        let mut law = config.build(&Streams::new(1));
        assert_sound(&config, &*law);
        for sample in history() {
            let (window, limit) = (law.window(), law.limit());
            match law.on_sample(sample.end, &sample) {
                Decision::Waiting => {
                    assert_eq!((law.window(), law.limit()), (window, limit), "{}", config.name());
                }
                Decision::Updated(update) => {
                    let told = (update.old, update.new, update.limit);
                    assert_eq!(told, (window, law.window(), law.limit()), "{}", config.name());
                    assert!(!update.reason.is_empty());
                }
            }
            assert_sound(&config, &*law);
        }
    }
}

#[test]
fn the_same_history_gives_the_same_law() {
    for config in ControllerConfig::all() {
        let run = || {
            let mut law = config.build(&Streams::new(1));
            let decide = |sample: &Sample| (law.on_sample(sample.end, sample), law.window());
            history().iter().map(decide).collect::<Vec<_>>()
        };
        assert_eq!(run(), run(), "{}", config.name());
    }
}

#[test]
fn a_wake_that_was_not_asked_for_is_harmless() {
    for config in ControllerConfig::all() {
        let mut law = config.build(&Streams::new(1));
        if law.next_wake().is_none() {
            let window = law.window();
            assert_eq!(law.on_wake(Time::ZERO), Decision::Waiting);
            assert_eq!(law.window(), window, "{}", config.name());
        }
    }
}

#[test]
fn settings_survive_yaml_and_defaults_are_valid() {
    for config in ControllerConfig::all() {
        let mut yaml = Vec::new();
        let mut serializer = serde_yaml::Serializer::new(&mut yaml);
        serde_yaml::with::singleton_map_recursive::serialize(&config, &mut serializer).unwrap();
        let deserializer = serde_yaml::Deserializer::from_slice(&yaml);
        let read: ControllerConfig =
            serde_yaml::with::singleton_map_recursive::deserialize(deserializer).unwrap();
        assert_eq!(read, config);
        assert_eq!(config.invalid(), []);
        assert!(!config.about().is_empty() && config.vitals().len() <= Vitals::MAX);
    }
}

#[test]
fn no_law_turns_everything_away() {
    for config in ControllerConfig::all() {
        let mut law = config.build(&Streams::new(1));
        for sample in history().iter().filter(|sample| sample.outcome != Outcome::Success) {
            let _ = law.on_sample(sample.end, sample);
        }
        let now = Time::from_nanos(20_000_000_000);
        let accepted = (0..1_000).filter(|id| law.accepts(now, &Arrival::new(*id, 0, now))).count();
        assert!(accepted > 0, "{} accepts nothing", config.name());
    }
}

#[test]
fn who_is_not_released_is_released_when_the_law_said() {
    for config in ControllerConfig::all() {
        let mut law = config.build(&Streams::new(1));
        // After a round trip of 584 years time itself is over.
        for sample in history().into_iter().filter(|sample| sample.end < Time::NEVER) {
            let _ = law.on_sample(sample.end, &sample);
            let arrival = Arrival::new(0, 0, sample.end);
            let Some(due) = (!law.releases(sample.end, &arrival)).then(|| law.next_wake()) else {
                continue;
            };
            let due = due.unwrap_or_else(|| panic!("{} holds and names no time", config.name()));
            let _ = law.on_wake(due);
            assert!(law.releases(due, &arrival), "{} is not ready at {due}", config.name());
        }
    }
}
