//! What the worker knows of the Toxiproxy, and does with it.

use super::changes::{Change, changes};
use super::crate_client::CrateClient;
use super::http::{Api, Deadline};
use super::names::{PREFIX, segment};
use super::wire::{ProxySeen, VersionSeen, new_proxy, new_toxic};
use crate::control::ProxyFaults;
use crate::engine::{EngineError, ProxyState, ToxiproxyUrl};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};

/// The first thing that went wrong with a proxy between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Failure(Arc<Mutex<Option<EngineError>>>);

impl Failure {
    pub(super) fn first(&self) -> Option<EngineError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, error: EngineError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// A proxy that is ours.
struct Held {
    /// Where it listens, in the words of the API.
    listen: String,
    upstream: String,
    /// What it has; `None` if that is unknown, for a write has failed.
    set: Option<ProxyFaults>,
    failure: Failure,
}

/// The Toxiproxy, and the proxies in it that are ours.
pub(super) struct Session {
    api: Api,
    client: CrateClient,
    proxies: BTreeMap<String, Held>,
    /// Of what is being done now.
    deadline: Deadline,
}

impl Session {
    /// Finds the Toxiproxy, and deletes what others have left there with our prefix. With its
    /// version. `deadline` gives a new limit to each of these two steps.
    pub(super) fn start(
        url: &ToxiproxyUrl,
        deadline: impl Fn() -> Deadline,
    ) -> Result<(Self, String), EngineError> {
        let found = find(url, deadline());
        let (api, version) =
            found.map_err(|why| EngineError::NoAnswer { url: url.clone(), why })?;
        let client = CrateClient::new(api.address)?;
        let mut session = Self { api, client, proxies: BTreeMap::new(), deadline: deadline() };
        session.check_client(&version)?;
        session.delete_leftovers()?;
        Ok((session, version))
    }

    /// The limit of what is done next.
    pub(super) const fn limit(&mut self, deadline: Deadline) {
        self.deadline = deadline;
    }

    /// The crate asks where the environment variable `http_proxy` points, if there is one.
    fn check_client(&mut self, version: &str) -> Result<(), EngineError> {
        let answer = self.client.version()?;
        if answer.contains(version) {
            return Ok(());
        }
        let why = format!("it gets {answer:?}, not {version}; is `http_proxy` set?");
        Err(EngineError::failed("toxiproxy_rust version", why))
    }

    fn delete_leftovers(&mut self) -> Result<(), EngineError> {
        for name in self.leftovers()? {
            self.send("DELETE", &path(&name), "")?;
        }
        match self.leftovers()?.first() {
            Some(name) => Err(EngineError::failed("delete leftovers", format!("`{name}` stays"))),
            None => Ok(()),
        }
    }

    fn leftovers(&self) -> Result<Vec<String>, EngineError> {
        let names = self.all()?.into_keys();
        Ok(names.filter(|name| name.starts_with(PREFIX)).collect())
    }

    /// Makes a proxy that is up and has no toxics; where it is reached.
    pub(super) fn create(
        &mut self,
        name: &str,
        upstream: String,
        failure: Failure,
    ) -> Result<SocketAddr, EngineError> {
        if self.proxies.contains_key(name) {
            return Err(EngineError::failed(format!("make `{name}`"), "it is there already"));
        }
        let made = self.make(name, upstream, failure);
        if made.is_err() {
            self.proxies.remove(name);
            // What is told is why it was not made; the next run deletes what remains.
            let _ = self.send("DELETE", &path(name), "");
        }
        made
    }

    fn make(
        &mut self,
        name: &str,
        upstream: String,
        failure: Failure,
    ) -> Result<SocketAddr, EngineError> {
        let listen = SocketAddr::from((listen_ip(self.api.address.ip()), 0)).to_string();
        if let Err(error) = self.client.populate(name, &listen, &upstream) {
            // The crate loses the words of a refusal. Asked again by ourselves, we have them.
            self.send("POST", "/proxies", &new_proxy(name, &listen, &upstream))?;
            return Err(error);
        }
        self.client.find_and_reset(name)?;
        let (seen, set) = (self.seen(name)?, ProxyFaults::default());
        let address = self.reached(&seen.listen);
        let address = address.map_err(|why| EngineError::failed(format!("make `{name}`"), why))?;
        let (listen, state) = (seen.listen.clone(), ProxyState::of(name, &set));
        let held = Held { listen, upstream, set: Some(set), failure };
        held.require(seen, &state)?;
        self.proxies.insert(name.to_owned(), held);
        Ok(address)
    }

