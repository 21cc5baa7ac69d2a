// The panel beside the map: one memory, one moment, the sessions, what went wrong, or the health.
import { byId, h, replace } from "./dom.js";
import { change, onChange, state } from "./state.js";
import { onLanguage, t } from "./words.js";

const views = new Map();
let cameFrom = null;

/** Registers a view: `title()` and `draw(body)`, which fills the body and may return a promise. */
export function addView(name, view) {
  views.set(name, view);
}

export function startPanel() {
  onChange((now, changed) => {
    if (changed.has("panel") || (now.panel === "memory" && changed.has("memory"))) show({ focus: changed.has("panel") });
  });
  onLanguage(() => show());
  byId("panel").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    close();
  });
  show();
}

export const isShown = (name) => state().panel === name;

/** Draws the view that is shown again, if it is this one. */
export function redraw(name) {
  if (isShown(name)) fill();
}

export function close() {
  change({ panel: "", memory: "" });
  (cameFrom?.isConnected ? cameFrom : byId("query")).focus({ preventScroll: true });
}

function show({ focus = false } = {}) {
  const { panel } = state();
  const element = byId("panel");
  for (const button of document.querySelectorAll("[data-panel]")) button.setAttribute("aria-expanded", String(button.dataset.panel === panel));
  const view = views.get(panel);
  document.body.classList.toggle("with-panel", Boolean(view));
  if (!view) {
    element.hidden = true;
    element.replaceChildren();
    element.dataset.view = "";
    return;
  }
  const fresh = element.dataset.view !== panel;
  element.dataset.view = panel;
  element.hidden = false;
  element.setAttribute("aria-label", view.title());
  if (fresh || !element.firstChild) cameFrom = focus ? document.activeElement : cameFrom;
  replace(
    element,
    h("header", {}, h("h2", {}, view.title()), h("button.plain.close", { type: "button", "aria-label": t("close"), title: `${t("close")} (Esc)`, onclick: close }, "×")),
    h("div.panel-body"),
  );
  fill();
  // The timeline keeps the focus while a moment is dragged along it.
  if (focus && fresh && panel !== "moment") element.focus({ preventScroll: true });
}

function fill() {
  const view = views.get(state().panel);
  const body = byId("panel").querySelector(".panel-body");
  if (view && body) view.draw(body);
}
