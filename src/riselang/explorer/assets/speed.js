// The speed of each version: a bar chart, and a roofline plot of the machine.

const SVG = "http://www.w3.org/2000/svg";
function svg(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function seconds(value) {
  for (const [scale, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (value >= scale) return `${(value / scale).toPrecision(3)} ${unit}`;
  }
  return `${(value * 1e9).toPrecision(3)} ns`;
}
const rate = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

function figure(title, subtitle, ...content) {
  const made = element("figure");
  const caption = element("figcaption", "", title);
  caption.append(element("small", "", subtitle));
  made.append(caption, ...content);
  return made;
}

const barColor = (version) => (version.kind === "rival" ? "var(--gone-edge)" : version.kind === "chosen" ? "var(--accent)" : "var(--type)");

// A longer bar is faster if it is a rate, and slower if it is a time.
function bars(speed) {
  const rows = speed.versions;
  const isRate = rows.every((row) => row.rate);
  const [width, height, label, room] = [560, 30 * rows.length + 10, 190, 130];
  const value = (row) => (isRate ? row.rate : row.median);
  const most = Math.max(...rows.map(value));
  const scale = (length) => ((width - label - room) * length) / most;
  const ends = (row) => (isRate ? [row.low, row.high].map((each) => (row.rate * row.median) / each) : [row.low, row.high]);
  const made = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Each version" });
  rows.forEach((row, at) => {
    const y = 30 * at + 6;
    const name = row.name.length > 28 ? `${row.name.slice(0, 27)}…` : row.name;
    const [from, to] = ends(row).map(scale);
    const said = isRate ? `${rate(row.rate)} GFLOP/s · ${seconds(row.median)}` : seconds(row.median);
    made.append(
      svg("text", { x: label - 10, y: y + 14, "text-anchor": "end", fill: "var(--ink)" }, name),
      svg("rect", { x: label, y, width: Math.max(2, scale(value(row))), height: 20, rx: 4, fill: barColor(row), opacity: row.kind === "version" ? 0.55 : 0.9 }),
      svg("line", { x1: label + from, x2: label + to, y1: y + 10, y2: y + 10, stroke: "var(--ink)", "stroke-width": 1.2 }),
    );
    // Rivals are lines across all versions, behind the text.
    if (row.kind === "rival") {
      const x = label + scale(value(row));
      made.prepend(svg("line", { x1: x, x2: x, y1: 0, y2: height, stroke: "var(--gone-edge)", "stroke-dasharray": "4 3" }));
    }
    made.append(svg("text", { x: label + scale(value(row)) + 8, y: y + 14, fill: "var(--quiet)" }, said));
  });
  return made;
}

function roofline(speed) {
  const { peak, bandwidths, intensity } = speed;
  const [width, height, left, bottom, right] = [560, 330, 46, 34, 16];
  const rates = speed.versions.filter((row) => row.rate).map((row) => row.rate);
  const fastest = bandwidths[0].rate;
  const low = Math.min(intensity / 4, peak / fastest / 4, 0.1);
  const high = Math.max(intensity * 4, (peak / bandwidths[bandwidths.length - 1].rate) * 4);
  const bottomRate = Math.min(...rates, low * bandwidths[bandwidths.length - 1].rate) / 1.6;
  const topRate = Math.max(peak, ...rates) * 1.9;
  const x = (value) => left + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (width - left - right);
  const y = (value) => height - bottom - ((Math.log(value) - Math.log(bottomRate)) / (Math.log(topRate) - Math.log(bottomRate))) * (height - bottom - 12);
  const made = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Roofline" });
  const tens = (from, to) => {
    const found = [];
    const steps = to / from < 300 ? [1, 2, 5] : [1];
    for (let e = Math.floor(Math.log10(from)); e <= Math.ceil(Math.log10(to)); e++) {
      found.push(...steps.map((step) => step * 10 ** e).filter((each) => from <= each && each <= to));
    }
    return found;
  };
  for (const value of tens(low, high)) {
    made.append(svg("line", { x1: x(value), x2: x(value), y1: 8, y2: height - bottom, stroke: "var(--line)" }),
      svg("text", { x: x(value), y: height - bottom + 16, "text-anchor": "middle", fill: "var(--quiet)" }, String(Number(value.toPrecision(3)))));
  }
  for (const value of tens(bottomRate, topRate)) {
    made.append(svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), stroke: "var(--line)" }),
      svg("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end", fill: "var(--quiet)" }, String(Number(value.toPrecision(3)))));
  }
  made.append(svg("text", { x: width - right, y: height - 3, "text-anchor": "end", fill: "var(--quiet)" }, "flop/byte"),
    svg("text", { x: left + 6, y: 18, fill: "var(--quiet)" }, "GFLOP/s"));
  bandwidths.forEach((each, at) => {
    const ridge = peak / each.rate;
    const begin = Math.max(low, bottomRate / each.rate);
    const [x1, y1, x2, y2] = [x(begin), y(begin * each.rate), x(ridge), y(peak)];
    const angle = (-Math.atan2(y1 - y2, x2 - x1) * 180) / Math.PI;
    // The first label is above its line, the others below.
    const text = svg("text", { x: 14, y: at ? 15 : -7, fill: "var(--accent)", transform: `translate(${x1} ${y1}) rotate(${angle})` }, `${each.name} ${rate(each.rate)} GB/s`);
    made.append(svg("line", { x1, y1, x2, y2, stroke: "var(--accent)", "stroke-width": 2, opacity: 1 - 0.3 * at }), text);
  });
  const firstRidge = peak / fastest;
  made.append(svg("line", { x1: x(firstRidge), y1: y(peak), x2: width - right, y2: y(peak), stroke: "var(--accent)", "stroke-width": 2 }),
    svg("text", { x: x(firstRidge) + 10, y: y(peak) - 8, fill: "var(--accent)" }, `peak ${rate(peak)} GFLOP/s`));
  made.append(svg("line", { x1: x(intensity), x2: x(intensity), y1: 12, y2: height - bottom, stroke: "var(--quiet)", "stroke-dasharray": "2 4" }));
  // Labels are next to their points, without overlap.
  const points = speed.versions.filter((row) => row.rate).map((row) => ({ row, at: y(row.rate) })).sort((a, b) => a.at - b.at);
  let lowest = -Infinity;
  const isRight = x(intensity) > width * 0.6;
  for (const { row, at } of points) {
    const text = Math.max(at, lowest + 13);
    lowest = text;
    const end = x(intensity) + (isRight ? -24 : 24);
    if (row.kind === "rival") {
      made.append(svg("line", { x1: left, x2: width - right, y1: at, y2: at, stroke: "var(--gone-edge)", "stroke-dasharray": "4 3", opacity: 0.7 }));
    } else {
      made.append(svg("circle", { cx: x(intensity), cy: at, r: 5, fill: barColor(row), stroke: "var(--card)", "stroke-width": 1.5 }));
    }
    const point = x(intensity) + (isRight ? -6 : 6);
    made.append(svg("line", { x1: end + (isRight ? 3 : -3), x2: point, y1: text, y2: at, stroke: "var(--quiet)", "stroke-width": 0.7 }));
    made.append(svg("text", { x: end, y: text + 4, "text-anchor": isRight ? "end" : "start", fill: row.kind === "rival" ? "var(--gone-edge)" : "var(--ink)" }, row.name.length > 30 ? `${row.name.slice(0, 29)}…` : row.name));
  }
  return made;
}

