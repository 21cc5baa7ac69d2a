// A target on the map that is dragged, or moved by the arrow keys, to ask for what is nearest to it.
/* global L */
import { on } from "./bus.js";
import { debounced, h } from "./dom.js";
import { metres } from "./marks.js";
import { place, point } from "./map_points.js";
import { COLOURS } from "./map_shapes.js";
import { change, onChange, state } from "./state.js";
import { number, onLanguage, t } from "./words.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const LINES = 3;

let map = null;
let marker = null;
let circle = null;
let lines = null;
let nearest = [];

export function startTarget(onMap) {
  map = onMap;
  lines = L.layerGroup().addTo(map);
  onChange((now, changed) => {
    if (changed.has("target") || changed.has("radius")) show();
  });
  on("results", ({ memories, searched }) => {
    nearest = searched ? memories.filter((memory) => memory.position && Number.isFinite(memory.distance)).slice(0, LINES) : [];
    connect();
  });
  onLanguage(describe);
  show();
}

/** Puts the target in the middle of the map, or takes it away. */
export function flipTarget() {
  if (state().target) change({ target: null, radius: "", since_visit: false });
  else {
    change({ target: rounded(point(map.getCenter())) });
    marker?.getElement().focus();
  }
}

export function putTarget(position) {
  change({ target: rounded(position) });
}

const rounded = (position) => position.slice(0, 2).map((value) => Number(value.toFixed(2)));

function show() {
  const { target, radius } = state();
  circle?.remove();
  circle = null;
  if (!target) {
    marker?.remove();
    marker = null;
    nearest = [];
    return connect();
  }
  if (!marker) make(target);
  marker.setLatLng(place(target));
  if (Number(radius) > 0) {
    circle = L.circle(place(target), { radius: Number(radius), color: COLOURS.accent, weight: 1.5, fillOpacity: 0.06, interactive: false }).addTo(map);
  }
  describe();
  connect();
}

function make(target) {
  const icon = L.divIcon({ className: "target", iconSize: [44, 44], html: h("span", { "aria-hidden": "true" }) });
  marker = L.marker(place(target), { icon, draggable: true, autoPan: true, keyboard: true, zIndexOffset: 1000 }).addTo(map);
  marker.on("drag", () => {
    nearest = [];
    connect();
    circle?.setLatLng(marker.getLatLng());
    describe();
  });
  marker.on("dragend", () => change({ target: rounded(point(marker.getLatLng())) }));
  const settle = debounced(250, () => marker && change({ target: rounded(point(marker.getLatLng())) }));
  marker.getElement().addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (event.key === "Delete" || event.key === "Escape") {
      change({ target: null, radius: "", since_visit: false });
      map.getContainer().focus();
    } else if (step) {
      const [x, y] = point(marker.getLatLng());
      const far = event.shiftKey ? 1 : 0.25;
      marker.setLatLng(place([x + step[0] * far, y + step[1] * far]));
      describe();
      settle();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function describe() {
  if (!marker) return;
  const [x, y] = point(marker.getLatLng());
  marker.getElement().setAttribute("aria-label", t("target_label", { x: number(x, 2), y: number(y, 2) }));
  marker.getElement().title = t("target_help");
}

function connect() {
  lines.clearLayers();
  if (!marker) return;
  marker.unbindTooltip();
  if (nearest.length) {
    const text = h("span", {}, [nearest[0].label, metres(nearest[0].distance)].filter(Boolean).join(" · "));
    marker.bindTooltip(text, { permanent: true, direction: "top", offset: [0, -16], className: "tip plain" });
  }
  const from = marker.getLatLng();
  for (const [nth, memory] of nearest.entries()) {
    const style = { color: COLOURS.accent, weight: nth ? 1 : 2, opacity: nth ? 0.5 : 0.9, dashArray: nth ? "3 4" : null, interactive: false };
    L.polyline([from, place(memory.position)], style).addTo(lines);
  }
}
