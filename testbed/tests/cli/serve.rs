//! `windtunnel serve`, its client and its health check, each as a process.

use crate::support::http::request;
use crate::support::process::{Finished, Running, address, eventually, send, text};
use crate::support::run_dir::{events, json};
use crate::support::{HUNG, Scratch};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const INTRODUCTION: &str = "windtunnel serve listening on http://";

/// A server is to be gone within 2 s; a slow machine gets more.
const SOON: Duration = Duration::from_secs(20);

const CALM: &str = "
version: 1
name: calm
arms: { a: { controller: { velox: { start: 2 } } } }
backend: { servers: 8, service: { constant: 40ms } }
load: { closed: { clients: 2 } }
phases: [{ name: short, for: 10ms }, { name: steady, for: 1s }]
faults: [{ name: storm, during: steady, backend: { reject: { status: 429, share: 1% } } }]
expect: [{ id: sentence, in: steady, that: max(controller.window) >= 1 }]
";

/// Longer than anybody waits, with little to write.
const LONG: &str = "
version: 1
name: long
run: { sample_every: 10s }
arms: { a: { controller: { fixed: { limit: 20 } } } }
backend: { servers: 20, service: { constant: 1ms } }
load: { closed: { clients: 20 } }
phases: [{ name: steady, for: 700h }]
faults: [{ name: storm, during: steady, backend: { reject: { status: 429, share: 1% } } }]
";

/// A directory with experiments.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path().join("experiments/sub")).unwrap();
    scratch.file("experiments/sub/calm.yaml", CALM);
    scratch.file("experiments/long.yaml", LONG);
    scratch.file("experiments/bad.yaml", CALM.replace("servers", "severs"));
    scratch
}

/// A server, and where it listens.
fn serve(scratch: &Scratch, more: &[&str]) -> (Running, SocketAddr) {
    let running = scratch.start(&[&["serve", "--listen", "127.0.0.1:0"], more].concat());
    let addr = address(|| text(&running.stdout), INTRODUCTION);
    (running, addr)
}

/// The arguments of a run on a server.
fn remote<'a>(url: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--server", url][..], args].concat()
}

/// What was printed, without the run's directory, which is another one each time.
fn without_run_dir(printed: &str) -> String {
    let lines = printed.lines().filter(|line| !line.contains("\"run_dir\""));
    lines.map(|line| line.split(" runs/").next().unwrap().trim_end().to_owned() + "\n").collect()
}

/// Waits until the client shows that the fault is on.
fn under_way(client: &Running) {
    eventually(HUNG, "the run shows itself", || {
        text(&client.stderr).contains("fault storm on").then_some(())
    });
}

/// What a stopped run leaves behind: its fault off, and a verdict.
fn assert_kept(run_dir: &Path) {
    let events = events(run_dir);
    let edges: Vec<_> = events.iter().filter_map(|event| event["on"].as_bool()).collect();
    assert_eq!(edges, [true, false], "{events:?}");
    assert_eq!(events.last().unwrap()["event"], "end");
    assert_eq!(json(&run_dir.join("verdict.json"))["verdict"], "interrupted");
    for file in ["experiment.yaml", "resolved.yaml", "manifest.json", "series.csv", "verdict.txt"] {
        assert!(run_dir.join(file).exists(), "{file}");
    }
}

#[test]
fn a_run_on_a_server_ends_and_reads_as_it_would_here() {
    let (scratch, here) = (scratch(), scratch());
    let (_server, addr) = serve(&scratch, &[]);
    let url = format!("http://{addr}");
    let file = "experiments/sub/calm.yaml";
    for (args, code) in [
        (&["--seed", "9"][..], 0),
        (&["--json"], 0),
        (&["--set", "expect[0].that=max(controller.window) < 1"], 99),
        (&["--json", "--set", "expect[0].that=max(controller.window) < 1"], 99),
        (&["--set", "expect[0]={ id: i, in: short, that: p50(rpc.latency) < 1s }"], 4),
    ] {
        let there = scratch.run(&remote(&url, &[&[file], args].concat()));
        let here = here.run(&[&["run", file], args].concat());
        assert_eq!(there.code, code, "{args:?}: {}{}", there.stdout, there.stderr);
        assert_eq!(here.code, code, "{args:?}: {}", here.stdout);
        assert_eq!(without_run_dir(&there.stdout), without_run_dir(&here.stdout), "{args:?}");
        assert_eq!(there.stderr, here.stderr, "the view shows the same: {args:?}");
    }
    let quiet = scratch.run(&remote(&url, &["./experiments/sub/calm.yaml", "--quiet"]));
    assert_eq!((quiet.code, &*quiet.stderr), (0, ""));
    assert_eq!(scratch.run(&remote(&url, &["sub/calm"])).code, 0);
}

