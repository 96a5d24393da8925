//! Every call that was recorded from the real server, with every status, label and byte of its
//! answer. Ports are those of this machine.

use crate::support::{Answer, Api, call, free_ports};
use faults::api::VERSION;
use serde::Deserialize;
use serde_json::Value;

const RECORDED: &str = include_str!("../data/api-2.12.jsonl");

/// The proxies' ports at the recording; the test has others.
const LISTEN_PORTS: [&str; 4] = ["21900", "21901", "21902", "21903"];
/// The recorded address of the proxy that was to listen anywhere. The real server then listens on
/// every interface; ours on the loopback only, which is a deliberate difference.
const LISTEN_ANYWHERE: &str = "[::]:37659";
/// The port that the recorded proxy `z` was given for port 0.
const LISTEN_ANY_PORT: &str = "127.0.0.1:40931";
const RECORDED_VERSION: &str = "2.12.0-main-f48fd7f";

/// A line of the recording; its response is compared as text.
#[derive(Deserialize)]
struct Line {
    tag: String,
    method: String,
    path: String,
    request: Value,
    status: u16,
    content_type: Option<String>,
    response: Value,
}

/// What stands for what in the recording.
struct Replay {
    api: Api,
    stands_for: Vec<(String, String)>,
}

impl Replay {
    fn start() -> Self {
        let ports = free_ports::<4>().map(|port| port.to_string());
        let ports = LISTEN_PORTS.map(str::to_owned).into_iter().zip(ports);
        let version = (RECORDED_VERSION.to_owned(), VERSION.to_owned());
        Self { api: Api::start(), stands_for: ports.chain([version]).collect() }
    }

    fn translate(&self, recorded: &str) -> String {
        let translate = |text: String, (from, to): &(String, String)| text.replace(from, to);
        self.stands_for.iter().fold(recorded.to_owned(), translate)
    }

    /// From now on the address in a recorded answer is that of this one.
    fn learn(&mut self, recorded: &str, answer: &Answer) {
        let listen = answer.json()["listen"].as_str().unwrap().to_owned();
        assert!(listen.starts_with("127.0.0.1:") && !listen.ends_with(":0"), "{listen}");
        self.stands_for.push((recorded.to_owned(), listen));
    }

    /// What was done before a line of the recording and is not in it.
    fn between_the_lines(&mut self, tag: &str) {
        match tag {
            "typeerr" => drop(self.api.done("DELETE", "/proxies/nl", "")),
            "disabled" => {
                let body = r#"{"name":"z","listen":"localhost:0","upstream":"127.0.0.1:39103"}"#;
                let answer = self.api.done("POST", "/proxies", body);
                self.learn(LISTEN_ANY_PORT, &answer);
            }
            "pop" => {
                for name in self.api.done("GET", "/proxies", "").json().as_object().unwrap().keys()
                {
                    self.api.done("DELETE", &format!("/proxies/{name}"), "");
                }
            }
            "popsame" => {
                let body = r#"{"type":"latency","attributes":{"latency":1}}"#;
                self.api.done("POST", "/proxies/a/toxics", body);
            }
            _ => {}
        }
    }

    fn call(&self, line: &Line) -> Answer {
        let body = match &line.request {
            Value::Null => String::new(),
            Value::String(raw) => raw.clone(),
            json => json.to_string(),
        };
        let agent = if line.tag == "ua" { "Mozilla/5.0 x" } else { "probe/1" };
        call(self.api.address, &line.method, &line.path, agent, body.as_bytes())
    }
}

#[test]
fn every_recorded_call_is_answered_as_the_real_server_did() {
    let mut replay = Replay::start();
    let mut wrong = Vec::new();
    for recorded in RECORDED.lines() {
        let tag = serde_json::from_str::<Line>(recorded).unwrap().tag;
        replay.between_the_lines(&tag);
        let line: Line = serde_json::from_str(&replay.translate(recorded)).unwrap();
        let answer = replay.call(&line);
        if tag == "nolisten" {
            replay.learn(LISTEN_ANYWHERE, &answer);
        }
        let mut expected = expected_body(&replay.translate(recorded), &line.response);
        if tag == "version" {
            // The one body that the real server writes by hand, with a space.
            expected = expected.replace(':', ": ");
        }
        let wanted = (line.status, line.content_type.as_deref(), expected.trim_end());
        let got = (answer.status, answer.header("content-type"), answer.body.trim_end());
        if got != wanted {
            wrong.push(format!("{tag}\n  wanted {wanted:?}\n  got    {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The body of an answer: text as it is, JSON with its fields in the recorded order.
fn expected_body(line: &str, response: &Value) -> String {
    let (_, json) = line.split_once(r#""response": "#).unwrap();
    let json = json.strip_suffix('}').unwrap();
    response.as_str().map_or_else(|| without_spaces(json), str::to_owned)
}

/// JSON without the spaces that are not within strings.
fn without_spaces(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keep = |c: &char| {
        let keep = in_string || *c != ' ';
        in_string ^= *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        keep
    };
    json.chars().filter(keep).collect()
}

#[test]
fn every_answer_has_an_id_of_its_own_and_errors_end_their_line() {
    let api = Api::start();
    let mut ids = Vec::new();
    for (path, status, end) in [
        ("/version", 200, "}\n"),
        ("/proxies", 200, "{}"),
        ("/proxies/nope", 404, "}\n"),
        ("/nope", 404, "found\n"),
        ("/reset", 405, ""),
    ] {
        let answer = api.call("GET", path, "");
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.body.ends_with(end), "{path}: {answer:?}");
        ids.push(answer.header("x-toxiproxy-request-id").unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}
