// The conditions of a recall as controls, and those that hold as buttons that remove them.
import { get } from "./api.js";
import { on } from "./bus.js";
import { byId, debounced, h, replace } from "./dom.js";
import { field } from "./dialog.js";
import { scopeButtons, scopeOf } from "./fleet.js";
import { metres } from "./marks.js";
import { namesInput } from "./names_input.js";
import { countConditions } from "./question.js";
import { BOUNDS, change, CONDITIONS, FLAGS, LISTS, onChange, state } from "./state.js";
import { brief, fromInput, toInput, toNs } from "./time.js";
import { named, number, onLanguage, t } from "./words.js";

const KINDS = ["fact", "perception", "note"];
const EXAMPLES = { time: "2 hours ago", place: "1.0, 2.0", text: "" };
const describedTexts = () => CONDITIONS.filter((row) => row.isDescribed && row.kind in EXAMPLES);
const names = () => LISTS.filter((row) => row.name !== "kinds");
const OF_FLEET = new Set(["collections", "labels", "categories"]); // which names the fleet counts, too
const QUICK = { last_hour: 3600e3, last_day: 86400e3, last_week: 7 * 86400e3 };

let sim = () => false;
let present = () => Date.now();
let open = false;
const offers = new Map();

/** Starts the controls; `isSim()` tells whether times are of a simulated clock, `presentTime()` what is now, in ms. */
export function startConditions(isSim, presentTime) {
  sim = isSim;
  present = presentTime;
  build();
  onLanguage(build);
  on("clock", build);
  on("scope", () => (forgetOffers(), build()));
  onChange((now, changed) => {
    // While somebody types into a control of the panel it must stay as it is.
    if (open && byId("condition-panel").contains(document.activeElement) && changed.size === 1) chips();
    else build();
  });
}

/** Forgets what names there are, after a change of the memories. */
export const forgetOffers = () => offers.clear();

/** Returns the names that a field may have, with the number of memories; none without a source. */
export async function offered(name) {
  if (!name) return [];
  if (!offers.has(name)) {
    const asked = get(`/api/${name}`, OF_FLEET.has(name) ? scopeOf() : {}).then((body) => (body[name] ?? []).map(offer).filter(({ memories }) => memories || name !== "tags"));
    asked.catch(() => offers.delete(name));
    offers.set(name, asked);
  }
  return offers.get(name);
}

const offer = (one) => ({ value: one.value ?? one.name ?? one.session_id, memories: one.memories ?? 0 });

function build() {
  const box = byId("conditions");
  const panel = h("div.condition-panel", { id: "condition-panel", hidden: !open }, open && controls());
  const count = countConditions();
  const toggle = h(
    "button.toggle", { type: "button", "aria-expanded": String(open), "aria-controls": "condition-panel", onclick: flip },
    h("span", { "aria-hidden": "true" }, open ? "▾" : "▸"), t("conditions"), count ? h("span.count", {}, number(count)) : null,
  );
  replace(box, h("div.condition-head", {}, toggle, kindButtons(), scopeButtons(), h("span.chips", { id: "condition-chips" })), panel);
  chips();
}

function flip() {
  open = !open;
  build();
  byId("conditions").querySelector(".toggle").focus();
}

function kindButtons() {
  const { kinds } = state();
  const press = (kind) => () => {
    const next = kinds.includes(kind) ? kinds.filter((other) => other !== kind) : [...kinds, kind];
    change({ kinds: next.length === KINDS.length ? [] : next });
    byId("conditions").querySelector(`[data-kind=${kind}]`).focus();
  };
  return h(
    "div.kinds", { role: "group", "aria-label": t("kinds") },
    KINDS.map((kind) =>
      h(`button.pill`, { type: "button", "data-kind": kind, "aria-pressed": String(kinds.includes(kind)), onclick: press(kind) }, named("kinds", kind)),
    ),
  );
}

function controls() {
  const now = state();
  return [
    names().map((row) =>
      namesInput({
        label: label(row), names: now[row.name], offered: () => offered(row.source), onChange: (chosen) => change({ [row.name]: chosen }),
      }).element,
    ),
    timeWindow(now),
    BOUNDS.map((row) => bound(row, now)),
    place(now),
    text({ name: "context_filter" }, now, '{"task.success": true}', "filter_hint"),
    text({ name: "ids" }, now, "12, 15"),
    describedTexts().map((row) => text(row, now, EXAMPLES[row.kind])),
    h("fieldset.flags", {}, h("legend", {}, t("more_conditions")), FLAGS.map((row) => flag(row, now))),
    countConditions() > 0 && h("button", { type: "button", onclick: clear }, t("clear_all")),
  ];
}

