// Areas: those that are named, and one that is being drawn, corner by corner, by mouse, finger or keys.
/* global L */
import { del, get, post, put } from "./api.js";
import { on, tell } from "./bus.js";
import { byId, h } from "./dom.js";
import { field, openDialog } from "./dialog.js";
import { metres } from "./marks.js";
import { place, point } from "./map_points.js";
import { COLOURS } from "./map_shapes.js";
import { toast } from "./toasts.js";
import { change } from "./state.js";
import { onLanguage, t } from "./words.js";

const NEAR = 14; // pixels to the first corner within which a click closes the polygon

let map = null;
let shown = null;
let corners = null;
let drawing = null;
let onEnd = () => {};
let mayWrite = () => false;

/** Starts the areas; `writable()` tells whether they can be changed. */
export function startAreas(onMap, writable) {
  map = onMap;
  mayWrite = writable;
  shown = L.layerGroup().addTo(map);
  drawing = L.layerGroup().addTo(map);
  map.on("click", ({ latlng, containerPoint }) => corners && add(latlng, containerPoint));
  map.on("dblclick", () => corners && finish());
  map.on("mousemove", ({ latlng }) => corners?.length && draw(latlng));
  map.on("move", () => corners && draw(map.getCenter()));
  map.getContainer().addEventListener("keydown", key, true);
  onLanguage(() => corners && note());
  on("theme", showAreas);
  on("shown", showAreas); // hidden, their names have no width
  return loadAreas();
}

let areas = [];

/** Asks for the named areas and shows them. */
export async function loadAreas() {
  areas = (await get("/api/areas").catch(() => ({ areas: [] }))).areas;
  showAreas();
}

function showAreas() {
  shown.clearLayers();
  for (const { name, polygon } of areas) {
    if (!polygon?.length) continue;
    const style = { color: COLOURS.accent, weight: 1.2, opacity: 0.7, dashArray: "6 4", fillOpacity: 0.04, interactive: false };
    const area = L.polygon(polygon.map(place), style).addTo(shown);
    const label = h("button.link", { type: "button", onclick: () => openArea(name, polygon) }, name);
    L.DomEvent.disableClickPropagation(label);
    area.bindTooltip(label, { permanent: true, direction: "center", className: "area-name", interactive: true });
    area.bringToBack();
  }
  tell("areas");
}

export const isDrawing = () => corners !== null;

/** Begins to draw, or gives up drawing; `done` is called when it is over. */
export function flipDrawing(done = () => {}) {
  if (corners) return stop();
  onEnd = done;
  corners = [];
  map.getContainer().classList.add("drawing");
  map.getContainer().focus({ preventScroll: true });
  note();
  draw(map.getCenter());
}

function stop() {
  corners = null;
  drawing.clearLayers();
  map.getContainer().classList.remove("drawing");
  byId("map-note").textContent = "";
  onEnd();
}

function note() {
  byId("map-note").textContent = corners.length < 3 ? t("draw_help") : t("draw_more");
}

function add(latlng, pixel) {
  const first = corners[0] && map.latLngToContainerPoint(corners[0]);
  if (corners.length >= 3 && pixel && first.distanceTo(pixel) < NEAR) return finish();
  const last = corners.at(-1);
  if (last && map.latLngToContainerPoint(last).distanceTo(map.latLngToContainerPoint(latlng)) < 3) return; // a double click
  corners.push(latlng);
  note();
  draw(latlng);
}

function draw(pointer) {
  drawing.clearLayers();
  const style = { color: COLOURS.accent, weight: 2, interactive: false };
  if (corners.length) drawing.addLayer(L.polygon([...corners, pointer], { ...style, fillOpacity: 0.1 }));
  for (const corner of corners) drawing.addLayer(L.circleMarker(corner, { ...style, radius: 5, fillOpacity: 1 }));
}

function key(event) {
  if (!corners) return;
  if (event.key === "Escape") stop();
  else if (event.key === "Enter") finish();
  else if (event.key === " ") add(map.getCenter());
  else if (event.key === "Backspace") {
    corners.pop();
    note();
    draw(map.getCenter());
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function finish() {
  if (corners.length < 3) return note();
  const polygon = corners.map((corner) => point(corner).map((value) => Math.round(value * 100) / 100));
  openDialog({
    title: t("name_area"),
    content: [
      h("p", {}, t("area_size", { n: polygon.length, size: metres(Math.sqrt(size(polygon))) })),
      field(t("name"), h("input", { name: "name", required: true, autofocus: true, autocomplete: "off" })),
    ],
    submit: t("save"),
    onSubmit: async (form) => {
      const name = form.get("name").trim();
      if (!name) throw new Error(t("name_missing"));
      await post("/api/areas", { name, polygon });
      stop();
      toast(t("area_saved", { name }));
      await changed();
    },
  });
}

async function changed() {
  await loadAreas();
  tell("changed");
}

const path = (name) => `/api/areas/${encodeURIComponent(name)}`;

/** Opens a named area: its memories, another name, or its end. */
function openArea(name, polygon) {
  const act = (run) => async () => {
    await run();
    dialog.close();
  };
  const undo = async () => {
    await post("/api/areas", { name, polygon });
    await changed();
  };
  const remove = async () => {
    try {
      await del(path(name));
      toast(t("area_removed", { name }), { undo });
      await changed();
    } catch (error) {
      toast(error.message, { bad: true });
    }
  };
  const dialog = openDialog({
    title: t("area_title", { name }),
    content: [
      mayWrite() && field(t("name"), h("input", { name: "name", value: name, required: true, autocomplete: "off" })),
      h(
        "div.buttons", {},
        h("button", { type: "button", onclick: act(() => change({ areas: [name] })) }, t("its_memories")),
        mayWrite() && h("button.danger-text", { type: "button", onclick: act(remove) }, t("remove_area")),
      ),
    ],
    submit: mayWrite() ? t("rename") : "",
    onSubmit: async (form) => {
      const wanted = form.get("name").trim();
      if (!wanted) throw new Error(t("name_missing"));
      if (wanted === name) throw new Error(t("nothing_changed"));
      await put(path(name), { name: wanted });
      toast(t("area_saved", { name: wanted }), { undo: () => put(path(wanted), { name }).then(changed) });
      await changed();
    },
  });
}

function size(polygon) {
  const doubled = polygon.reduce((sum, [x, y], nth) => {
    const [nextX, nextY] = polygon[(nth + 1) % polygon.length];
    return sum + x * nextY - nextX * y;
  }, 0);
  return Math.abs(doubled) / 2;
}
