// The buttons beside the map.
import { byId, h, replace } from "./dom.js";
import { flipDrawing, isDrawing } from "./draw_area.js";
import { icon } from "./icons.js";
import { showAll } from "./map.js";
import { onChange, state } from "./state.js";
import { flipTarget } from "./target.js";
import { onLanguage, t } from "./words.js";

let map = null;
let mayWrite = () => false;

/** Starts the buttons; `writable()` tells whether areas can be saved. */
export function startMapTools(onMap, writable) {
  map = onMap;
  mayWrite = writable;
  build();
  onLanguage(build);
  onChange((now, changed) => changed.has("target") && build());
}

export function build() {
  const focused = document.activeElement?.dataset?.tool;
  const button = (name, sign, run, { pressed, keys, disabled } = {}) =>
    h(
      "button.tool",
      { type: "button", "data-tool": name, title: t(`tool_${name}`) + (keys ? ` (${keys})` : ""), "aria-label": t(`tool_${name}`),
        "aria-pressed": pressed === undefined ? null : String(pressed), "aria-keyshortcuts": keys, disabled, onclick: run },
      icon(sign),
    );
  replace(
    byId("map-tools"),
    button("zoom_in", "plus", () => map.zoomIn()),
    button("zoom_out", "minus", () => map.zoomOut()),
    button("show_all", "all", showAll),
    button("target", "target", flipTarget, { pressed: Boolean(state().target), keys: "t" }),
    button("area", "area", drawArea, { pressed: isDrawing(), keys: "a", disabled: !mayWrite() }),
  );
  if (focused) byId("map-tools").querySelector(`[data-tool=${focused}]`)?.focus({ preventScroll: true });
}

/** Begins or gives up drawing an area. */
export function drawArea() {
  if (!mayWrite()) return;
  flipDrawing(build);
  build();
  if (isDrawing()) map.getContainer().focus({ preventScroll: true });
}
