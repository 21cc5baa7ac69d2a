// What stands on the map: objects, memories that were found, the robot and its path, the sightings of one object.
/* global L */
import { on } from "./bus.js";
import { calm, debounced, h } from "./dom.js";
import { aboutCrowd, ClusterMark, crowds } from "./map_clusters.js";
import { place, point } from "./map_points.js";
import { keyOf, onShownMap, robotColour, robotOf, robotSign } from "./fleet.js";
import { COLOURS, Mark, readColours, textWidth } from "./map_shapes.js";
import { position } from "./marks.js";
import { change, state } from "./state.js";
import { putTarget } from "./target.js";
import { brief, toMs } from "./time.js";
import { named, number, t } from "./words.js";

export class MapMarks {
  constructor(map) {
    readColours();
    this.map = map;
    this.objects = new Map();
    const open = ({ options }) => change({ memory: options.key, panel: "memory" });
    this.group = this.#group((mark) => this.#about(mark), open);
    this.memories = this.#group((mark) => this.#about(mark), open);
    this.crowds = this.#group(aboutCrowd, (mark) => this.#approach(mark));
    this.sightings = L.layerGroup().addTo(map);
    this.path = L.layerGroup().addTo(map);
    this.robot = new Mark([0, 0], { shape: "arrow", radius: 10, colour: "robot", interactive: false, hidden: true }).addTo(map);
    this.tip = L.tooltip({ direction: "auto", offset: [14, 0], className: "tip" });
    this.points = [];
    this.moment = null;
    this.found = new Map(); // by id the place among the results
    this.listed = [];
    this.labelSoon = debounced(60, () => this.#label());
    map.on("moveend", this.labelSoon);
    on("areas", this.labelSoon);
    // Leaflet draws again when a drag ends; until then the canvas would run empty.
    map.on("drag", () => this.#draw());
  }

  #group(about, open) {
    const group = L.featureGroup().addTo(this.map);
    group.bindTooltip(about, { direction: "auto", offset: [14, 0], className: "tip" });
    group.on("click", ({ layer }) => this.map.getContainer().classList.contains("drawing") || open(layer));
    return group;
  }

  /** Shows the objects of a crowd one by one; where no zoom parts them, the list has them, the nearest first. */
  #approach({ options: { members } }) {
    const bounds = L.latLngBounds(members.map((mark) => mark.getLatLng()));
    const zoom = this.map.getBoundsZoom(bounds.pad(0.2));
    if (zoom > this.map.getZoom()) this.map.setView(bounds.getCenter(), zoom, { animate: !calm() });
    else putTarget(point(bounds.getCenter()));
  }

