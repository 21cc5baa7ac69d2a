// What the page shows: one object, which the address of the page holds, so that it can be shared and gone back to.

const LISTS = [
  "kinds", "collections", "categories", "labels", "tags", "any_tags", "areas", "session_ids", "excluded_session_ids",
];
const FLAGS = ["include_unconfirmed", "include_forgotten", "representatives_only", "unfolded", "in_view", "since_visit", "best_first"];
const TEXTS = [
  "q", "after", "before", "min_confidence", "min_relevance", "context_filter", "ids", "n", "radius",
  "memory", "panel", "at", "view",
];

const listeners = [];
let current = parse(location.search);

/** Returns the state that an address holds. `target` is [x, y] in metres, or null. */
export function parse(search) {
  const query = new URLSearchParams(search);
  const state = { target: null };
  for (const name of TEXTS) state[name] = query.get(name) ?? "";
  for (const name of LISTS) state[name] = query.getAll(name).filter(Boolean);
  for (const name of FLAGS) state[name] = query.get(name) === "1";
  for (const name of ["after", "before", "at"]) if (!/^-?\d{1,19}$/.test(state[name])) state[name] = "";
  if (!/^\d+$/.test(state.memory)) state.memory = "";
  const target = (query.get("target") ?? "").split(",").map(Number);
  if (target.length === 2 && target.every(Number.isFinite) && query.get("target")) state.target = target;
  return state;
}

function address(state) {
  const query = new URLSearchParams();
  for (const name of TEXTS) if (state[name]) query.set(name, state[name]);
  for (const name of LISTS) for (const value of state[name]) query.append(name, value);
  for (const name of FLAGS) if (state[name]) query.set(name, "1");
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
