// Starts the page: each part listens for what concerns it, this file only brings them together.
import { startActivity } from "./activity.js";
import { get } from "./api.js";
import { on, tell } from "./bus.js";
import { forgetOffers, startConditions } from "./conditions.js";
import { byId, debounced } from "./dom.js";
import { loadAreas, startAreas } from "./draw_area.js";
import { healthView, loadHealth, mayWrite } from "./health_view.js";
import { startFleet } from "./fleet.js";
import { fleetView } from "./fleet_view.js";
import { showHelp } from "./help.js";
import { icon } from "./icons.js";
import { startKeys } from "./keys.js";
import { problemsView, sessionsView } from "./lists_view.js";
import { live, startLive } from "./live.js";
import { loginByAddress, startLogin, startLogout } from "./login.js";
import { loadMap, startMap, visibleBox } from "./map.js";
import { build as buildTools, startMapTools } from "./map_tools.js";
import { memoryView } from "./memory_view.js";
import { momentView } from "./moment_view.js";
import { addView, close, redraw, startPanel } from "./panel.js";
import { focusResults, load, startResults } from "./results.js";
import { isSearch } from "./question.js";
import { addDescribed, change, onChange, state } from "./state.js";
import { startTarget } from "./target.js";
import { isSim, now } from "./time.js";
import { loadTimeline, newest, startTimeline } from "./timeline.js";
import { keep, language, onLanguage, setLanguage, t, translatePage } from "./words.js";

const LOOK = 30_000; // ms between two looks at who is at work on the file
const BUSY = 3000; // ms between two looks at the whole map and the timeline while memories stream in

translatePage();
await loginByAddress();
await get("/openapi.json").then(addDescribed).catch(() => {}); // whoever must log in first comes again
startSwitches();
const map = startMap();
const isSimulated = () => newest() !== null && isSim(newest());
startConditions(isSimulated, () => (isSimulated() ? newest() : now()));
startTarget(map);
startMapTools(map, mayWrite);
startTimeline();
startActivity();
startLogout();
startFleet();
startLogin(() => location.reload());
const health = loadHealth();
on("rights", () => (buildTools(), redraw("memory")));
setInterval(() => document.hidden || loadHealth(), LOOK);
addView("memory", memoryView(mayWrite, health));
addView("moment", momentView());
addView("sessions", sessionsView());
addView("problems", problemsView());
addView("health", healthView());
addView("fleet", fleetView());
startPanel();
startSearch();
startViews();
startKeys();
startLive();
if (state().scope) await health; // which tells whether there is a fleet
await startResults(visibleBox); // first what is read first
await Promise.allSettled([startAreas(map, mayWrite), loadWorld(), loadTimeline(), health]);
tell("clock");
document.documentElement.dataset.ready = "true";
// The list was asked for while the connection was made; a search counts as use, so it is not repeated for that.
live.then(() => isSearch(state()) || load({ stay: true }));

async function loadWorld() {
  await loadMap();
  tell("world");
}

function startSearch() {
  const query = byId("query");
  query.value = state().q;
  const typed = debounced(250, () => change({ q: query.value.trim(), n: "" }, { quietly: true }));
  query.addEventListener("input", typed);
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    document.body.dataset.view = "memories";
    if (query.value.trim() !== state().q) change({ q: query.value.trim(), n: "" });
    else load().then(focusResults);
  });
  onChange((now, changed) => {
    if (changed.has("q") && document.activeElement !== query) query.value = now.q;
  });
}

function startViews() {
  for (const button of document.querySelectorAll("#views button")) {
    button.prepend(icon(button.dataset.view ?? button.dataset.panel));
    button.addEventListener("click", () => {
      const { view, panel } = button.dataset;
      if (view) {
        document.body.dataset.view = view;
        if (state().panel) change({ panel: "" });
      } else if (state().panel === panel) close();
      else change({ panel, memory: "" });
    });
  }
}

function startSwitches() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => document.documentElement.dataset.theme === "dark";
  const label = () => {
    byId("language").textContent = language() === "zh" ? "EN" : "中文";
    byId("language").setAttribute("lang", language() === "zh" ? "en" : "zh-CN");
    byId("theme").replaceChildren(icon(isDark() ? "sun" : "moon"));
    byId("theme").setAttribute("aria-pressed", String(isDark()));
    byId("theme").setAttribute("aria-label", t("dark"));
  };
  byId("language").addEventListener("click", () => setLanguage(language() === "zh" ? "en" : "zh"));
  byId("theme").addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    keep("robotmem.theme", next);
    document.documentElement.dataset.theme = next;
    label();
    tell("theme");
  });
  dark.addEventListener("change", () => {
    window.robotmemTheme();
    label();
    tell("theme");
  });
  byId("help").addEventListener("click", showHelp);
  onLanguage(label);
  label();
}

const everything = debounced(BUSY / 10, async () => {
  forgetOffers();
  await Promise.allSettled([loadWorld(), loadTimeline(), loadHealth()]);
});
let due = 0;

on("changed", () => {
  redraw("memory");
  redraw("sessions");
  redraw("problems");
  // While memories stream in, the map and the timeline follow every few seconds.
  const wait = Math.max(0, due - Date.now());
  due = Math.max(due, Date.now() + BUSY);
  setTimeout(everything, wait);
});
on("changed", debounced(1000, loadAreas));
