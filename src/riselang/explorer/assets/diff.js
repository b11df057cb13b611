// The lines of one text that are missing in another, and the lines that are new.

const MOST = 4_000_000;

// [[sign, old number, new number], ...]; sign is " ", "-" or "+".
function difference(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const found = [];
  for (let at = 0; at < start; at++) found.push([" ", at, at]);
  found.push(...between(before, after, start, before.length - end, after.length - end));
  for (let at = end; at > 0; at--) found.push([" ", before.length - at, after.length - at]);
  return found;
}

function between(before, after, start, oldEnd, newEnd) {
  const [rows, columns] = [oldEnd - start, newEnd - start];
  const found = [];
  if (rows * columns > MOST) {
    for (let at = start; at < oldEnd; at++) found.push(["-", at, -1]);
    for (let at = start; at < newEnd; at++) found.push(["+", -1, at]);
    return found;
  }
  // The longest common subsequence, from the end.
  const width = columns + 1;
  const table = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      table[i * width + j] = before[start + i] === after[start + j]
        ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  let [i, j] = [0, 0];
  while (i < rows || j < columns) {
    if (i < rows && j < columns && before[start + i] === after[start + j]) {
      found.push([" ", start + i++, start + j++]);
    } else if (i < rows && (j === columns || table[(i + 1) * width + j] >= table[i * width + j + 1])) {
      found.push(["-", start + i++, -1]);
    } else {
      found.push(["+", -1, start + j++]);
    }
  }
  return found;
}

const CONTEXT = 4;
const CLASSES = { " ": "", "-": "minus", "+": "plus" };

// Each stage numbers values anew, so the comparison ignores their names.
const compared = (line) => line.text.replace(/%[\w.$#-]+/g, "%").trim();

// The rows of a diff; of a long text, only the changes with a few lines of context.
function diffRows(before, after, marks = {}, languages = []) {
  const said = languages[0] === "rise" ? (line) => line.text : compared;
  const found = difference(before.map(said), after.map(said));
  const changed = found.flatMap(([sign], at) => (sign === " " ? [] : [at]));
  const near = new Set();
  for (const at of changed) for (let d = -CONTEXT; d <= CONTEXT; d++) near.add(at + d);
  const isLong = found.length > 120;
  const rows = [];
  let skipped = 0;
  const skip = () => {
    if (skipped) rows.push({ line: { text: `⋯ ${skipped} unchanged line${skipped === 1 ? "" : "s"}` }, label: "", sign: "skip", language: "none" });
    skipped = 0;
  };
  found.forEach(([sign, old, now], at) => {
    if (isLong && !near.has(at)) {
      skipped++;
      return;
    }
    skip();
    const line = sign === "-" ? before[old] : after[now];
    const label = `${old >= 0 ? old + 1 : ""}`.padStart(4) + ` ${now >= 0 ? now + 1 : ""}`.padStart(5);
    const mark = sign === "-"
      ? markOn(marks.goes, old, line.text, "goes")
      : sign === "+" ? markOn(marks.made, now, line.text, "made") : null;
    rows.push({ line, label, mark, sign: CLASSES[sign], language: sign === "-" ? languages[0] : languages[1] });
  });
  skip();
  return rows;
}
