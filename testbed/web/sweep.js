// The report of a sweep: a map of what held where, held against the prediction, and a table of all points.

const SIGNS = { held: "\u25cf", not: "\u25cb", depends: "\u25d0" };
const MEANS = { held: "it held", not: "it did not hold", depends: "it held with some seeds" };

function measured({ held, of }) {
  if (held === 0) return "not";
  return held === of ? "held" : "depends";
}

function place(axes, labels) {
  return labels.map((label, index) => `${axes[index].name} ${label}`).join(", ");
}

/** A cell of the map; what it says is in its title as well, in words. */
function mapCell(axes, cell) {
  const kind = measured(cell);
  const expected = cell.predicted ? "predicted to hold" : "predicted not to hold";
  const said = `${place(axes, cell.labels)}: ${expected}, held ${cell.held} of ${cell.of}${cell.agrees ? "" : ", not as predicted"}`;
  const classes = [kind, cell.predicted ? "predicted" : "", cell.agrees ? "" : "disagrees"];
  const element = make("td", { className: classes.join(" ").trim(), title: said }, SIGNS[kind] + (cell.agrees ? "" : "!"));
  element.setAttribute("aria-label", said);
  return element;
}

/** The first axis downwards, the second across. */
function map({ axes, cells, expect, when }) {
  const [down, across] = axes;
  const head = make("tr", {}, make("th", {}, `${down.name} \\ ${across.name}`), ...across.labels.map((label) => make("th", { scope: "col" }, label)));
  const row = (label, index) => {
    const mine = cells.slice(index * across.labels.length, (index + 1) * across.labels.length);
    return make("tr", {}, make("th", { scope: "row" }, label), ...mine.map((cell) => mapCell(axes, cell)));
  };
  const caption = `${expect} over ${down.name} (down) and ${across.name} (across)`;
  const whole = make("table", { className: "map" }, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...down.labels.map(row)));
  const box = make("div", { className: "wide", tabIndex: 0 }, whole);
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", caption);
  return [make("p", {}, `Predicted to hold where ${when}.`), box, legend()];
}

function legend() {
  const signs = Object.keys(SIGNS).map((kind) => `${SIGNS[kind]} ${MEANS[kind]}`).join("; ");
  return make("p", { className: "note" }, `Measured: ${signs}. Hatched: where it is predicted to hold. Framed, with an exclamation mark: not as predicted.`);
}

function pointsTable({ axes, rows, rows_left_out }) {
  const left = rows_left_out > 0 ? `; ${rows_left_out} more are in sweep.csv` : "";
  const of = axes.map(({ name }, index) => [name, ({ labels }) => labels[index], true]);
  return table(`What each combination of values came to${left}`, [
    ...of,
    ["arm", ({ arm }) => arm],
    ["expectation", ({ id }) => id],
    ["held", ({ held, of }) => `${held} of ${of}`, true],
    ["observed", ({ observed }) => observed, true],
    ["expected", ({ limit }) => limit, true],
  ], rows);
}

function showSweep(data) {
  const { experiment, about, verdict, cells, expect, agree, points, seeds, breaches, text } = data;
  document.getElementById("name").textContent = `${experiment}: a sweep`;
  document.getElementById("about").textContent = about;
  const sum = expect ? ` ${agree} of ${points} points are as predicted` : ` ${points} points`;
  document.getElementById("state").replaceChildren(word(verdict, "span"), `${sum}, ${seeds} ${seeds === 1 ? "seed" : "seeds"} each`);
  const guards = breaches.map((breach) => make("p", { className: "guard" }, `guard, ${breach}`));
  const file = make("details", {}, make("summary", {}, "The experiment (experiment.yaml)"), make("pre", { tabIndex: 0 }, text));
  const part = (title, ...children) => (children.length > 0 ? [make("section", {}, make("h2", {}, title), ...children)] : []);
  document.getElementById("main").replaceChildren(
    ...part("Scorecard", ...(data.scorecard ? scorecard(data.scorecard) : [])),
    ...part("Map", ...(cells.length > 0 ? map(data) : [])),
    ...part("Points", ...guards, ...(data.rows.length > 0 || !data.scorecard ? [pointsTable(data)] : [])),
    ...part("How it was made", file),
  );
}

showSweep(JSON.parse(document.getElementById("data").textContent));