  #draw() {
    const renderer = this.robot._renderer;
    const view = this.map.getPixelBounds();
    const drawn = renderer._bounds;
    const corner = this.map.containerPointToLayerPoint([0, 0]);
    const far = corner.add(view.getSize());
    if (drawn && !(drawn.contains(corner) && drawn.contains(far))) renderer._update();
  }

  showWorld(objects, path) {
    const present = new Set();
    for (const object of objects) {
      const [key, robot] = [keyOf(object), robotOf(object)];
      present.add(key);
      const colour = robot ? robotColour(robot) : object.confirmed ? "object" : "doubt";
      const options = {
        key, object, text: labelled(object.label, robot), hollow: !object.confirmed, colour,
        spread: object.uncertainty ?? 0,
        strength: object.confirmed ? 0.45 + 0.55 * object.confidence : 0.8,
      };
      const known = this.objects.get(key);
      if (known) {
        Object.assign(known.options, options);
        known.setLatLng(place(object.position));
      } else {
        const mark = new Mark(place(object.position), options);
        this.objects.set(key, mark);
        this.group.addLayer(mark);
      }
    }
    for (const [key, mark] of this.objects) {
      if (present.has(key)) continue;
      this.group.removeLayer(mark);
      this.objects.delete(key);
    }
    this.points = path.map((one) => ({ ...one, ms: toMs(one.observed_at) }));
    this.showMoment(this.moment);
    this.showResults(this.listed, this.found.size > 0); // what was listed before may be an object
    if (this.group.getTooltip().isOpen()) this.group.getTooltip().update();
  }

  /** Shows the memories of a list: objects are ringed if they were searched for, others get a mark of their own. */
  showResults(memories, searched) {
    this.listed = memories;
    this.found = new Map(searched ? memories.map(({ key }, rank) => [key, rank]) : []);
    this.memories.clearLayers();
    for (const memory of memories) {
      if (!memory.position || this.objects.has(memory.key) || !onShownMap(memory)) continue;
      const robot = robotOf(memory);
      const colour = robot ? robotColour(robot) : memory.kind === "perception" ? "memory" : memory.kind;
      const mark = new Mark(place(memory.position), {
        key: memory.key, memory, shape: "diamond", radius: 6, colour, ringed: this.found.has(memory.key), text: labelled(memory.label ?? "", robot),
        hidden: this.moment !== null && toMs(memory.observed_at) > this.moment.ms,
      });
      this.memories.addLayer(mark);
    }
    this.#ring();
  }

  #ring() {
    for (const [key, mark] of this.objects) {
      const ringed = this.found.has(key) || key === state().memory;
      if (ringed !== mark.options.ringed) {
        mark.options.ringed = ringed;
        mark._updateBounds();
        mark.redraw();
      }
      if (ringed) mark.bringToFront();
    }
    this.#label();
  }

  select() {
    this.tip.remove();
    this.#ring();
  }

  /** Points to a memory that has the focus in a list. */
  hover(memory) {
    const mark = memory && (this.objects.get(memory.key) ?? this.memories.getLayers().find((one) => one.options.key === memory.key));
    if (!mark || !this.map.getBounds().contains(mark.getLatLng())) return this.tip.remove();
    this.tip.setLatLng(mark.getLatLng()).setContent(this.#about(mark)).addTo(this.map);
  }

  #about(mark) {
    const { object, memory } = mark.options;
    if (memory) return h("div", {}, h("b", {}, memory.label || named("kind", memory.kind)), h("span", {}, memory.snippet.replaceAll("**", "").slice(0, 80)), h("span", {}, brief(memory.observed_at)), robotSign(robotOf(memory)));
    return h(
      "div", {}, h("b", {}, object.label),
      h("span", {}, t(object.confirmed ? "object_confirmed" : "object_unconfirmed", { percent: number(object.confidence * 100, 0) })),
      h("span", {}, t("seen_times", { n: object.times_seen }), " · ", brief(object.last_seen)),
      h("span", {}, `${position(object.position)} m${object.uncertainty ? ` ± ${number(object.uncertainty, 2)}` : ""}`),
      robotSign(robotOf(object)),
    );
  }

  /** Shows the world as it was known at a moment: {ms, point} or null for now. */
  showMoment(moment) {
    this.moment = moment;
    const until = moment ? moment.ms : Infinity;
    let changed = false;
    for (const mark of this.objects.values()) {
      const hidden = toMs(mark.options.object.first_seen) > until;
      changed ||= hidden !== mark.options.hidden;
      mark.options.hidden = hidden;
    }
    for (const mark of this.memories.getLayers()) {
      const hidden = toMs(mark.options.memory.observed_at) > until;
      changed ||= hidden !== mark.options.hidden;
      mark.options.hidden = hidden;
    }
    this.path.clearLayers();
    for (const line of lines(this.points.filter(({ ms }) => ms > until))) this.#line(line, true);
    for (const line of lines(this.points.filter(({ ms }) => ms <= until))) this.#line(line, false);
    const last = moment?.point ?? this.points.findLast(({ ms }) => ms <= until);
    this.robot.options.hidden = !last;
    if (last) {
      this.robot.options.yaw = last.yaw ?? 0;
      this.robot.setLatLng(place(last.position));
      this.robot.bringToFront();
    }
    if (!changed) return;
    this.redraw();
    this.labelSoon();
  }

  #line(points, later) {
    const style = { color: COLOURS.path, weight: later ? 1.5 : 2.5, opacity: later ? 0.3 : 0.75, dashArray: later ? "2 5" : null, interactive: false };
    const line = L.polyline(points.map((one) => place(one.position)), style);
    this.path.addLayer(line);
    line.bringToBack();
  }

  /** Shows where one object was seen, newest first; null takes it away. */
  showSightings(sightings) {
    this.sightings.clearLayers();
    if (!sightings?.length) return;
    const places = sightings.map((one) => place(one.position));
    this.sightings.addLayer(L.polyline(places, { color: COLOURS.accent, weight: 1, opacity: 0.6, interactive: false }));
    for (const [nth, where] of places.entries()) {
      this.sightings.addLayer(new Mark(where, { radius: 3, colour: "accent", strength: Math.max(0.25, 1 - nth / places.length), interactive: false }));
    }
  }

  /** Puts objects that cannot be told apart together, and labels at the others as far as there is room. */
  #label() {
    let changed = this.#cluster();
    const bounds = this.map.getBounds();
    const marks = [...this.objects.values(), ...this.memories.getLayers()];
    const labelled = this.#apart(marks.filter((mark) => isDrawn(mark) && bounds.contains(mark.getLatLng())));
    for (const mark of marks) {
      const side = labelled.get(mark) ?? "";
      if (mark.options.labelled === side) continue;
      mark.options.labelled = side;
      mark._updateBounds();
      changed = true;
    }
    if (changed) this.redraw();
  }

  /** Tells whether that changed anything. What was found is never put together. */
  #cluster() {
    const zoom = this.map.getZoom();
    const groups = crowds([...this.objects.values()].filter(({ options }) => !options.hidden && !options.ringed), zoom);
    const crowded = new Set(groups.flat());
    let changed = groups.length > 0;
    this.crowds.closeTooltip();
    this.crowds.clearLayers();
    for (const members of groups) this.crowds.addLayer(new ClusterMark(members, zoom));
    for (const mark of this.objects.values()) {
      changed ||= mark.options.crowded !== crowded.has(mark);
      mark.options.crowded = crowded.has(mark);
      if (mark.options.ringed && groups.length) mark.bringToFront();
    }
    return changed;
  }

  /** Returns on which side of its mark each label can stand without covering anything, those found and the surest first. */
  #apart(marks) {
    const apart = new Map();
    const width = this.map.getSize().x;
    const at = new Map(marks.map((mark) => [mark, this.map.latLngToContainerPoint(mark.getLatLng())]));
    const boxes = [...at.values()].map(({ x, y }) => [x - 6, y - 6, x + 6, y + 6]);
    for (const mark of this.crowds.getLayers()) {
      const { x, y } = this.map.latLngToContainerPoint(mark.getLatLng());
      const far = mark.options.radius;
      boxes.push([x - far, y - far, x + far, y + far]);
    }
    boxes.push(...this.#areaNames());
    const isFree = (box) => box[0] >= 0 && box[2] <= width && !boxes.some((other) => overlap(box, other));
    const weight = ({ options }) => (options.ringed ? 2 - (this.found.get(options.key) ?? 0) / 1000 : options.object?.confidence ?? 0);
    for (const mark of marks.sort((a, b) => weight(b) - weight(a))) {
      if (!mark.options.text || (mark.options.memory && !mark.options.ringed)) continue;
      const { x, y } = at.get(mark);
      const [begin, end] = [mark.options.ringed ? 13 : 7, 14 + textWidth(mark.options.text)];
      const sides = { right: [x + begin, y - 8, x + end, y + 8], left: [x - end, y - 8, x - begin, y + 8] };
      const side = Object.keys(sides).find((one) => isFree(sides[one]));
      if (!side) continue;
      boxes.push(sides[side]);
      apart.set(mark, side);
    }
    return apart;
  }

  /** Returns the boxes of the names of areas, which stay readable. */
  #areaNames() {
    const frame = this.map.getContainer().getBoundingClientRect();
    const names = [...this.map.getPane("tooltipPane").querySelectorAll(".area-name")].map((name) => name.getBoundingClientRect());
    return names.map(({ left, top, right, bottom }) => [left - frame.left, top - frame.top, right - frame.left, bottom - frame.top]);
  }

  redraw() {
    readColours();
    for (const line of this.path.getLayers()) line.options.color = COLOURS.path;
    this.robot._renderer._updatePaths();
  }
}

const labelled = (text, robot) => (text && robot ? `${text} · ${robot}` : text);
const isDrawn = ({ options }) => !options.hidden && !options.crowded;
const overlap = (box, other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];

function lines(points) {
  const found = [];
  for (const [nth, one] of points.entries()) {
    const before = points[nth - 1];
    if (before?.segment !== one.segment || !before) found.push([]);
    found.at(-1).push(one);
  }
  return found;
}