    /// Where a proxy that listens there is reached from here, after trying.
    fn reached(&self, listen: &str) -> Result<SocketAddr, String> {
        let bound: SocketAddr = listen.parse().map_err(|_| format!("it listens on `{listen}`"))?;
        let address = SocketAddr::new(self.api.address.ip(), bound.port());
        let tried = TcpStream::connect_timeout(&address, self.deadline.left()?);
        let cure = "a Toxiproxy in a container has to share the network of this program";
        tried.map(|_| address).map_err(|error| {
            format!("it listens on {listen}, but {address} is not reached: {error}; {cure}")
        })
    }

    /// Makes these, and no others, the faults of a proxy, one write at a time, each read back.
    pub(super) fn set(&mut self, name: &str, new: ProxyFaults) -> Result<(), EngineError> {
        let mut state = self.read(name)?;
        let old = match self.held(name)?.set.take() {
            Some(old) => old,
            None => self.healed(&mut state)?,
        };
        state.require(&ProxyState::of(name, &old))?;
        for change in changes(&old, &new) {
            self.write(name, &change, &mut state)?;
        }
        state.require(&ProxyState::of(name, &new))?;
        self.held(name)?.set = Some(new);
        Ok(())
    }

    /// Takes every toxic away from a proxy whose faults are unknown.
    fn healed(&mut self, state: &mut ProxyState) -> Result<ProxyFaults, EngineError> {
        let mut faults = ProxyFaults::default();
        faults.set_enabled(state.enabled);
        for toxic in state.toxics.clone() {
            self.write(&state.name.clone(), &Change::Remove(toxic.name), state)?;
        }
        Ok(faults)
    }

    /// One write, and a look at what it has made of `state`.
    fn write(
        &mut self,
        name: &str,
        change: &Change,
        state: &mut ProxyState,
    ) -> Result<(), EngineError> {
        self.in_time(name)?;
        let toxics = format!("{}/toxics", path(name));
        let toxic = |name: &str| format!("{toxics}/{}", segment(name));
        match change {
            Change::Up => self.client.enable(name)?,
            Change::Down => self.client.disable(name)?,
            Change::Remove(gone) => self.send("DELETE", &toxic(gone), "")?,
            Change::Update(new) => self.send("POST", &toxic(&new.name()), &new_toxic(new))?,
            Change::Add(new) if self.client.add_toxic(name, new)? => {}
            Change::Add(new) => self.send("POST", &toxics, &new_toxic(new))?,
        }
        change.apply(state);
        self.read(name)?.require(state)
    }

    /// What the Toxiproxy says of a proxy.
    pub(super) fn read(&mut self, name: &str) -> Result<ProxyState, EngineError> {
        self.seen(name).map(ProxySeen::into_state)
    }

    /// Deletes a proxy, and looks that it is gone. The look before it finds a Toxiproxy that hangs,
    /// for the crate would wait for that.
    pub(super) fn delete(&mut self, name: &str) -> Result<(), EngineError> {
        self.proxies.remove(name);
        if self.is_gone(name)? {
            return Ok(());
        }
        let deleted = self.client.delete(name);
        if self.is_gone(name)? {
            return Ok(());
        }
        deleted.and_then(|()| Err(EngineError::failed(format!("delete `{name}`"), "it stays")))
    }

    fn is_gone(&self, name: &str) -> Result<bool, EngineError> {
        let answer = self.api.answer("GET", &path(name), "", self.deadline)?;
        match answer.status {
            404 => Ok(true),
            200 => Ok(false),
            _ => Err(self.api.failed("GET", &path(name), answer.refusal())),
        }
    }

