//! `windtunnel backend`: the backend alone, for a client of another make.

use super::Backend;
use super::control::{Control, ControlArgs};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::thread;
use testbed_clock::{LiveClock, Timer};
use testbed_core::rng::Streams;
use testbed_core::service::ServiceConfig;
use testbed_core::time::Nanos;
use tokio::runtime;

/// How often it is asked whether to stop: often enough to seem prompt to a person.
const STOP_POLL: Nanos = Nanos::from_millis(20);

/// A fault to show.
const HELD: &str = r#"{"hold":{"latency":"30ms"}}"#;

/// What a backend that runs alone is told.
#[derive(Clone, Debug)]
pub struct StandaloneArgs {
    /// Where to listen; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The servers, their service times and the backlog.
    pub service: ServiceConfig,
    /// The seed of service times.
    pub seed: u64,
    /// Where a testbed elsewhere gets backends for its arms, if anywhere.
    pub control: Option<ControlArgs>,
}

/// Runs a backend with `GET` and `PUT` of `/hold` and `/faults` until `stop`, asked every 20 ms, says
/// so; and, if asked for, those of a testbed's arms. Prints where it listens, how it is held and how
/// faults are injected. Must not be called from within a tokio runtime.
///
/// # Errors
/// Those of [`Backend::start`], the same of the control, and if standard output cannot be written.
pub fn run_standalone(args: &StandaloneArgs, stop: impl Fn() -> bool) -> io::Result<()> {
    run(args, &mut io::stdout(), stop)
}

fn run(args: &StandaloneArgs, out: &mut impl Write, stop: impl Fn() -> bool) -> io::Result<()> {
    let runtime = runtime::Builder::new_multi_thread().enable_io().build()?;
    let timer = Timer::start(LiveClock::start());
    let streams = Streams::new(args.seed);
    let (backend, control) = runtime.block_on(async {
        let started =
            Backend::start_with_admin(args.listen, &args.service, &streams, timer.clone());
        let backend = started.await?;
        let control = args.control.map(|args| Control::start(&args, timer)).transpose()?;
        io::Result::Ok((backend, control))
    })?;
    introduce(out, backend.addr())?;
    if let Some(control) = &control {
        introduce_control(out, control.addr())?;
    }
    while !stop() {
        thread::sleep(STOP_POLL.as_std());
    }
    runtime.block_on(async {
        if let Some(control) = control {
            control.close().await;
        }
        backend.close().await;
    });
    Ok(())
}

fn introduce(out: &mut impl Write, addr: SocketAddr) -> io::Result<()> {
    let hold = format!("http://{addr}/hold");
    writeln!(out, "backend listening on http://{addr}/")?;
    writeln!(out, "  see the hold    curl {hold}")?;
    for body in
        [r#"{"gradient":0.7,"baseline":"40ms"}"#, r#"{"latency":"14.3ms"}"#, r#"{"scale":1.43}"#]
    {
        writeln!(out, "  set a hold      curl -X PUT {hold} -d '{body}'")?;
    }
    writeln!(out, "  lift the hold   curl -X PUT {hold} -d null")?;
    let (faults, storm) =
        (format!("http://{addr}/faults"), r#"[{"name":"storm","reject":{"status":429}}]"#);
    writeln!(out, "  see faults      curl {faults}")?;
    writeln!(out, "  inject one      curl -X PUT {faults} -d '{storm}'")?;
    writeln!(out, "  heal            curl -X PUT {faults} -d null")?;
    out.flush()
}

fn introduce_control(out: &mut impl Write, addr: SocketAddr) -> io::Result<()> {
    let arms = format!("http://{addr}/arms");
    let arm = r#"{"name":"a","service":{"servers":64,"service":{"constant":"10ms"}},"seed":7}"#;
    writeln!(out, "control listening on {arms}")?;
    writeln!(out, "  make backends   curl -X PUT {arms} -d '[{arm}]'")?;
    writeln!(out, "  see one         curl {arms}/a")?;
    writeln!(out, "  hold one        curl -X PUT {arms}/a/faults -d '{HELD}'")?;
    writeln!(out, "  close them      curl -X DELETE {arms}")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Ports;
    use std::cell::Cell;
    use testbed_core::distribution::Distribution;

    fn args(listen: SocketAddr) -> StandaloneArgs {
        let service = Distribution::Constant(Nanos::from_millis(1));
        let service = ServiceConfig::new(1, service, 0);
        StandaloneArgs { listen, service, seed: 7, control: None }
    }

    #[test]
    fn says_where_it_listens_and_ends_when_told() {
        let asked = Cell::new(0);
        let third_time = || asked.replace(asked.get() + 1) == 2;
        let mut out = Vec::new();
        run(&args("127.0.0.1:0".parse().unwrap()), &mut out, third_time).unwrap();
        assert_eq!(asked.get(), 3);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("backend listening on http://127.0.0.1:"), "{text}");
        assert!(!text.contains(":0/"), "the real port, not the asked one: {text}");
        assert!(text.contains("/hold -d null"), "{text}");
        assert!(text.contains("/faults -d null"), "{text}");
    }

    #[test]
    fn a_control_says_where_it_listens_too() {
        let any_port: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let control = ControlArgs {
            listen: any_port,
            host: any_port.ip(),
            ports: Ports::Any,
            lease: Nanos::from_secs(10),
        };
        let args = StandaloneArgs { control: Some(control), ..args(any_port) };
        let mut out = Vec::new();
        run(&args, &mut out, || true).unwrap();
        let text = String::from_utf8(out).unwrap();
        let arms = text.lines().find_map(|line| line.strip_prefix("control listening on http://"));
        let addr: SocketAddr = arms.unwrap().strip_suffix("/arms").unwrap().parse().unwrap();
        assert_ne!(addr.port(), 0);
        assert!(std::net::TcpStream::connect(addr).is_err(), "it is closed with the backend");
    }

    #[test]
    fn a_busy_port_is_refused_with_its_cure() {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = other.local_addr().unwrap();
        let refused = run_standalone(&args(addr), || true).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        let text = refused.to_string();
        assert!(text.contains(&addr.to_string()), "{text}");
        assert!(text.contains("choose another port"), "{text}");
    }
}
