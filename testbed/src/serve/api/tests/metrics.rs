//! What a server counts of itself.

use super::*;

/// The lines of `/metrics` that begin like this, without that beginning.
async fn lines(bench: &Bench, beginning: &str) -> Vec<String> {
    let (_, text) = bench.ask("GET", "/metrics", "").await;
    let of_these = |line: &str| line.strip_prefix(beginning).map(str::to_owned);
    text.as_str().unwrap().lines().filter_map(of_these).collect()
}

#[tokio::test]
async fn a_server_counts_its_runs_by_how_they_ended_from_one_run_to_the_next() {
    let bench = Bench::new();
    let beginning = "windtunnel_server_runs_total{verdict=";
    let ends = ["broken", "fail", "inconclusive", "interrupted", "pass"];
    let expected =
        |counts: [u32; 5]| ends.iter().zip(counts).map(|(end, n)| format!("\"{end}\"}} {n}"));
    assert_eq!(lines(&bench, beginning).await, expected([0; 5]).collect::<Vec<_>>());
    let wrong = r#"{"experiment":"calm","set":["expect[0].that=max(controller.window) > 1"]}"#;
    for order in [r#"{"experiment":"calm"}"#, wrong, r#"{"experiment":"calm"}"#] {
        let run = bench.start(order).await;
        let _ = bench.read(&run, is_end).await;
    }
    let run = bench.start(r#"{"experiment":"sub/long"}"#).await;
    assert_eq!(bench.ask("POST", "/api/runs", r#"{"experiment":"calm"}"#).await.0, 409);
    assert_eq!(bench.ask("POST", "/api/runs", "").await.0, 400);
    bench.ask("DELETE", run["path"].as_str().unwrap(), "").await;
    let _ = bench.read(&run, is_end).await;
    assert_eq!(lines(&bench, beginning).await, expected([0, 1, 0, 1, 2]).collect::<Vec<_>>());
    assert_eq!(lines(&bench, "windtunnel_server_refused_runs_total ").await, ["2"]);
}

#[tokio::test]
async fn requests_are_counted_by_route_and_status_and_never_by_path() {
    let bench = Bench::new();
    for path in ["/healthz", "/api/runs/none", "/api/runs/other", "/else", "/else/where"] {
        bench.ask("GET", path, "").await;
    }
    bench.ask("PUT", "/api/runs", "").await;
    let foreign = request("GET", "/api/runs", &[("host", "evil.example")], String::new());
    bench.send(foreign).await;
    let counted = lines(&bench, "windtunnel_server_requests_total{route=").await;
    assert_eq!(
        counted,
        [
            r#""/api/runs",status="4xx"} 2"#,
            r#""/api/runs/{id}",status="4xx"} 2"#,
            r#""/healthz",status="2xx"} 1"#,
            r#""other",status="4xx"} 2"#,
        ]
    );
}

#[tokio::test]
async fn readers_that_are_let_go_are_counted_over_all_runs() {
    let bench = Bench::new();
    let name = "windtunnel_server_readers_dropped_total ";
    assert_eq!(lines(&bench, name).await, ["0"]);
    for _ in 0..2 {
        let run = bench.start(r#"{"experiment":"sub/long"}"#).await;
        let (_slow, _) = bench.read(&run, |message| message.name() == "run").await;
        let history = bench.shared.runs.find(run["id"].as_str().unwrap()).unwrap().history.clone();
        for t_ns in 0..10_000 {
            history.tell(&Message::Phase { t_ns, phase: "p".into() });
        }
        bench.ask("DELETE", run["path"].as_str().unwrap(), "").await;
        let _ = bench.read(&run, is_end).await;
    }
    assert_eq!(lines(&bench, name).await, ["2"]);
}
