// Tables: the verdict, fairness, what was when, how the run was made.

const WORST = 10;
// How expectations stand while a run goes: decided as verdicts are, or open.
const OPEN = { holds: "\u2026 open, true so far", lacks: "\u2026 open, not true so far", waits: "\u2026 open, nothing yet", at_end: "\u2026 at the end" };
const MARKS = { pass: "\u2713 pass", fail: "\u2717 fail", warn: "! warn", inconclusive: "? inconclusive", interrupted: "? interrupted" };

/** A table in a box that scrolls by itself where it is too wide. A column is [title, cell, is a number]. */
function table(caption, columns, rows) {
  const head = columns.map(([title, , number]) => make("th", { scope: "col", className: number ? "number" : "" }, title));
  const row = (item) => make("tr", {}, ...columns.map(([, cell, number]) => {
    const content = cell(item);
    return content instanceof HTMLTableCellElement ? content : make("td", { className: number ? "number" : "" }, content);
  }));
  const whole = make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows.map(row)));
  const box = make("div", { className: "wide", tabIndex: 0 }, whole);
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", caption);
  return box;
}

/** A verdict as a word with a sign, so that it is not told by colour alone. */
function word(verdict, tag = "td") {
  const style = verdict === "pass" || verdict === "fail" ? verdict : "unsure";
  return make(tag, { className: style }, MARKS[verdict] ?? verdict);
}

/** What was expected and what came of it. */
function verdictTable({ verdict, standing }) {
  if (!verdict) return standingTable(Object.values(standing));
  if (verdict.expectations.length === 0) return [make("p", { className: "note" }, whyNothing(verdict))];
  const columns = [
    ["verdict", (judged) => word(judged.verdict)],
    ["expectation", ({ id }) => id],
    ["arm", ({ arm }) => arm],
    ["measure", (judged) => judged.measure + (judged.in ? ` in ${judged.in}` : "")],
    ["observed", (judged) => judged.remark ?? observed(judged), true],
    ["expected", ({ limit }) => limit, true],
  ];
  const breaches = (verdict.breaches ?? []).map(({ arm, message }) => make("p", { className: "guard" }, `guard, ${arm}: ${message}`));
  const caption = "What was expected, in base units (seconds, bytes)";
  return [...breaches, table(caption, columns, verdict.expectations)];
}

/** What was observed in five digits, or as many as it takes not to read like a limit on whose other side it is. */
function observed({ observed: value, limit, verdict }) {
  if (value === null) return "-";
  const [centre, tolerance] = (limit.match(/-?\d[\d.e+-]*/g) ?? []).map(Number);
  const within = verdict === "pass" && !/^[<>] /.test(limit);
  const edges = within ? [] : tolerance === undefined ? [centre] : [centre - tolerance, centre + tolerance];
  const digits = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
  const written = digits.map((count) => Number(value.toPrecision(count)));
  return String(written.find((number) => number === value || !edges.includes(number)));
}

function whyNothing({ verdict, ended, judged, error }) {
  if (verdict === "interrupted") return "The run was stopped, so nothing is judged.";
  if (error) return `The run broke, so nothing is judged: ${error}`;
  if (ended) return `The run was ended by ${ended.by === "gate" ? "a gate" : "an abort"}, so nothing else is judged. ${ended.arm}: ${ended.that}; ${ended.text}`;
  return judged && judged !== "0 expectations" ? `Judged: ${judged}.` : "Nothing was expected of this run.";
}

/** How expectations stand while a run goes. */
function standingTable(rows) {
  const note = make("p", { className: "note" }, "The run has not come to its end. What is decided stays; what is open is told as it would be if the run ended now. The verdict of the run comes at its end.");
  if (rows.length === 0) return [note];
  const stand = ({ stand }) => (stand in OPEN ? make("td", { className: "open" }, OPEN[stand]) : word(stand));
  const columns = [
    ["stands", stand],
    ["expectation", ({ id }) => id],
    ["arm", ({ arm }) => arm],
    ["sentence", (row) => row.that + (row.in ? ` in ${row.in}` : "")],
    ["so far", ({ text }) => text || "-"],
  ];
  return [note, table("Expectations as they stand", columns, rows)];
}

/** How evenly a limiter served its waiters. */
function fairnessTables({ waits }) {
  const seconds = (title, field) => [title, (row) => duration(row[field]), true];
  const arms = table("Waits by arm, as waits.csv has them", [
    ["arm", ({ arm }) => arm],
    ["waits", ({ count }) => count, true],
    seconds("mean", "mean_s"),
    seconds("p50", "p50_s"),
    seconds("p99", "p99_s"),
    seconds("longest", "max_s"),
    ["Jain's index of bytes after waits", ({ jain }) => (jain === null ? "-" : jain.toFixed(4)), true],
  ], waits);
  return [arms, ...waits.map(worstWaiters)];
}

function worstWaiters({ arm, waiters }) {
  const worst = [...waiters].sort((a, b) => b.longest_s - a.longest_s).slice(0, WORST);
  const caption = `${arm}: ${worst.length} of ${waiters.length} waiters, those with the longest wait first`;
  return make("details", {}, make("summary", {}, caption), table(caption, [
    ["waiter", ({ name }) => name],
    ["waits", ({ count }) => count, true],
    ["longest", ({ longest_s }) => duration(longest_s), true],
    ["mean", ({ total_s, count }) => duration(total_s / count), true],
    ["bytes after waits", (waiter) => bytes(waiter.bytes), true],
  ], worst));
}

/** Who waits now, while a run goes. */
function waitingTables({ waiting }) {
  const arms = Object.entries(waiting ?? {}).filter(([, waiters]) => waiters.length > 0);
  const columns = [["waiter", ({ waiter }) => waiter], ["waits for", ({ age_ns }) => duration(age_ns / 1e9), true]];
  return arms.map(([arm, waiters]) => table(`${arm}: the oldest waits`, columns, waiters));
}

/** Phases and faults, which the charts show as bands. */
function spanTable({ phases, faults }) {
  const rows = [...phases.map((span) => ({ kind: "phase", ...span })), ...faults.map((span) => ({ kind: "fault", ...span }))];
  rows.sort((a, b) => a.from_s - b.from_s);
  return table("Phases and faults", [
    ["kind", ({ kind }) => kind],
    ["name", ({ name }) => name],
    ["from", ({ from_s }) => duration(from_s), true],
    ["to", ({ to_s }) => (to_s === null ? "now" : duration(to_s)), true],
  ], rows);
}

/** How the run was made. */
function manifestTable({ manifest }) {
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  return table("Manifest", [["field", ([name]) => name], ["value", ([, value]) => text(value)]], Object.entries(manifest));
}
