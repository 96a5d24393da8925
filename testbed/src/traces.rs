//! Where traces go and which of them: what `--traces` and the environment say, and a run's traces from
//! its beginning to its end. Without the cargo feature `traces` there are none, and that is said.

use crate::experiment::file::Mode;
use crate::experiment::plan::Plan;
use crate::say;
use crate::trace_ids::TraceIds;
use crate::watch::prometheus::Prometheus;
#[cfg(not(feature = "traces"))]
use crate::watch::spans::SpanLedger;
#[cfg(feature = "traces")]
use crate::watch::trace::Tracer;
use hyper::Uri;
use std::fmt;
use std::str::FromStr;
use testbed_core::event::Event;
use testbed_core::observe::Observer;
use testbed_core::time::Time;
use thiserror::Error;

/// The environment variable with the URL of a collector, as OpenTelemetry names it.
pub const ENDPOINT_VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The share of unremarkable requests whose traces are exported, if nothing else is asked for.
pub const DEFAULT_SHARE: f64 = 0.01;

/// A collector that takes OTLP over HTTP, by the URL that the paths of its signals are below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collector(String);

impl Collector {
    /// Where it takes traces.
    pub fn traces_url(&self) -> String {
        format!("{}/v1/traces", self.0)
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Collector {
    type Err = &'static str;

    /// Reads a URL.
    ///
    /// # Errors
    /// What is wrong with it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| "write a URL, such as http://127.0.0.1:4318")?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err("this program speaks http only; put a collector beside it");
            }
            _ => return Err("write it with http://, such as http://127.0.0.1:4318"),
        }
        let bare = uri.query().is_none() && uri.host().is_some_and(|host| !host.is_empty());
        let bare = bare.then(|| Self(text.trim_end_matches('/').to_owned()));
        bare.ok_or("write a host and a port, such as http://127.0.0.1:4318, and no query")
    }
}

/// Which traces are exported, and where to.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceOptions {
    /// Where they go.
    pub collector: Collector,
    /// The share of unremarkable requests, 0 to 1.
    pub share: f64,
    /// Of virtual runs, too.
    pub virtual_too: bool,
}

/// Why a run has no traces that was to have some.
#[derive(Debug, Error)]
pub enum NoTraces {
    /// It cannot.
    #[error(
        "this program was built without traces; build it with the cargo feature `traces`, which is on by default"
    )]
    NotBuilt,
    /// The exporter cannot be made.
    #[error("cannot export traces: {0}")]
    Exporter(String),
}

impl TraceOptions {
    /// What `--traces` asks for, or else the environment variable: that one for live runs only, and
    /// if it cannot be followed it is told of and left alone, since it was set for others as well.
    pub fn choose(flag: Option<Collector>, share: f64, variable: Option<&str>) -> Option<Self> {
        let virtual_too = flag.is_some();
        let collector = flag.or_else(|| of_environment(variable?))?;
        Some(Self { collector, share, virtual_too })
    }
}

fn of_environment(text: &str) -> Option<Collector> {
    // Compose files hand an empty variable on where none is set.
    if text.is_empty() {
        return None;
    }
    let why = match text.parse() {
        Ok(collector) if cfg!(feature = "traces") => return Some(collector),
        Ok(_) => NoTraces::NotBuilt.to_string(),
        Err(why) => why.to_owned(),
    };
    say::err(&format!("note: no traces, though {ENDPOINT_VARIABLE} is {text}: {why}"));
    None
}

/// The traces of one run, as an observer; of none, if it has none.
#[derive(Debug)]
pub struct Traces {
    #[cfg(feature = "traces")]
    tracer: Option<Tracer>,
    #[cfg(not(feature = "traces"))]
    counts: SpanLedger,
}

