//! The document: markup, style, script and data in one file, or with style, script and data beside it.

use super::Page;
use serde::Serialize;

const MARKUP: &str = include_str!("../../web/page.html");

/// The library that draws the charts.
pub(super) const UPLOT: &str = include_str!("../../web/vendor/uplot/uPlot.iife.min.js");

/// The style of every page.
pub(super) const STYLE: &str = concat!(
    include_str!("../../web/vendor/uplot/uPlot.min.css"),
    "\n",
    include_str!("../../web/page.css"),
);

/// The script of every page: the files in order, each of which defines what the next ones use.
pub(super) const SCRIPT: &str = concat!(
    include_str!("../../web/text.js"),
    include_str!("../../web/charts.js"),
    include_str!("../../web/strips.js"),
    include_str!("../../web/tables.js"),
    include_str!("../../web/regimes.js"),
    include_str!("../../web/live.js"),
    include_str!("../../web/page.js"),
);

/// The script of the report of a sweep.
const SWEEP: &str = concat!(
    include_str!("../../web/text.js"),
    include_str!("../../web/tables.js"),
    include_str!("../../web/scorecard.js"),
    include_str!("../../web/sweep.js"),
);

/// A browser that opens the report asks nobody for anything, and sends nothing.
const SELF_CONTAINED: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                              script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">";

/// A report that needs no other file.
pub(super) fn report(page: &Page) -> String {
    let script = format!("<script>\n{UPLOT}</script>\n<script>\n{SCRIPT}</script>");
    let title = page.manifest["experiment"].as_str().unwrap_or_default();
    self_contained(title, page, &script)
}

/// The report of the sweep called `title`, which shows `data` and needs no other file.
pub(crate) fn sweep_report(title: &str, data: &impl Serialize) -> String {
    self_contained(title, data, &format!("<script>\n{SWEEP}</script>"))
}

fn self_contained(title: &str, data: &impl Serialize, script: &str) -> String {
    let style = format!("{SELF_CONTAINED}\n<style>\n{STYLE}</style>");
    fill(&[("title", &html(title)), ("style", &style), ("data", &json(data)), ("script", script)])
}

/// The document of a server, which asks it for style, script and data.
pub(super) fn served() -> String {
    fill(&[
        ("title", "run"),
        ("style", "<link rel=\"stylesheet\" href=\"/page.css\">"),
        ("data", "null"),
        ("script", "<script src=\"/uplot.js\"></script>\n<script src=\"/page.js\"></script>"),
    ])
}

/// The markup with its gaps filled. What is filled in is not looked at again, so it may say anything.
fn fill(gaps: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (index, part) in MARKUP.split("{{").enumerate() {
        match part.split_once("}}") {
            Some((name, rest)) if index > 0 => {
                let gap = gaps.iter().find(|(known, _)| *known == name);
                out.push_str(gap.expect("the markup has no other gaps").1);
                out.push_str(rest);
            }
            _ => out.push_str(part),
        }
    }
    out
}

/// JSON that cannot end the element that it stands in: `<` is in texts only, and may be escaped there.
fn json(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("keys are text and no number is refused");
    json.replace('<', "\\u003c")
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOSTILE: &str =
        "</title></script><script>alert(1)</script><!--<script>{{script}} & \u{2028}";

    fn page() -> Page {
        let text = || HOSTILE.to_owned();
        let manifest = json!({ "experiment": HOSTILE, HOSTILE: HOSTILE });
        Page { manifest, about: text(), resolved: text(), arms: vec![text()], ..Page::default() }
    }

    #[test]
    fn nothing_that_a_run_says_gets_out_of_its_place() {
        let calm = Page { manifest: json!({ "experiment": "calm" }), ..Page::default() };
        let of_run = (report(&page()), report(&calm));
        let of_sweep =
            (sweep_report(HOSTILE, &json!({ HOSTILE: HOSTILE })), sweep_report("calm", &json!({})));
        for (hostile, calm) in [of_run, of_sweep] {
            for mark in ["<script", "</script", "</title", "<!--", "<style", "<meta"] {
                let count = |text: &str| text.matches(mark).count();
                assert_eq!(count(&hostile), count(&calm), "{mark}");
            }
        }
    }

    #[test]
    fn the_data_is_read_back_as_it_was() {
        let (page, html) = (page(), report(&page()));
        let begin = "<script type=\"application/json\" id=\"data\">";
        let data = html.split_once(begin).unwrap().1.split_once("</script>").unwrap().0;
        let read: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(read, serde_json::to_value(&page).unwrap());
    }

    #[test]
    fn a_served_page_has_nothing_inside_that_its_policy_forbids() {
        let served = served();
        for forbidden in ["<style", "<script>", " style=", " onload="] {
            assert!(!served.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn a_report_names_no_other_file() {
        for report in [report(&page()), sweep_report(HOSTILE, &json!({ HOSTILE: HOSTILE }))] {
            for reference in [" src=", " href=\"/", "@import", "url("] {
                assert!(!report.contains(reference), "{reference}");
            }
        }
    }
}
