// Regimes: what each arm looked like, as a lane an arm and as a table. Where a lane is empty its arm was healthy.

/** How far within the run an instant is, as a length of the style. */
function along(seconds, end) {
  return `${(100 * Math.min(1, seconds / (end || 1))).toFixed(2)}%`;
}

function lane({ regimes, end_s }, arm) {
  const track = make("div", { className: "lane" });
  for (const { regime, from_s, to_s } of regimes.filter((span) => span.arm === arm)) {
    const until = to_s ?? end_s;
    const piece = make("span", { className: `regime ${regime}`, title: `${regime} from ${duration(from_s)} to ${duration(until)}` }, regime);
    piece.style.left = along(from_s, end_s);
    piece.style.width = along(until - from_s, end_s);
    track.append(piece);
  }
  return make("div", {}, make("span", { className: "note" }, arm), track);
}

/** Which arm was in which regime from when until when; the table has all that the lanes show. */
function regimeParts(page) {
  const { regimes, arms } = page;
  if (regimes.length === 0) return [make("p", { className: "note" }, "No arm has been anything but healthy.")];
  const lanes = make("div", { className: "lanes" }, ...arms.map((arm) => lane(page, arm)));
  lanes.setAttribute("aria-hidden", "true");
  const rows = table("Regimes other than healthy", [
    ["arm", ({ arm }) => arm],
    ["regime", ({ regime }) => regime],
    ["from", ({ from_s }) => duration(from_s), true],
    ["until", ({ to_s }) => (to_s === null ? "now" : duration(to_s)), true],
  ], regimes);
  return [make("p", { className: "note" }, `From 0 s to ${duration(page.end_s)}:`), lanes, rows];
}
