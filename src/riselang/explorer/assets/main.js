// The page: steps, stages, views, keys.

const $ = (id) => document.getElementById(id);
let step = 0;
let stage = Math.max(0, STAGES.findIndex((each) => each.key === "affine"));
let stateDiff = false;
let codeDiff = false;
let playing = null;
const ROW = 26;

function go(number) {
  step = Math.min(LAST, Math.max(0, number));
  $("slider").value = step;
  $("slider").setAttribute("aria-valuetext", step ? `${step}: ${ruleOf(step).name}` : "as written");
  $("step-count").textContent = LAST ? `step ${step} of ${LAST}` : "no steps: the program is not rewritten";
  for (const id of ["first", "back"]) $(id).disabled = step === 0;
  for (const id of ["forward", "last", "play"]) $(id).disabled = step === LAST;
  if (step === LAST) stop();
  drawLaw();
  drawState();
  drawSteps(true);
  remember();
}

const ruleOf = (number) => DATA.rules[DATA.steps[number - 1][0]];

function drawLaw() {
  const law = $("law");
  if (!step) {
    const words = LAST ? "The program as written." : "This program is not rewritten; it is lowered as written.";
    law.replaceChildren(element("div", "rule", "start"), element("div", "why", words));
    return;
  }
  const rule = ruleOf(step);
  const said = element("div", "said");
  const [left, ...right] = rule.law.split("~>");
  said.append(left);
  if (right.length) said.append(element("b", "", "⟶"), right.join("~>"));
  const tags = element("span", "tags", [rule.family, rule.permission].filter(Boolean).join(" · "));
  const name = element("div", "rule", rule.name);
  law.replaceChildren(tags, name, said, element("div", "why", rule.summary));
}

function drawState() {
  const text = $("state-text");
  const now = linesAt(step);
  const made = DATA.states[step][3];
  if (stateDiff && step > 0) {
    const marks = { goes: DATA.states[step - 1][4], made };
    show(text, diffRows(linesAt(step - 1), now, marks, ["rise", "rise"]), "rise", true);
  } else {
    const rows = now.map((line, at) => ({ line, label: at + 1, mark: markOn(made, at, line.text, "made") }));
    show(text, rows, "rise", false);
  }
  relight();
  const mark = text.querySelector(".made, .minus, .plus");
  if (mark && !kept) {
    const top = mark.getBoundingClientRect().top - text.getBoundingClientRect().top;
    if (top < 0 || top > text.clientHeight - 40) text.scrollTop += top - text.clientHeight / 3;
  }
}

// The list of steps; only visible steps have elements.
function drawSteps(follow) {
  const list = $("steps");
  const rail = list.firstElementChild;
  rail.style.height = `${(LAST + 1) * ROW}px`;
  if (follow) {
    const top = step * ROW;
    if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - ROW) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
  const last = Math.min(LAST, first + Math.ceil(list.clientHeight / ROW) + 8);
  const rows = [];
  for (let number = first; number <= last; number++) {
    const made = element("div", "step");
    made.style.top = `${number * ROW}px`;
    made.role = "option";
    made.id = `step-${number}`;
    made.setAttribute("aria-selected", String(number === step));
    made.dataset.step = number;
    const place = number ? DATA.steps[number - 1][1] : "";
    made.append(element("i", "", number), element("code", "", number ? ruleOf(number).name : "as written"), element("span", "", place));
    rows.push(made);
  }
  rail.replaceChildren(...rows);
  list.setAttribute("aria-activedescendant", `step-${step}`);
}

function drawStages() {
  const tabs = STAGES.map((each, at) => {
    const tab = element("button", "", each.title);
    tab.role = "tab";
    tab.id = `stage-${each.key}`;
    tab.title = `${each.summary} (${at + 1})`;
    tab.addEventListener("click", () => choose(at));
    return tab;
  });
  $("stages").replaceChildren(...tabs);
}