    /// Looks at every proxy, and keeps what is wrong with one for whoever asks.
    pub(super) fn poll(&mut self) {
        if self.proxies.is_empty() {
            return;
        }
        let mut all = self.all();
        for (name, held) in &self.proxies {
            let checked = match &mut all {
                Ok(all) => held.check(name, all.remove(name)),
                Err(error) => Err(error.clone()),
            };
            if let Err(error) = checked {
                held.failure.keep(error);
            }
        }
    }

    /// The crate has no limit of its own but reqwest's 30 s; at least nothing begins too late.
    fn in_time(&self, name: &str) -> Result<(), EngineError> {
        let left = self.deadline.left();
        left.map(drop).map_err(|why| EngineError::failed(format!("change `{name}`"), why))
    }

    fn held(&mut self, name: &str) -> Result<&mut Held, EngineError> {
        let missing = || EngineError::failed(format!("find `{name}`"), "it was never made");
        self.proxies.get_mut(name).ok_or_else(missing)
    }

    fn seen(&self, name: &str) -> Result<ProxySeen, EngineError> {
        self.get(&path(name))
    }

    /// As they are, for those of others may have what ours never have.
    fn all(&self) -> Result<BTreeMap<String, Value>, EngineError> {
        self.get("/proxies")
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, EngineError> {
        get(self.api, path, self.deadline)
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Result<(), EngineError> {
        self.api.call(method, path, body, self.deadline).map(drop)
    }
}

impl Held {
    /// Wants a proxy to be there as it was set.
    fn check(&self, name: &str, shown: Option<Value>) -> Result<(), EngineError> {
        let gone = || "it is gone; was Toxiproxy restarted, or does another run use it?".to_owned();
        let shown = shown.ok_or_else(|| differs(name, gone()))?;
        // The write that failed has told its caller.
        let Some(set) = &self.set else { return Ok(()) };
        let strange = |error| differs(name, format!("{error}: {shown}"));
        let seen = ProxySeen::deserialize(&shown).map_err(strange)?;
        self.require(seen, &ProxyState::of(name, set))
    }

    fn require(&self, seen: ProxySeen, set: &ProxyState) -> Result<(), EngineError> {
        let addresses = |listen: &str, upstream: &str| format!("{listen} to {upstream}");
        let (ours, theirs) =
            (addresses(&self.listen, &self.upstream), addresses(&seen.listen, &seen.upstream));
        if ours != theirs {
            return Err(differs(&set.name, format!("it goes from {theirs}, not from {ours}")));
        }
        seen.into_state().require(set)
    }
}

fn differs(proxy: &str, difference: String) -> EngineError {
    EngineError::Differs { proxy: proxy.to_owned(), difference }
}

fn path(name: &str) -> String {
    format!("/proxies/{}", segment(name))
}

fn get<T: DeserializeOwned>(api: Api, path: &str, deadline: Deadline) -> Result<T, EngineError> {
    let body = api.call("GET", path, "", deadline)?;
    serde_json::from_slice(&body).map_err(|error| {
        let text: String = String::from_utf8_lossy(&body).chars().take(80).collect();
        api.failed("GET", path, format!("{error}: {text:?}"))
    })
}

/// The first address of the host that answers as a Toxiproxy, with its version.
fn find(url: &ToxiproxyUrl, deadline: Deadline) -> Result<(Api, String), String> {
    let addresses =
        (url.host(), url.port()).to_socket_addrs().map_err(|error| error.to_string())?;
    let mut why = "the name has no address".to_owned();
    for address in addresses {
        let api = Api { address };
        match get::<VersionSeen>(api, "/version", deadline) {
            Ok(seen) => return Ok((api, seen.version)),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Where proxies listen: where the API does if that is this machine, else everywhere.
const fn listen_ip(api: IpAddr) -> IpAddr {
    match api {
        local if local.is_loopback() => local,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_listen_on_the_loopback_if_the_api_does_and_everywhere_else() {
        for (api, listen) in [
            ("127.0.0.1", "127.0.0.1"),
            ("::1", "::1"),
            ("192.0.2.1", "0.0.0.0"),
            ("2001:db8::1", "::"),
        ] {
            assert_eq!(listen_ip(api.parse().unwrap()).to_string(), listen);
        }
    }
}
