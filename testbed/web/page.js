// Puts a page together.

/** A part of the page; empty parts are left out. */
function section(title, ...children) {
  return children.length > 0 ? [make("section", {}, make("h2", {}, title), ...children)] : [];
}

/** The page of a run. */
class View {
  constructor(page) {
    this.page = page;
    this.charts = new Charts(page);
    this.verdict = make("div");
    this.spans = make("div");
    this.regimes = make("div");
    this.admission = new AdmissionChart(page);
  }

  show(main) {
    const { page, charts } = this;
    if (page.waits.length > 0) charts.add(new WaitChart(page));
    charts.add(this.admission);
    this.head();
    const thin = `Values over time are thinned to at most ${page.points_max} points a curve: of neighbours the least, the greatest and the last are kept. series.csv and events.jsonl have all of them.`;
    main.replaceChildren(
      ...section("Verdict", this.verdict),
      ...section("Over time", charts.buttons(), charts.element, make("p", { className: "note" }, thin), this.spans),
      ...section("Regimes", this.regimes),
      ...section("Waits", ...(page.waits.length > 0 ? [...strips(page), ...fairnessTables(page)] : [])),
      ...section("How it was made", manifestTable(page), resolved(page)),
    );
    this.tables();
    charts.draw();
  }

  /** The title, and how far the run is. */
  head() {
    const { manifest, about, verdict } = this.page;
    const name = String(manifest.experiment ?? "Windtunnel");
    document.title = `${name} - Windtunnel`;
    document.getElementById("name").textContent = name;
    document.getElementById("about").textContent = about;
    const state = document.getElementById("state");
    const made = ` ${manifest.mode}, seed ${manifest.seed}, ${manifest.started}`;
    state.replaceChildren(verdict ? word(verdict.verdict, "span") : "no verdict", made);
  }

  /** What may change while a run goes. */
  tables() {
    this.verdict.replaceChildren(...verdictTable(this.page), ...leftOut(this.page));
    this.spans.replaceChildren(...waitingTables(this.page), spanTable(this.page));
    this.regimes.replaceChildren(...regimeParts(this.page));
  }
}

function leftOut({ left_out }) {
  const text = `${left_out} lines of its files could not be read and are left out; a run that was killed leaves one.`;
  return left_out > 0 ? [make("p", { className: "note" }, text)] : [];
}

function resolved({ resolved }) {
  const box = make("pre", { tabIndex: 0 }, resolved);
  return make("details", {}, make("summary", {}, "The experiment with its defaults (resolved.yaml)"), box);
}

/** On paper everything is open, and light. */
function onPaper(view) {
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.paper = "";
    for (const details of document.querySelectorAll("details")) details.open = true;
    view()?.charts.draw();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.paper;
    view()?.charts.draw();
  });
}

function begin() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  if (data === null) {
    const live = new Live(main);
    live.begin();
    onPaper(() => live.view);
  } else {
    const view = new View(data);
    view.show(main);
    onPaper(() => view);
  }
}

begin();
