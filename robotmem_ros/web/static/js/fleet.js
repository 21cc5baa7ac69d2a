// The fleet, if the console has one: whose memories to look at, its robots with a colour each, and news from it.
import { get } from "./api.js";
import { on, tell } from "./bus.js";
import { h } from "./dom.js";
import { change, onChange, state } from "./state.js";
import { t, told } from "./words.js";

const LOOK = 15_000; // ms between two looks at the fleet: it sends no news
const PATIENCE = 5; // seconds that a person waits for the fleet
const OBJECTS = 5000;
export const ROBOT_COLOURS = 8;

let scopes = ["robot"];
let ownMap = "";
let robots = [];
let reason = "";
let objects = [];
let seen = "";
const slots = new Map();

export const hasFleet = () => scopes.length > 1 || isAlone();
/** Tells whether there is no file of a robot beside the fleet. */
export const isAlone = () => scopes[0] === "fleet";
const scope = () => (scopes.includes(state().scope) ? state().scope : scopes[0]);
export const looksBeyond = () => scope() !== "robot";
/** Returns the parameters of a query that say whose memories it looks at. */
export const scopeOf = () => (looksBeyond() ? { scope: scope(), deadline: PATIENCE } : {});
/** Returns the robots as the server has them, and why there are none. */
export const fleetRobots = () => ({ robots, reason });

/** Starts to look at the fleet once the status tells that there is one. */
export function startFleet() {
  on("health", (status) => {
    const had = hasFleet();
    scopes = status.scopes;
    ownMap = status.map_id;
    if (had || !hasFleet()) return;
    document.body.classList.add("has-fleet");
    document.body.classList.toggle("fleet-alone", isAlone());
    if (looksBeyond()) tell("scope");
    loadFleet();
    setInterval(() => document.hidden || loadFleet(), LOOK);
  });
  onChange((now, changed) => {
    if (changed.has("scope")) {
      tell("scope");
      loadObjects();
    }
    if (changed.has("map")) tell("fleet-objects");
  });
}

async function loadFleet() {
  const answer = await get("/api/fleet/robots").catch((error) => ({ robots: [], reason: error.message }));
  if (!answer.reason) assignColours((robots = answer.robots));
  reason = answer.reason;
  const now = JSON.stringify([reason, robots.map(({ name, revision }) => [name, revision])]);
  const isNew = now !== seen;
  const isFirst = seen === "";
  seen = now;
  tell("robots");
  if (!isNew) return;
  tell("robot-names");
  await loadObjects();
  if (!isFirst) tell("fleet");
}

/** Asks for what other robots have on their maps, if the page looks beyond the file. */
async function loadObjects() {
  if (looksBeyond()) {
    const answer = await get("/api/fleet/objects", { limit: OBJECTS, include_unconfirmed: true }).catch(() => null);
    if (answer && !answer.reason) objects = answer.objects;
  }
  tell("fleet-objects");
}

/** Returns how many objects there are on each map, most first. */
export function fleetMaps() {
  const counts = new Map();
  for (const { map_id: map } of objects) counts.set(map, (counts.get(map) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** Returns the map that is shown: without a file that which was chosen, else that with most objects. */
export function shownMap() {
  if (!isAlone()) return ownMap;
  const maps = fleetMaps().map(([map]) => map);
  return maps.includes(state().map) ? state().map : (maps[0] ?? "");
}

export const onShownMap = (one) => !looksBeyond() || one.map_id === undefined || one.map_id === shownMap();
export const fleetObjects = () => (looksBeyond() ? objects.filter(onShownMap) : []);

// A robot keeps its colour as long as no other one of the fleet has more right to it.
function assignColours() {
  slots.clear();
  for (const { name } of robots) {
    const first = hash(name) % ROBOT_COLOURS;
    const taken = new Set(slots.values());
    const free = [...Array(ROBOT_COLOURS).keys()].map((nth) => (first + nth) % ROBOT_COLOURS).find((slot) => !taken.has(slot));
    slots.set(name, free ?? first);
  }
}

const hash = (name) => [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 1_000_003, 7);
const slot = (name) => slots.get(name) ?? hash(name) % ROBOT_COLOURS;

/** Returns the robot that remembers something, "" for this one while nothing else is shown. */
export const robotOf = ({ fleet_robot: robot, collection }) => robot || fellow(collection) || (looksBeyond() ? ownName() : "");
// What the file has of other robots is in collections of their names.
const fellow = (collection) => (collection?.startsWith("@") ? collection.slice(1).split("/")[0] : "");
const ownName = () => robots.find((one) => one.is_own)?.name ?? "";
/** Returns the name of the colour of a robot, as the theme has it. */
export const robotColour = (name) => `fleet-${slot(name)}`;
/** Returns a robot as a dot in its colour, with its name. */
export const robotSign = (name) => name && h("span.robot", { title: t("robot_of_fleet", { name }) }, h(`i.dot.dot-${slot(name)}`, { "aria-hidden": "true" }), name);

/** Says what of the file the fleet lacks, and why. */
export const backlogOf = ({ fleet_backlog: backlog, fleet_trouble: trouble }) =>
  trouble ? told(trouble) : backlog < 0 ? t("not_known") : t(backlog ? "backlog_n" : "backlog_none", { n: backlog });

/** Returns what names a memory in the page: its id, for one of another robot behind the name of that. */
export const keyOf = ({ fleet_robot: robot, id }) => (robot ? `${robot}/${id}` : String(id));
/** Returns the robot that a key names; "" for this one. */
export const robotOfKey = (key) => (key.includes("/") ? key.split("/")[0] : "");

/** Returns the buttons that choose whose memories the page shows; null where there is no choice. */
export function scopeButtons() {
  if (scopes.length < 2) return null;
  return h(
    "div.scopes", { role: "group", "aria-label": t("scope_of") },
    scopes.map((name) => h("button.pill", { type: "button", "data-scope": name, "aria-pressed": String(scope() === name), onclick: () => choose(name) }, t(`scope_${name}`))),
  );
}

function choose(name) {
  change({ scope: name === scopes[0] ? "" : name });
  document.querySelector(`[data-scope=${name}]`).focus();
}
