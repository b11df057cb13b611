// What belongs together lights up: the source, the patterns, the loops and the instructions.

const TEXTS = ["source-text", "state-text", "code-text"].map((id) => document.getElementById(id));
let kept = null; // what stays lit
let lit = [];

function linkOf(target) {
  const found = target.closest?.(".w");
  if (!found) return null;
  const link = { s: Number(found.dataset.s ?? -1), k: Number(found.dataset.k ?? -1) };
  return link.s < 0 && link.k < 0 ? null : link;
}

// How strongly an element belongs to a link: the same part, or what it came from and became.
function heat(link, s, k) {
  if (link.k >= 0 && k === link.k) return "hot";
  if (link.s >= 0 && s === link.s) return link.k >= 0 && k >= 0 ? "warm" : "hot";
  return null;
}

function light(link) {
  for (const each of lit) each.classList.remove("hot", "warm");
  lit = [];
  if (!link) return;
  for (const text of TEXTS) {
    for (const each of text.getElementsByClassName("w")) {
      const kind = heat(link, Number(each.dataset.s), Number(each.dataset.k));
      if (kind) {
        each.classList.add(kind);
        lit.push(each);
      }
    }
  }
}

function relight() {
  light(kept);
}

function keep(link, from) {
  kept = link;
  light(link);
  tell(link);
  if (!link) return;
  for (const text of TEXTS) if (text !== from) bring(text);
}

// Scroll a text to the first thing that is lit in it.
function bring(text) {
  const found = text.querySelector(".hot") ?? text.querySelector(".warm");
  if (!found) return;
  const line = found.closest(".l");
  const top = line.getBoundingClientRect().top - text.getBoundingClientRect().top;
  if (top < 30 || top > text.clientHeight - 60) text.scrollTop += top - text.clientHeight / 3;
  if (found === line) return;
  // Only as far as it takes: lines are read from their beginning.
  const [inner, outer] = [found.getBoundingClientRect(), text.getBoundingClientRect()];
  if (inner.right > outer.right - 24) text.scrollLeft += inner.right - outer.right + 24;
  else if (inner.left < outer.left + 50) text.scrollLeft = Math.max(0, text.scrollLeft - (outer.left + 50 - inner.left));
}

function counted(lines, link) {
  let count = 0;
  for (const line of lines) {
    if (line.part !== undefined) {
      if (link.k >= 0 ? line.part === link.k : line.part >= 0 && placeOf(line.part) === link.s) count++;
    }
  }
  return count;
}

// What it is, where it came from, and what it became.
function tell(link) {
  const trace = document.getElementById("trace");
  const head = element("h3");
  if (!link) {
    head.textContent = "Follow something";
    const words = element("p", "quiet", "Point at a pattern, a loop or an instruction: what it came from and what it became lights up in every pane. Click to keep it.");
    trace.replaceChildren(head, words);
    return;
  }
  const place = link.s >= 0 ? DATA.places[link.s] : "made by the compiler";
  head.append(element("code", "", nameOf(link.k) || wordAt(link.s) || "part"), element("span", "quiet", place));
  const list = element("ol");
  const last = linesAt(LAST);
  const patterns = last.reduce((sum, { words }) => {
    for (let at = 0; at < words.length; at += 4) {
      if (link.k >= 0 ? words[at + 3] === link.k : words[at + 2] === link.s) sum++;
    }
    return sum;
  }, 0);
  list.append(row("Last program", patterns, "places", () => go(LAST)));
  STAGES.forEach((stage, at) => {
    const count = counted(stageLines(stage), link);
    list.append(row(stage.title, count, "lines", () => choose(at)));
  });
  trace.replaceChildren(head, list);
}

function row(title, count, unit, action) {
  const made = element("li");
  const said = count ? `${count} ${count === 1 ? unit.slice(0, -1) : unit}` : "—";
  const inner = element(count ? "button" : "div", count ? "" : "none");
  inner.append(element("span", "", title), element("span", "", said));
  if (count) inner.addEventListener("click", () => { action(); TEXTS.forEach(bring); });
  made.append(inner);
  return made;
}

function wordAt(place) {
  for (const [text, words] of DATA.source.lines) {
    for (let at = 0; at < words.length; at += 3) {
      if (words[at + 2] === place) return text.slice(words[at], words[at] + words[at + 1]).slice(0, 40);
    }
  }
  return "";
}

for (const text of TEXTS) {
  text.addEventListener("mouseover", (event) => {
    const link = linkOf(event.target);
    if (kept) return;
    light(link);
    tell(link);
  });
  text.addEventListener("mouseleave", () => { if (!kept) { light(null); tell(null); } });
  text.addEventListener("click", (event) => {
    if (String(getSelection())) return;
    const link = linkOf(event.target);
    const isSame = kept && link && kept.s === link.s && kept.k === link.k;
    keep(isSame ? null : link, text);
  });
  text.addEventListener("keydown", (event) => walk(event, text));
}

// Up and down from line to line; a line is what its first word, or it itself, is linked to.
function walk(event, text) {
  const lines = [...text.querySelectorAll(".l")];
  const at = lines.findIndex((line) => line.classList.contains("cursor"));
  if (event.key === "Enter" && at >= 0) {
    keep(lineLink(lines[at], 0), text);
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const next = Math.min(lines.length - 1, Math.max(0, at < 0 ? 0 : at + step));
  lines[at]?.classList.remove("cursor");
  lines[next].classList.add("cursor");
  lines[next].scrollIntoView({ block: "nearest" });
  kept = null;
  const link = lineLink(lines[next]);
  light(link);
  tell(link);
}

function lineLink(line) {
  return linkOf(line.classList.contains("w") ? line : line.querySelector(".w") ?? line);
}
