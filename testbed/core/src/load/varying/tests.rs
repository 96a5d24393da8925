use super::*;
use crate::load::pace::PaceConfig;
use crate::rng::Streams;

/// Every kind of rate that changes, each with 1,000 arrivals expected in its first 10 s.
const KINDS: [&str; 5] = [
    "ramp: { from: 50/s, to: 150/s, over: 10s",
    "ramp: { from: 150/s, to: 50/s, over: 10s",
    "step: { steps: [{ rate: 20/s, for: 5s }, { rate: 180/s, for: 5s }, { rate: 5/s }]",
    "spike: { base: 50/s, peak: 300/s, at: 4s, for: 2s",
    "sine: { mean: 100/s, amplitude: 100/s, period: 5s",
];

fn config(kind: &str, arrivals: &str) -> PaceConfig {
    read(&format!("{{ {kind}, arrivals: {arrivals} }} }}"))
}

fn read(yaml: &str) -> PaceConfig {
    let yaml = serde_yaml::Deserializer::from_str(yaml);
    serde_yaml::with::singleton_map_recursive::deserialize(yaml).unwrap()
}

/// The arrivals of the first 10 s, in seconds.
fn arrivals(config: &PaceConfig, seed: u64) -> Vec<f64> {
    let (mut pace, mut rng) = (config.build(), Streams::new(seed).stream("arrivals"));
    let times = std::iter::repeat_with(|| pace.next(&mut rng).as_secs_f64());
    times.take_while(|at| *at < 10.0).collect()
}

fn at(s: f64) -> Time {
    Time::ZERO.after(Nanos::from_secs_f64(s))
}

#[test]
fn the_kth_even_arrival_comes_when_k_are_expected() {
    for (kind, k, ms) in [
        // 50 t + 5 t^2: 375 at 5 s, 1000 at 10 s, and 150/s from there on.
        (KINDS[0], 0, 0.0),
        (KINDS[0], 375, 5_000.0),
        (KINDS[0], 1_000, 10_000.0),
        (KINDS[0], 1_150, 11_000.0),
        // 150 t - 5 t^2: 625 at 5 s.
        (KINDS[1], 625, 5_000.0),
        (KINDS[1], 1_050, 11_000.0),
        // 100 in the first 5 s, and the next after 1/180 s.
        (KINDS[2], 50, 2_500.0),
        (KINDS[2], 100, 5_000.0),
        (KINDS[2], 101, 5_000.0 + 1_000.0 / 180.0),
        (KINDS[2], 1_001, 10_200.0),
        (KINDS[3], 200, 4_000.0),
        (KINDS[3], 500, 5_000.0),
        (KINDS[3], 800, 6_000.0),
        (KINDS[3], 850, 7_000.0),
        // Half a period has its mean and twice amplitude * period / 2 pi: 250 + 159.15.
        (KINDS[4], 500, 5_000.0),
        (KINDS[4], 1_500, 15_000.0),
    ] {
        let (mut pace, mut rng) = (config(kind, "even").build(), Streams::new(1).stream("x"));
        let planned = (0..=k).map(|_| pace.next(&mut rng)).last().unwrap();
        let off_ns = (planned.as_nanos() as f64 - ms * 1e6).abs();
        // Where a sine is 0 two instants far apart expect almost the same.
        let allowed_ns = if kind == KINDS[4] { 20_000.0 } else { 1.0 };
        assert!(off_ns <= allowed_ns, "{kind}, arrival {k}: {planned:?}, not {ms} ms");
    }
    let half = config(KINDS[4], "even").expected(at(2.5));
    assert!((half - (250.0 + 500.0 / std::f64::consts::PI)).abs() < 1e-9, "{half}");
}

#[test]
fn as_many_arrive_in_any_span_as_are_expected_in_it() {
    for kind in KINDS {
        let even = config(kind, "even");
        let times = arrivals(&even, 1);
        assert!(times.is_sorted(), "{kind}");
        for tenth in 0..100 {
            let until = f64::from(tenth) / 10.0;
            let came = times.partition_point(|at| *at < until) as f64;
            assert!((came - even.expected(at(until))).abs() <= 1.0, "{kind} until {until}");
        }
    }
}

#[test]
fn poisson_arrivals_have_the_expected_number_and_its_spread_in_every_second() {
    const SEEDS: u64 = 400;
    for kind in KINDS {
        let config = config(kind, "poisson");
        let runs: Vec<_> = (0..SEEDS).map(|seed| arrivals(&config, seed)).collect();
        for second in 0..10 {
            let (begin, end) = (f64::from(second), f64::from(second + 1));
            let expected = config.expected(at(end)) - config.expected(at(begin));
            let count = |run: &Vec<f64>| {
                (run.partition_point(|at| *at < end) - run.partition_point(|at| *at < begin)) as f64
            };
            let mean = runs.iter().map(count).sum::<f64>() / SEEDS as f64;
            let squares = runs.iter().map(|run| (count(run) - expected).powi(2)).sum::<f64>();
            let variance = squares / SEEDS as f64;
            // Mean of 400: within 5 of its deviations. Variance of a Poisson number: itself.
            let allowed = 5.0 * (expected / SEEDS as f64).sqrt();
            assert!((mean - expected).abs() <= allowed, "{kind}, second {second}: {mean}");
            assert!((variance / expected - 1.0).abs() < 0.4, "{kind}: {variance} {expected}");
        }
    }
}

#[test]
fn poisson_arrivals_at_one_rate_are_those_of_poisson_itself() {
    let step = config("step: { steps: [{ rate: 100/s }]", "poisson");
    let poisson = read("poisson: { rate: 100/s }");
    let (step, poisson) = (arrivals(&step, 7), arrivals(&poisson, 7));
    assert_eq!(step.len(), poisson.len());
    let off = step.iter().zip(&poisson).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 1e-6, "the same draws, but for the rounding of each gap: {off}");
}

#[test]
fn what_cannot_work_is_refused() {
    for (kind, field) in [
        ("ramp: { from: 1/s, to: 2/s, over: 0s", Some("over")),
        ("spike: { base: 1/s, peak: 2/s, at: 0s, for: 0s", Some("for")),
        ("spike: { base: 1/s, peak: 2/s, at: 0s, for: 1s", None),
        ("sine: { mean: 1/s, amplitude: 2/s, period: 1s", Some("amplitude")),
        ("sine: { mean: 2/s, amplitude: 1/s, period: 0s", Some("period")),
        ("step: { steps: []", Some("steps")),
        ("step: { steps: [{ rate: 1/s }, { rate: 2/s }]", Some("steps")),
        ("step: { steps: [{ rate: 1/s, for: 1s }, { rate: 2/s }]", None),
    ] {
        let invalid = config(kind, "even").invalid();
        assert_eq!(invalid.first().map(|invalid| invalid.field), field, "{kind}");
    }
}
