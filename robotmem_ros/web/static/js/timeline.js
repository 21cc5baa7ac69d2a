// The strip of time: how many memories there are when, the sessions, and a moment that one can drag.
/* global uPlot */
import { latest, get, isAbort } from "./api.js";
import { on, tell } from "./bus.js";
import { byId, debounced, eachFrame, h, replace } from "./dom.js";
import { icon } from "./icons.js";
import { sessionBars } from "./session_bars.js";
import { stayBars } from "./stay_bars.js";
import { change, onChange, state } from "./state.js";
import { clock, duration, full, isSim, now, tick, toMs, toNs, zoneAt } from "./time.js";
import { named, number, onLanguage, t } from "./words.js";

const KINDS = ["note", "perception", "fact"]; // from the top of the stack down
const SESSIONS = 200;
const EDGE = 16; // pixels that the word below a line may reach beyond the strip
const SHORTEST = 1000; // ms, the least that the strip shows

let plot = null;
let first = 0; // ms: of the oldest and the newest memory
let last = 0;
let main = null; // ms: start and end of the times in which nearly all was observed; null for an empty memory
let counts = { starts: [], width: 1 };
let sessions = [];
let open = null; // the memory that is open
let stays = []; // of it, if it is an object
let moment = null; // ms, or null for now
let span = null; // ms: the first and the last moment that the strip shows
const askLatest = latest();
const parts = {};

/** Returns when the newest memory was observed, in milliseconds, or null while that is not known. */
export const newest = () => (main ? last : null);

/** Returns what is now: of a simulated clock only the newest memory is known. */
const present = () => (isSim(last) ? last : now());

/** Starts the strip, which is empty until `loadTimeline`. */
export function startTimeline() {
  build();
  on("health", arrange);
  on("stays", showStays);
  on("theme", () => (plot?.destroy(), (plot = null), main && draw(shownWindow())));
  onLanguage(() => {
    build();
    plot?.destroy();
    plot = null;
    if (main) draw(shownWindow());
  });
  onChange((now, changed) => {
    if (changed.has("at")) move(now.at ? toMs(now.at) : null);
    if (changed.has("memory") && !now.memory) showStays(null);
  });
  moment = state().at ? toMs(state().at) : null;
  new ResizeObserver(eachFrame(resize)).observe(byId("timeline"));
}

/** Asks again for all that the strip shows; it stays where it is, and follows the newest memory if that was in sight. */
export async function loadTimeline() {
  try {
    const before = shownWindow();
    const followed = !before || before[1] >= main.end;
    const whole = !before || before[0] <= main.start;
    const asked = await Promise.all([askDensity(), get("/api/sessions", { n: SESSIONS }).catch(() => ({ sessions: [] }))]);
    sessions = asked[1].sessions;
    byId("timeline").classList.toggle("is-empty", !main);
    if (!main) return;
    const window = !before || (followed && whole) ? wholeTime() : followed ? [main.end - (before[1] - before[0]), main.end] : before;
    if (window[0] > first || window[1] < last) await askDensity(window);
    draw(window);
  } catch (error) {
    if (!isAbort(error)) parts.note.textContent = error.message;
  }
}

async function askDensity(window = null) {
  const bins = Math.max(40, Math.min(400, Math.floor((byId("timeline").clientWidth || 400) / 5)));
  const answer = await askLatest("/api/density", {
    bins, ...(window && { after: toNs(Math.max(window[0], 0)), before: toNs(Math.max(window[1], 1)) }),
  });
  if (answer.first !== null) {
    first = toMs(answer.first);
    last = toMs(answer.last);
    main = { ...answer.main, start: toMs(answer.main.start), end: toMs(answer.main.end) };
  }
  counts = { start: answer.start === null ? 0 : toMs(answer.start), width: Number(answer.width) / 1e6, kinds: answer.counts };
  return answer;
}

const wholeTime = () => {
  const margin = Math.max((main.end - main.start) * 0.02, SHORTEST / 2);
  return [main.start - margin, main.end + margin];
};

const shownWindow = () => span;

const refine = debounced(180, async () => {
  const window = shownWindow();
  if (!window) return;
  try {
    await askDensity(window);
    draw(window);
  } catch (error) {
    if (!isAbort(error)) parts.note.textContent = error.message;
  }
});

