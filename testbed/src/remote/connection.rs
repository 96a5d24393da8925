//! The thread that speaks with the server.

use super::RemoteError;
use super::http::{Target, accepted, going_on};
use super::stream::Stream;
use crate::serve::wire::{Message, Order};
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;
use serde::Deserialize;
use std::future::Future;
use std::sync::mpsc::Sender;
use tokio::runtime::Builder;

/// How often a run is read anew after this program was too slow, because it was halted, say.
const TRIES: usize = 20;

/// What the thread passes on.
#[derive(Debug)]
pub(super) enum News {
    /// The run has started; its path.
    Started(String),
    /// The server tells this of it.
    Message(Message),
    /// Nothing more will come.
    Failed(RemoteError),
}

/// What of the answer to a start is needed.
#[derive(Deserialize)]
struct Started {
    path: String,
    events: String,
}

/// Starts a run and passes on what is told of it, up to its end.
pub(super) fn carry_out(target: &Target, order: &Order, news: &Sender<News>) {
    let failed = block_on(async {
        let path = start(target, order, news).await?;
        for _ in 0..TRIES {
            if read(target, &path, news).await? {
                return Ok(());
            }
        }
        Err(RemoteError::Broken("too slow for the server's messages, again and again".into()))
    });
    if let Err(error) = failed {
        // Without anybody to tell, the program is at its end.
        let _ = news.send(News::Failed(error));
    }
}

/// Asks the server to stop a run.
pub(super) fn stop(target: &Target, path: &str) -> Result<(), RemoteError> {
    block_on(async { accepted(target.send(Method::DELETE, path, None).await?).await.map(drop) })
}

/// Asks the server whether it is alive.
pub(super) fn healthy(target: &Target) -> Result<(), RemoteError> {
    let (target, path) = target.clone().or_path("/healthz");
    block_on(async { accepted(target.send(Method::GET, &path, None).await?).await.map(drop) })
}

fn block_on<T>(work: impl Future<Output = Result<T, RemoteError>>) -> Result<T, RemoteError> {
    let runtime = Builder::new_current_thread().enable_io().build();
    let broken = |error| RemoteError::Broken(format!("cannot start tokio: {error}"));
    runtime.map_err(broken)?.block_on(work)
}

/// The path of the run's messages.
async fn start(target: &Target, order: &Order, news: &Sender<News>) -> Result<String, RemoteError> {
    let strange = |error| RemoteError::Broken(format!("an answer of another kind: {error}"));
    let body = serde_json::to_string(order).map_err(strange)?;
    let answer = target.send(Method::POST, "/api/runs", Some(body)).await?;
    let started: Started = serde_json::from_str(&accepted(answer).await?).map_err(strange)?;
    let _ = news.send(News::Started(started.path));
    Ok(started.events)
}

/// Passes the messages on. True at the end of the run, false if they are to be read anew.
async fn read(target: &Target, path: &str, news: &Sender<News>) -> Result<bool, RemoteError> {
    let mut body = going_on(target.send(Method::GET, path, None).await?).await?;
    let mut stream = Stream::default();
    loop {
        let piece = next_piece(&mut body, target).await?;
        if !stream.push(&piece) {
            return Err(RemoteError::Broken("a message of more than 16 MiB".into()));
        }
        while let Some(data) = stream.next() {
            let strange = |error| RemoteError::Broken(format!("a strange message: {error}"));
            let message: Message = serde_json::from_str(&data).map_err(strange)?;
            let last = match &message {
                Message::End(_) => Some(true),
                Message::Dropped => Some(false),
                _ => None,
            };
            let _ = news.send(News::Message(message));
            if let Some(over) = last {
                return Ok(over);
            }
        }
    }
}

async fn next_piece(body: &mut Incoming, target: &Target) -> Result<Vec<u8>, RemoteError> {
    let gone = |reason: String| {
        let what = format!("{target} went away before the run's end{reason}");
        RemoteError::Broken(format!("{what}; the run directory is on the server"))
    };
    let frame = body.frame().await.ok_or_else(|| gone(String::new()))?;
    let frame = frame.map_err(|error| gone(format!(": {error}")))?;
    Ok(frame.data_ref().map(|data| data.to_vec()).unwrap_or_default())
}
