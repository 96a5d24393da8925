//! `law` reproduces what the originals did, row by row.

use crate::support::process::{Finished, Running};
use crate::support::{HUNG, Scratch};
use csv::{ReaderBuilder, StringRecord};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn vectors(of: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(of);
    let mut csv: Vec<_> = paths.filter(named).collect();
    csv.sort();
    csv
}

/// The law that a file's first line describes: `# scenario=... start=2 max=64 min=4 step_coef=2`.
fn law(path: &Path, text: &str) -> String {
    let parameters = text.lines().next().unwrap().trim_start_matches("# ").split(' ');
    let parameters = parameters.filter_map(|parameter| parameter.split_once('='));
    let settings = parameters.filter(|(name, _)| *name != "scenario");
    let settings = settings.map(|(name, value)| match name {
        "step_coef" => format!("step: {value}"),
        _ => format!("{name}: {value}"),
    });
    let name = path.file_name().unwrap().to_str().unwrap();
    let window = if name.starts_with("velox_int_") { "integer" } else { "double" };
    format!("{{velox: {{window: {window}, {}}}}}", settings.collect::<Vec<_>>().join(", "))
}

fn records(text: &str) -> Vec<StringRecord> {
    let mut reader =
        ReaderBuilder::new().comment(Some(b'#')).has_headers(false).from_reader(text.as_bytes());
    reader.records().map(Result::unwrap).collect()
}

/// That `output` is `input` with two columns more, which repeat its recorded `limit` and `window`.
fn assert_reproduced(input: &str, output: &str) {
    assert_eq!(input.lines().next(), output.lines().next(), "the comment");
    let (given, made) = (records(input), records(output));
    assert_eq!(given.len(), made.len());
    let column = |name| given[0].iter().position(|header| header == name).unwrap();
    let (limit, window) = (column("limit"), column("window"));
    let number = |cell: &str| cell.parse::<f64>().unwrap();
    for (given, made) in given.iter().zip(&made).skip(1) {
        let (kept, appended): (Vec<_>, Vec<_>) =
            (made.iter().take(given.len()).collect(), made.iter().skip(given.len()).collect());
        assert_eq!(kept, given.iter().collect::<Vec<_>>());
        assert_eq!(appended.len(), 2);
        assert_eq!(number(appended[0]), number(&given[limit]), "limit of {given:?}");
        let recorded = number(&given[window]);
        let off = (number(appended[1]) - recorded).abs();
        assert!(off <= 1e-9 * recorded.abs(), "window of {given:?}: {}", appended[1]);
    }
}

#[test]
fn every_recorded_row_is_reproduced() {
    let scratch = Scratch::new();
    let files = vectors("velox_");
    assert!(files.len() >= 14, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let law = law(&file, &text);
        println!("{law} {}", file.file_name().unwrap().display());
        let finished = scratch.run(&["law", &law, "--input", file.to_str().unwrap()]);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        assert_reproduced(&text, &finished.stdout);
    }
}

/// The rows of `made` whose last limit is not the recorded one.
fn differing(made: &str) -> Vec<StringRecord> {
    let mut rows = records(made).into_iter();
    let header = rows.next().unwrap();
    let limits: Vec<_> = (0..header.len()).filter(|column| &header[*column] == "limit").collect();
    assert_eq!(limits.len(), 2, "the recorded limit and ours: {header:?}");
    rows.filter(|row| row[limits[0]] != row[limits[1]]).collect()
}

#[test]
fn every_row_recorded_from_netflix_is_reproduced() {
    const LAWS: [(&str, &str); 7] = [
        ("aimd_default", "{aimd: {initial: 20, min: 20, max: 200, backoff: 0.9, timeout: 5s}}"),
        (
            "aimd_timeout15ms",
            "{aimd: {initial: 10, min: 1, max: 100, backoff: 80%, timeout: 15ms}}",
        ),
        ("gradient2_default", "{gradient2: {}}"),
        (
            "gradient2_min1",
            "{gradient2: {initial: 5, min: 1, max: 500, smoothing: 0.5, queue: 2, \
             long_window: 100, tolerance: 1}}",
        ),
        ("gradient_noprobe", "{gradient: {probe_interval: off}}"),
        ("vegas_noprobe", "{vegas: {probe_multiplier: 1000000}}"),
        (
            "windowed_gradient2",
            "{windowed: {min_window: 100ms, max_window: 100ms, law: {gradient2: {min: 5}}}}",
        ),
    ];
    let (scratch, files) = (Scratch::new(), vectors("netflix_"));
    assert_eq!(files.len(), LAWS.len());
    for (name, law) in LAWS {
        let named = format!("netflix_{name}.csv");
        let file = files.iter().find(|file| file.ends_with(&named)).unwrap();
        let finished = scratch.run(&["law", law, "--input", file.to_str().unwrap()]);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        assert_eq!(differing(&finished.stdout), Vec::<StringRecord>::new(), "{name}");
    }
}

