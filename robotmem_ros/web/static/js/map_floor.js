// What lies under everything: the occupancy grid, and lines a metre or more apart.
/* global L */
import { on } from "./bus.js";
import { place } from "./map_points.js";

let overlay = null;
let shown = "";

/** Draws lines at metres, at a distance that fits the zoom. */
export function startFloor(map) {
  map.createPane("floor").style.zIndex = "150"; // under the lines
  const Lines = L.GridLayer.extend({
    createTile(coords) {
      const size = this.getTileSize();
      const ratio = devicePixelRatio || 1;
      const tile = document.createElement("canvas");
      tile.width = size.x * ratio;
      tile.height = size.y * ratio;
      const context = tile.getContext("2d");
      context.scale(ratio, ratio);
      const perMetre = 2 ** coords.z;
      const left = (coords.x * size.x) / perMetre;
      const top = -(coords.y * size.y) / perMetre;
      const step = stepOf(perMetre);
      const style = getComputedStyle(document.documentElement);
      const colours = [style.getPropertyValue("--grid"), style.getPropertyValue("--grid-strong")];
      const lines = (start, length, draw) => {
        const first = Math.ceil(start / step);
        const count = Math.floor((start + length) / step) - first + 1;
        for (let line = 0; line < count; line += 1) {
          const nth = first + line;
          context.strokeStyle = colours[nth % 5 === 0 ? 1 : 0];
          context.beginPath();
          draw(Math.round((nth * step - start) * perMetre) + 0.5);
          context.stroke();
        }
      };
      lines(left, size.x / perMetre, (x) => (context.moveTo(x, 0), context.lineTo(x, size.y)));
      const bottom = top - size.y / perMetre;
      lines(bottom, size.y / perMetre, (y) => (context.moveTo(0, size.y - y), context.lineTo(size.x, size.y - y)));
      return tile;
    },
  });
  const lines = new Lines({ tileSize: 512, minZoom: -3, maxZoom: 9, keepBuffer: 1, updateWhenZooming: false, zIndex: 1 });
  lines.addTo(map);
  on("theme", () => lines.redraw());
}

function stepOf(perMetre) {
  let step = 1;
  while (step * perMetre < 18) step *= step.toString().startsWith("2") ? 2.5 : 2;
  while (step * perMetre > 150) step /= 2;
  return step;
}

/** Shows the occupancy grid of an answer of /api/map, or none. */
export async function floor(map, grid) {
  const name = grid ? `${grid.image} ${grid.origin}` : "";
  if (name === shown) return;
  shown = name;
  overlay?.remove();
  overlay = null;
  if (!grid) return;
  const yaw = grid.origin[2] ?? 0;
  const Turned = L.ImageOverlay.extend({
    // The picture turns about its lower left corner, which is the origin of the grid.
    _reset() {
      L.ImageOverlay.prototype._reset.call(this);
      this._turn();
    },
    _animateZoom(event) {
      L.ImageOverlay.prototype._animateZoom.call(this, event);
      this._turn();
    },
    _turn() {
      if (!yaw) return;
      this._image.style.transformOrigin = "0 100%";
      this._image.style.transform += ` rotate(${-yaw}rad)`;
    },
  });
  overlay = new Turned(grid.image, floor.bounds(grid), { className: "occupancy", alt: "", interactive: false, pane: "floor" });
  overlay.addTo(map);
}

floor.bounds = ({ origin, width, height, resolution }) =>
  L.latLngBounds(place(origin), place([origin[0] + width * resolution, origin[1] + height * resolution]));
