// One memory in full: its fields, picture, why it ranked, sightings and history.
import { get } from "./api.js";
import { tell } from "./bus.js";
import { correct, forget, putBack, restore } from "./changes.js";
import { h, replace } from "./dom.js";
import { keyOf, robotOf, robotOfKey, robotSign } from "./fleet.js";
import { askRobot } from "./fleet_view.js";
import { reveal } from "./map.js";
import { kindSign, metres, position } from "./marks.js";
import { currentQuestion, results } from "./results.js";
import { change, state } from "./state.js";
import { putTarget } from "./target.js";
import { brief, full } from "./time.js";
import { named, number, t } from "./words.js";

let mayWrite = () => false;
let rights = null;
let shown = null;

/** `writable()` tells whether the console changes anything, once the promise `known` is kept. */
export function memoryView(writable, known) {
  mayWrite = writable;
  rights = known;
  return { title: () => (robotOfKey(state().memory) ? t("memory_of", { n: state().memory.split("/")[1], robot: robotOfKey(state().memory) }) : t("memory_n", { n: state().memory })), draw };
}

/** Returns a memory in full, as the server tells it: by its id, for one of another robot behind the name of that. */
export const askMemory = (key) => get(`/api/${robotOfKey(key) ? "fleet/" : ""}memory/${key}`);

async function draw(body) {
  const id = state().memory;
  if (!id) return replace(body, h("p", {}, t("choose_memory")));
  if (shown !== id) replace(body, h("p.loading", {}, t("loading")));
  try {
    const [details] = await Promise.all([askMemory(id), rights]);
    if (state().memory !== id) return;
    const isNew = shown !== id;
    shown = id;
    const opened = [...body.querySelectorAll("details[open]")].map((element) => element.dataset.part);
    const focused = isNew ? null : document.activeElement?.dataset?.act;
    replace(body, content(details));
    for (const element of body.querySelectorAll("details")) if (opened.includes(element.dataset.part)) element.open = true;
    if (focused) body.querySelector(`[data-act=${focused}]`)?.focus();
    tell("sightings", details.sightings);
    tell("stays", details.memory);
    if (isNew) reveal(details.memory.position);
  } catch (error) {
    shown = null;
    tell("sightings", null);
    tell("stays", null);
    replace(body, h("p.problem", { role: "alert" }, error.message));
  }
}

function content(details) {
  const { memory, status, status_reason, history, sightings, data } = details;
  return [
    status !== "active" && h("p.withdrawn", {}, h("b", {}, t(`status_${status}`)), status_reason && ` — ${status_reason}`),
    h("p.content", {}, memory.content),
    memory.human_summary && h("p.summary", {}, memory.human_summary),
    picture(memory, data),
    buttons(details),
    rank(memory),
    fields(memory, details),
    context(memory, data),
    sightings?.length ? sightingsPart(memory, sightings) : null,
    historyPart(details, history ?? []),
  ];
}

function picture(memory, data) {
  if (!data?.image) return null;
  const image = h("img.picture", { src: data.image, alt: t("picture_of", { text: memory.label || memory.content.slice(0, 80) }), loading: "lazy" });
  image.addEventListener("error", () => image.remove());
  return image;
}

function buttons(details) {
  const { memory, status } = details;
  const act = (name, run, kind = "") => h(`button${kind}`, { type: "button", "data-act": name, onclick: run }, t(name));
  const robot = robotOfKey(state().memory);
  const ask = (correct) => () => askRobot(robot, memory, { correct });
  return h(
    "div.buttons", {},
    robot && mayWrite() && status === "active" && [act("ask_correct", ask(true)), act("ask_withdraw", ask(false), ".danger-text")],
    !robot && mayWrite() && status === "active" && [act("correct", () => correct(details)), act("forget", () => forget(memory), ".danger-text")],
    !robot && mayWrite() && status !== "active" && act("restore", () => restore(memory), ".primary"),
    memory.position && [act("show_place", () => showPlace(memory)), act("nearest_here", () => putTarget(memory.position))],
    !mayWrite() && h("span.muted", {}, t("read_only")),
  );
}

function showPlace(memory) {
  document.body.dataset.view = "map";
  if (matchMedia("(max-width: 47.99rem)").matches) change({ panel: "" });
  requestAnimationFrame(() => reveal(memory.position));
}

function rank(memory) {
  const { memory: shownKey } = state();
  const hit = results().searched && results().memories.find(({ key }) => key === shownKey);
  if (!hit) return null;
  const body = h("div", {}, h("p.loading", {}, t("loading")));
  const part = section("why", t("why"), body);
  part.addEventListener("toggle", () => part.open && explain(shownKey, body), { once: false });
  return part;
}

async function explain(key, body) {
  try {
    const answer = await get("/api/search", { ...currentQuestion(), explain: true });
    const hit = answer.memories.find((memory) => keyOf(memory) === key);
    replace(body, hit ? reasons(hit) : h("p", {}, t("why_gone")));
  } catch (error) {
    replace(body, h("p.problem", { role: "alert" }, error.message));
  }
}

