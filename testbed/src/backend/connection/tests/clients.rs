//! What the clients that there are make of each kind: nothing hangs but where the fault says so, and
//! no call gets the rest of another's answer.

use super::{Bench, QUIET, bench};
use crate::client::{Download, Reply};
use serde_json::json;
use std::future::Future;
use testbed_core::time::Nanos;

impl Bench {
    /// What it comes to, unless it is quiet.
    async fn unless_quiet<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            output = what => Some(output),
            () = self.timer.sleep_until(self.timer.clock().now().after(QUIET)) => None,
        }
    }
}

/// What a call comes to.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Comes {
    /// A status of 200, with so many bytes of a body.
    Ok(u64),
    /// No status, after so many bytes of a body.
    Broken(u64),
    Never,
}

impl From<Option<Reply>> for Comes {
    fn from(reply: Option<Reply>) -> Self {
        match reply {
            None => Self::Never,
            Some(Reply { status: Some(200), bytes, .. }) => Self::Ok(bytes),
            Some(Reply { status: None, bytes, .. }) => Self::Broken(bytes),
            Some(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_ends_as_its_answer_does_and_the_next_gets_its_own() {
    use Comes::{Broken, Never, Ok};
    for (kind, settings, comes) in [
        ("slow_headers", json!({"delay": "5ms"}), Ok(3)),
        ("drip", json!({"bytes": "1B", "pause": "5ms"}), Ok(3)),
        ("truncate", json!({"after": "1B"}), Broken(1)),
        ("truncate", json!({"after": "0B"}), Broken(0)),
        ("truncate", json!({"after": "3B"}), Ok(3)),
        ("wrong_length", json!({"declared": "1B"}), Ok(1)),
        ("wrong_length", json!({"declared": "0B"}), Ok(0)),
        ("wrong_length", json!({"declared": "3B"}), Ok(3)),
        ("wrong_length", json!({"declared": "1000B"}), Never),
        ("reset", json!({"after": "1B"}), Broken(1)),
        ("reset", json!({"after": "0B"}), Broken(0)),
        ("no_answer", json!({}), Never),
    ] {
        let told = format!("{kind} {settings}");
        let bench = bench(kind, settings).await;
        for id in 0..3 {
            // Only what never comes is waited for by the clock: a slow machine is no fault.
            let call = bench.client.call(id);
            let reply = match comes {
                Never => bench.unless_quiet(call).await,
                _ => Some(call.await),
            };
            assert_eq!(Comes::from(reply), comes, "{told}");
        }
        bench.backend.set_rules(Vec::new());
        for id in 3..9 {
            let reply = bench.client.call(id).await;
            assert_eq!((reply.status, reply.bytes), (Some(200), 3), "{told}: {reply:?}");
        }
        bench.active(0).await;
        assert_eq!(bench.backend.injected()[0].1.injected, 3, "{told}");
    }
}

const LENGTH: u64 = 300_000;

/// What becomes of a range that is read bit by bit.
async fn take(download: Result<Download, String>) -> Comes {
    let Ok(mut download) = download else { return Comes::Broken(0) };
    let mut taken = 0;
    while taken < LENGTH {
        if download.read(1000).await.is_err() {
            return Comes::Broken(taken);
        }
        taken += 1000;
    }
    Comes::Ok(taken)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_gets_what_was_sent_and_no_wrong_byte() {
    use Comes::{Broken, Never, Ok};
    for (kind, settings, comes, least_ms) in [
        ("slow_headers", json!({"delay": "20ms"}), Ok(LENGTH), 20),
        ("drip", json!({"bytes": "100kB", "pause": "10ms"}), Ok(LENGTH), 20),
        ("drip", json!({"bytes": "70kB", "pause": "5ms"}), Ok(LENGTH), 20),
        ("truncate", json!({"after": "2500B"}), Broken(2000), 0),
        ("truncate", json!({"after": "200kB"}), Broken(200_000), 0),
        ("wrong_length", json!({"declared": "1999B"}), Broken(1000), 0),
        ("wrong_length", json!({"declared": "400kB"}), Ok(LENGTH), 0),
        ("reset", json!({"after": "2500B"}), Broken(2000), 0),
        ("no_answer", json!({}), Never, 0),
    ] {
        let told = format!("{kind} {settings}");
        let bench = bench(kind, settings).await;
        let begin = bench.timer.clock().now();
        let open = bench.client.download(12_345, Some(LENGTH));
        let came = match comes {
            Never => bench.unless_quiet(open).await.map_or(Never, |_| panic!("{told}: answered")),
            _ => take(open.await).await,
        };
        assert_eq!(came, comes, "{told}");
        assert!(bench.timer.clock().now().since(begin) >= Nanos::from_millis(least_ms), "{told}");
        bench.active(0).await;
    }
}
