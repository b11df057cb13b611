// Lines as elements. A linked element has its source location (s) and its part of the program (k).

const CHUNK = 200;

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Split a text where one of the ranges begins or ends; each piece comes with the ranges around it.
function pieces(text, ranges) {
  const cuts = new Set([0, text.length]);
  for (const [from, to] of ranges) {
    if (from > 0 && from < text.length) cuts.add(from);
    if (to > 0 && to < text.length) cuts.add(to);
  }
  const points = [...cuts].sort((a, b) => a - b);
  const found = [];
  for (let at = 0; at + 1 < points.length; at++) {
    const [from, to] = [points[at], points[at + 1]];
    found.push([text.slice(from, to), ranges.filter(([a, b]) => a <= from && to <= b)]);
  }
  return found;
}

function fill(target, line, language, mark) {
  const ranges = highlight(line.text, language).map(([a, b, kind]) => [a, b, { kind }]);
  const words = line.words ?? [];
  const stride = line.stride ?? 4;
  for (let at = 0; at < words.length; at += stride) {
    const link = { s: words[at + 2], k: stride === 4 ? words[at + 3] : -1 };
    ranges.push([words[at], words[at] + words[at + 1], { link }]);
  }
  if (mark && mark[1] > mark[0]) ranges.push([mark[0], mark[1], { kind: mark[2] }]);
  if (!ranges.length) {
    target.append(line.text);
    return;
  }
  for (const [text, around] of pieces(line.text, ranges)) {
    const kinds = around.map(([, , each]) => each.kind).filter(Boolean);
    const link = around.map(([, , each]) => each.link).find(Boolean);
    if (!kinds.length && !link) {
      target.append(text);
      continue;
    }
    const made = element("span", kinds.join(" "), text);
    if (link) {
      made.classList.add("w");
      made.dataset.s = link.s;
      made.dataset.k = link.k;
    }
    target.append(made);
  }
}

function lineElement(line, language, label, mark) {
  const made = element("div", "l");
  made.dataset.n = label;
  if (line.part !== undefined && line.part >= 0) {
    made.classList.add("w");
    made.dataset.k = line.part;
    made.dataset.s = placeOf(line.part);
  }
  fill(made, line, language, mark);
  return made;
}

// The columns of a mark on one of its lines.
function markOn(mark, number, text, kind) {
  if (!mark) return null;
  const [first, from, last, to] = mark;
  if (number < first || number > last) return null;
  const begin = number === first ? from : text.length - text.trimStart().length;
  return [begin, number === last ? to : text.length, kind];
}

// Rows are {line, label, mark, sign}. The browser lays out only the visible chunks of long texts.
function show(container, rows, language, isDiff) {
  const all = document.createDocumentFragment();
  for (let at = 0; at < rows.length; at += CHUNK) {
    const chunk = element("div", "chunk");
    const part = rows.slice(at, at + CHUNK);
    chunk.style.containIntrinsicSize = `auto ${part.length * 20}px`;
    for (const row of part) {
      const made = lineElement(row.line, row.language ?? language, row.label, row.mark);
      if (row.sign) made.classList.add(row.sign);
      chunk.append(made);
    }
    all.append(chunk);
  }
  container.classList.toggle("diff", Boolean(isDiff));
  container.replaceChildren(all);
}
