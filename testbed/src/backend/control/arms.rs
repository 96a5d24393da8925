//! The backends of a testbed's arms.

use super::lease::Lease;
use super::wire::{Faults, FeedBody, Place, View, Wanted};
use super::{ControlArgs, Ports};
use crate::backend::Backend;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use testbed_clock::Timer;
use testbed_core::distribution::Distribution;
use testbed_core::rng::Streams;
use testbed_core::service::BodySize;
use tokio::sync::Mutex;

/// As many arms as an experiment may have.
const MAX_ARMS: usize = 64;
/// Bytes that the name of an arm may have.
const MAX_NAME: usize = 256;

/// Why something is not done.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It makes no sense, and why.
    Invalid(String),
    /// There is no such arm.
    Unknown(String),
    /// Another testbed has the backends, or this one's lease was over.
    NotYours,
    /// The system does not let it.
    Failed(io::Error),
}

/// The backends that there are.
pub(super) struct Arms {
    host: IpAddr,
    ports: Ports,
    pub(super) timer: Timer,
    /// Who has them.
    pub(super) lease: Lease,
    running: Mutex<Vec<Running>>,
}

struct Running {
    name: String,
    backend: Backend,
    faults: Faults,
    feed: FeedBody,
    feeds: u64,
}

impl Arms {
    /// None yet.
    pub(super) fn new(args: &ControlArgs, timer: Timer) -> Self {
        let ControlArgs { host, ports, lease, .. } = *args;
        let lease = Lease::new(lease, timer.clock());
        Self { host, ports, timer, lease, running: Mutex::default() }
    }

    /// Where the backends are.
    pub(super) async fn places(&self) -> Vec<Place> {
        self.running.lock().await.iter().map(Running::place).collect()
    }

    /// Makes these, and no others, the backends that there are, and gives them to `testbed` if that is
    /// somebody. Those from before are closed first, since their testbed has gone or wants them no more.
    ///
    /// # Errors
    /// If an arm makes no sense, which leaves everything as it was; or if one cannot listen, and then
    /// there are no backends.
    pub(super) async fn replace(
        &self,
        wanted: &[Wanted],
        testbed: Option<&str>,
    ) -> Result<Vec<Place>, Refusal> {
        check(wanted).map_err(Refusal::Invalid)?;
        let mut running = self.running.lock().await;
        close(&mut running).await;
        self.lease.give(testbed);
        let mut next = 0;
        for arm in wanted {
            match self.start(arm, next).await {
                Ok(backend) => {
                    next = backend.addr().port().saturating_add(1);
                    running.push(Running::new(&arm.name, backend));
                }
                Err(error) => {
                    close(&mut running).await;
                    return Err(Refusal::Failed(error));
                }
            }
        }
        Ok(running.iter().map(Running::place).collect())
    }

    /// On the first port from `next` on that nobody else has.
    async fn start(&self, arm: &Wanted, next: u16) -> io::Result<Backend> {
        let mut refused = io::Error::new(io::ErrorKind::AddrInUse, "there are not enough ports");
        for port in self.ports.from(next) {
            let listen = SocketAddr::new(self.host, port);
            let streams = Streams::new(arm.seed);
            match Backend::start(listen, &arm.service, &streams, self.timer.clone()).await {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => refused = error,
                done => return done,
            }
        }
        Err(refused)
    }

    /// Makes these, and no others, the faults of an arm's backend; what it is then.
    ///
    /// # Errors
    /// If there is no such arm, or if a fault makes no sense, which changes nothing.
    pub(super) async fn set_faults(&self, name: &str, faults: Faults) -> Result<View, Refusal> {
        let hold = faults.check().map_err(Refusal::Invalid)?;
        let mut running = self.running.lock().await;
        let arm = find(&mut running, name)?;
        arm.backend.set_hold(hold);
        arm.backend.set_rules(faults.rules.clone());
        arm.backend.set_slow_starts(&faults.slow_starts);
        arm.backend.set_servers(faults.servers);
        arm.backend.set_frozen(faults.frozen);
        arm.faults = faults;
        Ok(arm.view())
    }

