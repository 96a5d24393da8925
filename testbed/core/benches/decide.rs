//! One decision of every registered law: `cargo bench -p testbed-core`. Budget: 50 ns.

use divan::{Bencher, black_box};
use testbed_core::admission::Admission;
use testbed_core::control::ControllerConfig;
use testbed_core::feedback::FeedbackConfig;
use testbed_core::queue::Queue;
use testbed_core::request::{Answer, Arm, Arrival, Outcome, Sample};
use testbed_core::rng::Streams;
use testbed_core::time::{Nanos, Time};

fn main() {
    divan::main();
}

fn laws() -> Vec<String> {
    ControllerConfig::all().iter().map(|law| law.name().to_owned()).collect()
}

fn law(name: &str) -> ControllerConfig {
    let known = ControllerConfig::all().into_iter().find(|law| law.name() == name);
    known.expect("names come from the registry")
}

/// An answer to a request that was admitted when all of the limit was in use: no law takes it lightly.
fn sample(start: Time, rtt: Nanos, limit: u64) -> Sample {
    let in_flight = u32::try_from(limit).unwrap_or(u32::MAX);
    Sample {
        start,
        sent: start,
        end: start.after(rtt),
        in_flight_at_start: in_flight,
        in_flight_at_end: in_flight,
        limit_at_start: limit,
        outcome: Outcome::Success,
        bytes: 0,
    }
}

/// The law alone: one sample in, one decision out, RTTs within 10 % of 10 ms. A law with a clock is
/// woken when it is due, which counts as part of it.
#[divan::bench(args = laws(), sample_size = 10_000)]
fn law_decision(bencher: Bencher<'_, '_>, name: &str) {
    let mut law = law(name).build(&Streams::new(1));
    let (mut now, mut step) = (Time::ZERO, 0u64);
    bencher.bench_local(|| {
        step += 1;
        let rtt = Nanos::new(10_000_000 + (step * 7919) % 1_000_000);
        let sample = sample(now, rtt, law.limit());
        now = sample.end;
        if law.next_wake().is_some_and(|due| due <= now) {
            let _ = black_box(law.on_wake(now));
        }
        black_box(law.on_sample(now, black_box(&sample)))
    });
}

/// The whole of admission: a request arrives, is admitted, ends, and its law decides.
#[divan::bench(args = laws(), sample_size = 10_000)]
fn request_through_admission(bencher: Bencher<'_, '_>, name: &str) {
    let law = law(name).build(&Streams::new(1));
    let mut admission = Admission::new(Arm(0), law, Queue::new(1000), &FeedbackConfig::PerResponse);
    let (mut now, mut id) = (Time::ZERO, 0);
    bencher.bench_local(|| {
        id += 1;
        let arrival = Arrival::new(id, 0, now);
        admission.arrive(now, arrival, &mut ()).expect("there is room");
        let ticket = admission.admit(now, &mut ()).expect("the gate is open");
        now = now.after(Nanos::new(10_000_000 + (id * 7919) % 1_000_000));
        let answer = Answer::without(Outcome::Success, ticket.start, now);
        admission.finish(now, black_box(ticket), &answer, None, &mut ());
    });
}
