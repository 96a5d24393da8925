// When each waiter waited, and how long: a row a waiter, darker for older waits.

// Height of a row and width of a column, in pixels of the canvas.
const ROW = 4;

/** The heat strips of all arms, on one scale. */
function strips(page) {
  const longest = Math.max(...page.waits.map(({ max_s }) => max_s));
  const note = `A row is a waiter, in the order of their first waits: the 64 with the longest waits of up to 1024, and one row for all others; left is the start of the run, right is ${duration(page.end_s)}. The fuller a cell, the older the wait that went on then; a full one is ${duration(longest)}. The tables below have the numbers.`;
  const all = page.waits.map((arm) => strip(page, arm, longest));
  return [make("p", { className: "note" }, note), make("div", { className: "charts" }, ...all)];
}

function strip(page, { arm, waiters, max_s }, longest) {
  const canvas = make("canvas", { className: "strip" });
  const readout = make("p", { className: "note readout" });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Waits of ${arm} by waiter over time; the longest took ${duration(max_s)}`);
  const columns = waiters[0].strip.length;
  Object.assign(canvas, { width: columns * ROW, height: waiters.length * ROW });
  canvas.style.height = `${waiters.length * ROW}px`;
  paint(canvas.getContext("2d"), waiters, longest);
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const column = Math.min(columns - 1, Math.floor((offsetX / canvas.clientWidth) * columns));
    const waiter = waiters[Math.min(waiters.length - 1, Math.floor((offsetY / canvas.clientHeight) * waiters.length))];
    const at = ((column + 1) / columns) * page.end_s;
    readout.textContent = `${waiter.name}, until ${duration(at)}: waited up to ${duration(waiter.strip[column])}`;
  });
  return make("figure", {}, make("figcaption", {}, make("b", {}, arm), ` longest wait ${duration(max_s)}`), canvas, readout);
}

/** The square root, so that waits of a hundredth of the longest can be seen as well. */
function paint(context, waiters, longest) {
  const heat = tone("--heat");
  waiters.forEach(({ strip }, row) => {
    strip.forEach((age, column) => {
      if (age <= 0) return;
      context.fillStyle = `rgb(${heat} / ${(100 * Math.sqrt(age / longest)).toFixed(0)}%)`;
      context.fillRect(column * ROW, row * ROW, ROW, ROW - 1);
    });
  });
}
