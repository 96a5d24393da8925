//! What people write, and what it comes to.

use crate::api::ANY_PORT;
use faults::engine::Resolved;
use faults::{EngineChoice, EngineError};
use std::net::TcpListener;

fn resolve(choice: &str, variable: Option<&str>) -> Result<Resolved, EngineError> {
    choice.parse::<EngineChoice>().unwrap().resolve(variable)
}

/// Nobody listens there: it was just free.
fn dead_url() -> String {
    format!("http://{}", TcpListener::bind(ANY_PORT).unwrap().local_addr().unwrap())
}

#[test]
fn a_choice_is_read_as_it_is_written() {
    for text in ["auto", "embedded", "none", "http://toxiproxy:8474", "http://[::1]:1"] {
        assert_eq!(text.parse::<EngineChoice>().unwrap().to_string(), text);
    }
    assert_eq!(EngineChoice::default(), EngineChoice::Auto);
}

#[test]
fn what_is_no_choice_is_refused_with_what_can_be_written() {
    let rest = "; write auto, embedded, none, or where a Toxiproxy listens, such as \
                http://127.0.0.1:8474";
    for (text, says) in [
        ("embeded", "`embeded` is no fault engine"),
        ("", "`` is no fault engine"),
        ("Auto", "`Auto` is no fault engine"),
        ("https://h:1", "`https://h:1` is no fault engine: Toxiproxy speaks http only"),
        ("http://h", "`http://h` is no fault engine: the port is missing"),
    ] {
        let error = text.parse::<EngineChoice>().unwrap_err().to_string();
        assert_eq!(error, format!("{says}{rest}"));
    }
}

#[test]
fn without_a_toxiproxy_the_engine_is_embedded_and_none_is_none() {
    let dead = dead_url();
    for (choice, variable, engine) in [
        ("auto", None, Some("embedded")),
        ("auto", Some(""), Some("embedded")),
        ("embedded", Some(&*dead), Some("embedded")),
        ("none", Some(&*dead), None),
    ] {
        let resolved = resolve(choice, variable).unwrap();
        assert_eq!(resolved.engine.map(|engine| engine.info().name), engine, "{choice}");
        assert_eq!(resolved.notice, None, "{choice}");
    }
}

#[test]
fn auto_tells_why_it_does_not_use_what_the_environment_names() {
    let dead = dead_url();
    let why = if cfg!(feature = "toxiproxy") { "no Toxiproxy answers at" } else { "--features" };
    for (variable, says) in [(&*dead, why), (&*dead, &*dead), ("nonsense", "the port is missing")] {
        let resolved = resolve("auto", Some(variable)).unwrap();
        assert_eq!(resolved.engine.unwrap().info().name, "embedded");
        let notice = resolved.notice.unwrap();
        let begins = notice.starts_with("TOXIPROXY_URL is set, but the faults are embedded: ");
        assert!(begins && notice.contains(says), "{notice}");
    }
}

#[test]
fn a_toxiproxy_that_was_chosen_and_is_not_there_is_an_error_with_its_cure() {
    let dead = dead_url();
    let error = resolve(&dead, None).unwrap_err();
    let cure = if cfg!(feature = "toxiproxy") { "start one there" } else { "build that" };
    for says in [&*dead, cure, "or choose the engine `embedded`"] {
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[cfg(feature = "toxiproxy")]
#[test]
fn a_toxiproxy_that_answers_is_the_engine_and_says_its_version() {
    let bench = crate::support::Bench::new();
    let server = crate::support::Served::start(&bench);
    let url = server.url().to_string();
    for (choice, variable) in [("auto", Some(&*url)), (&*url, None)] {
        let resolved = resolve(choice, variable).unwrap();
        let info = resolved.engine.unwrap().info();
        assert_eq!((info.name, &*info.version), ("toxiproxy", faults::api::VERSION));
        assert_eq!(resolved.notice, None);
    }
}