fn law_of_7(scratch: &Scratch, input: &str, args: &[&str]) -> Finished {
    scratch.file("input.csv", input);
    let stdin = Stdio::from(File::open(scratch.path().join("input.csv")).unwrap());
    let args = [&["law", "{fixed: {limit: 7}}"], args].concat();
    Running::start(scratch.path(), &args, stdin).ends_within(HUNG)
}

/// Standard error, with lines written in one way.
fn said(finished: &Finished) -> String {
    finished.stderr.replace("line: ", "line ")
}

#[test]
fn standard_input_will_do() {
    let scratch = Scratch::new();
    for args in [&["--input", "-"][..], &["-i", "-"], &[]] {
        let finished = law_of_7(&scratch, "rtt_ns,note\n1000,a\n", args);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        assert_eq!(finished.stdout, "rtt_ns,note,limit,window\n1000,a,7,7\n");
    }
}

#[test]
fn a_cell_that_cannot_be_read_is_2_and_its_line_is_named() {
    let scratch = Scratch::new();
    for (input, says) in [
        ("rtt_ns\n1\nfast\n", "line 3: `fast` in column `rtt_ns`"),
        ("# recorded\n# twice\nrtt_ns\n1\nfast\n", "line 5: `fast`"),
        ("op,rtt_ns\nsend,1\n", "line 2: `send` in column `op` is neither sample nor error"),
        ("rtt_ns,inflight\n1,few\n", "line 2: `few` in column `inflight`"),
        ("rtt_ns\n1.5\n", "line 2: `1.5`"),
        ("rtt_ns\n99999999999999999999\n", "line 2: `99999999999999999999`"),
        ("rtt_ns,op\n1,sample\n2\n", "line 3"),
        ("rtt\n1\n", "no column `rtt_ns`; the header has rtt"),
        ("", "no column `rtt_ns`"),
    ] {
        let finished = law_of_7(&scratch, input, &[]);
        assert_eq!(finished.code, 2, "{input:?}: {}", finished.stderr);
        assert!(said(&finished).contains(says), "{input:?}: {}", finished.stderr);
    }
}

/// A line without a record counts as a line all the same.
#[test]
fn blank_lines_and_comments_do_not_shift_the_line_that_is_named() {
    let scratch = Scratch::new();
    for (input, line) in [
        ("rtt_ns\n1\n\nfast\n", "line 4"),
        ("rtt_ns\n1\n# a pause\nfast\n", "line 4"),
        ("# recorded\nrtt_ns,op\n1,sample\n2\n", "line 4"),
    ] {
        let finished = law_of_7(&scratch, input, &[]);
        assert!(said(&finished).contains(line), "{input:?}: {}", finished.stderr);
    }
}

#[test]
fn a_law_or_a_file_that_is_not_there_is_2() {
    let scratch = Scratch::new();
    for (law, input, says) in [
        ("{fixd: {limit: 7}}", "-", "did you mean `fixed`?"),
        ("{fixed: {limt: 7}}", "-", "did you mean `limit`?"),
        ("{fixed: ", "-", "not valid YAML"),
        ("{fixed: {limit: 7}}", "missing.csv", "cannot read missing.csv"),
        ("{fixed: {limit: 7}}", ".", "directory"),
    ] {
        let finished = scratch.run(&["law", law, "--input", input]);
        assert_eq!(finished.code, 2, "{law} {input}: {}", finished.stderr);
        assert!(finished.stderr.contains(says), "{law} {input}: {}", finished.stderr);
    }
}

#[test]
fn settings_out_of_range_are_clamped_as_the_original_does_and_it_is_said() {
    let scratch = Scratch::new();
    scratch.file("rtts.csv", "rtt_ns\n1\n");
    let law = "{velox: {min: 5, max: 2}}";
    let finished = scratch.run(&["law", law, "--input", "rtts.csv"]);
    assert_eq!((finished.code, &*finished.stdout), (0, "rtt_ns,limit,window\n1,2,2\n"));
    assert!(finished.stderr.contains("min 5 is above max 2"), "{}", finished.stderr);
}

/// The limiter that a file's first line describes: `# scenario=... rate_per_s=50 burst=5`.
fn go_limiter(text: &str) -> String {
    let value = |name: &str| {
        let (_, rest) = text.lines().next().unwrap().split_once(name).unwrap();
        rest.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let (rate, burst) = (value("rate_per_s="), value("burst="));
    let levels = format!("{{global: {{rate: {rate}B/s, capacity: {burst}B}}}}");
    format!("{{reservation: {{levels: {levels}, arithmetic: go}}}}")
}

#[test]
fn every_recorded_row_of_gos_limiter_is_reproduced() {
    let scratch = Scratch::new();
    let files = vectors("go_xtimerate_");
    assert_eq!(files.len(), 3);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let finished = scratch.run(&["law", &go_limiter(&text), "--input", file.to_str().unwrap()]);
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        for made in records(&finished.stdout).iter().skip(1) {
            let recorded = (&made[4], &made[5]);
            assert_eq!((&made[6], &made[7]), recorded, "ok and delay_ns of {made:?}");
        }
    }
}
