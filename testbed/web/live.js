// A run that goes on: its past as data, then what happens as server-sent events.

// Time in milliseconds between two looks for a run where there is none yet.
const LOOK_AGAIN = 1000;
const CHANGES_TABLES = ["phase", "fault", "regime", "standing", "waiting"];
const OVER = "over; reload the page to see whether there is another run";

/** Follows the run of the server that the page is from. */
class Live {
  constructor(main) {
    this.main = main;
    this.view = null;
    this.drops = 0;
    this.due = false;
  }

  /** Fetches all there is, shows it, and listens for more if there will be more. */
  async begin() {
    const answer = await fetch("/page.json").catch(() => null);
    if (answer?.status === 204) return this.wait();
    if (!answer?.ok) return this.say("the server does not answer; reload the page to try again");
    const page = await answer.json();
    page.waiting = {};
    this.view = new View(page);
    this.view.show(this.main);
    if (page.over) return this.say(OVER);
    this.say("running");
    this.listen(page.told);
  }

  /** There is no run yet. */
  wait() {
    this.say("no run goes on; this page shows the next one");
    setTimeout(() => this.begin(), LOOK_AGAIN);
  }

  /** Takes in every message after the first `told`. */
  listen(told) {
    const source = new EventSource("/page/events");
    this.source = source;
    let next = 0;
    source.addEventListener("run", ({ data }) => (next = JSON.parse(data).forgotten));
    for (const event of ["phase", "fault", "regime", "states", "standing", "waiting", "admission_waits", "end"]) {
      source.addEventListener(event, ({ data }) => {
        next += 1;
        if (next > told) this.take(JSON.parse(data));
      });
    }
    source.addEventListener("dropped", () => this.dropped());
    source.addEventListener("error", () => {
      source.close();
      this.say("the connection is gone: the run or its server has ended");
    });
  }

  /** The page was too slow, so that a part of the run is missing here. The server still has it. */
  dropped() {
    this.source.close();
    this.drops += 1;
    this.begin();
  }

  take(message) {
    const { page } = this.view;
    if (message.t_ns !== undefined) page.end_s = message.t_ns / 1e9;
    if (message.event === "end") return this.end(message);
    if (message.event === "phase") enter(page.phases, message.phase, page.end_s);
    if (message.event === "fault") turn(page.faults, message.fault, message.on, page.end_s);
    if (message.event === "regime") change(page.regimes, message.arm, message.regime, page.end_s);
    if (message.event === "standing") for (const [place, standing] of message.expectations) page.standing[place] = standing;
    if (message.event === "admission_waits") page.admission_waits = message.arms;
    if (message.event === "waiting") page.waiting = message.arms;
    if (message.event === "states") {
      for (const [arm, state] of Object.entries(message.arms)) sample(page, arm, state);
      // As many again as the server keeps: it has thinned them meanwhile.
      if (page.series.some(({ t }) => t.length > 2 * page.points_max)) return this.anew();
    }
    if (CHANGES_TABLES.includes(message.event)) this.view.tables();
    this.say("running");
    this.draw();
  }

  anew() {
    this.source.close();
    this.begin();
  }

  /** Once a frame, however many messages there are. */
  draw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.view.charts.update();
    });
  }

  /** A server that goes on has the whole report now; of one that has ended, this page has the verdict. */
  async end(message) {
    this.source.close();
    const { page } = this.view;
    for (const span of [...page.phases, ...page.faults, ...page.regimes]) span.to_s ??= page.end_s;
    Object.assign(page, { verdict: message.verdict, over: true, waiting: {} });
    this.view.head();
    this.view.tables();
    this.view.charts.update();
    this.say(message.error ? `broken: ${message.error}` : "over");
    if (!page.lasting) return;
    const answer = await fetch("/page.json").catch(() => null);
    if (!answer?.ok) return;
    this.view = new View(await answer.json());
    this.view.show(this.main);
    this.say(OVER);
  }

  say(state) {
    const page = this.view?.page;
    const at = page ? `, at ${page.end_s.toFixed(1)} s` : "";
    const drops = this.drops > 0 ? `; drops: ${this.drops} (this page was too slow and began anew)` : "";
    document.getElementById("progress").textContent = state + at + drops;
  }
}

/** A phase begins, and the one before it ends. */
function enter(phases, name, at) {
  const last = phases[phases.length - 1];
  if (last) last.to_s = at;
  phases.push({ name, from_s: at, to_s: null });
}

/** A fault is switched. */
function turn(faults, name, on, at) {
  const open = faults.find((span) => span.name === name && span.to_s === null);
  if (on && !open) faults.push({ name, from_s: at, to_s: null });
  if (!on && open) open.to_s = at;
}

/** The regime of an arm is another; while it is healthy there is nothing to show. */
function change(regimes, arm, regime, at) {
  const open = regimes.find((span) => span.arm === arm && span.to_s === null);
  if (open) open.to_s = at;
  if (regime !== "healthy") regimes.push({ arm, regime, from_s: at, to_s: null });
}

/** Adds what a state says of series; the same list as in src/page/past.rs. */
function sample(page, arm, state) {
  const values = "window" in state
    ? {
        "controller.window": state.window,
        "controller.gradient": state.gradient,
        "admission.in_flight": state.in_flight,
        "admission.waiting": state.waiting,
        "rpc.goodput": state.goodput_per_s,
        "rpc.latency": state.latency_s,
      }
    : {
        "limiter.waiting": state.waiting,
        "limiter.oldest_age": state.oldest_ns / 1e9,
        "limiter.throughput": state.mib_per_s * 2 ** 20,
        "download.granted": state.granted_bytes,
      };
  for (const [series, value] of Object.entries(values)) {
    if (value === null || value === undefined) continue;
    let curve = page.series.find((known) => known.series === series && known.arm === arm);
    if (!curve) page.series.push((curve = { series, arm, t: [], v: [] }));
    curve.t.push(page.end_s);
    curve.v.push(value);
  }
}
