//! `toxiproxy_rust` behind a door that its panics do not pass.
//!
//! Only for the worker's thread: the crate's client has a runtime inside, which panics when it is
//! dropped within tokio. Its answers mean that a call was made, not that it was done.

use crate::engine::EngineError;
use crate::toxic::Toxic;
use std::any::Any;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use toxiproxy_rust::client::Client;
use toxiproxy_rust::proxy::{Proxy, ProxyPack};

/// The crate's client, and its handles of the proxies that have been asked for.
pub(super) struct CrateClient {
    address: SocketAddr,
    /// `None` after a panic, which leaves its lock poisoned.
    client: Option<Client>,
    proxies: BTreeMap<String, Proxy>,
}

impl CrateClient {
    /// A client of the API there, which makes no call yet.
    pub(super) fn new(address: SocketAddr) -> Result<Self, EngineError> {
        let mut client = Self { address, client: None, proxies: BTreeMap::new() };
        client.call("Client::new", |_| Ok(()))?;
        Ok(client)
    }

    /// The text that `/version` answers with.
    pub(super) fn version(&mut self) -> Result<String, EngineError> {
        self.call("version", Client::version)
    }

    /// Makes a proxy. What the Toxiproxy says if it refuses to is lost.
    pub(super) fn populate(
        &mut self,
        name: &str,
        listen: &str,
        upstream: &str,
    ) -> Result<(), EngineError> {
        let pack = ProxyPack::new(name.to_owned(), listen.to_owned(), upstream.to_owned());
        self.call("populate", |client| client.populate(vec![pack]).map(drop))
    }

    /// Takes a proxy up and its toxics away, and keeps its handle.
    pub(super) fn find_and_reset(&mut self, name: &str) -> Result<(), EngineError> {
        let found =
            self.call("find_and_reset_proxy", |client| client.find_and_reset_proxy(name))?;
        self.proxies.insert(name.to_owned(), found);
        Ok(())
    }

    /// Takes a proxy up.
    pub(super) fn enable(&mut self, name: &str) -> Result<(), EngineError> {
        self.on_proxy(name, "enable", Proxy::enable)
    }

    /// Takes a proxy down.
    pub(super) fn disable(&mut self, name: &str) -> Result<(), EngineError> {
        self.on_proxy(name, "disable", Proxy::disable)
    }

    /// Deletes a proxy, and forgets its handle.
    pub(super) fn delete(&mut self, name: &str) -> Result<(), EngineError> {
        let deleted = self.on_proxy(name, "delete", Proxy::delete);
        self.proxies.remove(name);
        deleted
    }

    /// Adds a toxic, if the crate has a call for it; whether it has.
    pub(super) fn add_toxic(&mut self, name: &str, toxic: &Toxic) -> Result<bool, EngineError> {
        self.on_proxy(name, "with_<toxic>", |proxy| Ok(add(proxy, toxic).is_some()))
    }

    fn on_proxy<T>(
        &mut self,
        name: &str,
        call: &str,
        run: impl FnOnce(&Proxy) -> Result<T, String>,
    ) -> Result<T, EngineError> {
        let proxy = match self.proxies.remove(name) {
            Some(proxy) => proxy,
            None => self.call("find_proxy", |client| client.find_proxy(name))?,
        };
        let result = self.call(call, |_| run(&proxy))?;
        self.proxies.insert(name.to_owned(), proxy);
        Ok(result)
    }

    fn call<T>(
        &mut self,
        call: &str,
        run: impl FnOnce(&Client) -> Result<T, String>,
    ) -> Result<T, EngineError> {
        let address = self.address;
        let client = self.client.take();
        let guarded = AssertUnwindSafe(|| {
            let client = client.unwrap_or_else(|| Client::new(address));
            (run(&client), client)
        });
        let failed = |why: String| EngineError::failed(format!("toxiproxy_rust {call}"), why);
        let (result, client) = catch_unwind(guarded).map_err(|panic| {
            self.proxies.clear();
            failed(format!("panicked: {}", said(&*panic)))
        })?;
        self.client = Some(client);
        result.map_err(failed)
    }
}

/// The message of a panic.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied()).unwrap_or("without a message")
}

/// Adds a toxic; `None` if the crate has no call for it: it knows six kinds, names them itself, and
/// takes attributes of 32 bits.
fn add(proxy: &Proxy, toxic: &Toxic) -> Option<()> {
    let (kind, stream) = (toxic.kind.name(), toxic.stream.name().to_owned());
    if toxic.name() != format!("{kind}_{stream}") {
        return None;
    }
    let attributes = toxic.kind.to_api();
    let number = |name: &str| u32::try_from(attributes.get(name)?.as_u64()?).ok();
    let toxicity = toxic.toxicity.get() as f32;
    match kind {
        "latency" => proxy.with_latency(stream, number("latency")?, number("jitter")?, toxicity),
        "bandwidth" => proxy.with_bandwidth(stream, number("rate")?, toxicity),
        "slow_close" => proxy.with_slow_close(stream, number("delay")?, toxicity),
        "timeout" => proxy.with_timeout(stream, number("timeout")?, toxicity),
        "limit_data" => proxy.with_limit_data(stream, number("bytes")?, toxicity),
        "slicer" => {
            let (size, variation) = (number("average_size")?, number("size_variation")?);
            proxy.with_slicer(stream, size, variation, number("delay")?, toxicity)
        }
        _ => return None,
    };
    Some(())
}