function choose(number) {
  if (!STAGES.length) return;
  stage = Math.min(STAGES.length - 1, Math.max(0, number));
  [...$("stages").children].forEach((tab, at) => {
    tab.setAttribute("aria-selected", String(at === stage));
    tab.tabIndex = at === stage ? 0 : -1;
  });
  const tabs = $("stages");
  const tab = tabs.children[stage];
  tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
  drawCode();
  remember();
}

function drawCode() {
  const now = STAGES[stage];
  const text = $("code-text");
  const lines = stageLines(now);
  const before = codeDiff && stage > 0 ? STAGES[stage - 1] : null;
  const size = `${lines.length} line${lines.length === 1 ? "" : "s"}`;
  $("stage-summary").textContent = before ? `${before.title} → ${now.title}` : `${now.summary} · ${size}`;
  $("code-diff").disabled = stage === 0;
  if (now.error) {
    text.replaceChildren(element("div", "message bad", now.error));
  } else if (before) {
    show(text, diffRows(stageLines(before), lines, {}, [before.language, now.language]), now.language, true);
  } else {
    show(text, lines.map((line, at) => ({ line, label: at + 1 })), now.language, false);
  }
  text.scrollTop = 0;
  text.scrollLeft = 0;
  relight();
  if (kept) bring(text);
}

function drawSource() {
  $("source-file").textContent = DATA.source.file;
  const rows = DATA.source.lines.map(([text, words], at) => ({ line: { text, words, stride: 3 }, label: at + 1 }));
  show($("source-text"), rows, DATA.source.language, false);
  const first = $("source-text").querySelector(".w");
  if (first) {
    const top = first.getBoundingClientRect().top - $("source-text").getBoundingClientRect().top;
    if (top > $("source-text").clientHeight - 60) $("source-text").scrollTop = top - 80;
  }
}

function drawChips() {
  const sizes = Object.entries(DATA.sizes).map(([name, size]) => `${name} = ${size}`).join(", ");
  const chips = [["", DATA.source.file.split(/[\\/]/).pop(), "first"], ["", sizes, "first"],
    ["strategy", DATA.strategy, "mono"], ["float", DATA.float, ""], ["loops", DATA.loops, ""], ...DATA.notes.map((note) => ["", note, ""])];
  $("chips").replaceChildren(...chips.filter(([, text]) => text).map(([title, text, name]) => {
    const chip = element("li", name, title ? `${title}: ${text}` : text);
    chip.title = chip.textContent;
    return chip;
  }));
  $("title").textContent = DATA.title;
}

function view(name) {
  for (const each of ["program", "speed", "tuning", "spaces"]) {
    $(each).hidden = each !== name;
    $(`view-${each}`).setAttribute("aria-selected", String(each === name));
  }
  document.querySelector(".choose").hidden = name !== "program";
  if (name === "speed") drawSpeed($("speed"));
  else if (name === "program") drawSteps(true);
}

function pane(name) {
  $("program").dataset.pane = name;
  for (const tab of document.querySelectorAll(".choose button")) {
    tab.setAttribute("aria-selected", String(tab.dataset.pane === name));
  }
  drawSteps(true);
  TEXTS.forEach((text) => { if (kept) bring(text); });
}

function play() {
  if (playing) return stop();
  $("play").dataset.playing = "";
  $("play").setAttribute("aria-label", "Pause");
  playing = setInterval(() => go(step + 1), 900);
}

function stop() {
  clearInterval(playing);
  playing = null;
  delete $("play").dataset.playing;
  $("play").setAttribute("aria-label", "Play");
}

// Light or dark: the reader's choice, or the system setting.
const dark = matchMedia("(prefers-color-scheme: dark)");
function stored(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    localStorage.setItem(key, value);
  } catch { /* a page in a frame, or from a file, may have no storage */ }
  return null;
}
function theme(name) {
  document.documentElement.dataset.theme = name;
}
theme(stored("rise-theme") ?? (dark.matches ? "dark" : "light"));
dark.addEventListener("change", () => { if (!stored("rise-theme")) theme(dark.matches ? "dark" : "light"); });
function toggleTheme() {
  const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  stored("rise-theme", name);
  theme(name);
}

