// The data of the page, and the program after each step, computed on demand.

const DATA = JSON.parse(document.getElementById("data").textContent);

const LINES = DATA.lines.map(([text, words]) => ({ text, words }));

// A state is stored as its difference to the previous one. Computed states are cached.
const known = [[]];
function linesAt(number) {
  while (known.length <= number + 1) {
    const [first, removed, added] = DATA.states[known.length - 1];
    const before = known[known.length - 1];
    known.push([...before.slice(0, first), ...added, ...before.slice(first + removed)]);
  }
  return known[number + 1].map((line) => LINES[line]);
}

const STAGES = DATA.stages.map((stage) => ({ ...stage, lines: null }));
function stageLines(stage) {
  stage.lines ??= stage.error
    ? []
    : stage.text.split("\n").map((text, at) => ({ text, part: stage.parts[at] ?? -1 }));
  return stage.lines;
}

const LAST = DATA.states.length - 1;
const placeOf = (part) => (part >= 0 && DATA.parts[part] ? DATA.parts[part][1] : -1);
const nameOf = (part) => (part >= 0 && DATA.parts[part] ? DATA.parts[part][0] : "");
