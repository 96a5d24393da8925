//! The command line.

mod comparing;
mod parts;
mod values;

pub use comparing::{CompareArgs, RunMode};
pub use parts::{AroundArgs, BackendArgs, HealthcheckArgs, ProxyArgs, ServeArgs};
pub use values::default_listen;

use crate::experiment::Overrides;
use crate::experiment::file::Mode;
use crate::publish::Moment;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use values::{axis, jobs, key_value, listen, seed};

/// A wind tunnel for concurrency controllers: runs the real law against a backend that is held at
/// a chosen degree of congestion, shows its window and gradient, and says whether what the
/// experiment expected came true.
#[derive(Debug, Parser)]
#[command(name = "windtunnel", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment and judge it; of a run directory, what was run there
    Run(RunArgs),
    /// Run what was run in a directory: the same arrivals, service times and faults, before what --set changes
    Replay(RunArgs),
    /// Run an experiment at every combination of its axes' values, in virtual time, on all cores
    Sweep(SweepArgs),
    /// Check experiment files without running them
    Check(CheckArgs),
    /// Run finished virtual runs again and compare what they record, byte by byte
    Verify(VerifyArgs),
    /// Compare two runs, or two of each seed, number by number: what is better, worse, or the same
    Compare(CompareArgs),
    /// Write a first experiment file, with comments
    Init(InitArgs),
    /// Say what a field of experiment files is: meaning, unit, range, default, an example
    Explain(ExplainArgs),
    /// Show what a run will do on a time line, and what it will cost
    Plan(PlanArgs),
    /// Drive one controller or limiter over recorded inputs
    Law(LawArgs),
    /// Turn a finished run into metrics with timestamps, for Prometheus and its dashboards
    Publish(PublishArgs),
    /// Write the report of a run as one HTML file, report.html in its directory
    Report(ReportArgs),
    /// List what there is: controllers, arrivals, toxics, series, metrics
    List(ListArgs),
    /// Print the JSON Schema of experiment files, for editors
    #[command(after_help = "Exit codes: 1 it cannot be written.")]
    Schema,
    /// Run the fake backend alone, for a client of your own
    Backend(BackendArgs),
    /// Run the fault proxy alone, with Toxiproxy's HTTP API
    Proxy(ProxyArgs),
    /// Run experiments when asked to over HTTP, one at a time, and show them
    Serve(ServeArgs),
    /// Ask a server whether it is alive: exit code 0 or 1
    Healthcheck(HealthcheckArgs),
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 pass, 1 something broke, 2 bad command line, 3 invalid \
                        experiment file, 4 inconclusive, 99 an expectation failed, 130 or 143 \
                        interrupted; with --mode both, that of the worse verdict. With --server, they are those of the run there; 1 as well \
                        if the server cannot be reached or runs another experiment.")]
pub struct RunArgs {
    /// The experiment file, `-` for standard input, or a run directory: the same arrivals, service times and
    /// faults again, with what --set changes; with --server, the experiment's name in the server's folder
    pub file: PathBuf,
    /// Run it on `windtunnel serve` at http://HOST:PORT, and show it here
    #[arg(long, value_name = "URL", conflicts_with_all = ["out", "listen", "traces", "backend"])]
    pub server: Option<String>,
    /// Virtual time or real sockets, or both and the distance between them; default: what the file says
    #[arg(long)]
    pub mode: Option<RunMode>,
    /// The seed of all chance; default: what the file says
    #[arg(long, value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Repeat a virtual run with this many seeds, on all cores; default: what the file says
    #[arg(long, value_name = "N", conflicts_with_all = ["server", "traces"],
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub seeds: Option<u32>,
    /// Change a field of the file: --set arms.double.controller.velox.max=128
    #[arg(long, value_name = "PATH=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Where run directories are made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Serve a page to watch, and /metrics, while the run goes: an address, or `off`. Default: 127.0.0.1:9464 for live
    /// runs, off for virtual ones
    #[arg(long, value_name = "ADDR", value_parser = listen)]
    pub listen: Option<Listen>,
    /// What a live run is made of, and where its traces go.
    #[command(flatten)]
    pub around: AroundArgs,
    /// Leave out report.html
    #[arg(long)]
    pub no_report: bool,
    /// Print the verdict as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `sweep`.
#[derive(Debug, Args)]
#[command(
    after_help = "A point that was run once is not run again, so a sweep that was stopped goes on where it was, \
                        and one with a value more runs only what is new. OUT/points has them, by a hash of the resolved \
                        file, the seed and this program.\n\nExample: windtunnel sweep \
                        experiments/stall/overload-recovery.yaml --axis \
                        'start=arms.double.controller.velox.start=[2, 4, 8]' --seeds 5\n\nExit codes: 0 every point \
                        passed or was as predicted, 1 something broke, 2 bad command line, 3 invalid experiment file, 4 \
                        inconclusive, 99 an expectation failed or a prediction was wrong, 130 or 143 interrupted."
)]
pub struct SweepArgs {
    /// The experiment file
    pub file: PathBuf,
    /// An axis beside those of the file: its name, the field that it sets, and a list of values
    #[arg(long, value_name = "NAME=PATH=[VALUES]", value_parser = axis)]
    pub axis: Vec<Axis>,
    /// How many seeds each combination is run with; default: what the file says, or 1
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: Option<u32>,
    /// The first seed; default: what the file says
    #[arg(long, value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Change a field of the file at every point
    #[arg(long, value_name = "PATH=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Where points are kept and results are written
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// How many points run at a time; default: one a core
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<NonZeroUsize>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// An axis as the command line has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The field that it sets.
    pub path: String,
    /// A YAML list of its values.
    pub values: String,
}

