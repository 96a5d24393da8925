// The scorecard of a sweep: laws by shapes as shades, one measure in one shape as points with their intervals, and a table for
// each shape.

const SVG = "http://www.w3.org/2000/svg";
// In units of the drawing, which is as wide as a phone and grows with the screen.
const DOTS = { width: 340, names: 92, row: 18, foot: 22, right: 12 };

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.append(...children);
  return element;
}

/** A mean as people read it; more than that, if with some seed it may be. */
function meanOf(cell, unit) {
  return cell ? (cell.at_least > 0 ? "> " : "") + inUnit(cell.mean, unit) : "-";
}

function intervalOf({ mean, low, high }, unit) {
  return high === null ? "" : ` \u00b1 ${inUnit(high - mean, unit)}`;
}

/** Where a law stands in words: its measure, its rank and how sure that is. */
function said(shape, { law, rank }, column, cell) {
  const value = cell ? meanOf(cell, column.unit) + intervalOf(cell, column.unit) : "no number";
  return `${law} in ${shape}: ${column.name} ${value}, rank ${rank ?? "none"}`;
}

/** The table of all shapes, which is the last, and then those of each. */
function allFirst(tables) {
  return [tables.at(-1), ...tables.slice(0, -1)];
}

/** Laws downwards, the best of all shapes first; shapes across. Fuller is nearer to the best of its shape. */
function shades({ measures, rank_by, tables: inOrder }) {
  const column = measures[rank_by];
  const tables = allFirst(inOrder);
  const laws = tables[0].rows.map(({ law }) => law);
  const head = make("tr", {}, make("th", {}, ""), ...tables.map(({ shape }) => make("th", { scope: "col" }, shape)));
  const row = (law) => make("tr", {}, make("th", { scope: "row" }, law), ...tables.map((table) => shade(table, law, column, rank_by)));
  const caption = `${column.name} by law and shape, and the rank in brackets`;
  const whole = make("table", { className: "map" }, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...laws.map(row)));
  return scrolled(caption, whole);
}

function shade({ shape, rows }, law, column, measure) {
  const row = rows.find((other) => other.law === law);
  const means = rows.map(({ cells }) => cells[measure]?.mean).filter((mean) => mean !== undefined);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const cell = row.cells[measure];
  const element = make("td", { title: said(shape, row, column, cell) }, `${meanOf(cell, column.unit)} (${row.rank ?? "-"})`);
  if (!cell || most === least) return element;
  const share = (cell.mean - least) / (most - least);
  element.style.background = `rgb(var(--heat) / ${Math.round(45 * (column.better === "less" ? 1 - share : share))}%)`;
  return element;
}

function scrolled(caption, whole) {
  const box = make("div", { className: "wide", tabIndex: 0 }, whole);
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", caption);
  return box;
}

/** One measure of all laws in one shape: the mean over seeds, and the interval in which the true one lies. */
function dots({ measures }, { shape, rows }, measure) {
  const column = measures[measure];
  const ends = rows.flatMap(({ cells }) => (cells[measure] ? [cells[measure].low ?? cells[measure].mean, cells[measure].high ?? cells[measure].mean] : []));
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const span = DOTS.width - DOTS.names - DOTS.right;
  const x = (value) => DOTS.names + (high > low ? ((value - low) / (high - low)) * span : 0);
  const height = rows.length * DOTS.row + DOTS.foot;
  const title = `${column.name} in ${shape}: mean over seeds and its 95 % interval`;
  const marks = rows.map((row, place) => mark(row, measure, column, x, (place + 0.5) * DOTS.row));
  const axis = [low, (low + high) / 2, high].map((value, place) => {
    const anchor = ["start", "middle", "end"][place];
    return drawn("text", { x: x(value), y: height - 6, "text-anchor": anchor }, inUnit(value, column.unit));
  });
  const line = drawn("line", { x1: x(low), x2: x(high), y1: height - DOTS.foot, y2: height - DOTS.foot });
  return drawn("svg", { viewBox: `0 0 ${DOTS.width} ${height}`, class: "dots", role: "img", "aria-label": title }, line, ...axis, ...marks.flat());
}

function mark(row, measure, { unit }, x, y) {
  const cell = row.cells[measure];
  const name = drawn("text", { x: DOTS.names - 6, y: y + 4, "text-anchor": "end" }, row.law);
  if (!cell) return [name];
  const { mean, low, high } = cell;
  const dot = drawn("circle", { cx: x(mean), cy: y, r: 3.5 }, drawn("title", {}, `${row.law}: ${meanOf(cell, unit)}${intervalOf(cell, unit)}`));
  return [name, ...(high === null ? [] : [drawn("line", { x1: x(low), x2: x(high), y1: y, y2: y })]), dot];
}

/** A choice of shape and measure, and the drawing of what is chosen. */
function plot(card) {
  const figure = make("figure", {});
  const select = (label, names, chosen) => {
    const options = names.map((name, value) => make("option", { value, selected: value === chosen }, name));
    return make("label", {}, `${label} `, make("select", { onchange: show }, ...options));
  };
  const choices = [
    select("shape", card.tables.map(({ shape }) => shape), card.tables.length - 1),
    select("measure", card.measures.map(({ name }) => name), card.rank_by),
  ];
  function show() {
    const [shape, measure] = choices.map((label) => Number(label.querySelector("select").value));
    figure.replaceChildren(dots(card, card.tables[shape], measure));
  }
  show();
  return [make("p", { className: "choices" }, ...choices), figure];
}

/** All measures of all laws in one shape. */
function shapeTable({ measures, rank_by }, data) {
  const { shape, rows, not_separated, swapped } = data;
  const cell = (place) => ({ cells }) => meanOf(cells[place], measures[place].unit) + (place === rank_by && cells[place] ? intervalOf(cells[place], measures[place].unit) : "");
  const columns = [
    ["rank", ({ rank, apart }) => `${rank ?? "-"}${apart ? "" : " ~"}`, true],
    ["law", ({ law }) => law],
    ...measures.map(({ name }, place) => [name, cell(place), true]),
  ];
  const pairs = (title, list) => (list.length > 0 ? [make("p", { className: "note" }, `${title}: ${list.map((pair) => pair.join("/")).join(", ")}.`)] : []);
  const children = [table(shape, columns, rows), ...pairs("Not separated", not_separated), ...pairs("Ordered differently by the two halves of the seeds", swapped)];
  return make("details", {}, make("summary", {}, shape), ...children);
}

function measuresTable({ measures }) {
  return table("What is measured", [
    ["measure", ({ name }) => name],
    ["better", ({ better }) => better],
    ["taken from", (measure) => measure.of + (measure.arm ? ` of ${measure.arm}` : "") + (measure.in ? ` in ${measure.in}` : "")],
  ], measures);
}

function scorecard(card) {
  const [first, second] = card.halves.map((seeds) => `${seeds[0]} to ${seeds.at(-1)}`);
  const sum = (of) => card.tables.reduce((total, shape) => total + of(shape).length, 0);
  const note = `A rank is one more than there are laws ahead by ${card.measures[card.rank_by].name}: by more than ${digits(card.tolerance * 100)} %, with 95 % confidence, paired by seed, and in either half of the seeds. ~: the law above is not ahead. Seeds ${first} and ${second} order all pairs alike that are ranked apart, and ${sum(({ swapped }) => swapped)} of the ${sum(({ not_separated }) => not_separated)} that are not separated differently.`;
  return [make("p", { className: "note" }, note), shades(card), ...plot(card), ...allFirst(card.tables).map((shape) => shapeTable(card, shape)), measuresTable(card)];
}
