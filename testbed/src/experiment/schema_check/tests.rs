use super::check;
use crate::experiment::document::Document;
use crate::experiment::problem::{At, Report};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;
use std::collections::BTreeMap;
use testbed_core::quantity::{Rate, Share};
use testbed_core::time::Nanos;

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of these types is used")]
struct Experiment {
    arms: BTreeMap<String, Arm>,
    #[schemars(length(min = 1))]
    phases: Vec<Phase>,
    load: Option<Load>,
    #[schemars(extend("uniqueItems" = true))]
    tags: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of these types is used")]
struct Arm {
    /// The law that sets the window.
    controller: Controller,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema of these types is used")]
enum Controller {
    Fixed {
        window: u32,
    },
    /// Climbs with the square root of its window.
    Velox(Velox),
    /// No controller.
    Off,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of these types is used")]
struct Velox {
    window: Number,
    /// Smallest window,
    /// in requests.
    ///
    /// Not the help.
    #[schemars(range(min = 1))]
    min: u32,
    #[schemars(range(min = 0.0, max = 1.0))]
    smoothing: Option<f64>,
    timeout: Option<Nanos>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema of these types is used")]
enum Number {
    Integer,
    Double,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema of these types is used")]
struct Phase {
    name: String,
    /// How long the phase lasts.
    #[schemars(rename = "for")]
    length: Nanos,
    measure: Option<bool>,
    loss: Option<Loss>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema of these types is used")]
enum Load {
    Open { rate: Rate },
    Closed { clients: u16 },
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only the schema of these types is used")]
enum Loss {
    Share(Share),
    Burst { share: Share, length: u32 },
}

const VALID: &str = "\
arms:
  a: { controller: { velox: { window: integer, min: 2 } } }
phases:
  - { name: one, for: 3s }
load: { closed: { clients: 5 } }
";

fn schemas() -> [Value; 2] {
    [SchemaSettings::draft07(), SchemaSettings::draft2020_12()]
        .map(|settings| settings.into_generator().into_root_schema_for::<Experiment>().into())
}

/// The problems of the valid file with one text replaced, as `path @at: message | help`.
fn problems(from: &str, to: &str) -> Vec<String> {
    assert!(VALID.contains(from), "{from}");
    let document = Document::parse("a.yaml", &VALID.replacen(from, to, 1)).unwrap();
    let [old, new] = schemas().map(|schema| check(&document, &schema));
    assert_eq!(old, new, "{to}: both drafts say the same");
    let text = |p: super::Problem| {
        let at = if p.at == At::Key { "key" } else { "value" };
        format!("{} @{at}: {} | {}", p.path, p.message, p.help.unwrap_or_default())
    };
    new.into_iter().map(text).collect()
}

#[test]
fn a_valid_file_has_no_problems() {
    assert_eq!(problems("arms", "arms"), [""; 0]);
    for (from, to) in [
        ("{ velox: { window: integer, min: 2 } }", "off"),
        ("{ velox: { window: integer, min: 2 } }", "{ fixed: { window: 3 } }"),
        ("load: { closed: { clients: 5 } }", "load:"),
        ("for: 3s", "for: 3s, loss: 10%"),
        ("for: 3s", "for: 3s, loss: { share: 10%, length: 3 }"),
    ] {
        assert_eq!(problems(from, to), [""; 0], "{to}");
    }
}

#[test]
fn fields() {
    for (from, to, expected) in [
        (
            "min: 2",
            "min: 2, smothing: 1",
            "/arms/a/controller/velox/smothing @key: unknown field `smothing` (did you mean \
             `smoothing`?) | fields here: min, smoothing, timeout, window",
        ),
        (
            "load:",
            "a/b: 1\nload:",
            "/a~1b @key: unknown field `a/b` | fields here: arms, load, phases, tags",
        ),
        (
            ", min: 2",
            "",
            "/arms/a/controller/velox @key: missing field `min` | add `min`: Smallest window, in \
             requests.",
        ),
        (
            "for: 3s",
            "fr: 3s",
            "/phases/0/fr @key: unknown field `fr` (did you mean `for`?) | fields here: for, \
             loss, measure, name",
        ),
        ("clients: 5", "", "/load/closed @key: missing field `clients` | add `clients`"),
    ] {
        assert_eq!(problems(from, to), [expected]);
    }
}

#[test]
fn values() {
    for (from, to, expected) in [
        (
            "min: 2",
            "min: many",
            "min @value: expected a whole number, found text `many` | Smallest window, in requests.",
        ),
        (
            "min: 2",
            "min: 0",
            "min @value: 0 is below the minimum of 1 | Smallest window, in requests.",
        ),
        (
            "min: 2",
            "min: 2, smoothing: 2.5",
            "smoothing @value: 2.5 is above the maximum of 1 | Allowed: 0 to 1.",
        ),
        (
            "window: integer",
            "window: intger",
            "window @value: unknown value `intger` (did you mean `integer`?) | one of: integer, double",
        ),
        (
            "window: integer",
            "window: 3",
            "window @value: expected a name, found the number `3` | one of: integer, double",
        ),
    ] {
        assert_eq!(problems(from, to), [format!("/arms/a/controller/velox/{expected}")]);
    }
    for (from, to, expected) in [
        (
            "clients: 5",
            "clients: 70000",
            "/load/closed/clients @value: 70000 is above the maximum of 65535 | Allowed: 0 to 65535.",
        ),
        (
            "for: 3s",
            "for: 3s, measure: no",
            "/phases/0/measure @value: expected true or false, found text `no` | ",
        ),
        (
            "\n  - { name: one, for: 3s }",
            " []",
            "/phases @value: the list needs at least 1 entries | ",
        ),
        (
            "\n  - { name: one, for: 3s }",
            " 3",
            "/phases @value: expected a list, found the number `3` | ",
        ),
        ("load:", "tags: [a, a]\nload:", "/tags @value: an entry stands twice in the list | "),
        (
            "{ name: one, for: 3s }",
            "one",
            "/phases/0 @value: expected a mapping, found text `one` | fields here: for, loss, measure, name",
        ),
    ] {
        assert_eq!(problems(from, to), [expected]);
    }
}

#[test]
fn quantities_name_their_cure() {
    let duration = "write a number with a unit: ns, us, ms, s, m or h, such as 250ms";
    for (from, to, expected) in [
        ("for: 3s", "for: 10", format!("/phases/0/for @value: `10` is not a duration | {duration}")),
        ("for: 3s", "for: 10 parsecs", format!("/phases/0/for @value: `10 parsecs` is not a duration | {duration}")),
        ("for: 3s", "for: [3s]", format!("/phases/0/for @value: expected a duration, found a list | {duration}")),
        ("for: 3s", "for:", format!("/phases/0/for @value: expected a duration, found nothing | {duration}")),
        ("min: 2", "min: 2, timeout: 1.5", format!("/arms/a/controller/velox/timeout @value: `1.5` is not a duration | {duration}")),
        ("closed: { clients: 5 }", "open: { rate: 10 }", "/load/open/rate @value: `10` is not a rate | write a number per second or minute, such as 1000/s".into()),
    ] {
        let to = if to == "for:" { "for: ~" } else { to };
        assert_eq!(problems(from, to), [expected]);
    }
}

#[test]
fn kinds() {
    let velox = "{ velox: { window: integer, min: 2 } }";
    for (to, expected) in [
        (
            "{ veloxx: {} }",
            "/veloxx @key: unknown kind `veloxx` (did you mean `velox`?) | one of: fixed, velox, off",
        ),
        (
            "{ fixed: { window: 1 }, velox: {} }",
            " @value: more than one kind: fixed, velox | choose one of: fixed, velox, off",
        ),
        ("{}", " @value: no kind is chosen here | choose one of: fixed, velox, off"),
        ("{ off: {} }", "/off @key: `off` takes no fields | write `off` alone"),
        ("fixed", " @value: `fixed` needs fields | write `fixed: { ... }` with fields: window"),
        (
            "velox",
            " @value: `velox` needs fields | write `velox: { ... }` with fields: min, smoothing, timeout, window",
        ),
        ("of", " @value: unknown kind `of` (did you mean `off`?) | one of: fixed, velox, off"),
        ("3", " @value: expected a name, found the number `3` | one of: fixed, velox, off"),
        ("{ fixed: { window: -1 } }", "/fixed/window @value: -1 is below the minimum of 0 | "),
        ("{ fixed: }", "/fixed @value: expected a mapping, found nothing | fields here: window"),
    ] {
        assert_eq!(problems(velox, to), [format!("/arms/a/controller{expected}")]);
    }
    // Without names the type decides which alternative was meant.
    for (to, expected) in [
        (
            "10",
            "/phases/0/loss @value: expected a share or a mapping, found the number `10` | write a share from 0% to 100%, such as 70%",
        ),
        (
            "110%",
            "/phases/0/loss @value: `110%` is not a share | write a share from 0% to 100%, such as 70%",
        ),
        ("{ share: 10% }", "/phases/0/loss @key: missing field `length` | add `length`"),
    ] {
        assert_eq!(problems("for: 3s", &format!("for: 3s, loss: {to}")), [expected]);
    }
}

#[test]
fn all_mistakes_come_at_once_in_the_order_of_the_file() {
    let text = "\
arms:
  integer: { controller: { veloxx: { window: integer, min: 2 } } }
  double:
    controller:
      velox: { window: double, mim: 2, smoothing: 2.5 }
phases:
  - { name: healthy, for: 10 }
";
    let document = Document::parse("experiments/demo.yaml", text).unwrap();
    let report = Report::new(&document, check(&document, &schemas()[0]));
    assert_eq!(
        report.to_string(),
        "\
4 problems in experiments/demo.yaml

experiments/demo.yaml:2:28: unknown kind `veloxx` (did you mean `velox`?)
 2 │   integer: { controller: { veloxx: { window: integer, min: 2 } } }
   ·                            ──────
  help: one of: fixed, velox, off

experiments/demo.yaml:5:32: unknown field `mim` (did you mean `min`?)
 5 │       velox: { window: double, mim: 2, smoothing: 2.5 }
   ·                                ───
  help: fields here: min, smoothing, timeout, window

experiments/demo.yaml:5:51: 2.5 is above the maximum of 1
 5 │       velox: { window: double, mim: 2, smoothing: 2.5 }
   ·                                                   ───
  help: Allowed: 0 to 1.

experiments/demo.yaml:7:27: `10` is not a duration
 7 │   - { name: healthy, for: 10 }
   ·                           ──
  help: write a number with a unit: ns, us, ms, s, m or h, such as 250ms
"
    );
}

#[test]
fn a_broken_schema_is_a_problem_not_a_panic() {
    let document = Document::parse("a.yaml", VALID).unwrap();
    let problems = check(&document, &serde_json::json!({ "type": 3 }));
    assert!(problems[0].message.starts_with("the schema itself is broken"), "{problems:?}");
}