function build() {
  const button = (name, sign, run) => h("button.tool", { type: "button", title: t(name), "aria-label": t(name), onclick: run }, icon(sign));
  parts.chart = h("div.chart");
  parts.lanes = h("div.lanes", { "aria-hidden": "true" });
  parts.stays = h("div.stays", { role: "img" });
  const slider = { role: "slider", tabindex: 0, "aria-label": t("moment"), "aria-orientation": "horizontal", "aria-valuenow": 0 };
  parts.thumb = h("div.moment", slider, h("output")); // its time comes with the first memories
  parts.thumb.addEventListener("keydown", key);
  parts.note = h("span.note");
  parts.far = h("span.far");
  parts.track = h("div.track", {}, parts.chart, parts.stays, parts.lanes, parts.thumb);
  replace(
    byId("timeline"),
    h(
      "div.timeline-tools", { role: "toolbar", "aria-label": t("timeline_tools") },
      button("zoom_in_time", "plus", () => zoom(0.5)), button("zoom_out_time", "minus", () => zoom(2)),
      button("all_times", "all", () => show(...wholeTime())),
      button("now", "now", () => choose(null)),
      h("button", { type: "button", onclick: useWindow, title: t("use_window_help") }, t("use_window")),
      parts.far,
      parts.note,
    ),
    parts.track,
    h("p.nothing", {}, t("nothing_yet")),
  );
}

/** Names what lies outside of the main times, with a way to get there. */
function tellFar() {
  const { start, end, earlier, later } = main;
  const line = (text, condition, edge) => [text, " ", h("button.link", { type: "button", onclick: () => (change({ after: "", before: "", ...condition }), show(...edge)) }, t("show"))];
  const margin = (end - start) / 2;
  replace(
    parts.far,
    earlier > 0 && line(t("far_earlier", { n: earlier }), { before: toNs(start) }, [first - margin, first + margin]),
    later > 0 && line(t("far_later", { n: later }), { after: toNs(end + 0.001) }, [last - margin, last + margin]),
  );
}

function draw(window = wholeTime()) {
  const kinds = counts.kinds ?? {};
  const length = Math.max(0, ...Object.values(kinds).map((values) => values.length));
  const x = Array.from({ length }, (_, nth) => (counts.start + (nth + 0.5) * counts.width) / 1000);
  let below = new Array(length).fill(0);
  const stacked = [...KINDS].reverse().map((kind) => (below = below.map((sum, nth) => sum + (kinds[kind]?.[nth] ?? 0))));
  const data = [x, ...stacked.reverse()];
  if (!plot) plot = new uPlot(options(window), data, parts.chart);
  else plot.setData(data, false);
  show(...window, { asked: true });
  tellFar();
  name();
}

function options([from, to]) {
  const style = getComputedStyle(document.documentElement);
  const colour = (of) => style.getPropertyValue(`--${of}`).trim();
  const bars = uPlot.paths.bars({ size: [0.86, 40], align: 0 });
  return {
    width: Math.max(parts.track.clientWidth, 100), height: 78, ms: 1e-3, legend: { show: false }, cursor: { show: false }, select: { show: false },
    padding: [6, 0, 0, 0],
    scales: { x: { time: true, min: from / 1000, max: to / 1000, auto: false }, y: { range: (u, low, high) => [0, Math.max(high ?? 1, 1)] } },
    axes: [
      {
        size: 24, stroke: colour("muted"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif",
        values: (u, splits, axis, space, step) => splits.map((at) => (isAtEdge(u, at) ? "" : tick(at * 1000, step * 1000))), space: 80,
      },
      { show: false },
    ],
    series: [{}, ...KINDS.map((kind) => ({ fill: colour(kind === "perception" ? "object" : kind), stroke: colour("surface"), width: 0, paths: bars, points: { show: false } }))],
    hooks: { ready: [listen], draw: [arrange] },
  };
}

// What is written there would be cut off.
const isAtEdge = ({ scales: { x }, width }, at) => (Math.min(at - x.min, x.max - at) / (x.max - x.min)) * width < EDGE;

/** Shows a window of time, in milliseconds. */
function show(from, to, { asked = false } = {}) {
  if (!plot) return;
  const middle = (from + to) / 2;
  const half = Math.max(to - from, SHORTEST) / 2;
  span = [middle - half, middle + half];
  plot.setScale("x", { min: span[0] / 1000, max: span[1] / 1000 });
  if (!asked) refine();
}

function zoom(factor, about = null) {
  const [from, to] = shownWindow();
  const middle = about ?? (moment !== null && moment > from && moment < to ? moment : (from + to) / 2);
  show(middle - (middle - from) * factor, middle + (to - middle) * factor);
}

function pan(share) {
  const [from, to] = shownWindow();
  show(from + (to - from) * share, to + (to - from) * share);
}

const timeAt = (pixel) => plot.posToVal(pixel, "x") * 1000;
const pixelAt = (ms) => plot.valToPos(ms / 1000, "x");

function listen(chart) {
  const over = chart.over;
  const drag = eachFrame((pixel) => choose(clamped(timeAt(pixel)), { quietly: true }));
  over.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const left = over.getBoundingClientRect().left;
    over.setPointerCapture(event.pointerId);
    const shift = event.shiftKey ? event.clientX : null;
    const window = shownWindow();
    const follow = (moved) => {
      if (shift === null) return drag(moved.clientX - left);
      const by = ((shift - moved.clientX) / over.clientWidth) * (window[1] - window[0]);
      show(window[0] + by, window[1] + by);
    };
    if (shift === null) choose(clamped(timeAt(event.clientX - left)));
    over.addEventListener("pointermove", follow);
    over.addEventListener("pointerup", () => over.removeEventListener("pointermove", follow), { once: true });
  });
  over.addEventListener("pointermove", (event) => hint(event.clientX - over.getBoundingClientRect().left));
  over.addEventListener("pointerleave", () => (parts.note.textContent = describeWindow()));
  over.addEventListener("wheel", (event) => {
    event.preventDefault();
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) pan((event.deltaX || event.deltaY) / over.clientWidth);
    else zoom(1.0015 ** event.deltaY, timeAt(event.clientX - over.getBoundingClientRect().left));
  }, { passive: false });
}

