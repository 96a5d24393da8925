use super::*;
use crate::experiment::{self, Overrides};

const FILE: &str = "
version: 1
name: two
arms:
  few: { controller: { fixed: { limit: 4 } } }
  many: { controller: { fixed: { limit: 64 } }, load: { closed: { clients: 64 } } }
backend: { servers: 8, service: { constant: 10ms } }
load: { open: { poisson: { rate: 600/s } } }
phases: [{ name: calm, for: 10s }, { name: rough, for: 10s }]
faults:
  - { name: fewer, during: rough, backend: { servers: 2 }, arms: [many] }
  - { name: pause, at: 1s, for: 10ms, backend: { freeze: {} } }
";

fn plan(text: &str) -> Plan {
    experiment::load("two", text, &Overrides::default()).unwrap()
}

#[test]
fn a_plan_on_a_time_line() {
    assert_eq!(
        text(&plan(FILE), 60),
        "two: 20s (virtual, seed 1)

           0s                                            20s
phases
  calm     |= 10s ==================                       |
  rough    |                        = 10s =================|
faults
  fewer    |                        # servers 2 on many ###|
  pause    |  #                                            |
few (law fixed)
  offered  |600/s                                          |
  capacity |  |800/s                                       |
many (law fixed)
  offered  |64 clients                                     |
  capacity |  |800/s                |200/s                 |

costs 20s of virtual time; 22056 requests at most
judges 0 expectations
"
    );
}

#[test]
fn lines_are_as_wide_as_the_terminal_within_reason() {
    for (columns, width) in [(0, 40), (40, 40), (80, 80), (133, 133), (9_999, 200)] {
        let text = text(&plan(FILE), columns);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert_eq!(longest, Some(width.max(49)), "{columns}: {text}");
    }
}

#[test]
fn a_plan_says_what_this_mode_judges() {
    let expect = "expect:\n  - { id: a, that: max(controller.window) <= 64 }\n  - { id: b, mode: live, \
                  that: max(controller.window) <= 64 }\n";
    let shown = text(&plan(&format!("{FILE}{expect}")), 80);
    assert!(
        shown.ends_with("judges 1 of 2 expectations; the others are for another mode\n"),
        "{shown}"
    );
}

#[test]
fn downloads_are_counted_in_bytes() {
    let file = "
version: 1
name: paced
arms:
  paced: { limiter: { fifo: { levels: { global: { rate: 4MiB/s } } } } }
  free: { limiter: { none: {} } }
backend: { servers: 8, service: { constant: 10ms } }
download: { tasks: 20, chunk: { fixed: 16KiB } }
phases: [{ name: calm, for: 10s }]
";
    let shown = text(&plan(file), 80);
    for part in ["20 tasks, endless", "global 4MiB/s", "no limit", "downloaded without a limit"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let one = file.replace("  free: { limiter: { none: {} } }\n", "");
    assert!(text(&plan(&one), 80).contains("; 44MiB downloaded at most"), "{shown}");
}
