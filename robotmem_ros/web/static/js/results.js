// The list of memories: what a search finds, or all of them, newest first, page by page.
import { get, isAbort, latest } from "./api.js";
import { on, tell } from "./bus.js";
import { byId, h, replace } from "./dom.js";
import { keyOf, looksBeyond, robotOf, robotSign } from "./fleet.js";
import { kindSign, marked, metres } from "./marks.js";
import { isRanked, isSearch, listing, PAGE, searching } from "./question.js";
import { change, CONDITIONS, onChange, state } from "./state.js";
import { brief, full } from "./time.js";
import { number, onLanguage, t, told } from "./words.js";
import { VirtualList } from "./vlist.js";

const ASKED = ["q", "n", "radius", "target"]; // besides the conditions
const LARGEST = 100;

let list = null;
let found = { memories: [], cursor: "", mode: "", reason: "", searched: false, ranked: false };
let visibleBox = () => null;
let question = 0;
let paging = false;
const askLatest = latest();

/** Starts the list; `box` returns the visible part of the map. */
export function startResults(box) {
  visibleBox = box;
  list = new VirtualList(byId("results"), {
    height: 78, label: t("memories"), row, onOpen: open, onActive: (memory) => tell("hover", memory), onEnd: more,
  });
  onChange((now, changed) => {
    if ([...ASKED, ...CONDITIONS.map((row) => row.name)].some((name) => changed.has(name))) load();
    if (changed.has("memory")) list.select(now.memory || null);
  });
  on("view", () => state().in_view && load({ stay: true }));
  // The fleet tells by itself when it has news; what this page has changed is shown at once.
  on("changed", (id) => (id === undefined && looksBeyond()) || load({ stay: true }));
  on("fleet", () => looksBeyond() && load({ stay: true }));
  on("robot-names", () => list.redraw());
  on("scope", () => load());
  onLanguage(() => {
    list.rename(t("memories"));
    list.redraw();
    describe();
  });
  list.select(state().memory || null);
  return load();
}

export const focusResults = () => list.focus();
export const results = () => found;
export const currentQuestion = () => searching(state(), visibleBox());

/** Asks again; with `stay` the list keeps its place. */
export async function load({ stay = false } = {}) {
  const mine = (question += 1);
  const section = byId("results").parentElement;
  const now = state();
  const searched = isSearch(now);
  section.setAttribute("aria-busy", "true");
  try {
    const answer = searched
      ? await askLatest("/api/search", { ...searching(now, visibleBox()), brief: true })
      : await askLatest("/api/memories", listing(now, ""));
    if (mine !== question) return;
    answer.memories = keyed(answer);
    const memories = !searched && stay ? merged(answer) : answer.memories;
    found = { memories, cursor: answer.cursor ?? "", mode: answer.mode ?? "", reason: answer.reason ?? "", searched, ranked: searched && isRanked(now) };
    if (!searched && stay && memories.length > answer.memories.length) found.cursor = keptCursor;
    else keptCursor = found.cursor;
    list.show(found.memories, { stay });
    describe();
    tell("results", found);
  } catch (error) {
    if (isAbort(error) || mine !== question) return;
    found = { memories: [], cursor: "", mode: "", reason: "", searched, ranked: false };
    list.show([]);
    replace(byId("summary"), h("span.problem", {}, error.message));
    byId("reason").hidden = true;
    tell("results", found);
  } finally {
    if (mine === question) section.setAttribute("aria-busy", "false");
  }
}

let keptCursor = "";
const keyed = ({ memories }) => memories.map((memory) => ({ ...memory, key: keyOf(memory) }));

/** Returns the new first page with the pages that were loaded before behind it. */
function merged(answer) {
  const known = new Set(answer.memories.map((memory) => memory.key));
  const last = answer.memories.at(-1);
  if (!last || found.searched || found.memories.length <= PAGE) return answer.memories;
  const older = found.memories.filter((memory) => !known.has(memory.key) && BigInt(memory.observed_at) <= BigInt(last.observed_at));
  return [...answer.memories, ...older];
}

async function more() {
  if (paging) return;
  if (found.searched) return;
  if (!found.cursor) return;
  paging = true;
  const mine = question;
  try {
    const answer = await get("/api/memories", listing(state(), found.cursor));
    if (mine !== question) return;
    found = { ...found, memories: [...found.memories, ...keyed(answer)], cursor: answer.cursor };
    keptCursor = found.cursor;
    list.show(found.memories, { stay: true });
    describe();
    tell("results", found);
  } catch (error) {
    if (mine === question) replace(byId("summary"), h("span.problem", {}, error.message));
  } finally {
    paging = false;
  }
}

function describe() {
  const { memories, cursor, searched, mode, reason } = found;
  const summary = byId("summary");
  const n = memories.length;
  if (!searched) {
    replace(summary, n === 0 ? t("no_memories") : cursor ? t("newest_more", { n }) : t("newest", { n }));
  } else {
    const wanted = Number(state().n || PAGE);
    const again = n >= wanted && wanted < LARGEST;
    replace(
      summary,
      n === 0 ? t("nothing_found") : t(memories.some(({ distance }) => Number.isFinite(distance)) ? "found_near" : "found", { n }),
      mode ? h("span.mode", { title: t(`mode_${mode}_help`) }, t(`mode_${mode}`)) : "",
      again && h("button.link", { type: "button", onclick: () => change({ n: String(Math.min(wanted * 2, LARGEST)) }) }, t("more")),
    );
  }
  const why = byId("reason");
  why.textContent = told(reason);
  why.hidden = !reason;
  why.tabIndex = why.scrollHeight > why.clientHeight ? 0 : -1; // what is too long is scrolled by keys, too
}

function open(memory) {
  change({ memory: memory.key, panel: "memory" });
}

function row(memory) {
  const percent = found.searched && Number.isFinite(memory.relevance) && state().q.trim() ? number(memory.relevance * 100, 0) : "";
  const details = [
    robotSign(robotOf(memory)),
    h("time", { title: full(memory.observed_at) }, brief(memory.observed_at)),
    memory.label && h("span.label", {}, memory.label),
    !memory.label && memory.category && h("span", {}, memory.category),
    Number.isFinite(memory.distance) && h("span.distance", {}, metres(memory.distance)),
    memory.status && memory.status !== "active" && h("span.status", {}, t(`status_${memory.status}`)),
    memory.collection && h("span.collection", {}, memory.collection),
    memory.folded_count > 0 && h("span.folded", {}, t("folded", { n: number(memory.folded_count) })),
    percent && h("span.relevance", { title: t("relevance_is", { percent }) }, t("relevance_n", { percent })),
  ];
  return [
    kindSign(memory.kind),
    h("div.text", {}, h("p.snippet", {}, snippet(memory)), h("p.details", {}, details)),
    // What the list is sorted by; where that is the distance, it stands among the details.
    found.ranked &&
      h(
        "span.score", { title: t("score_help", { score: number(memory.score, 2) }) },
        h("span", {}, memory.score.toFixed(2)), h("meter", { min: 0, max: 1, value: memory.score, "aria-label": t("score") }),
      ),
  ];
}

// Only a search marks words; a text that is listed may hold asterisks of its own.
const snippet = (memory) => (found.searched ? marked(memory.snippet) : memory.snippet) || t("no_text");