function speedTable(speed) {
  const table = element("table");
  const head = element("tr");
  const hasRate = speed.versions.some((row) => row.rate);
  const columns = ["version", "time per call", "quartiles", "speedup", ...(hasRate ? ["GFLOP/s", "of peak"] : []), "GB/s"];
  for (const title of columns) head.append(element("th", "", title));
  table.append(head);
  for (const row of speed.versions) {
    const made = element("tr");
    const cells = [row.name, seconds(row.median), `${seconds(row.low)} – ${seconds(row.high)}`, `${rate(speed.versions[0].median / row.median)} ×`];
    if (hasRate) cells.push(row.rate ? rate(row.rate) : "", row.rate ? `${((100 * row.rate) / speed.peak).toFixed(0)} %` : "");
    cells.push(rate(row.bytes_rate));
    for (const cell of cells) made.append(element("td", "", cell));
    table.append(made);
  }
  return table;
}

function drawSpeed(target) {
  const speed = DATA.speed;
  const grid = element("div", "grid");
  const where = `${speed.machine}, ${speed.threads} thread${speed.threads === 1 ? "" : "s"}, ${speed.rounds} repetitions`;
  grid.append(figure("Each version", `median and quartiles; ${where}`, bars(speed)));
  if (speed.intensity && speed.peak) {
    grid.append(figure("Roofline", "measured peak performance and bandwidth of the machine; dashed lines are rivals", roofline(speed)));
  }
  const table = figure("Measurements", speed.note, speedTable(speed));
  table.className = "whole";
  grid.append(table);
  target.replaceChildren(grid);
}
