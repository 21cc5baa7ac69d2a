// Shapes that Leaflet's canvas draws: each kind of thing has its own, so that nothing is told by colour alone.
/* global L */
import { ROBOT_COLOURS } from "./fleet.js";

export const COLOURS = {};

/** Reads the colours of the theme. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const robots = [...Array(ROBOT_COLOURS).keys()].map((slot) => `fleet-${slot}`);
  for (const name of ["object", "doubt", "memory", "path", "robot", "ink", "surface", "accent", "fact", "note", ...robots]) {
    COLOURS[name] = style.getPropertyValue(`--${name}`).trim();
  }
}

/** A mark at a position: `shape` is circle, diamond or arrow; `hidden` and `ringed` change at any time. */
export const Mark = L.CircleMarker.extend({
  options: { shape: "circle", radius: 6, colour: "object", text: "", labelled: "", hollow: false, hidden: false, crowded: false, ringed: false, yaw: 0, strength: 1, spread: 0 },

  _updateBounds() {
    L.CircleMarker.prototype._updateBounds.call(this);
    if (this._pxBounds && this.options.labelled) {
      const far = L.point(24 + textWidth(this.options.text), 12);
      this._pxBounds.extend(this._point.subtract(far)).extend(this._point.add(far));
    }
    const far = Math.max(13, 2 * this.options.spread * 2 ** this._map.getZoom());
    if (this._pxBounds) this._pxBounds.extend(this._point.subtract([far, far])).extend(this._point.add([far, far]));
  },

  /** Draws where the thing probably is: two standard deviations, where that is more than its mark. */
  _spread(context) {
    const pixels = 2 * this.options.spread * 2 ** this._map.getZoom();
    if (pixels < this.options.radius + 2) return;
    context.globalAlpha = 0.14;
    context.fillStyle = COLOURS[this.options.colour];
    context.beginPath();
    context.arc(this._point.x, this._point.y, pixels, 0, 2 * Math.PI);
    context.fill();
  },

  _containsPoint(at) {
    return !this.options.hidden && !this.options.crowded && L.CircleMarker.prototype._containsPoint.call(this, at);
  },

  _updatePath() {
    const renderer = this._renderer;
    if (!renderer._drawing || this._empty() || this.options.hidden || this.options.crowded) return;
    const context = renderer._ctx;
    const { x, y } = this._point;
    const { shape, radius, colour, hollow, ringed, strength } = this.options;
    context.save();
    if (this.options.spread) this._spread(context);
    context.globalAlpha = strength;
    context.lineWidth = 2;
    context.strokeStyle = COLOURS[colour];
    context.fillStyle = hollow ? COLOURS.surface : COLOURS[colour];
    if (hollow) context.setLineDash([3, 2]);
    outline(context, shape, x, y, radius, this.options.yaw);
    context.fill();
    if (hollow) context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
    if (!hollow) {
      context.lineWidth = 1.5;
      context.strokeStyle = COLOURS.surface;
      context.stroke();
    }
    if (ringed) {
      context.lineWidth = 2.5;
      context.strokeStyle = COLOURS.accent;
      context.beginPath();
      context.arc(x, y, radius + 5, 0, 2 * Math.PI);
      context.stroke();
    }
    if (this.options.labelled) write(context, this.options, x, y);
    context.restore();
  },
});

function outline(context, shape, x, y, radius, yaw) {
  context.beginPath();
  if (shape === "circle") context.arc(x, y, radius, 0, 2 * Math.PI);
  else {
    const corners = shape === "diamond" ? [[0, 1.15], [1.15, 0], [0, -1.15], [-1.15, 0]] : [[1.4, 0], [-1, 0.95], [-0.5, 0], [-1, -0.95]];
    for (const [ahead, left] of corners) {
      const turned = [Math.cos(yaw) * ahead - Math.sin(yaw) * left, Math.sin(yaw) * ahead + Math.cos(yaw) * left];
      context.lineTo(x + radius * turned[0], y - radius * turned[1]);
    }
    context.closePath();
  }
}

/** Returns the width of a label in pixels, rather too large. */
export const textWidth = (text) => [...text].reduce((sum, one) => sum + (one > "\u2e80" ? 12.5 : 7), 0);

function write(context, { text, labelled, radius, ringed }, x, y) {
  const far = radius + (ringed ? 9 : 5);
  const at = labelled === "left" ? x - far : x + far;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = labelled === "left" ? "end" : "start";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = COLOURS.surface;
  context.strokeText(text, at, y);
  context.fillStyle = COLOURS.ink;
  context.fillText(text, at, y);
}
