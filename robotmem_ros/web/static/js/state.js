// What the page shows: one object, which the address of the page holds, so that it can be shared and gone back to.

const list = (name, source = name, sign = "") => ({ name, source, sign, isList: true, empty: [] });
const flag = (name, needsSearch = false) => ({ name, needsSearch, isFlag: true, empty: false });
const text = (name, needsSearch = false) => ({ name, needsSearch, empty: "" });
const bound = (name, needsSearch = false) => ({ name, needsSearch, isBound: true, empty: "" });

/**
 * The conditions, one row each: where the names of a list come from, the sign before them, what only a search can do.
 * Here are those that have an order, a source, a sign or a control of their own; the server describes the others with
 * the kind of their values.
 */
export const CONDITIONS = [
  list("kinds"), list("collections"), list("labels"), list("categories"), list("tags", "tags", "#"), list("any_tags", "tags", "# "),
  list("areas"), list("session_ids", "sessions"), list("excluded_session_ids", "sessions", "≠ "),
  text("after"), text("before"), bound("min_confidence"), bound("min_relevance", true), text("context_filter", true), text("ids", true),
  flag("in_view", true), flag("best_first"), flag("since_visit", true), flag("unfolded"), flag("include_forgotten"),
];
export const LISTS = CONDITIONS.filter((row) => row.isList);
export const FLAGS = CONDITIONS.filter((row) => row.isFlag);
export const BOUNDS = CONDITIONS.filter((row) => row.isBound);
const TEXTS = [
  ...CONDITIONS.filter((row) => row.empty === "" && !row.isBound), ...["q", "n", "radius", "memory", "panel", "at", "view", "scope", "map"].map((name) => text(name)),
];

const ROWS = { names: list, flag, share: bound, text, time: text, place: text };
const MADE = new Set(["near", "within", "since_last_visit"]); // of the place and the view, by flags above

const listeners = [];
let current = parse(location.search);

/** Adds the other conditions of a search, as the server describes them, each with the control of its kind. */
export function addDescribed({ paths }) {
  const ofList = new Set(paths["/api/memories"].get.parameters.map(({ name }) => name));
  for (const { name, description, schema } of paths["/api/search"].get.parameters) {
    const kind = schema["x-condition"];
    if (!(kind in ROWS) || MADE.has(name) || CONDITIONS.some((known) => known.name === name)) continue;
    const row = ROWS[kind](name, `/api/${name}` in paths ? name : "");
    Object.assign(row, { isDescribed: true, kind, needsSearch: !ofList.has(name), about: description.replace(/\.$/, "") });
    for (const rows of [CONDITIONS, row.isList ? LISTS : row.isFlag ? FLAGS : row.isBound ? BOUNDS : TEXTS]) rows.push(row);
  }
  current = parse(location.search);
}

/** Returns the state that an address holds. `target` is [x, y] in metres, or null. */
export function parse(search) {
  const query = new URLSearchParams(search);
  const state = { target: null };
  for (const { name } of [...TEXTS, ...BOUNDS]) state[name] = query.get(name) ?? "";
  for (const { name } of LISTS) state[name] = query.getAll(name).filter(Boolean);
  for (const { name } of FLAGS) state[name] = query.get(name) === "1";
  for (const name of ["after", "before", "at"]) if (!/^-?\d{1,19}$/.test(state[name])) state[name] = "";
  if (!/^([a-z0-9][a-z0-9_-]*\/)?\d+$/.test(state.memory)) state.memory = "";
  const target = (query.get("target") ?? "").split(",").map(Number);
  if (target.length === 2 && target.every(Number.isFinite) && query.get("target")) state.target = target;
  return state;
}

function address(state) {
  const query = new URLSearchParams();
  for (const { name } of [...TEXTS, ...BOUNDS]) if (state[name]) query.set(name, state[name]);
  for (const { name } of LISTS) for (const value of state[name]) query.append(name, value);
  for (const { name } of FLAGS) if (state[name]) query.set(name, "1");
  if (state.target) query.set("target", state.target.map((metres) => metres.toFixed(2)).join(","));
  const text = query.toString();
  return text ? `?${text}` : location.pathname;
}

export const state = () => current;

/** Changes the state. `quietly` replaces the entry in the browser's history, as while one types or drags. */
export function change(patch, { quietly = false } = {}) {
  const before = current;
  current = { ...current, ...patch };
  const changed = new Set(Object.keys(patch).filter((name) => !same(before[name], current[name])));
  if (!changed.size) return;
  history[quietly ? "replaceState" : "pushState"](null, "", address(current));
  tell(changed);
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function tell(changed) {
  for (const listener of listeners) listener(current, changed);
}

/** Calls back with the state and the names of what changed in it. */
export function onChange(listener) {
  listeners.push(listener);
}

addEventListener("popstate", () => {
  const before = current;
  current = parse(location.search);
  tell(new Set(Object.keys(current).filter((name) => !same(before[name], current[name]))));
});
