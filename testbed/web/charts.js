// Curves of all arms on one axis, with phases and faults behind them. uPlot draws.

// Okabe and Ito's colours, which people with any colour vision tell apart on white and on black; with
// the dashes no arm is told by colour alone.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#8c6bb1", "#888888"];
const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 4], [12, 4]];
const HEIGHT = 230;
// Steps of an axis of bytes, so that its labels are round.
const POWERS = Array.from({ length: 50 }, (_, exponent) => 2 ** exponent);

function look(index) {
  return { colour: COLOURS[index % COLOURS.length], dash: DASHES[index % DASHES.length] };
}

/** All charts of a page. */
class Charts {
  constructor(page) {
    this.page = page;
    this.hidden = new Set();
    this.charts = [];
    this.element = make("div", { className: "charts" });
    for (const panel of page.panels) this.add(new TimeChart(page, panel));
    const resized = new ResizeObserver(() => this.draw());
    resized.observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  add(chart) {
    this.charts.push(chart);
    this.element.append(chart.figure);
  }

  /** Makes all charts anew: at a new size, in new colours, or of other arms. */
  draw() {
    for (const chart of this.charts) chart.draw(this.hidden);
  }

  /** Shows what has come since; much cheaper than `draw`. */
  update() {
    for (const chart of this.charts) chart.update(this.hidden);
  }

  /** Buttons that show and hide arms. */
  buttons() {
    const button = (arm, index) => {
      const element = make("button", { type: "button" }, swatch(index), arm);
      element.setAttribute("aria-pressed", "true");
      element.addEventListener("click", () => {
        const shown = this.hidden.delete(arm) || !this.hidden.add(arm);
        element.setAttribute("aria-pressed", String(shown));
        this.draw();
      });
      return element;
    };
    const group = make("div", { className: "arms" }, ...this.page.arms.map(button));
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Arms shown in the charts");
    return group;
  }
}

/** A piece of an arm's line, for legends. */
function swatch(index) {
  const canvas = make("canvas", { width: 28, height: 8 });
  canvas.setAttribute("aria-hidden", "true");
  const context = canvas.getContext("2d");
  const { colour, dash } = look(index);
  context.strokeStyle = colour;
  context.lineWidth = 3;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(0, 4);
  context.lineTo(28, 4);
  context.stroke();
  return canvas;
}

/** What charts over time and charts of distributions share. */
class Chart {
  constructor(title, about) {
    this.readout = make("span", { className: "readout" });
    this.hole = make("div");
    this.hole.setAttribute("role", "img");
    this.title = title;
    const caption = make("figcaption", {}, make("b", {}, title), " " + about + " ", this.readout);
    this.figure = make("figure", {}, caption, this.hole);
    this.plot = null;
  }

  draw(hidden) {
    this.plot?.destroy();
    this.plot = null;
    const { curves, data } = this.read(hidden);
    this.figure.hidden = curves.length === 0;
    const width = this.figure.clientWidth;
    if (curves.length === 0 || width === 0) return;
    this.drawn = curves.map(({ arm }) => arm).join("\n");
    this.hole.setAttribute("aria-label", this.describe(curves));
    this.plot = new uPlot(this.options(width, curves), data, this.hole);
  }

  update(hidden) {
    const { curves, data } = this.read(hidden);
    const arms = curves.map(({ arm }) => arm).join("\n");
    if (!this.plot || arms !== this.drawn) return this.draw(hidden);
    this.plot.setData(data);
    this.hole.setAttribute("aria-label", this.describe(curves));
  }

  read(hidden) {
    const curves = this.curves().filter(({ arm, t }) => t.length > 0 && !hidden.has(arm));
    const tables = curves.map((curve) => this.table(curve));
    return { curves, data: tables.length > 0 ? uPlot.join(tables) : [[]] };
  }

  lines(curves, more) {
    return curves.map((curve) => {
      const { colour, dash } = look(curve.index);
      return { label: curve.arm, stroke: colour, width: 2, dash, points: { show: false }, ...more };
    });
  }

  /** The axes in the colours of the style. */
  axis(values, more) {
    const grid = { stroke: tone("--line"), width: 1 };
    return { stroke: tone("--faint"), grid, ticks: grid, values, ...more };
  }
}

/** One series of all arms over run time. */
class TimeChart extends Chart {
  constructor(page, panel) {
    super(panel.title, `${panel.about} (${panel.series})`);
    this.page = page;
    this.panel = panel;
  }

  curves() {
    const { arms, series } = this.page;
    const mine = series.filter((curve) => curve.series === this.panel.series);
    return mine.map((curve) => ({ ...curve, index: arms.indexOf(curve.arm) }));
  }

  /** A value that holds is drawn to the end of the run. */
  table({ t, v }) {
    const end = this.page.end_s;
    const goesOn = this.panel.steps && t[t.length - 1] < end;
    return goesOn ? [[...t, end], [...v, v[v.length - 1]]] : [t, v];
  }

  describe(curves) {
    const { unit } = this.panel;
    const one = ({ arm, v }) => {
      const [least, greatest] = [v.reduce((a, b) => Math.min(a, b)), v.reduce((a, b) => Math.max(a, b))];
      return `${arm} from ${inUnit(least, unit)} to ${inUnit(greatest, unit)}, ${inUnit(v[v.length - 1], unit)} at the end`;
    };
    return `${this.title} over time: ${curves.map(one).join("; ")}`;
  }

