mod metrics;

use super::super::runs::How;
use super::super::wire::{Message, State as RunState};
use super::*;
use crate::drive::world::Signal;
use crate::watch::current::Shown;
use crate::watch::exemplars::Exemplars;
use crate::watch::prometheus::idle;
use crate::watch::prometheus::render;
use faults::EngineChoice;
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

const CALM: &str = "
version: 1
name: calm-one
arms: { a: { controller: { fixed: { limit: 1 } } } }
backend: { servers: 1, service: { constant: 1ms } }
load: { closed: { clients: 1 } }
phases: [{ name: p, for: 1s }]
faults: [{ name: storm, during: p, backend: { reject: { status: 429, share: 1% } } }]
expect: [{ id: one, that: max(controller.window) <= 1 }]
";

/// Live, so that it lasts, and with next to nothing to do.
const LONG: &str = "
version: 1
name: long
run: { mode: live }
arms: { a: { controller: { fixed: { limit: 1 } } } }
backend: { servers: 1, service: { constant: 1ms } }
load: { closed: { clients: 1, think: { constant: 50ms } } }
phases: [{ name: p, for: 1h }]
faults: [{ name: storm, during: p, backend: { reject: { status: 429, share: 1% } } }]
";

/// A server without a socket.
struct Bench {
    dir: TempDir,
    shared: Arc<Shared>,
    current: Current,
    routes: TowerToHyperService<Router>,
}

impl Bench {
    fn new() -> Self {
        Self::with("experiments", "runs")
    }

    fn with(experiments: &str, out: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let folder = dir.path().join("experiments");
        fs::create_dir_all(folder.join("sub")).unwrap();
        for (file, text) in [
            ("calm.yaml", CALM),
            ("sub/long.yaml", LONG),
            ("broken.yaml", "version: 1\nnme: x\n"),
            ("../secret.yaml", CALM),
        ] {
            fs::write(folder.join(file), text).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret.yaml", folder.join("outside.yaml")).unwrap();
        let out = dir.path().join(out);
        let exemplars = Exemplars::default();
        let (registry, metrics) = (idle(), ServerMetrics::default());
        metrics.show_in(&registry);
        let current = Current::from(Shown { registry, exemplars });
        let (faults, backend) = (EngineChoice::Embedded, None);
        let how = How { out: out.clone(), faults, backend, traces: None };
        let runs = Runs::new(how, (current.clone(), Stage::default()), metrics.clone());
        let catalogue = Catalogue::new(&dir.path().join(experiments));
        let shared = Arc::new(Shared { catalogue, out, runs, metrics });
        let loopback = Hosts::of("127.0.0.1:9464".parse().unwrap(), &[]);
        let routes = routes(Arc::clone(&shared), (current.clone(), Stage::default()), loopback);
        Self { dir, shared, current, routes: TowerToHyperService::new(routes) }
    }

    async fn send(&self, request: Request) -> Response {
        self.routes.call(request).await.unwrap()
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let json = [("host", "localhost"), ("content-type", "application/json")];
        whole(self.send(request(method, path, &json, body.to_owned())).await).await
    }

    async fn start(&self, body: &str) -> Value {
        let (status, run) = self.ask("POST", "/api/runs", body).await;
        assert_eq!(status, 201, "{run}");
        run
    }

    /// The messages of a run, up to the one that is wanted.
    async fn read(&self, run: &Value, wanted: impl Fn(&Message) -> bool) -> (Body, Vec<Message>) {
        let path = run["events"].as_str().unwrap();
        let response =
            self.send(request("GET", path, &[("host", "localhost")], String::new())).await;
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        let (mut body, mut messages) = (response.into_body(), Vec::new());
        while !messages.last().is_some_and(&wanted) {
            messages.push(next(&mut body).await.expect("there is more to come"));
        }
        (body, messages)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.shared.runs.close(Signal::Interrupt);
    }
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: String) -> Request {
    let request = axum::http::Request::builder().method(method).uri(path);
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(body)).unwrap()
}

