// What the robot knew and saw at a moment, in the panel and on the map.
import { latest, isAbort } from "./api.js";
import { on, tell } from "./bus.js";
import { debounced, h, replace } from "./dom.js";
import { knownObjects, knownPath } from "./map.js";
import { kindSign, outcomeOf, position } from "./marks.js";
import { isShown, redraw } from "./panel.js";
import { change, state } from "./state.js";
import { brief, clock, full, toMs } from "./time.js";
import { number, t } from "./words.js";

const askLatest = latest();
let answer = null;
let failed = "";

const ask = debounced(120, async () => {
  const { at } = state();
  if (!at) return;
  try {
    answer = { at, ...(await askLatest("/api/at", { time: at })) };
    failed = "";
  } catch (error) {
    if (isAbort(error)) return;
    failed = error.message;
  }
  redraw("moment");
});

export function momentView() {
  on("moment-moved", (ms) => {
    tell("moment", ms === null ? null : { ms });
    if (ms === null && isShown("moment")) change({ panel: "" }, { quietly: true });
    redraw("moment");
    if (ms !== null) ask();
  });
  if (state().at) {
    on("world", () => tell("moment", state().at ? { ms: toMs(state().at) } : null));
    ask();
  }
  return { title: () => (state().at ? t("at_time", { time: clock(toMs(state().at)) }) : t("moment")), draw };
}

/** Returns where the robot was at a moment, by the path that the page has. */
function robotAt(ms) {
  return knownPath().findLast((point) => toMs(point.observed_at) <= ms) ?? null;
}

function draw(body) {
  const { at } = state();
  if (!at) return replace(body, h("p", {}, t("choose_moment")));
  const ms = toMs(at);
  body.parentElement.querySelector("h2").textContent = t("at_time", { time: clock(ms) });
  const robot = robotAt(ms);
  const seen = knownObjects().filter((object) => toMs(object.first_seen) <= ms).length;
  const current = answer?.at === at ? answer : null;
  replace(
    body,
    h("p.muted", {}, full(at)),
    failed && h("p.problem", { role: "alert" }, failed),
    h(
      "dl.fields", {},
      h("dt", {}, t("robot_was")), h("dd", {}, robot ? `${position(robot.position)} m` : t("not_known")),
      h("dt", {}, t("objects_known")), h("dd", {}, `${number(seen)} / ${number(knownObjects().length)}`),
      current && [h("dt", {}, t("sessions_then")), h("dd", {}, current.sessions.length ? current.sessions.map(sessionLine) : t("none"))],
    ),
    h("h3", {}, t("seen_before")),
    current ? memories(seenThen(current)) : h("p.loading", {}, t("loading")),
    h("div.buttons", {}, h("button", { type: "button", onclick: () => change({ before: at, after: "" }) }, t("only_until"))),
  );
}

const sessionLine = (session) => {
  const outcome = outcomeOf(session);
  return h("span.session-line", {}, h(`b.outcome-${outcome.name}`, {}, outcome.sign), ` ${session.context?.task ?? session.session_id} · ${outcome.text}`);
};

/** Returns what was learned and sighted, newest first; an object that was seen last then is in both lists. */
function seenThen({ memories: listed, objects }) {
  const sighted = new Set(objects.map(({ id }) => id));
  const seen = objects.map((one) => ({ ...one, kind: "perception", snippet: `${one.label} · ${position(one.position)} m` }));
  return [...listed.filter(({ id }) => !sighted.has(id)), ...seen].sort((a, b) => (BigInt(a.observed_at) > BigInt(b.observed_at) ? -1 : 1));
}

function memories(found) {
  if (!found.length) return h("p.muted", {}, t("nothing_then"));
  return h(
    "ul.short", {},
    found.map((memory) =>
      h(
        "li", {},
        h("button.memory-link", { type: "button", onclick: () => change({ memory: String(memory.id), panel: "memory" }) }, kindSign(memory.kind), h("span", {}, memory.snippet ?? memory.content), h("time", {}, brief(memory.observed_at))),
      ),
    ),
  );
}
