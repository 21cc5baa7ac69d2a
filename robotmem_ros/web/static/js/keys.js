// The keys of the whole page.
import { byId } from "./dom.js";
import { lettersAreKeys, showHelp } from "./help.js";
import { drawArea } from "./map_tools.js";
import { focusResults, results } from "./results.js";
import { flipTarget } from "./target.js";
import { undoNow } from "./toasts.js";

export function startKeys() {
  const actions = {
    "/": () => byId("query").select(), "?": showHelp, t: flipTarget, a: drawArea, u: () => undoNow(),
    m: () => byId("map").focus(), l: () => byId("timeline").querySelector("[role=slider]").focus(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    if (!(event.key in actions) || !lettersAreKeys()) return;
    event.preventDefault();
    const phoneView = { t: "map", a: "map", m: "map", l: "map", "/": "memories" }[event.key];
    if (phoneView) document.body.dataset.view = phoneView;
    actions[event.key]();
  });
  byId("query").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && results().memories.length) {
      event.preventDefault();
      focusResults();
    } else if (event.key === "Escape" && !byId("query").value) byId("query").blur();
  });
}