impl SweepArgs {
    /// What they change of the file.
    pub fn overrides(&self) -> Overrides {
        let axis = |Axis { name, path, values }: &Axis| {
            (name.clone(), format!("{{ paths: [{path:?}], values: {values} }}"))
        };
        let mut set = self.set.clone();
        set.extend(self.seeds.map(|seeds| ("sweep.seeds".to_owned(), seeds.to_string())));
        let axes = self.axis.iter().map(axis).collect();
        Overrides { mode: Some(Mode::Virtual), seed: self.seed, axes, set, ..Overrides::default() }
    }
}

/// Where to serve metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Off,
    /// At this address.
    At(SocketAddr),
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 all are valid, 2 one cannot be read, 3 one is not valid.")]
pub struct CheckArgs {
    /// Experiment files; `-` is standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print problems as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all are the same, 1 something broke, 2 there is no such run or it was live, 3 its \
                        experiment is not valid here, 98 one is not the same."
)]
pub struct VerifyArgs {
    /// Run directories; one with runs in it, as `run --seeds` leaves it, stands for all of them
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
}

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 1 it cannot be written, 2 there is such a file already.")]
pub struct InitArgs {
    /// The file to write; one that is there is left as it is. `-` is standard output
    #[arg(default_value = "experiment.yaml")]
    pub file: PathBuf,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  windtunnel explain\n  windtunnel explain \
                        faults.backend.hold\n  windtunnel explain arms.controller.velox.window\n\n\
                        Exit codes: 2 there is no such field.")]
pub struct ExplainArgs {
    /// The field, with dots; the top of the file, if left out
    #[arg(default_value = "", hide_default_value = true)]
    pub path: String,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 2 the file cannot be read, 3 invalid experiment file.")]
pub struct PlanArgs {
    /// The experiment file
    pub file: PathBuf,
    /// As in `run`
    #[arg(long)]
    pub mode: Option<Mode>,
    /// As in `run`
    #[arg(long, value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// As in `run`
    #[arg(long, value_name = "PATH=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
}

/// Arguments of `law`.
#[derive(Debug, Args)]
#[command(after_help = "The input is CSV with a header; the output is its rows with two columns \
                        appended.\n\nA controller needs the column rtt_ns, and may have op (sample \
                        or error), start_ns, inflight and dropped; it appends limit and \
                        window.\nExample: windtunnel law '{velox: {window: integer, start: 2}}' \
                        --input rtts.csv\n\nA limiter needs now_ns and n (bytes), and may have op \
                        (allow, reserve or reserve_cancel); it appends ok and delay_ns.\nExample: \
                        windtunnel law '{fifo: {levels: {global: {rate: 4MiB/s}}}}' --input asks.csv\n\nExit codes: 2 there is no such law or \
                        input, or a row cannot be read.")]
pub struct LawArgs {
    /// The law, as an experiment file has it: '{velox: {window: integer}}'
    pub law: String,
    /// The recorded inputs; `-` is standard input
    #[arg(long, short, default_value = "-")]
    pub input: PathBuf,
}

/// Arguments of `publish`.
#[derive(Debug, Args)]
#[command(after_help = "Example, with a Prometheus that is started on the data afterwards:\n\n  \
                        windtunnel publish runs/2026-01-31T10-22-07Z-overload-recovery-0a2b --out \
                        run.om\n  promtool tsdb create-blocks-from openmetrics run.om data\n\n\
                        docs/stack.md lists what is published and what is not.\n\nExit codes: 1 \
                        it cannot be written, 2 there is no run, 3 its experiment is not valid \
                        here.")]
pub struct PublishArgs {
    /// A run directory; one of a run that was killed will do
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The file to write OpenMetrics to; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// Put the start of the run there: 2026-01-31T10:22:07Z, seconds since 1970, or `now`. Default:
    /// where it was
    #[arg(long, value_name = "TIME", value_parser = Moment::parse, conflicts_with = "end")]
    pub start: Option<Moment>,
    /// Put the end of the run there
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub end: Option<Moment>,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 1 it cannot be written or served, 2 there is no run; with --serve, 130 or \
                        143 interrupted."
)]
pub struct ReportArgs {
    /// A run directory; one of a run that was killed will do, and one with runs in it stands for all of them
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Write nothing, and show the run as a page until a signal comes
    #[arg(long)]
    pub serve: bool,
    /// Where to serve the page
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9464", requires = "serve")]
    pub listen: SocketAddr,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 2 there is no such list.")]
pub struct ListArgs {
    /// One list; all, if left out
    pub what: Option<Listed>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Laws that set a window.
    Controllers,
    /// Policies that pace waiters.
    Limiters,
    /// Arrival processes of open load.
    Arrivals,
    /// Network faults.
    Toxics,
    /// What is recorded.
    Series,
    /// What /metrics exports.
    Metrics,
}
