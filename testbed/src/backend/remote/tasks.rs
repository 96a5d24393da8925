//! What goes on beside the shell: feeds, looks, and signs of life. Each ends when it is no longer wanted,
//! or with the first call that fails.

use super::error::BackendError;
use super::line::Line;
use crate::backend::control::wire::{FeedBody, Place, View};
use hyper::Method;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testbed_core::hold::Feed;
use testbed_core::service::{BackendState, Counts};
use testbed_core::time::{Nanos, Time};
use tokio::sync::watch;

/// How often the backends hear that their run goes on, whatever else they hear.
const BEAT: Nanos = Nanos::from_secs(1);
/// The most lags that are kept until somebody takes them: those of some seconds.
const MOST_LAGS: usize = 16 * 1024;

/// The newest that there is to say to a hold. What it replaces is not said any more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Newest {
    pub(super) feed: Feed,
    /// Since when it is to be said, by the clock.
    pub(super) since: Time,
    /// Whether a hold listens; otherwise nobody needs it.
    pub(super) wanted: bool,
}

/// What was seen of a backend last.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) state: BackendState,
    pub(super) injected: Vec<(String, Counts)>,
}

/// A value that a task and the shell share.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    /// It is whole between any two statements.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<View> for Seen {
    fn from(View { state, injected, .. }: View) -> Self {
        Self { state, injected }
    }
}

/// Pushes the newest feed, one push at a time, and notes how long each took to be acknowledged.
pub(super) async fn push(
    mut line: Line,
    path: String,
    mut newest: watch::Receiver<Newest>,
    lags: Shared<Vec<Nanos>>,
) {
    let clock = line.site().timer.clock();
    while newest.changed().await.is_ok() {
        let Newest { feed, since, wanted } = *newest.borrow_and_update();
        if !wanted {
            continue;
        }
        let pushed = line.tell(Method::PUT, &path, Some(&FeedBody::from(feed))).await;
        if !went_well(&line, pushed) {
            return;
        }
        let mut lags = lags.lock();
        if lags.len() < MOST_LAGS {
            lags.push(clock.now().since(since));
        }
    }
}

/// Looks at a backend whenever it is asked to.
pub(super) async fn look(
    mut line: Line,
    path: String,
    mut wanted: watch::Receiver<()>,
    seen: Shared<Seen>,
) {
    while wanted.changed().await.is_ok() {
        match line.ask::<View>(Method::GET, &path, None::<&()>).await {
            Ok(view) => *seen.lock() = view.into(),
            Err(error) => return line.site().fail(error),
        }
    }
}

/// Shows that the run goes on, so that its backends stay.
pub(super) async fn beat(mut line: Line) {
    let timer = line.site().timer.clone();
    loop {
        timer.sleep_until(timer.clock().now().after(BEAT)).await;
        let heard = line.ask::<Vec<Place>>(Method::GET, "/arms", None::<&()>).await;
        if !went_well(&line, heard.map(drop)) {
            return;
        }
    }
}

fn went_well(line: &Line, done: Result<(), BackendError>) -> bool {
    done.map_err(|error| line.site().fail(error)).is_ok()
}