function hint(pixel) {
  const at = timeAt(pixel);
  const nth = Math.floor((at - counts.start) / counts.width);
  const told = [...KINDS].reverse().map((kind) => [kind, counts.kinds?.[kind]?.[nth] ?? 0]).filter(([, n]) => n);
  parts.note.textContent = [clock(at), ...told.map(([kind, n]) => `${number(n)} ${named("kinds", kind)}`)].join(" · ");
}

const clamped = (ms) => Math.min(Math.max(ms, first), Math.max(last, first) + 1);

/** Chooses a moment, or null for now. */
export function choose(ms, options = {}) {
  change({ at: ms === null ? "" : toNs(ms), ...(ms !== null && { panel: "moment" }) }, options);
}

function move(ms) {
  moment = ms;
  if (plot && ms !== null) {
    const [from, to] = shownWindow();
    if (ms < from || ms > to) show(ms - (to - from) / 2, ms + (to - from) / 2);
  }
  arrange();
  tell("moment-moved", ms);
}

function key(event) {
  const [from, to] = shownWindow() ?? [0, 1];
  const at = moment ?? last;
  const step = (to - from) / 100;
  const moves = {
    ArrowLeft: at - step, ArrowDown: at - step, ArrowRight: at + step, ArrowUp: at + step, PageUp: at + 10 * step, PageDown: at - 10 * step, Home: first, End: last,
  };
  if (event.key in moves) choose(clamped(moves[event.key]), { quietly: true });
  else if (event.key === "+" || event.key === "=") zoom(0.5);
  else if (event.key === "-") zoom(2);
  else if (event.key === "Escape") choose(null);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function useWindow() {
  const [from, to] = shownWindow();
  change({ after: toNs(Math.max(from, 0)), before: toNs(Math.max(to, 1)) });
}

function arrange() {
  if (!plot) return;
  const width = plot.over.clientWidth;
  const at = moment ?? present();
  const pixel = Math.min(Math.max(pixelAt(at), 0), width);
  parts.thumb.style.transform = `translateX(${pixel}px)`;
  parts.thumb.classList.toggle("is-now", moment === null);
  parts.thumb.firstChild.textContent = moment === null ? nowText(pixelAt(at) > width) : clock(moment);
  parts.thumb.classList.toggle("to-left", pixel > width - parts.thumb.firstChild.offsetWidth - 8);
  parts.thumb.setAttribute("aria-valuemin", Math.floor(first / 1000));
  parts.thumb.setAttribute("aria-valuemax", Math.ceil(Math.max(last, present()) / 1000));
  parts.thumb.setAttribute("aria-valuenow", Math.round(at / 1000));
  parts.thumb.setAttribute("aria-valuetext", moment === null ? nowText() : full(toNs(moment)));
  replace(parts.lanes, sessionBars(sessions, { pixelAt, last, width }));
  replace(parts.stays, stayBars(stays, { pixelAt, last: Math.max(last, present()), width }));
  parts.stays.setAttribute("aria-label", stays.length ? t("stays_n", { n: stays.length }) : "");
  parts.stays.hidden = !stays.length;
}

/** Draws from when until when an object was at its place; that of another robot only its own file knows. */
async function showStays(memory) {
  open = memory;
  const isOwn = memory?.first_seen && !memory.fleet_robot;
  const details = isOwn ? await get(`/api/objects/${memory.id}`).catch(() => null) : null;
  if (open !== memory) return;
  stays = details?.stays ?? [];
  arrange();
}

/** Returns what the handle says where no moment is chosen; `isBeyond` tells that it points out of the strip. */
function nowText(isBeyond = false) {
  if (isSim(last)) return t("newest_known");
  return isBeyond ? t("now_later", { time: duration(present() - last) }) : t("now");
}

function resize() {
  if (!plot || !parts.track.clientWidth || plot.width === parts.track.clientWidth) return;
  plot.setSize({ width: parts.track.clientWidth, height: 78 });
}

const describeWindow = () => {
  const window = shownWindow();
  if (!window || !main) return "";
  return `${duration(window[1] - window[0])} · ${isSim(last) ? t("sim_clock") : zoneAt(last)}`;
};

function name() {
  parts.note.textContent = describeWindow();
}
