//! Directories as runs leave them, made by hand, and what is published of them.

use super::*;
use std::fs;
use tempfile::TempDir;

const RESOLVED: &str = "
version: 1
name: small
run: { mode: virtual, seed: 7 }
arms:
  law: { controller: { velox: { start: 4, min: 2, max: 16 } } }
backend: { servers: 4, service: { constant: 5ms } }
load: { closed: { clients: 4 } }
phases: [{ name: calm, for: 1s }, { name: rough, for: 1s }]
faults:
  - { name: storm, during: rough, backend: { reject: { status: 429, after: 1ms } } }
";

const DOWNLOADS: &str = "
version: 1
name: small
run: { mode: virtual }
arms:
  fair: { limiter: { fifo: { levels: { global: { rate: 1MiB/s } } } } }
backend: { servers: 8, service: { constant: 0s } }
download: { tasks: 4, chunk: { fixed: 16KiB } }
phases: [{ name: all, for: 1s }]
";

/// A directory with these files, beside a manifest and a resolved experiment.
fn run_dir(resolved: &str, files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    let manifest = r#"{"version":"0.0.9","started":"2026-01-31T10:22:07Z"}"#;
    for (name, text) in
        [("manifest.json", manifest), ("resolved.yaml", resolved)].iter().chain(files)
    {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// What is published of it.
fn published(dir: &TempDir, placing: Placing) -> (Published, Vec<String>) {
    let out = dir.path().join("run.om");
    let command = PublishCommand { run: dir.path().to_owned(), out: Some(out.clone()), placing };
    let published = publish(&command).unwrap();
    let text = fs::read_to_string(out).unwrap();
    assert!(text.ends_with("\n# EOF\n"));
    (published, text.lines().map(str::to_owned).collect())
}

/// Values and timestamps of one series, in the order in which they are written.
fn points<'a>(lines: &'a [String], series: &str) -> Vec<(&'a str, &'a str)> {
    let of = |line: &'a String| line.strip_prefix(series)?.strip_prefix(' ')?.split_once(' ');
    lines.iter().filter_map(of).collect()
}

const EVENTS: &str = r#"{"t_ns":0,"event":"phase","phase":"calm"}
{"t_ns":0,"event":"update","arm":"law","old":4.0,"new":4.0,"limit":4,"direction":"hold","reason":"start","vitals":{}}
{"t_ns":30000000,"event":"update","arm":"law","old":4.0,"new":4.5,"limit":4,"direction":"up","reason":"gradient","vitals":{"gradient":0.9,"baseline_rtt":0.04,"odd":null}}
{"t_ns":130000000,"event":"update","arm":"law","old":4.5,"new":3.0,"limit":3,"direction":"down","reason":"gradient","vitals":{"gradient":0.5}}
{"t_ns":130400000,"event":"update","arm":"law","old":3.0,"new":2.0,"limit":2,"direction":"down","reason":"gradient","vitals":{"gradient":0.5}}
{"t_ns":200000000,"event":"phase","phase":"rough"}
{"t_ns":200000000,"event":"fault","fault":"storm","on":true}
{"t_ns":250000000,"event":"regime","arm":"law","regime":"collapse"}
"#;

const SERIES: &str = "t_ns,arm,series,value
0,law,controller.window,4
100000000,law,backend.utilisation,0.5
100000000,law,rpc.ok,7
100000000,law,network.dropped,9
130000000,law,controller.window,3
200000000,law,backend.utilisation,0.25
200000000,law,rpc.ok,11
1300000000,law,backend.utilisation,1
1300000000,law,backend.injected,3
";

#[test]
fn every_update_has_its_own_instant_and_is_said_again_when_it_holds_for_long() {
    let dir = run_dir(RESOLVED, &[("events.jsonl", EVENTS), ("series.csv", SERIES)]);
    let (published, lines) = published(&dir, Placing::Recorded);
    let window = points(&lines, "windtunnel_controller_window_requests{arm=\"law\"}");
    let expected = [
        ("4.0", "1769854927.000"),
        ("4.5", "1769854927.030"),
        // The millisecond of the last is taken.
        ("3.0", "1769854927.130"),
        ("2.0", "1769854927.131"),
        ("2.0", "1769854928.300"),
    ];
    assert_eq!(window, expected);
    assert_eq!((published.updates, published.moved, published.written.merged), (4, 1, 0));
    let rtt = "windtunnel_controller_rtt_seconds{arm=\"law\",kind=\"baseline\"}";
    assert_eq!(points(&lines, rtt)[0], ("0.04", "1769854927.030"));
    assert!(!lines.iter().any(|line| line.contains("\"odd\"")));
}

#[test]
fn counters_and_states_are_said_at_every_sampling_instant() {
    let dir = run_dir(RESOLVED, &[("events.jsonl", EVENTS), ("series.csv", SERIES)]);
    let (_, lines) = published(&dir, Placing::Start(Moment::parse("1000").unwrap()));
    let at = ["1000.000", "1000.100", "1000.200", "1001.300"];
    for (series, values) in [
        ("windtunnel_requests_total{arm=\"law\",outcome=\"ok\"}", ["0.0", "7.0", "11.0", "11.0"]),
        ("windtunnel_network_dropped_bytes_total{arm=\"law\"}", ["0.0", "9.0", "9.0", "9.0"]),
        ("windtunnel_phase_active{phase=\"rough\"}", ["0.0", "0.0", "1.0", "1.0"]),
        (
            "windtunnel_fault_transitions_total{fault=\"storm\",to=\"on\"}",
            ["0.0", "0.0", "1.0", "1.0"],
        ),
        ("windtunnel_controller_update_window_requests_count{arm=\"law\"}", ["1", "2", "4", "4"]),
        (
            "windtunnel_controller_update_window_requests_sum{arm=\"law\"}",
            ["4.0", "8.5", "13.5", "13.5"],
        ),
    ] {
        let expected: Vec<_> = values.into_iter().zip(at).collect();
        assert_eq!(points(&lines, series), expected, "{series}");
    }
    let start = points(&lines, "windtunnel_phase_start_timestamp_seconds{phase=\"rough\"}");
    assert_eq!(start, [("1000.2", at[2]), ("1000.2", at[3])]);
    let injected = "windtunnel_fault_injected_total{arm=\"law\",fault=\"storm\"}";
    assert_eq!(points(&lines, injected), [("3.0", at[3])]);
    let collapse = points(&lines, "windtunnel_regime{arm=\"law\",regime=\"collapse\"}");
    assert_eq!(collapse[3..], [("1.0", "1000.250"), ("1.0", at[3])]);
}

#[test]
fn families_and_series_are_not_mixed_and_times_ascend() {
    let dir = run_dir(RESOLVED, &[("events.jsonl", EVENTS), ("series.csv", SERIES)]);
    let (_, lines) = published(&dir, Placing::End(Moment::parse("2000").unwrap()));
    let mut heads: Vec<_> = lines.iter().filter(|line| line.starts_with("# TYPE")).collect();
    let all = heads.len();
    heads.sort();
    heads.dedup();
    assert_eq!(heads.len(), all);
    let mut done: Vec<(&str, f64)> = Vec::new();
    for line in lines.iter().filter(|line| !line.starts_with('#')) {
        let [time, _, series] = line.rsplitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        let time: f64 = time.parse().unwrap();
        let before = done.iter_mut().find(|(done, _)| *done == series);
        assert!(before.as_ref().is_none_or(|(_, last)| *last < time), "{line}");
        match before {
            Some(before) => before.1 = time,
            None => done.push((series, time)),
        }
    }
    assert!(done.iter().any(|(_, last)| *last == 2000.0));
}

#[test]
fn waits_without_length_have_no_rows_and_are_counted_all_the_same() {
    let series = "t_ns,arm,series,value
100000000,fair,backend.utilisation,0
100000000,fair,limiter.grants,5
200000000,fair,backend.utilisation,0
200000000,fair,limiter.grants,7
";
    let waits = "t_ns,arm,waiter,cost,quoted_ns,wait_ns,outcome
10000000,fair,task0/seg0,16,3,50000000,granted
20000000,fair,task1/seg0,16,,150000000,granted
30000000,fair,task1/seg0,16,,990000000,cut_off
40000000,fair,task1/se";
    let events = r#"{"t_ns":0,"event":"transfer","arm":"fair","waiter":"task0/seg0","change":"opened","attempt":0}
{"t_ns":150000000,"event":"transfer","arm":"fair","waiter":"task0/seg0","change":"aborted","reason":"low_speed","lost":3}
"#;
    let files = [("series.csv", series), ("waits.csv", waits), ("events.jsonl", events)];
    let (published, lines) = published(&run_dir(DOWNLOADS, &files), Placing::Recorded);
    let values =
        |name: &str| points(&lines, name).iter().map(|(value, _)| *value).collect::<Vec<_>>();
    assert_eq!(values("windtunnel_wait_seconds_count{arm=\"fair\"}"), ["0", "5", "7"]);
    assert_eq!(values("windtunnel_wait_seconds_bucket{arm=\"fair\",le=\"0.0\"}"), ["0", "4", "5"]);
    assert_eq!(values("windtunnel_wait_seconds_sum{arm=\"fair\"}"), ["0.0", "0.05", "0.2"]);
    let waited = "windtunnel_waiter_wait_seconds_total{arm=\"fair\",waiter=";
    assert_eq!(values(&format!("{waited}\"task0/seg0\"}}")), ["0.0", "0.05", "0.05"]);
    assert_eq!(values(&format!("{waited}\"other\"}}")).last(), Some(&"0.15"));
    let aborted = "windtunnel_transfer_ends_total{arm=\"fair\",how=\"low_speed\"}";
    assert_eq!(values(aborted), ["0.0", "0.0", "1.0"]);
    assert_eq!(published.left_out, [1, 0]);
}

#[test]
fn what_no_run_would_write_is_left_out_and_counted() {
    let events =
        "nonsense\n{\"t_ns\":-1}\n{\"t_ns\":1,\"event\":\"phase\",\"phase\":\"unheard\"}\n[]\n\n";
    let series = "t_ns,arm,series,value\n1,law\n2,nobody,rpc.ok,1\nx,law,rpc.ok,1\n18446744073709551615,law,rpc.ok,nan\n";
    let waits = "t_ns,arm,waiter,cost,quoted_ns,wait_ns,outcome\n1,law,task0/seg0,1,1,1,granted\n";
    let files = [("series.csv", series), ("waits.csv", waits), ("events.jsonl", events)];
    let dir = run_dir(RESOLVED, &files);
    fs::write(dir.path().join("series.csv"), [series.as_bytes(), b"\xff\xfe\n"].concat()).unwrap();
    let (published, _) = published(&dir, Placing::Recorded);
    assert_eq!(published.left_out, [5 + 4 + 1, 0]);
}

#[test]
fn a_run_that_was_killed_at_once_is_published_and_no_run_gets_a_cure() {
    let dir = run_dir(RESOLVED, &[]);
    let (_, lines) = published(&dir, Placing::Recorded);
    assert!(!points(&lines, "windtunnel_phase_active{phase=\"calm\"}").is_empty());
    let refused = |change: &dyn Fn(&TempDir)| {
        let dir = run_dir(RESOLVED, &[]);
        change(&dir);
        let command =
            PublishCommand { run: dir.path().to_owned(), out: None, placing: Placing::Recorded };
        publish(&command).unwrap_err().to_string()
    };
    let write = |name: &'static str, text: &'static str| {
        move |dir: &TempDir| fs::write(dir.path().join(name), text).unwrap()
    };
    let gone = |dir: &TempDir| fs::remove_file(dir.path().join("manifest.json")).unwrap();
    for (error, part) in [
        (refused(&gone), "give a directory that `windtunnel run` made"),
        (refused(&write("manifest.json", "{")), "run the experiment again"),
        (refused(&write("resolved.yaml", "version: 2")), "windtunnel 0.0.9, publish it with that"),
        (refused(&write("manifest.json", r#"{"version":"1","started":"?"}"#)), "--start or --end"),
    ] {
        assert!(error.contains(part), "{error}");
    }
}