// The URL contains the step and the stage, so that a link to them can be shared.
function remember() {
  try {
    history.replaceState(null, "", `#step=${step}&stage=${STAGES[stage]?.key ?? ""}`);
  } catch { /* a page in a frame has no URL */ }
}
function recall() {
  const found = new URLSearchParams(location.hash.slice(1));
  const asked = Number(found.get("step") ?? LAST);
  const at = STAGES.findIndex((each) => each.key === found.get("stage"));
  return [Number.isInteger(asked) ? asked : LAST, at < 0 ? stage : at];
}

function press(id, isOn) {
  $(id).setAttribute("aria-pressed", String(isOn));
}
function toggleState() {
  stateDiff = !stateDiff;
  press("derivation-diff", stateDiff);
  drawState();
}
function toggleCode() {
  codeDiff = !codeDiff;
  press("code-diff", codeDiff);
  drawCode();
}

const IS_TUNED = $("tuning").childElementCount > 0;
const HAS_SPACES = $("spaces").childElementCount > 0;
const ACTIONS = {
  ArrowLeft: () => go(step - 1), ArrowRight: () => go(step + 1), Home: () => go(0), End: () => go(LAST),
  " ": play, d: toggleState, x: toggleCode, t: toggleTheme, "?": () => $("keys").showModal(),
  s: () => { if (DATA.speed) view($("speed").hidden ? "speed" : "program"); },
  u: () => { if (IS_TUNED) view($("tuning").hidden ? "tuning" : "program"); },
  i: () => { if (HAS_SPACES) view($("spaces").hidden ? "spaces" : "program"); },
  Escape: () => keep(null),
};
for (let digit = 1; digit <= 9; digit++) ACTIONS[digit] = () => { if (digit <= STAGES.length) choose(digit - 1); };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  const target = event.target;
  if (target.tagName === "INPUT" && event.key !== "Escape" && !/^[a-z?\d]$/.test(event.key)) return;
  if (target.tagName === "BUTTON" && event.key === " ") return;
  const action = ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

$("first").addEventListener("click", () => go(0));
$("back").addEventListener("click", () => go(step - 1));
$("forward").addEventListener("click", () => go(step + 1));
$("last").addEventListener("click", () => go(LAST));
$("play").addEventListener("click", play);
$("slider").addEventListener("input", (event) => go(Number(event.target.value)));
$("derivation-diff").addEventListener("click", toggleState);
$("code-diff").addEventListener("click", toggleCode);
$("theme").addEventListener("click", toggleTheme);
$("help").addEventListener("click", () => $("keys").showModal());
$("view-program").addEventListener("click", () => view("program"));
$("view-speed").addEventListener("click", () => view("speed"));
$("view-tuning").addEventListener("click", () => view("tuning"));
$("view-spaces").addEventListener("click", () => view("spaces"));
$("tuning").addEventListener("click", (event) => {
  const found = event.target.closest("[data-step]");
  if (!found) return;
  view("program");
  go(Number(found.dataset.step));
});
$("steps").addEventListener("scroll", () => drawSteps(false));
$("steps").addEventListener("click", (event) => {
  const found = event.target.closest(".step");
  if (found) go(Number(found.dataset.step));
});
$("steps").addEventListener("keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
  if (!move) return;
  event.preventDefault();
  go(step + move);
});
for (const tab of document.querySelectorAll(".choose button")) {
  tab.addEventListener("click", () => pane(tab.dataset.pane));
}
addEventListener("resize", () => drawSteps(true));

$("slider").max = LAST;
if (DATA.speed) $("view-speed").hidden = false;
$("view-tuning").hidden = !IS_TUNED;
$("view-spaces").hidden = !HAS_SPACES;
// The trials come first, unless the URL has a step.
const isTuningFirst = IS_TUNED && !location.hash;
drawChips();
drawStages();
drawSource();
tell(null);
const [asked, chosen] = recall();
go(asked);
choose(chosen);
if (isTuningFirst) view("tuning");
document.documentElement.dataset.ready = "";