  options(width, curves) {
    const { unit, steps } = this.panel;
    const paths = steps ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
    const amounts = (_, splits) => splits.map((value) => inUnit(value, unit));
    return {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
      scales: { x: { time: false, range: (plot, from, to) => this.stretch(plot, from, to) }, y: { range: (_, from, to) => room(from, to) } },
      axes: [
        this.axis((_, splits) => splits.map((t) => digits(t) + " s")),
        this.axis(amounts, { size: 84, ...(unit.startsWith("bytes") ? { incrs: POWERS } : {}) }),
      ],
      series: [{}, ...this.lines(curves, { paths, spanGaps: true })],
      hooks: {
        drawClear: [(plot) => backdrop(plot, this.page)],
        setCursor: [(plot) => this.say(plot, curves)],
      },
    };
  }

  /** All charts begin and end with the run, unless somebody has chosen a part of it. */
  stretch({ data: [t] }, from, to) {
    const whole = from === null || (from === t[0] && to === t[t.length - 1]);
    return whole ? [0, this.page.end_s || 1] : [from, to];
  }

  /** The values at the cursor, in words. */
  say(plot, curves) {
    const index = plot.cursor.idx;
    if (index === null || index === undefined) return void (this.readout.textContent = "");
    const at = plot.data[0][index];
    const value = ({ arm, t, v }) => `${arm} ${inUnit(v[Math.max(0, before(t, at))], this.panel.unit)}`;
    this.readout.textContent = `at ${duration(at)}: ${curves.map(value).join(", ")}`;
  }
}

/** The last index whose instant is not after `at`; -1 if there is none. */
function before(t, at) {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The axis begins at 0, unless values are below it, and has some room above them. */
function room(from, to) {
  if (from === null) return [0, 1];
  const top = Math.max(to, 0);
  const bottom = Math.min(from, 0);
  return [bottom, top + (top - bottom || 1) * 0.08];
}

/** Phases as bands with names, faults as hatched bands with names, behind the curves. */
function backdrop(plot, page) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  page.phases.forEach((span, index) => {
    const { left, width } = place(plot, span, page.end_s);
    ctx.fillStyle = index % 2 === 1 ? tone("--phase") : "transparent";
    ctx.fillRect(left, bbox.top, width, bbox.height);
    label(ctx, span.name, tone("--faint"), left, width, bbox.top + 2 * ratio);
  });
  page.faults.forEach((span, index) => {
    const { left, width } = place(plot, span, page.end_s);
    hatch(ctx, left, bbox.top, width, bbox.height);
    label(ctx, span.name, tone("--fault-line"), left, width, bbox.top + (16 + 13 * (index % 3)) * ratio);
  });
  ctx.restore();
}

function place(plot, span, end) {
  const left = plot.valToPos(span.from_s, "x", true);
  return { left, width: plot.valToPos(span.to_s ?? end, "x", true) - left };
}

/** A name, if there is room for it. */
function label(ctx, text, colour, left, width, top) {
  const inset = 3 * devicePixelRatio;
  if (ctx.measureText(text).width + inset > width) return;
  ctx.fillStyle = colour;
  ctx.fillText(text, left + inset, top);
}

function hatch(ctx, left, top, width, height) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.fillStyle = tone("--fault");
  ctx.fillRect(left, top, width, height);
  ctx.strokeStyle = tone("--fault");
  ctx.lineWidth = devicePixelRatio;
  const gap = 9 * devicePixelRatio;
  ctx.beginPath();
  for (let x = left - height; x < left + width; x += gap) {
    ctx.moveTo(x, top + height);
    ctx.lineTo(x + height, top);
  }
  ctx.stroke();
  ctx.restore();
}

/** How long somebody waited: the share of waits that was not longer. */
class DistributionChart extends Chart {
  constructor(page, title, about) {
    super(title, `${about}; a curve further left waits less`);
    this.page = page;
  }

  /** A logarithmic axis has no 0: a curve begins where waits do. */
  curve(arm, cdf) {
    const shown = cdf.filter(([, seconds]) => seconds > 0);
    const [t, v] = [shown.map(([, seconds]) => seconds), shown.map(([share]) => share)];
    return { arm, t, v, index: this.page.arms.indexOf(arm) };
  }

  /** Of equal waits the greatest share, since an axis has each value once. */
  table({ t, v }) {
    const last = t.map((_, index) => index).filter((index) => t[index] !== t[index + 1]);
    return [last.map((index) => t[index]), last.map((index) => v[index])];
  }

  describe(curves) {
    const half = ({ arm, t, v }) => `${arm}: half of the waits took ${duration(v[0] > 0.5 ? 0 : t[v.findIndex((share) => share >= 0.5)])} or less`;
    return `${this.title}: ${curves.map(half).join("; ")}`;
  }

  options(width, curves) {
    const percent = (_, splits) => splits.map((share) => digits(share * 100) + " %");
    const long = (_, splits) => splits.map((seconds) => (seconds === null ? "" : duration(seconds)));
    return {
      width,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, distr: 3 }, y: { range: [0, 1.02] } },
      axes: [this.axis(long), this.axis(percent, { size: 72 })],
      series: [{}, ...this.lines(curves, { paths: uPlot.paths.linear(), spanGaps: true })],
    };
  }
}

/** Of the waits for tokens. */
class WaitChart extends DistributionChart {
  constructor(page) {
    super(page, "How long waits were", "the share of all waits in waits.csv that were not longer");
  }

  curves() {
    return this.page.waits.map(({ arm, cdf }) => this.curve(arm, cdf));
  }
}

/** Of the waits for admission. */
class AdmissionChart extends DistributionChart {
  constructor(page) {
    super(page, "How long requests waited for admission", "the share of all admitted requests that waited no longer, from the planned arrival on");
  }

  curves() {
    return Object.entries(this.page.admission_waits).map(([arm, cdf]) => this.curve(arm, cdf));
  }
}
