// The map: metres, x to the right and y up, drawn on a canvas by Leaflet.
/* global L */
import { get, isAbort, latest } from "./api.js";
import { farOff } from "./bulk.js";
import { on, tell } from "./bus.js";
import { byId, calm, debounced, eachFrame, h, replace } from "./dom.js";
import { fleetObjects, isAlone, keyOf, robotOf, robotSign } from "./fleet.js";
import { startFloor, floor } from "./map_floor.js";
import { MapMarks } from "./map_marks.js";
import { place, point } from "./map_points.js";
import { change, onChange, state } from "./state.js";
import { toast } from "./toasts.js";
import { number, onLanguage, t } from "./words.js";

const OBJECTS = 5000;
const ROBOTS = 8; // that the legend names
const FAR_ZOOM = 4;
const BESIDE = [64, 36]; // pixels that the buttons and the legend cover

let map = null;
let marks = null;
let own = []; // objects of the file
let objects = []; // these, and those of other robots on this map
let path = [];
let then = null; // the objects of the file as they were believed to be at the moment that is chosen
let far = { objects: [], path: [] }; // what lies far from all else
let grid = null;

/** Starts the map. What is drawn on it comes with `loadMap`. */
export function startMap() {
  map = L.map("map", {
    crs: L.CRS.Simple, minZoom: -3, maxZoom: 9, zoomSnap: 0.25, zoomDelta: 0.5, wheelPxPerZoomLevel: 90, attributionControl: false,
    zoomControl: false, zoomAnimation: !calm(), fadeAnimation: false, inertia: !calm(), doubleClickZoom: false,
    renderer: L.canvas({ padding: 0.4, tolerance: 4 }),
  });
  if (calm()) {
    const { panBy } = map;
    map.panBy = (offset, options) => panBy.call(map, offset, { ...options, animate: false });
  }
  map.getContainer().setAttribute("role", "application");
  map.setView([0, 0], 4);
  startFloor(map);
  marks = new MapMarks(map);
  map.on("mousemove", eachFrame(({ latlng }) => pointer(point(latlng))));
  map.on("mouseout", () => pointer(null));
  map.on("moveend", debounced(200, moved));
  scale();
  label();
  onLanguage(() => (label(), tellFar()));
  onChange((now, changed) => {
    if (changed.has("memory")) marks.select();
    if (changed.has("view") && now.view !== viewText()) restoreView();
  });
  on("results", ({ memories, searched }) => marks.showResults(memories, searched));
  on("hover", (memory) => marks.hover(memory));
  on("moment", (moment) => {
    marks.showMoment(moment);
    if (moment) askThen();
    else if (then) showThen(null);
  });
  on("sightings", (sightings) => marks.showSightings(sightings));
  on("theme", () => marks.redraw());
  on("fleet-objects", showLoaded);
  new ResizeObserver(resized).observe(map.getContainer());
  return map;
}

/** Asks for what the map shows, and shows each part as soon as it is there. */
export async function loadMap() {
  const asked = [
    get("/api/map").then((found) => (grid = found), () => (grid = null)).then(() => floor(map, grid)),
    get("/api/path").then((found) => (path = found.path)),
    get("/api/objects", { limit: OBJECTS, include_unconfirmed: true }).then((found) => (own = found.objects)),
  ];
  const done = await Promise.allSettled(asked.map((one) => one.then(showLoaded)));
  const failed = done.find(({ status }) => status === "rejected");
  if (failed && failed.reason.status > 0) toast(failed.reason.message, { bad: true });
  isFirst = false;
  tellFar();
}

function showLoaded() {
  objects = [...own, ...fleetObjects()];
  const isFar = farOff([...objects, ...path].map(({ position }) => position));
  far = { objects: objects.filter((one, nth) => isFar[nth]), path: path.filter((one, nth) => isFar[objects.length + nth]) };
  drawWorld();
  label();
  tellFar();
  legend();
  if (!fitted) fit();
  else if (isFirst && viewText() === settled) showAll();
}

const drawWorld = () => marks.showWorld(then ? [...then, ...fleetObjects()] : objects, path);

function showThen(found) {
  then = found;
  drawWorld();
}

const askLatest = latest();
const askThen = debounced(120, async () => {
  const { at } = state();
  if (!at) return;
  try {
    const { objects: found } = await askLatest("/api/objects", { limit: OBJECTS, as_of: at });
    if (state().at === at) showThen(found);
  } catch (error) {
    if (!isAbort(error)) toast(error.message, { bad: true });
  }
});

let isFirst = true;
let fitted = false;
let settled = ""; // where the page itself has put the map: no part of the address

function fit() {
  if (restoreView()) return;
  showAll();
}

