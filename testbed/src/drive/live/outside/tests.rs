//! Tokens are a semaphore's permits, which a test adds, and tasks run only while it lets them.

use super::*;
use std::sync::mpsc::{Receiver, channel};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

impl Acquire for Arc<Semaphore> {
    fn acquire(&self, cost: Bytes) -> Wait {
        let permits = self.clone().acquire_many_owned(u32::try_from(cost.get()).unwrap());
        Box::pin(async move { permits.await.unwrap().forget() })
    }
}

struct Bench {
    runtime: Runtime,
    tokens: Arc<Semaphore>,
    limiter: Outside<Arc<Semaphore>>,
    rung: Receiver<Back>,
}

impl Bench {
    fn new(tokens: usize) -> Self {
        let runtime = Builder::new_current_thread().build().unwrap();
        let tokens = Arc::new(Semaphore::new(tokens));
        let (back, rung) = channel();
        let clock = LiveClock::start();
        let bell = Bell { clock, origin: clock.now(), arm: Arm(3), back };
        let limiter = Outside::new(Arc::clone(&tokens), runtime.handle().clone(), bell);
        Self { runtime, tokens, limiter, rung }
    }

    fn now(&self) -> Time {
        self.limiter.bell.now()
    }

    fn ask(&mut self, id: u32, cost: u64) -> Ask {
        self.limiter.ask(self.now(), Waiter { id, ..Waiter::default() }, cost)
    }

    /// Adds tokens and lets all tasks run; how often the bell was rung.
    fn come(&self, tokens: usize) -> usize {
        self.tokens.add_permits(tokens);
        self.runtime.block_on(async {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        });
        self.rung.try_iter().filter(|back| matches!(back.what, What::Granted)).count()
    }

    /// Who may go, and what it costs.
    fn goes(&mut self) -> Option<(u32, u64)> {
        let grant = self.limiter.on_wake(self.now())?;
        Some((grant.waiter.id, grant.cost))
    }

    /// Asks, grants, cancels, and how many wait: every ask is one of the others.
    fn counts(&self) -> [u64; 4] {
        let Counters { asks, grants, cancels, .. } = self.limiter.counters();
        let waiting = self.limiter.waiting() as u64;
        assert_eq!(asks, grants + cancels + waiting);
        [asks, grants, cancels, waiting]
    }
}

const WAITING: Ask = Ask::Waiting { quoted: None };

#[test]
fn what_is_there_is_granted_at_once_and_rings_nothing() {
    let mut bench = Bench::new(5);
    assert_eq!([bench.ask(0, 3), bench.ask(0, 2)], [Ask::Granted; 2]);
    assert_eq!((bench.come(0), bench.limiter.next_wake()), (0, None));
    assert_eq!(bench.counts(), [2, 2, 0, 0]);
}

#[test]
fn who_waits_is_granted_when_its_task_was_and_at_its_own_time() {
    let mut bench = Bench::new(0);
    assert_eq!([bench.ask(0, 3), bench.ask(1, 2)], [WAITING; 2]);
    assert_eq!((bench.come(2), bench.limiter.next_wake()), (0, None));
    let before = bench.now();
    assert_eq!(bench.come(3), 2, "the bell is rung for each");
    let due = bench.limiter.next_wake().unwrap();
    assert!((before..=bench.now()).contains(&due), "{due}");
    assert_eq!(bench.limiter.on_wake(Time::ZERO), None, "before its time");
    assert_eq!([bench.goes(), bench.goes(), bench.goes()], [Some((0, 3)), Some((1, 2)), None]);
    assert_eq!((bench.counts(), bench.limiter.next_wake()), ([2, 2, 0, 0], None));
}

#[test]
fn who_gives_up_leaves_its_tokens_to_others() {
    let mut bench = Bench::new(0);
    assert_eq!([bench.ask(0, 3), bench.ask(1, 2)], [WAITING; 2]);
    assert!(bench.limiter.cancel(bench.now(), 0));
    assert!(!bench.limiter.cancel(bench.now(), 0), "it has given up already");
    assert_eq!(bench.come(2), 1);
    assert_eq!((bench.goes(), bench.counts()), (Some((1, 2)), [2, 1, 1, 0]));
}

#[test]
fn a_grant_that_comes_too_late_is_not_that_of_the_next_ask() {
    let mut bench = Bench::new(0);
    assert_eq!(bench.ask(0, 3), WAITING);
    assert_eq!(bench.come(3), 1);
    assert!(bench.limiter.cancel(bench.now(), 0), "nobody has told it");
    assert_eq!(bench.ask(0, 4), WAITING);
    assert_eq!((bench.goes(), bench.counts()), (None, [2, 0, 1, 1]), "those three are gone");
    assert_eq!(bench.come(4), 1);
    assert_eq!((bench.goes(), bench.counts()), (Some((0, 4)), [2, 1, 1, 0]));
}
