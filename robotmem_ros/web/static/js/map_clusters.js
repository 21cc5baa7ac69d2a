// Objects that lie too close together to be told apart stand on the map as one mark with their number.
/* global L */
import { h } from "./dom.js";
import { point } from "./map_points.js";
import { COLOURS, Mark } from "./map_shapes.js";
import { number, t } from "./words.js";

const CELL = 52; // pixels
const CROWD = 5; // objects in a cell from which on they are one mark
const LABELS = 4; // that are named

/** Returns groups of marks that lie in one cell of a grid, which moves with the map and not with the view. */
export function crowds(marks, zoom) {
  const cells = new Map();
  for (const mark of marks) {
    const key = point(mark.getLatLng()).map((metres) => cellOf(metres, zoom)).join();
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(mark);
  }
  return [...cells.values()].filter(({ length }) => length >= CROWD);
}

const cellOf = (metres, zoom) => Math.floor((metres * 2 ** zoom) / CELL);

/** The mark of a group: it stands in the middle of its members, but never so near to the edge of its cell that two of them overlap. */
export const ClusterMark = Mark.extend({
  options: { members: [], colour: "object" },

  initialize(members, zoom) {
    const radius = Math.min(12 + 1.5 * Math.log2(members.length / CROWD), 20);
    const middle = [0, 1].map((axis) => {
      const values = members.map((mark) => point(mark.getLatLng())[axis]);
      const mean = values.reduce((sum, value) => sum + value / values.length, 0);
      const [cell, margin] = [cellOf(values[0], zoom), radius / CELL];
      return (Math.min(Math.max((mean * 2 ** zoom) / CELL, cell + margin), cell + 1 - margin) * CELL) / 2 ** zoom;
    });
    Mark.prototype.initialize.call(this, L.latLng(middle[1], middle[0]), { members, radius });
  },

  _updatePath() {
    const context = this._renderer._ctx;
    if (!this._renderer._drawing || this._empty()) return;
    const { x, y } = this._point;
    context.save();
    context.globalAlpha = 1; // Leaflet leaves behind what the line before needed
    context.setLineDash([]);
    context.beginPath();
    context.arc(x, y, this.options.radius, 0, 2 * Math.PI);
    context.fillStyle = COLOURS.object;
    context.strokeStyle = COLOURS.surface;
    context.lineWidth = 2;
    context.fill();
    context.stroke();
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = COLOURS.surface;
    context.fillText(number(this.options.members.length), x, y + 0.5);
    context.restore();
  },
});

/** Returns what a tooltip says of a group: how many objects, and of what. */
export function aboutCrowd({ options: { members } }) {
  const counts = new Map();
  for (const { options } of members) counts.set(options.text, (counts.get(options.text) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]);
  const named = most.slice(0, LABELS).map(([label, n]) => `${number(n)} ${label}`);
  return h("div", {}, h("b", {}, t("objects_n", { n: members.length })), h("span", {}, named.join(", "), most.length > LABELS && " …"), h("span", {}, t("crowd_help")));
}
