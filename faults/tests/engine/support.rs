//! Every engine that this build and this machine have, one after the other.

use faults::engine::EmbeddedHost;
use faults::{Engine, FaultControl, ProxyFaults, Stream, Toxic, ToxicKind};
use testbed_clock::{LiveClock, Timer};
use testbed_core::quantity::Share;
use testbed_core::rng::Streams;
use testbed_core::time::Time;
use tokio::runtime::{Builder, Runtime};

/// What engines run on.
pub(crate) struct Bench {
    _runtime: Runtime,
    pub(crate) host: EmbeddedHost,
    pub(crate) clock: LiveClock,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_io().build().unwrap();
        let clock = LiveClock::start();
        let (timer, streams) = (Timer::start(clock), Streams::new(1));
        let host = EmbeddedHost { runtime: runtime.handle().clone(), timer, streams };
        Self { _runtime: runtime, host, clock }
    }

    /// A proxy of this engine to a server that sends back what comes.
    pub(crate) fn proxy(&self, engine: &Engine, arm: &str) -> Box<dyn FaultControl> {
        engine.proxy(&self.host, arm, &crate::api::echo_server().to_string()).unwrap()
    }
}

/// Runs a test on each engine: the embedded one, Toxiproxy's API served by embedded proxies, and
/// the Toxiproxy that `TOXIPROXY_URL` names, if it does.
pub(crate) fn on_every_engine(test: impl Fn(&Bench, &Engine)) {
    let bench = Bench::new();
    test(&bench, &Engine::embedded());
    #[cfg(feature = "toxiproxy")]
    {
        let server = Served::start(&bench);
        test(&bench, &Engine::toxiproxy(&server.url()).unwrap());
        served::on_the_real_one(|engine| test(&bench, engine));
    }
}

/// As [`on_every_engine`], with one proxy.
pub(crate) fn on_every_proxy(test: impl Fn(&Bench, &mut dyn FaultControl)) {
    on_every_engine(|bench, engine| {
        let mut control = bench.proxy(engine, "arm");
        test(bench, &mut *control);
        control.close().unwrap();
    });
}

/// A toxic with attributes as Toxiproxy's HTTP API writes them.
pub(crate) fn toxic(kind: &str, attributes: &str) -> Toxic {
    Toxic::new(kind_of(kind, attributes))
}

pub(crate) fn kind_of(kind: &str, attributes: &str) -> ToxicKind {
    ToxicKind::from_api(kind, &serde_json::from_str(attributes).unwrap()).unwrap()
}

pub(crate) fn upstream(toxic: Toxic) -> Toxic {
    Toxic { stream: Stream::Upstream, ..toxic }
}

pub(crate) fn named(name: &str, toxic: Toxic) -> Toxic {
    Toxic { name: Some(name.to_owned()), ..toxic }
}

pub(crate) fn half(toxic: Toxic) -> Toxic {
    Toxic { toxicity: Share::new(0.5).unwrap(), ..toxic }
}

/// Sets faults, and looks that the engine has them.
pub(crate) fn set(control: &mut dyn FaultControl, faults: &ProxyFaults) {
    control.set(faults).unwrap();
    control.verify(faults).unwrap();
}

/// Changes faults, sets them, and looks that the engine has them.
pub(crate) fn change(
    control: &mut dyn FaultControl,
    faults: &mut ProxyFaults,
    change: impl FnOnce(&mut ProxyFaults),
) {
    change(faults);
    set(control, faults);
}

/// Adds a toxic, and looks that the engine has it.
pub(crate) fn add(control: &mut dyn FaultControl, faults: &mut ProxyFaults, toxic: Toxic) {
    faults.add(Time::ZERO, toxic).unwrap();
    set(control, faults);
}

#[cfg(feature = "toxiproxy")]
pub(crate) use served::{Served, url};

#[cfg(feature = "toxiproxy")]
mod served {
    use super::Bench;
    use crate::api::ANY_PORT;
    use faults::Engine;
    use faults::api::{Registry, Server};
    use faults::engine::{TOXIPROXY_URL, ToxiproxyUrl};
    use std::net::SocketAddr;
    use std::sync::{Mutex, PoisonError};
    use tokio::runtime::Handle;

    /// A run has a Toxiproxy to itself, and so has a test.
    static REAL: Mutex<()> = Mutex::new(());

    /// Toxiproxy's API over embedded proxies.
    pub(crate) struct Served {
        runtime: Handle,
        server: Option<Server>,
        pub(crate) address: SocketAddr,
    }

    impl Served {
        pub(crate) fn start(bench: &Bench) -> Self {
            Self::start_at(bench, ANY_PORT)
        }

        pub(crate) fn start_at(bench: &Bench, address: SocketAddr) -> Self {
            let registry = Registry::new(bench.host.timer.clone(), bench.host.streams);
            let server = bench.host.runtime.block_on(Server::start(address, registry)).unwrap();
            let runtime = bench.host.runtime.clone();
            Self { runtime, address: server.address(), server: Some(server) }
        }

        pub(crate) fn url(&self) -> ToxiproxyUrl {
            url(self.address)
        }

        /// Ends it, and every proxy in it.
        pub(crate) fn stop(&mut self) {
            self.runtime.block_on(self.server.take().unwrap().close());
        }
    }

    pub(crate) fn url(address: SocketAddr) -> ToxiproxyUrl {
        address.to_string().parse().unwrap()
    }

    pub(super) fn on_the_real_one(test: impl FnOnce(&Engine)) {
        if let Ok(text) = std::env::var(TOXIPROXY_URL) {
            let _alone = REAL.lock().unwrap_or_else(PoisonError::into_inner);
            test(&Engine::toxiproxy(&text.parse().unwrap()).unwrap());
        }
    }
}
