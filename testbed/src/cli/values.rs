//! Values on the command line.

use super::{Axis, Listen};
use crate::experiment::file::Mode;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use testbed_core::distribution::Distribution;
use testbed_core::quantity::{Share, parse_duration, parse_share};
use testbed_core::time::Nanos;

pub(super) fn axis(text: &str) -> Result<Axis, String> {
    let cure =
        "write NAME=PATH=[VALUES], such as start=arms.double.controller.velox.start=[2, 4, 8]";
    let (name, rest) = text.split_once('=').ok_or(cure)?;
    let (path, values) = rest.split_once('=').ok_or(cure)?;
    let [name, path, values] = [name, path, values].map(|part| part.trim().to_owned());
    if values.starts_with('[') { Ok(Axis { name, path, values }) } else { Err(cure.to_owned()) }
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    let cure = "write PATH=VALUE, such as run.seed=8";
    let (path, value) = text.split_once('=').ok_or(cure)?;
    let [path, value] = [path, value].map(|part| part.trim().to_owned());
    if path.is_empty() { Err(cure.to_owned()) } else { Ok((path, value)) }
}

pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write a whole number, 0 or more".to_owned())
}

pub(super) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "write a whole number, 1 or more".to_owned())
}

pub(super) fn listen(text: &str) -> Result<Listen, String> {
    if text == "off" {
        return Ok(Listen::Off);
    }
    let cure = "write an address and port, such as 127.0.0.1:9464, or `off`";
    text.parse().map(Listen::At).map_err(|_| cure.to_owned())
}

/// A testbed shows every second that it is there.
pub(super) fn lease(text: &str) -> Result<Nanos, String> {
    let length = parse_duration(text)?;
    let long_enough = length >= Nanos::from_secs(3);
    long_enough.then_some(length).ok_or_else(|| "write 3s or more, such as 10s".to_owned())
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 1, such as 0.01".to_owned())
}

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    parse_share(text).map(Share::get)
}

pub(super) fn distribution(text: &str) -> Result<Distribution, String> {
    let yaml = serde_yaml::Deserializer::from_str(text);
    let read: Result<_, _> = serde_yaml::with::singleton_map_recursive::deserialize(yaml);
    match read.map_err(|error: serde_yaml::Error| error.to_string())? {
        Distribution::Trace(_) => Err(
            "a trace belongs to an experiment; write a distribution, such as {exponential: 10ms}"
                .to_owned(),
        ),
        distribution => Ok(distribution),
    }
}

/// What a `--listen` that was not given means.
pub fn default_listen(mode: Mode) -> Listen {
    match mode {
        Mode::Virtual => Listen::Off,
        Mode::Live => Listen::At(SocketAddr::from(([127, 0, 0, 1], 9464))),
    }
}