    /// Feeds a gradient hold, which lets the next answer go.
    ///
    /// # Errors
    /// If there is no such arm.
    pub(super) async fn feed(&self, name: &str, feed: FeedBody) -> Result<(), Refusal> {
        let mut running = self.running.lock().await;
        let arm = find(&mut running, name)?;
        arm.backend.feed(feed.into());
        (arm.feed, arm.feeds) = (feed, arm.feeds + 1);
        Ok(())
    }

    /// What there is to know of an arm's backend.
    ///
    /// # Errors
    /// If there is no such arm.
    pub(super) async fn view(&self, name: &str) -> Result<View, Refusal> {
        let mut running = self.running.lock().await;
        find(&mut running, name).map(|arm| arm.view())
    }

    /// Heals and closes all of them.
    pub(super) async fn close(&self) {
        let mut running = self.running.lock().await;
        self.lease.give(None);
        close(&mut running).await;
    }

    /// The same if they are `testbed`'s and its lease is over, and whether it was.
    pub(super) async fn expire(&self, testbed: &str) -> bool {
        let mut running = self.running.lock().await;
        let over = self.lease.expire(testbed);
        if over {
            close(&mut running).await;
        }
        over
    }
}

impl Running {
    fn new(name: &str, backend: Backend) -> Self {
        let (faults, feed) = (Faults::default(), FeedBody::default());
        Self { name: name.to_owned(), backend, faults, feed, feeds: 0 }
    }

    fn place(&self) -> Place {
        Place { name: self.name.clone(), port: self.backend.addr().port() }
    }

    fn view(&self) -> View {
        let Place { name, port } = self.place();
        View {
            name,
            port,
            faults: self.faults.clone(),
            active: self.backend.faults(),
            injected: self.backend.injected(),
            feed: self.feed,
            feeds: self.feeds,
            requests: self.backend.requests(),
            state: self.backend.look(),
        }
    }
}

fn find<'a>(running: &'a mut [Running], name: &str) -> Result<&'a mut Running, Refusal> {
    match running.iter().position(|arm| arm.name == name) {
        Some(index) => Ok(&mut running[index]),
        None => Err(Refusal::Unknown(unknown(running, name))),
    }
}

fn unknown(running: &[Running], name: &str) -> String {
    let names: Vec<_> = running.iter().map(|arm| arm.name.as_str()).collect();
    if names.is_empty() {
        return format!("there is no arm `{name}`, and no other; make them with PUT /arms");
    }
    format!("there is no arm `{name}`; there are {}", names.join(", "))
}

async fn close(running: &mut Vec<Running>) {
    for arm in running.drain(..) {
        arm.backend.close().await;
    }
}

fn check(wanted: &[Wanted]) -> Result<(), String> {
    if wanted.len() > MAX_ARMS {
        return Err(format!("there are {} arms; send {MAX_ARMS} at most", wanted.len()));
    }
    let mut names = BTreeSet::new();
    for Wanted { name, service, .. } in wanted {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(format!("the name of an arm has 1 to {MAX_NAME} bytes"));
        }
        if service.servers == 0 {
            return Err(format!("`{name}` has no servers; give it 1 or more"));
        }
        let what = match (&service.service, &service.body) {
            (Distribution::Trace(_), _) => Some(("service times", "service:` as a distribution")),
            (_, BodySize::Trace(_)) => Some(("sizes", "body:` as a size")),
            _ => None,
        };
        if let Some((what, cure)) = what {
            return Err(format!(
                "`{name}` takes its {what} from a trace, whose file is not here; give `{cure}, or run without a \
                 backend elsewhere"
            ));
        }
        if !names.insert(name) {
            return Err(format!("there are two arms `{name}`; names are one of a kind"));
        }
    }
    Ok(())
}
