//! Transfers in the live world: a task each, which has the transfer's connection to itself.

use super::{Back, What};
use crate::client::Client;
use std::collections::BTreeMap;
use std::sync::mpsc;
use testbed_core::download::{Progress, TransferId};
use testbed_core::request::Arm;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// The transfers that are open.
#[derive(Debug, Default)]
pub(super) struct Transfers(BTreeMap<(Arm, TransferId), Transfer>);

/// One transfer. Dropping it ends its task, which closes its connection.
#[derive(Debug)]
struct Transfer {
    /// How many bytes are to be read, one read at a time.
    reads: Sender<u64>,
    task: JoinHandle<()>,
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Transfers {
    /// Opens a transfer of `offset` and `length` of the file. What becomes of it is told to `back`.
    pub(super) fn open(
        &mut self,
        runtime: &Runtime,
        (arm, id): (Arm, TransferId),
        client: Client,
        range: (u64, Option<u64>),
        back: mpsc::Sender<Back>,
    ) {
        let (reads, to_read) = channel(1);
        let tell = move |progress| {
            // Nobody listens any more once the run is over.
            let _ = back.send(Back { arm, what: What::Transfer(id, progress) });
        };
        let task = runtime.spawn(async move {
            if run(&client, range, to_read, &tell).await.is_err() {
                tell(Progress::Broken);
            }
        });
        self.0.insert((arm, id), Transfer { reads, task });
    }

    /// Reads on. A transfer that has just broken takes no read; that it broke is on its way.
    pub(super) fn read(&self, arm: Arm, id: TransferId, bytes: u64) {
        if let Some(transfer) = self.0.get(&(arm, id)) {
            let _ = transfer.reads.try_send(bytes);
        }
    }

    /// Closes a transfer.
    pub(super) fn close(&mut self, arm: Arm, id: TransferId) {
        self.0.remove(&(arm, id));
    }

    /// Takes note of what a transfer told; `None` if it has been closed meanwhile.
    pub(super) fn comes_on(&mut self, arm: Arm, id: TransferId, progress: Progress) -> Option<()> {
        match progress {
            Progress::Received(_) => self.0.get(&(arm, id)).map(drop),
            Progress::Broken => self.0.remove(&(arm, id)).map(drop),
        }
    }
}

/// Carries out reads until there are no more.
async fn run(
    client: &Client,
    (offset, length): (u64, Option<u64>),
    mut reads: Receiver<u64>,
    tell: impl Fn(Progress),
) -> Result<(), String> {
    let mut download = client.download(offset, length).await?;
    while let Some(bytes) = reads.recv().await {
        download.read(bytes).await?;
        tell(Progress::Received(bytes));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use std::time::Duration;
    use testbed_clock::{LiveClock, Timer};
    use testbed_core::distribution::Distribution;
    use testbed_core::rng::Streams;
    use testbed_core::service::ServiceConfig;
    use testbed_core::time::Nanos;
    use tokio::runtime::Builder;

    const ARM: Arm = Arm(3);
    const ID: TransferId = TransferId { segment: 5, attempt: 2 };
    /// Longer than anything that is not stuck.
    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_transfer_tells_of_each_read_once_of_its_break_once_and_of_nothing_when_closed() {
        let runtime = Builder::new_multi_thread().enable_io().build().unwrap();
        let config = ServiceConfig::new(1, Distribution::Constant(Nanos::ZERO), 0);
        let (any_port, streams) = ("127.0.0.1:0".parse().unwrap(), Streams::new(7));
        let timer = Timer::start(LiveClock::start());
        let backend = runtime.block_on(Backend::start(any_port, &config, &streams, timer)).unwrap();
        let client = Client::new(backend.addr());
        let (back, told) = mpsc::channel();
        let mut transfers = Transfers::default();
        let open = |transfers: &mut Transfers| {
            let range = (7, Some(1000));
            transfers.open(&runtime, (ARM, ID), client.clone(), range, back.clone());
        };
        let next = |transfers: &mut Transfers| {
            let Back { arm, what: What::Transfer(id, progress) } = told.recv_timeout(LONG).unwrap()
            else {
                panic!("a transfer answered like a request");
            };
            assert_eq!((arm, id), (ARM, ID));
            (progress, transfers.comes_on(arm, id, progress))
        };

        open(&mut transfers);
        for bytes in [999, 1] {
            transfers.read(ARM, ID, bytes);
            assert_eq!(next(&mut transfers), (Progress::Received(bytes), Some(())));
        }
        transfers.read(ARM, ID, 1);
        assert_eq!(next(&mut transfers), (Progress::Broken, Some(())), "it is over");

        open(&mut transfers);
        transfers.read(ARM, ID, 1000);
        transfers.close(ARM, ID);
        // It may have been told before the close, but nobody waits for it any more.
        if let Ok(Back { what: What::Transfer(id, progress), .. }) = told.try_recv() {
            assert_eq!(transfers.comes_on(ARM, id, progress), None);
        }

        runtime.block_on(backend.close());
        open(&mut transfers);
        transfers.read(ARM, ID, 1);
        assert_eq!(next(&mut transfers), (Progress::Broken, Some(())), "nobody listens");
        drop(runtime);
        assert!(told.try_recv().is_err(), "it was told once");
    }
}
