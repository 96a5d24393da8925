use super::super::super::tests::{Bench, config};
use super::*;
use serde_json::{Value, json};
use testbed_core::time::Nanos;

/// `PUT` if there is a body, else `GET`.
async fn faults(bench: &Bench, body: Option<&str>) -> (u16, Value) {
    let method = if body.is_some() { "PUT" } else { "GET" };
    let body = body.unwrap_or_default();
    let head = "HTTP/1.1\r\nhost: x\r\nconnection: close";
    let length = body.len();
    let request = format!("{method} /faults {head}\r\ncontent-length: {length}\r\n\r\n{body}");
    let (status, answer) = bench.raw(request.as_bytes()).await;
    (status, serde_json::from_str(&answer).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_is_done_shown_and_counted_and_null_heals() {
    let bench = Bench::start(config(2, Nanos::from_millis(1), 10)).await;
    let nothing = json!({"faults": [], "counts": {}});
    assert_eq!(faults(&bench, None).await, (200, nothing));
    let put = r#"[{"name":"storm","reject":{"status":429,"every":2,"retry_after":{"seconds":2}}},
                  {"name":"slow","slow_headers":{"delay":"1ms","class":"gold"}}]"#;
    let (status, shown) = faults(&bench, Some(put)).await;
    assert_eq!(status, 200, "{shown}");
    let storm = json!({"name": "storm", "reject": {
        "status": 429, "after": "1ms", "retry_after": {"seconds": 2}, "share": "100%", "every": 2,
    }});
    assert_eq!(shown["faults"][0], storm);
    let mut statuses = Vec::new();
    for id in 0..4 {
        statuses.push(bench.client.call(id).await.status.unwrap());
    }
    assert_eq!(statuses, [200, 429, 200, 429]);
    for heal in ["null", "[]"] {
        let (_, shown) = faults(&bench, Some(heal)).await;
        assert_eq!(shown["faults"], json!([]));
        let counted = json!({"injected": 2, "overflow": 0, "active": 0});
        assert_eq!(shown["counts"]["storm"], counted, "counts outlive the rule");
        assert_eq!(bench.client.call(0).await.status, Some(200));
        assert_eq!(faults(&bench, None).await.1, shown);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_changes_nothing_and_names_its_cure() {
    let bench = Bench::start(config(2, Nanos::from_millis(1), 10)).await;
    faults(&bench, Some(r#"[{"name":"a","reject":{"status":429}}]"#)).await;
    let before = faults(&bench, None).await;
    let one = |fault: &str| format!("[{{\"name\":\"a\",{fault}}}]");
    let many: Vec<_> =
        (0..65).map(|n| format!("{{\"name\":\"{n}\",\"no_answer\":{{}}}}")).collect();
    for (put, status, cure) in [
        (String::new(), 400, "send a list such as"),
        ("{}".into(), 400, "send a list such as"),
        (r#"[{"name":"a"}]"#.into(), 400, "kinds are reject"),
        (r#"[{"no_answer":{}}]"#.into(), 400, "missing field `name`"),
        (one(r#""reject":{"status":399}"#), 400, "[0].reject.status"),
        (one(r#""reject":{"status":429},"no_answer":{}"#), 400, "unknown field"),
        (one(r#""reject":{"status":429,"shar":"5%"}"#), 400, "unknown field `shar`"),
        (one(r#""reject":{"status":429,"retry_after":{"text":"\r\n"}}"#), 400, "such as soon"),
        (one(r#""drip":{"bytes":"0B","pause":"1ms"}"#), 400, "write 1B or more"),
        (one(r#""drip":{"bytes":"1B"}"#), 400, "missing field `pause`"),
        (one(r#""no_answer":{"every":0}"#), 400, "write 1 or more"),
        (one(r#""no_answer":{"path":"file"}"#), 400, "begins with `/`"),
        (format!("[{0},{0}]", r#"{"name":"b","no_answer":{}}"#), 400, "one of a kind"),
        (r#"[{"name":"","no_answer":{}}]"#.into(), 400, "1 to 64 characters"),
        (format!("[{}]", many.join(",")), 400, "64 at most"),
        (" ".repeat(BODY_LIMIT + 1), 413, "send a list such as"),
    ] {
        let (refused, answer) = faults(&bench, Some(&put)).await;
        let error = answer["error"].as_str().unwrap();
        assert_eq!(refused, status, "{error}");
        assert!(error.contains(cure), "{error}");
        assert_eq!(faults(&bench, None).await, before, "{error}");
    }
}

#[test]
fn names_are_bounded_over_all_pushes() {
    let rule = |name: &str| {
        serde_json::from_value::<Rule>(json!({"name": name, "no_answer": {}})).unwrap()
    };
    let full: BTreeSet<_> = (0..NAMES_MAX).map(|n| n.to_string()).collect();
    assert_eq!(check(&[rule("7")], full.clone()), Ok(()));
    assert!(check(&[rule("new")], full).unwrap_err().contains("use one of them again"));
}