#[test]
fn what_cannot_be_run_there_says_why_and_has_the_exit_code_that_it_has_here() {
    let scratch = scratch();
    let (_server, addr) = serve(&scratch, &[]);
    let url = format!("http://{addr}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", taken.local_addr().unwrap());
    drop(taken);
    for (url, args, code, says) in [
        (&*url, &["bad"][..], 3, "bad.yaml:5:12: unknown field `severs` (did you mean `servers`?)"),
        (&url, &["sub/calm", "--set", "phases[0].for=0s"], 3, "in `--set phases[0].for=0s`"),
        (&url, &["sub/clam"], 2, "there is bad, long, sub/calm"),
        (&url, &["../experiments/sub/calm.yaml"], 2, "no name of an experiment"),
        (&url, &["sub/calm", "--out", "here"], 2, "--out"),
        ("127.0.0.1:1", &["sub/calm"], 2, "write http://HOST:PORT"),
        ("https://127.0.0.1:1", &["sub/calm"], 2, "write http://HOST:PORT"),
        (&nobody, &["sub/calm"], 1, "windtunnel serve"),
    ] {
        let finished = scratch.run(&remote(url, args));
        assert_eq!(finished.code, code, "{url} {args:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(says), "{url} {args:?}: {}", finished.stderr);
        assert_eq!(finished.stdout, "", "{url} {args:?}");
    }
    assert!(scratch.run_dirs().is_empty());
}

#[test]
fn a_client_that_is_stopped_stops_its_run_and_the_server_goes_on() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let scratch = scratch();
        let (_server, addr) = serve(&scratch, &[]);
        let url = format!("http://{addr}");
        let client = scratch.start(&remote(&url, &["long"]));
        under_way(&client);
        let busy = scratch.run(&remote(&url, &["sub/calm"]));
        assert_eq!(busy.code, 1, "{}", busy.stderr);
        assert!(busy.stderr.contains("long runs now"), "{}", busy.stderr);

        send(&client, signal);
        let finished = client.ends_within(HUNG);
        assert_eq!(finished.code, code, "{}", finished.stderr);
        assert!(finished.stdout.contains("interrupted; what was recorded is in runs/"));
        assert!(finished.stderr.contains("fault storm off"), "{}", finished.stderr);
        assert_kept(&scratch.run_dir());
        assert_eq!(scratch.run(&remote(&url, &["sub/calm"])).code, 0);
    }
}

fn assert_told(client: Running, code: i32) {
    let Finished { code: ended, stdout, stderr } = client.ends_within(HUNG);
    assert_eq!(ended, code, "{stderr}");
    assert!(stdout.contains("interrupted; what was recorded is in runs/"), "{stdout}");
}

#[test]
fn a_server_that_is_stopped_heals_its_run_keeps_it_and_tells_its_client() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let scratch = scratch();
        let (server, addr) = serve(&scratch, &[]);
        let client = scratch.start(&remote(&format!("http://{addr}"), &["long"]));
        under_way(&client);
        send(&server, signal);
        let finished = server.ends_within(SOON);
        assert_eq!(finished.code, code, "{}", finished.stderr);
        assert_told(client, code);
        assert_kept(&scratch.run_dir());
        drop(TcpListener::bind(addr).unwrap());
    }
}

#[test]
fn a_client_whose_server_is_killed_is_1_and_says_where_the_rest_is() {
    let scratch = scratch();
    let (mut server, addr) = serve(&scratch, &[]);
    let client = scratch.start(&remote(&format!("http://{addr}"), &["long"]));
    under_way(&client);
    server.child.kill().unwrap();
    let finished = client.ends_within(HUNG);
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    let says = format!("http://{addr} went away before the run's end");
    assert!(finished.stderr.contains(&says), "{}", finished.stderr);
    assert!(finished.stderr.contains("the run directory is on the server"), "{}", finished.stderr);
}