/** Keeps the middle in the middle; what the page has fitted itself it fits again. */
function resized() {
  const untouched = fitted && viewText() === settled;
  const wasHidden = map.getSize().x === 0;
  map.invalidateSize({ animate: false });
  if (wasHidden) tell("shown");
  if (!fitted) fit(); // on a phone the map was hidden until now
  else if (untouched) showAll();
}

/** Shows everything there is, but for what lies far from all else. */
export function showAll() {
  const bounds = L.latLngBounds([]);
  const outliers = new Set([...far.objects, ...far.path]);
  for (const one of [...objects, ...path]) if (!outliers.has(one)) bounds.extend(place(one.position));
  if (grid && !bounds.isValid()) bounds.extend(floor.bounds(grid)); // before the others are there, or without any
  if (!bounds.isValid() || map.getSize().x === 0) return;
  fitted = true;
  map.fitBounds(bounds.pad(0.05), { animate: false, maxZoom: 6, paddingTopLeft: [24, 24], paddingBottomRight: BESIDE });
  settled = viewText();
}

/** Says what lies outside of the map that is shown first, with a way to get there. */
function tellFar() {
  const line = (text, run) => h("p", {}, text, " ", h("button.link", { type: "button", onclick: run }, t("show")));
  const nothing = !isFirst && !objects.length && !path.length && !grid;
  replace(
    byId("map-far"),
    nothing && h("p", {}, t("nothing_on_map")),
    far.objects.length > 0 && line(t("far_objects", { n: far.objects.length }), showFarObject),
    far.path.length > 0 && line(t("far_path"), () => goTo(far.path[0].position)),
  );
}

let nextFar = 0;

/** Goes to one far object after the other, and opens it: it may be there by mistake. */
function showFarObject() {
  const object = far.objects[nextFar % far.objects.length];
  nextFar += 1;
  change({ memory: keyOf(object), panel: "memory" });
  goTo(object.position);
}

const goTo = (position) => map.setView(place(position), FAR_ZOOM, { animate: false });

/** Moves the map so that a place is in sight, if it is not. */
export function reveal(position) {
  if (!position || map.getSize().x === 0) return;
  const where = place(position);
  if (!map.getBounds().pad(-0.1).contains(where)) map.panTo(where, { animate: !calm() });
}

export const visibleBox = () => {
  if (map.getSize().x === 0) return null;
  const bounds = map.getBounds();
  return { min_corner: point(bounds.getSouthWest()), max_corner: point(bounds.getNorthEast()) };
};

export const knownObjects = () => objects;
export const knownPath = () => path;

const viewText = () => {
  const [x, y] = point(map.getCenter());
  return `${x.toFixed(2)},${y.toFixed(2)},${map.getZoom().toFixed(2)}`;
};

function restoreView() {
  const [x, y, zoom] = state().view.split(",").map(Number);
  if (!state().view || ![x, y, zoom].every(Number.isFinite)) return false;
  fitted = true;
  map.setView(place([x, y]), zoom, { animate: false });
  return true;
}

function moved() {
  if (!fitted || map.getSize().x === 0) return;
  if (viewText() !== settled) change({ view: viewText() }, { quietly: true });
  tell("view");
}

function scale() {
  // Leaflet's scale rounds to whole metres; a robot's map also has centimetres.
  const Metres = L.Control.Scale.extend({
    _getRoundNum(most) {
      const power = 10 ** Math.floor(Math.log10(most));
      const share = most / power;
      return power * (share >= 5 ? 5 : share >= 2 ? 2 : 1);
    },
    _updateMetric(most) {
      const long = this._getRoundNum(most);
      this._updateScale(this._mScale, t("metres", { n: Number(long.toPrecision(1)) }), long / most);
    },
  });
  new Metres({ imperial: false, position: "bottomleft", maxWidth: 120 }).addTo(map);
}

const where = h("span.pointer");

function pointer(at) {
  where.textContent = at ? `x ${number(Number(at[0].toFixed(2)))} · y ${number(Number(at[1].toFixed(2)))} m` : "";
}

function label() {
  map.getContainer().setAttribute("aria-label", t("map_label", { n: objects.length }));
}

function legend() {
  const sign = (name, text) => h("span", {}, h(`i.sign.sign-${name}`, { "aria-hidden": "true" }), text);
  const robots = [...new Set(objects.map(robotOf))].filter(Boolean).sort();
  replace(
    byId("map-legend"),
    robots.slice(0, ROBOTS).map(robotSign), robots.length > ROBOTS && "…",
    !isAlone() && sign("confirmed", t("confirmed")), sign("unconfirmed", t("unconfirmed")), sign("memory", t("memory")),
    !isAlone() && sign("path", t("path")),
    where,
  );
}
onLanguage(() => map && legend());