/// An answer's status and its JSON, or its text.
async fn whole(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let cross_origin = "access-control-allow-origin";
    assert!(!response.headers().contains_key(cross_origin), "no other origin is let in");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

async fn next(body: &mut Body) -> Option<Message> {
    let frame = body.frame().await?.unwrap().into_data().unwrap();
    let text = String::from_utf8(frame.to_vec()).unwrap();
    let (_, data) = text.split_once("\ndata: ").unwrap();
    Some(serde_json::from_str(data).unwrap())
}

const fn is_end(message: &Message) -> bool {
    matches!(message, Message::End(_))
}

#[tokio::test]
async fn each_path_has_its_answer_and_every_refusal_is_json_with_a_cure() {
    let bench = Bench::new();
    let long = format!("/api/experiments/{}", "x".repeat(3000));
    for (method, path, status, says) in [
        ("GET", "/", 200, "/api/runs"),
        ("GET", "/healthz", 200, "ok"),
        ("GET", "/readyz", 200, "ready"),
        ("GET", "/metrics", 200, "windtunnel_build_info"),
        ("GET", "/api/experiments", 200, "sub/long"),
        ("GET", "/api/experiments/calm", 200, "name: calm-one"),
        ("GET", "/api/experiments/sub/long.yaml", 200, "name: long"),
        ("GET", "/api/experiments/experiments/calm.yaml", 200, "name: calm-one"),
        ("GET", "/api/experiments/sub%2flong", 200, "name: long"),
        ("GET", "/api/experiments/clam", 404, "there is broken, calm, sub/long"),
        ("GET", "/api/experiments/sub", 404, "there is broken, calm, sub/long"),
        ("GET", "/api/experiments/../secret", 400, "no name of an experiment"),
        ("GET", "/api/experiments/sub/../../secret", 400, "no name of an experiment"),
        ("GET", "/api/experiments/%2e%2e/secret", 400, "no name of an experiment"),
        ("GET", "/api/experiments/..%2fsecret", 400, "no name of an experiment"),
        ("GET", "/api/experiments/%252e%252e/secret", 400, "no name of an experiment"),
        ("GET", "/api/experiments//etc/passwd", 400, "no name of an experiment"),
        ("GET", "/api/experiments/%2fetc%2fpasswd", 400, "no name of an experiment"),
        ("GET", "/api/experiments/..%5csecret", 400, "no name of an experiment"),
        ("GET", "/api/experiments/calm%00", 400, "no name of an experiment"),
        ("GET", "/api/experiments/%ff", 400, "UTF-8"),
        ("GET", &long, 400, "no name of an experiment"),
        ("GET", "/api/experiments/outside", 403, "leads out"),
        ("GET", "/api/runs", 200, "[]"),
        ("GET", "/api/runs/none", 404, "GET /api/runs"),
        ("DELETE", "/api/runs/none", 404, "GET /api/runs"),
        ("GET", "/api/runs/none/events", 404, "GET /api/runs"),
        ("GET", "/api/runs/%ff", 400, "UTF-8"),
        ("GET", "/else", 404, "GET /"),
        ("GET", "/api/else", 404, "GET /"),
        ("PUT", "/api/runs", 405, "PUT"),
        ("POST", "/metrics", 405, ""),
    ] {
        if !cfg!(unix) && path.ends_with("outside") {
            continue;
        }
        let (answered, body) = bench.ask(method, path, "").await;
        assert_eq!(answered, status, "{method} {path}: {body}");
        assert!(body.to_string().contains(says), "{method} {path}: {body}");
        assert!(status < 400 || says.is_empty() || body["error"].is_string(), "{path}: {body}");
    }
}

#[tokio::test]
async fn an_order_that_cannot_be_carried_out_is_refused_with_the_reason() {
    let bench = Bench::new();
    let long = format!(r#"{{"experiment":"{}"}}"#, "x".repeat(BODY_LIMIT));
    for (body, status, says) in [
        (r#"{"experiment":"clam"}"#, 404, "there is broken, calm, sub/long"),
        (r#"{"experiment":"../secret"}"#, 400, "no name of an experiment"),
        (r#"{"experiment":"/etc/passwd"}"#, 400, "no name of an experiment"),
        (r#"{"experiment":"calm\u0000"}"#, 400, "no name of an experiment"),
        (r#"{"experiment":"outside"}"#, 403, "leads out"),
        (r#"{"experiment":"broken"}"#, 422, "unknown field `nme`"),
        (r#"{"experiment":"calm","set":["phases[0].for=0s"]}"#, 422, "in `--set phases[0].for=0s`"),
        (r#"{"experiment":"calm","set":["phases"]}"#, 422, "PATH=VALUE"),
        (r#"{"experiment":"calm","mode":"slow"}"#, 400, "no order for a run"),
        (r#"{"experiment":"calm","sed":1}"#, 400, "sed"),
        (r#"{"seed":1}"#, 400, "experiment"),
        ("", 400, "no order for a run"),
        (&long, 413, "send less"),
    ] {
        if !cfg!(unix) && body.contains("outside") {
            continue;
        }
        let (answered, said) = bench.ask("POST", "/api/runs", body).await;
        let shown = &body[..body.len().min(80)];
        assert_eq!(answered, status, "{shown}: {said}");
        assert!(said["error"].as_str().unwrap().contains(says), "{shown}: {said}");
    }
    let (_, said) = bench.ask("POST", "/api/runs", r#"{"experiment":"broken"}"#).await;
    assert_eq!(said["problems"][2]["line"], 2, "{said}");
    assert_eq!(bench.ask("GET", "/api/runs", "").await.1, json!({ "runs": [] }));
    assert!(!bench.shared.out.exists(), "nothing has run");
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_ask_for_anything() {
    let bench = Bench::new();
    let order = r#"{"experiment":"calm"}"#;
    for (headers, status) in [
        (&[("host", "localhost:9464")][..], 415),
        (&[("host", "localhost:9464"), ("content-type", "text/plain")], 415),
        (&[("host", "localhost"), ("content-type", "application/x-www-form-urlencoded")], 415),
        (&[("host", "evil.example"), ("content-type", "application/json")], 403),
        (&[("content-type", "application/json")], 403),
        (&[("host", "127.0.0.1:9464"), ("content-type", "Application/JSON; charset=utf-8")], 201),
    ] {
        let request = request("POST", "/api/runs", headers, order.into());
        let (answered, body) = whole(bench.send(request).await).await;
        assert_eq!(answered, status, "{headers:?}: {body}");
        assert!(status == 201 || body["error"].is_string(), "{headers:?}: {body}");
    }
    // What a browser asks first is not granted.
    let headers = [("host", "localhost"), ("origin", "http://evil.example")];
    let (status, _) =
        whole(bench.send(request("OPTIONS", "/api/runs", &headers, String::new())).await).await;
    assert_eq!(status, 405);
}

#[tokio::test]
async fn a_run_goes_from_its_order_to_its_verdict() {
    let bench = Bench::new();
    let run = bench
        .start(r#"{"experiment":"experiments/calm.yaml","seed":9,"set":["phases[0].for=2s"]}"#)
        .await;
    assert_eq!(
        (&run["experiment"], &run["seed"], &run["mode"]),
        (&json!("calm"), &json!(9), &json!("virtual"))
    );
    assert_eq!(
        (&run["length_ns"], &run["arms"]),
        (&json!(2_000_000_000_u64), &json!({"a": "calls"}))
    );
    let (mut body, messages) = bench.read(&run, is_end).await;
    assert_eq!(next(&mut body).await, None);
    let names: Vec<_> = messages.iter().map(Message::name).collect();
    assert_eq!(names[..3], ["run", "phase", "fault"], "{names:?}");
    assert_eq!(names[names.len() - 2..], ["states", "end"], "{names:?}");
    let Some(Message::End(end)) = messages.last() else { unreachable!("it was waited for") };
    assert_eq!((end.state, end.exit_code), (RunState::Finished, 0));
    assert!(end.text.contains("PASS  calm-one (virtual, seed 9)"), "{}", end.text);

    let (status, info) = bench.ask("GET", run["path"].as_str().unwrap(), "").await;
    assert_eq!((status, &info["state"], &info["phase"]), (200, &json!("finished"), &json!("p")));
    assert_eq!((&info["faults"], &info["t_ns"]), (&json!([]), &json!(2_000_000_000_u64)));
    assert_eq!(info["verdict"]["verdict"], "pass");
    assert_eq!(bench.ask("GET", "/api/runs", "").await.1["runs"], json!([info]));
    let recorded =
        fs::read_to_string(format!("{}/verdict.json", info["run_dir"].as_str().unwrap()));
    assert_eq!(serde_json::from_str::<Value>(&recorded.unwrap()).unwrap(), info["verdict"]);
    // What it left behind is shown until the next one starts.
    let (_, metrics) = bench.ask("GET", "/metrics", "").await;
    let metrics = metrics.as_str().unwrap();
    for part in [
        r#"experiment="calm-one",mode="virtual",seed="9""#,
        "process_threads ",
        "windtunnel_build_info",
    ] {
        assert!(metrics.contains(part), "{part} in {metrics}");
    }
}

#[tokio::test]
async fn one_run_goes_on_at_a_time_and_is_stopped_and_healed_on_request() {
    let bench = Bench::new();
    let long = r#"{"experiment":"sub/long"}"#;
    let run = bench.start(long).await;
    let path = run["path"].as_str().unwrap();
    let (mut body, _) = bench.read(&run, |message| message.name() == "states").await;
    assert!(render(&bench.current.shown().registry).contains(r#"experiment="long",mode="live""#));
    for order in [long, r#"{"experiment":"calm"}"#] {
        let (status, said) = bench.ask("POST", "/api/runs", order).await;
        assert_eq!(status, 409, "{said}");
        assert!(said["error"].as_str().unwrap().starts_with("sub/long runs now"), "{said}");
        assert_eq!(said["running"], json!({ "id": run["id"], "experiment": "sub/long" }));
    }
    assert_eq!(bench.ask("GET", "/readyz", "").await.0, 200);
    let (status, info) = bench.ask("DELETE", path, "").await;
    assert_eq!((status, &info["state"]), (202, &json!("running")));
    let mut last = None;
    while let Some(message) = next(&mut body).await {
        last = Some(message);
    }
    let Some(Message::End(end)) = last else { panic!("{last:?}") };
    assert_eq!((end.state, end.exit_code), (RunState::Interrupted, 130));
    let (status, info) = bench.ask("DELETE", path, "").await;
    assert_eq!((status, &info["state"], &info["faults"]), (200, &json!("interrupted"), &json!([])));
    let journal = format!("{}/events.jsonl", info["run_dir"].as_str().unwrap());
    let journal = fs::read_to_string(journal).unwrap();
    assert!(journal.contains(r#""fault":"storm","on":false}"#), "{journal}");
    assert!(journal.ends_with("\"event\":\"end\"}\n"), "{journal}");
    // Whoever has read the end can start the next one.
    bench.start(r#"{"experiment":"calm"}"#).await;
}

#[tokio::test]
async fn who_reads_too_slowly_is_dropped_and_counted_and_the_run_goes_on() {
    let bench = Bench::new();
    let run = bench.start(r#"{"experiment":"sub/long"}"#).await;
    let (mut slow, _) = bench.read(&run, |message| message.name() == "run").await;
    let id = run["id"].as_str().unwrap();
    let history = bench.shared.runs.find(id).unwrap().history.clone();
    for t_ns in 0..10_000 {
        history.tell(&Message::Phase { t_ns, phase: "p".into() });
    }
    assert_eq!(next(&mut slow).await, Some(Message::Dropped));
    assert_eq!(next(&mut slow).await, None);
    let (_, info) = bench.ask("GET", run["path"].as_str().unwrap(), "").await;
    assert_eq!((&info["readers_dropped"], &info["state"]), (&json!(1), &json!("running")));
    assert!(info["forgotten"].as_u64().unwrap() > 1000, "{info}");
    let (_, messages) = bench.read(&run, |message| message.name() == "states").await;
    let Message::Run(info) = &messages[0] else { panic!("{:?}", messages[0]) };
    assert_eq!(info.faults, ["storm"], "who comes late is told what is on");
}

#[tokio::test]
async fn a_server_that_cannot_start_runs_is_not_ready_and_says_why() {
    for (experiments, out, says) in [
        ("nowhere", "runs", "--experiments"),
        ("experiments", "secret.yaml/runs", "--out"),
        ("experiments", "secret.yaml", "--out"),
    ] {
        let bench = Bench::with(experiments, out);
        let (status, said) = bench.ask("GET", "/readyz", "").await;
        assert_eq!(status, 503, "{experiments} {out}: {said}");
        assert!(said["error"].as_str().unwrap().contains(says), "{said}");
        assert_eq!(bench.ask("GET", "/healthz", "").await.0, 200);
    }
    let bench = Bench::with("experiments", "secret.yaml");
    let (status, said) = bench.ask("POST", "/api/runs", r#"{"experiment":"calm"}"#).await;
    assert_eq!(status, 500, "{said}");
    assert!(said["error"].as_str().unwrap().contains("--out"), "{said}");
    bench.shared.runs.close(Signal::Terminate);
    assert_eq!(bench.ask("GET", "/readyz", "").await.0, 503);
    assert_eq!(bench.ask("POST", "/api/runs", r#"{"experiment":"calm"}"#).await.0, 503);
    assert!(bench.dir.path().join("secret.yaml").is_file());
}