function timeWindow(now) {
  const input = (name) => {
    const control = h("input", { type: sim() ? "text" : "datetime-local", step: 1, value: toInput(now[name], sim()), placeholder: sim() ? "0:02:30" : "" });
    control.addEventListener("change", () => {
      const ns = fromInput(control.value, sim());
      control.setAttribute("aria-invalid", String(ns === null));
      if (ns !== null) change({ [name]: ns });
    });
    return field(t(name), control);
  };
  const last = (length) => () => {
    change({ after: toNs(Math.max(present() - length, 0)), before: "" });
    build();
  };
  return h(
    "fieldset.window", {}, h("legend", {}, t("time_window")), input("after"), input("before"),
    h("div.quick", {}, Object.entries(QUICK).map(([name, length]) => h("button.pill", { type: "button", onclick: last(length) }, t(name)))),
  );
}

function bound(row, now) {
  const { name } = row;
  const output = h("output", {}, now[name] ? number(Number(now[name])) : t("any"));
  const control = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: now[name] || 0 });
  const tell = debounced(200, () => change({ [name]: Number(control.value) ? control.value : "" }));
  control.addEventListener("input", () => {
    output.textContent = Number(control.value) ? number(Number(control.value)) : t("any");
    tell();
  });
  const element = field(label(row), control);
  element.classList.add("bound");
  element.append(output);
  return element;
}

function place(now) {
  const radius = h("input", { type: "number", min: 0, step: "any", value: now.radius, placeholder: t("any") });
  radius.addEventListener("change", () => change({ radius: Number(radius.value) > 0 ? radius.value : "" }));
  const coordinate = (axis) => {
    const control = h("input", { type: "number", step: "any", value: now.target ? now.target[axis].toFixed(2) : "" });
    control.addEventListener("change", () => {
      if (control.value === "") return change({ target: null });
      const target = [...(state().target ?? [0, 0])];
      target[axis] = Number(control.value);
      change({ target });
    });
    return field(["x", "y"][axis], control);
  };
  return h("fieldset.near", {}, h("legend", {}, t("nearest_to")), coordinate(0), coordinate(1), field(t("radius"), radius));
}

function text(row, now, placeholder, hint = "") {
  const { name } = row;
  const control = h(name === "context_filter" ? "textarea" : "input", { rows: 2, spellcheck: "false", autocomplete: "off", placeholder, value: now[name] });
  control.addEventListener("change", () => change({ [name]: control.value.trim() }));
  return field(label(row), control, hint && t(hint));
}

const label = ({ name, about }) => t(name, {}, about);

function flag(row, now) {
  const control = h("input", { type: "checkbox", checked: now[row.name] });
  control.addEventListener("change", () => change({ [row.name]: control.checked }));
  return h("label.flag", {}, control, label(row));
}

function chips() {
  const now = state();
  const found = [];
  const chip = (text, patch) =>
    found.push(h("button.chip", { type: "button", "aria-label": t("remove", { text }), onclick: () => change(patch) }, text, h("span", { "aria-hidden": "true" }, "×")));
  for (const { name, sign } of names()) {
    for (const value of now[name]) chip(sign + value, { [name]: now[name].filter((other) => other !== value) });
  }
  if (now.after) chip(t("from_time", { time: brief(now.after) }), { after: "" });
  if (now.before) chip(t("until_time", { time: brief(now.before) }), { before: "" });
  for (const row of BOUNDS) if (now[row.name]) chip(`${label(row)} ${number(Number(now[row.name]))}`, { [row.name]: "" });
  if (now.target) chip(t("near_place", { place: now.target.map((value) => number(value, 2)).join(", ") }), { target: null, since_visit: false });
  if (now.radius) chip(`≤ ${metres(Number(now.radius))}`, { radius: "" });
  if (now.context_filter) chip(now.context_filter, { context_filter: "" });
  if (now.ids) chip(`id ${now.ids}`, { ids: "" });
  for (const row of describedTexts()) if (now[row.name]) chip(`${label(row)} ${now[row.name]}`, { [row.name]: "" });
  for (const row of FLAGS) if (now[row.name]) chip(label(row), { [row.name]: false });
  replace(byId("condition-chips"), found);
}

function clear() {
  change({ ...Object.fromEntries(CONDITIONS.map(({ name, empty }) => [name, empty])), n: "", radius: "", target: null });
  byId("conditions").querySelector(".toggle").focus();
}