function reasons(hit) {
  const why = hit.explanation;
  const told = [
    t("relevance_is", { percent: number(hit.relevance * 100, 0) }),
    hit.matched_terms?.length && t("matched", { words: hit.matched_terms.join(", ") }),
    Number.isFinite(hit.similarity) && t("cosine_is", { n: number(hit.similarity, 3) }),
    why?.text_rank > 0 && t("text_rank", { n: why.text_rank }),
    why?.vector_rank > 0 && t("vector_rank", { n: why.vector_rank }),
    Number.isFinite(hit.distance) && t("distance_is", { distance: metres(hit.distance) }),
  ];
  return [
    h("ul.reasons", {}, told.filter(Boolean).map((text) => h("li", {}, text))),
    why?.parts?.length
      ? h(
          "table", {},
          h("thead", {}, h("tr", {}, [t("step"), t("change_of_score"), t("score")].map((text) => h("th", { scope: "col" }, text)))),
          h(
            "tbody", {},
            why.parts.map((one) =>
              h("tr", {}, h("th", { scope: "row" }, named("step", one.name), h("small", {}, one.reason)), h("td", {}, `${one.operation === "add" ? "+" : "×"} ${number(one.value, 3)}`), h("td", {}, number(one.score, 3))),
            ),
          ),
        )
      : h("p", {}, t("why_structured")),
  ];
}

function fields(memory, details) {
  const add = (name, value) => () => change({ [name]: [value] });
  const link = (text, run) => h("button.link", { type: "button", onclick: run, title: t("find_same") }, text);
  const other = (id) => h("button.link", { type: "button", onclick: () => change({ memory: String(id) }) }, `#${id}`);
  const robot = robotOfKey(state().memory) || robotOf(memory);
  const rows = [
    ["robot", robotSign(robot)],
    ["kind", [kindSign(memory.kind), " ", named("kind", memory.kind), memory.perception_type && ` · ${memory.perception_type}`]],
    ["label", memory.label && link(memory.label, add("labels", memory.label))],
    ["category", memory.category && link(memory.category, add("categories", memory.category))],
    ["its_tags", memory.tags?.length ? memory.tags.map((tag) => [link(tag, add("tags", tag)), " "]) : null],
    ["confidence", Number.isFinite(memory.confidence) && `${number(memory.confidence * 100, 1)} %${memory.faded ? ` · ${t("faded")}` : ""}`],
    ["observed", full(memory.observed_at)],
    ["seen", memory.times_seen > 0 && t("seen_between", { n: memory.times_seen, first: brief(memory.first_seen), last: brief(memory.last_seen) })],
    ["existence", memory.times_seen > 0 && t(memory.confirmed ? "confirmed" : "unconfirmed")],
    ["position", memory.position && `${position(memory.position)} m · ${memory.frame_id}${memory.map_id ? ` · ${memory.map_id}` : ""}`],
    ["size", memory.size && `${memory.size.map((edge) => number(edge, 3)).join(" × ")} m`],
    ["session", memory.session_id && link(memory.session_id, add("session_ids", memory.session_id))],
    ["collection", memory.collection && link(memory.collection, add("collections", memory.collection))],
    ["contradicted_by", memory.contradicted_by > 0 && other(memory.contradicted_by)],
    ["similar", memory.similar_ids?.length ? memory.similar_ids.map((id) => [other(id), " "]) : null],
    ["said_by", memory.source],
    ["scope", [...(memory.scope_files ?? []), ...(memory.scope_entities ?? [])].join(", ")],
    ["note_source", memory.context?.note && `${memory.context.note.path}:${memory.context.note.first_line}–${memory.context.note.last_line}`],
    ["used", details.access_count > 0 && t("used_times", { n: details.access_count, last: brief(details.last_accessed) })],
    ["stored", memory.created_at && full(memory.created_at)],
  ];
  return h("dl.fields", {}, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, t(name)), h("dd", {}, value)]));
}

function context(memory, data) {
  const pretty = (value) => h("pre", { tabindex: 0 }, JSON.stringify(value, null, 2));
  const has = (value) => value && Object.keys(value).length > 0;
  return [
    has(memory.context) && section("context", t("context"), pretty(memory.context)),
    has(data?.metadata) && section("metadata", t("metadata"), pretty(data.metadata)),
  ];
}

function sightingsPart(memory, sightings) {
  const rows = sightings.map((one) =>
    h(
      "tr", {},
      h("th", { scope: "row", title: full(one.observed_at) }, brief(one.observed_at)),
      h("td", {}, position(one.position)),
      h("td", {}, `${number(one.confidence * 100, 0)} %`),
      h("td", {}, one.label !== memory.label ? one.label : "", one.subsampled ? ` +${number(one.subsampled)}` : ""),
    ),
  );
  const head = [t("when"), t("where"), t("confidence"), ""].map((text) => (text ? h("th", { scope: "col" }, text) : h("td")));
  const part = section("sightings", t("sightings_n", { n: sightings.length }), h("div.scroll", { tabindex: 0, role: "group", "aria-label": t("sightings") }, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))));
  part.open = true;
  return part;
}

function historyPart(details, history) {
  if (!history.length) return h("p.muted", {}, t("never_changed"));
  const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const undoable = (one) => !robotOfKey(state().memory) && mayWrite() && details.status === "active" && one.change === "update";
  const items = history.map((one, nth) =>
    h(
      "li", {},
      h("p", {}, h("b", {}, named("change", one.change)), " ", h("time", {}, new Date(one.changed_at).toLocaleString(document.documentElement.lang)), one.reason && ` — ${one.reason}`),
      Object.keys(one.before).length > 0 && h("dl.before", {}, Object.entries(one.before).map(([name, value]) => [h("dt", {}, name), h("dd", {}, plain(value))])),
      undoable(one) && nth === history.findIndex(undoable) && h("button", { type: "button", "data-act": "put_back", onclick: () => putBack(details.memory.id, one) }, t("put_back")),
    ),
  );
  return section("history", t("history_n", { n: history.length }), h("ol.history", {}, items));
}

const section = (name, title, body) => h("details.part", { "data-part": name }, h("summary", {}, title), body);