impl Traces {
    /// The traces of a run of `plan`, which is called `run`; `metrics` show how they do, and are given
    /// exemplars.
    ///
    /// # Errors
    /// If they are asked for and cannot be had. A collector that does not answer is no error.
    pub fn start(
        options: Option<&TraceOptions>,
        plan: &Plan,
        run: &str,
        metrics: &Prometheus,
    ) -> Result<Self, NoTraces> {
        let wanted = |options: &&TraceOptions| options.virtual_too || plan.mode == Mode::Live;
        Self::begin(options.filter(wanted), plan, run, metrics)
    }

    #[cfg(feature = "traces")]
    fn begin(
        options: Option<&TraceOptions>,
        plan: &Plan,
        run: &str,
        metrics: &Prometheus,
    ) -> Result<Self, NoTraces> {
        let start = |options| Tracer::start(options, plan, run, metrics);
        Ok(Self { tracer: options.map(start).transpose()? })
    }

    #[cfg(not(feature = "traces"))]
    fn begin(
        options: Option<&TraceOptions>,
        _: &Plan,
        _: &str,
        metrics: &Prometheus,
    ) -> Result<Self, NoTraces> {
        match options {
            Some(_) => Err(NoTraces::NotBuilt),
            None => Ok(Self { counts: metrics.spans() }),
        }
    }

    /// What the ids of the requests come from, if there are traces.
    #[cfg(feature = "traces")]
    pub fn ids(&self) -> Option<TraceIds> {
        self.tracer.as_ref().map(Tracer::ids)
    }

    /// What the ids of the requests come from, if there are traces.
    #[cfg(not(feature = "traces"))]
    pub const fn ids(&self) -> Option<TraceIds> {
        None
    }

    /// Sends what is left, for a second at most, and says what became of the spans: what is lost in any
    /// case, the rest unless it is to be `quiet`.
    pub fn finish(self, quiet: bool) {
        #[cfg(feature = "traces")]
        if let Some(tracer) = self.tracer {
            let report = tracer.finish();
            if !quiet || report.lost() > 0 {
                say::err(&report.to_string());
            }
        }
        #[cfg(not(feature = "traces"))]
        let _ = (quiet, self.counts);
    }
}

impl Observer for Traces {
    #[cfg(feature = "traces")]
    fn on_event(&mut self, now: Time, event: &Event<'_>) {
        self.tracer.on_event(now, event);
    }

    #[cfg(not(feature = "traces"))]
    fn on_event(&mut self, _: Time, _: &Event<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_traces_is_put_below_the_url() {
        for (text, url) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            ("http://[::1]:4318/otel/", "http://[::1]:4318/otel/v1/traces"),
        ] {
            assert_eq!(text.parse::<Collector>().unwrap().traces_url(), url);
        }
    }

    #[test]
    fn what_is_no_collector_is_refused_with_its_cure() {
        for (text, cure) in [
            ("https://localhost:4318", "http only"),
            ("localhost:4318", "with http://"),
            ("", "write a URL"),
            ("http://:4318", "write"),
            ("http://localhost:4318?x=1", "no query"),
        ] {
            let refused = text.parse::<Collector>().unwrap_err();
            assert!(refused.contains(cure), "{text}: {refused}");
        }
    }

    #[test]
    fn the_flag_goes_before_the_environment_and_for_virtual_runs_too() {
        let flag: Collector = "http://flag:1".parse().unwrap();
        let choose = |flag: Option<&Collector>, variable| {
            let options = TraceOptions::choose(flag.cloned(), 0.5, variable)?;
            Some((options.collector.to_string(), options.virtual_too))
        };
        let of = |url: &str, virtual_too| Some((url.to_owned(), virtual_too));
        assert_eq!(choose(Some(&flag), Some("http://variable:1")), of("http://flag:1", true));
        let of_variable = cfg!(feature = "traces").then(|| of("http://variable:1", false));
        assert_eq!(choose(None, Some("http://variable:1")), of_variable.flatten());
        for variable in [None, Some(""), Some("grpc://variable:1")] {
            assert_eq!(choose(None, variable), None, "{variable:?}");
        }
    }
}
