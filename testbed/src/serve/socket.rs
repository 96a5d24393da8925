//! Sockets: clients come and go, a bounded number of them at a time.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use testbed_clock::{LiveClock, Timer};
use testbed_core::time::Nanos;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Clients that may be connected at a time; more wait in the listener's queue.
const CLIENTS: usize = 256;
/// Bytes that a connection holds, about; the head of a request has room in it.
const BUFFER: usize = 64 * 1024;
/// Pause after a failed accept, most likely for want of file descriptors.
const ACCEPT_AGAIN: Nanos = Nanos::from_millis(10);

/// Accepts clients for ever. All of them are tasks of the runtime, and end with it.
pub(super) async fn accept(listener: TcpListener, router: Router) {
    let timer = Timer::start(LiveClock::start());
    let places = Arc::new(Semaphore::new(CLIENTS));
    // It is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    converse(stream, router).await;
                    drop(place);
                });
            }
            Err(_) => timer.sleep_until(timer.clock().now().after(ACCEPT_AGAIN)).await,
        }
    }
}

/// One client, to its end. How it ends is its own business.
async fn converse(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    let _ = http1::Builder::new()
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}