#[test]
fn a_server_can_start_with_an_experiment_by_argument_or_environment() {
    let scratch = scratch();
    let start = |args: &[&str], experiment| {
        let args = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
        Running::start_with(scratch.path(), &args, Stdio::null(), &[("EXPERIMENT", experiment)])
    };
    for (args, experiment, code, says) in [
        (&["--start", "clam"][..], "", 2, "there is bad, long, sub/calm"),
        (&[], "clam", 2, "there is bad, long, sub/calm"),
        (&["--start", "bad"], "sub/calm", 3, "unknown field `severs`"),
        (&["--start", "sub/calm", "--out", "experiments/bad.yaml"], "", 1, "--out"),
    ] {
        let finished = start(args, experiment).ends_within(HUNG);
        assert_eq!(finished.code, code, "{args:?} {experiment}: {}", finished.stderr);
        assert!(finished.stderr.contains(says), "{args:?}: {}", finished.stderr);
    }
    assert!(scratch.run_dirs().is_empty());
    for (args, experiment) in [(&["--start", "sub/calm"][..], ""), (&[], "sub/calm")] {
        let before = scratch.run_dirs().len();
        let running = start(args, experiment);
        eventually(HUNG, "a verdict", || {
            let judged = |dir: &&std::path::PathBuf| dir.join("verdict.txt").exists();
            (scratch.run_dirs().iter().filter(judged).count() > before).then_some(())
        });
        send(&running, "TERM");
        assert_eq!(running.ends_within(SOON).code, 143);
    }
}

#[test]
fn a_health_check_is_0_or_1() {
    let scratch = scratch();
    let (server, addr) = serve(&scratch, &["--experiments", "nowhere"]);
    let url = format!("http://{addr}");
    let ready = format!("{url}/readyz");
    for (url, code, says) in [(&url, 0, ""), (&ready, 1, "--experiments")] {
        let finished = scratch.run(&["healthcheck", url]);
        assert_eq!(finished.code, code, "{url}: {}", finished.stderr);
        assert!(finished.stderr.contains(says), "{url}: {}", finished.stderr);
    }
    drop(server);
    let finished = scratch.run(&["healthcheck", &url]);
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("cannot reach"), "{}", finished.stderr);
}

#[test]
fn metrics_and_health_are_for_every_host_and_the_api_for_its_own() {
    let scratch = scratch();
    let (_server, addr) = serve(&scratch, &[]);
    // The client by hand says that its host is `test`.
    for (path, status) in
        [("/metrics", 200), ("/healthz", 200), ("/readyz", 200), ("/api/experiments", 403)]
    {
        assert_eq!(request(addr, "GET", path, "").unwrap().status, status, "{path}");
    }
}

#[test]
fn a_server_can_be_told_by_which_names_it_is_reached() {
    let scratch = scratch();
    let start = |args: &[&str], allowed| {
        let args = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
        Running::start_with(scratch.path(), &args, Stdio::null(), &[("ALLOWED_HOSTS", allowed)])
    };
    // The client by hand says that its host is `test`.
    for (args, allowed, status) in [
        (&["--allowed-host", "other", "--allowed-host", "test"][..], "", 200),
        (&[], "other, test", 200),
        (&["--allowed-host", "other"], "test", 403),
        (&[], "other", 403),
        (&[], "", 403),
    ] {
        let running = start(args, allowed);
        let addr = address(|| text(&running.stdout), INTRODUCTION);
        let answer = request(addr, "GET", "/api/experiments", "").unwrap();
        assert_eq!(answer.status, status, "{args:?} {allowed}: {}", answer.body);
    }
    for (args, allowed) in [(&["--allowed-host", "test:9464"][..], ""), (&[], "test,http://test")] {
        let finished = start(args, allowed).ends_within(HUNG);
        assert_eq!(finished.code, 2, "{args:?} {allowed}: {}", finished.stderr);
        assert!(finished.stderr.contains("without a port"), "{}", finished.stderr);
    }
}

#[test]
fn a_port_that_is_taken_is_1_and_the_cure_is_named() {
    let scratch = scratch();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let finished = scratch.run(&["serve", "--listen", &addr]);
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    for part in [&*addr, "--listen"] {
        assert!(finished.stderr.contains(part), "{part}: {}", finished.stderr);
    }
}
