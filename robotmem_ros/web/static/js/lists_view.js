// The sessions with what came of them, and what went wrong of late.
import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { kindSign, outcomeOf } from "./marks.js";
import { change } from "./state.js";
import { brief, duration, full, toMs } from "./time.js";
import { number, t } from "./words.js";

const MOST = 100;

export const sessionsView = () => ({ title: () => t("sessions"), draw: drawSessions });
export const problemsView = () => ({ title: () => t("problems"), draw: drawProblems });

async function filled(body, ask, draw) {
  if (!body.firstChild) replace(body, h("p.loading", {}, t("loading")));
  try {
    const answer = await ask();
    if (body.isConnected) replace(body, draw(answer));
  } catch (error) {
    replace(body, h("p.problem", { role: "alert" }, error.message));
  }
}

const drawSessions = (body) =>
  filled(body, () => get("/api/sessions", { n: MOST }), ({ sessions }) =>
    sessions.length ? h("ul.cards", {}, sessions.map(card)) : h("p.muted", {}, t("no_sessions")));

function card(session) {
  const outcome = outcomeOf(session);
  const started = toMs(session.started_at);
  const long = session.ended_at ? duration(toMs(session.ended_at) - started) : t("outcome_open");
  const show = () => change({ session_ids: [session.session_id] });
  const then = () => change({ at: session.started_at, panel: "moment" });
  return h(
    "li.card", {},
    h("p", {}, h(`span.outcome.outcome-${outcome.name}`, {}, `${outcome.sign} ${outcome.text}`), h("b", {}, session.context?.task ?? session.session_id)),
    h("p.details", {}, h("time", { title: full(session.started_at) }, brief(session.started_at)), ` · ${long} · `, t("memories_n", { n: session.memories }), session.collection && ` · ${session.collection}`),
    h("div.buttons", {}, h("button", { type: "button", onclick: show }, t("its_memories")), h("button", { type: "button", onclick: then }, t("its_start"))),
  );
}

const drawProblems = (body) => filled(body, () => get("/api/recent-failures"), problems);

function problems({ memories = [], sessions = [] }) {
  if (!memories.length && !sessions.length) return h("p.muted", {}, t("no_problems"));
  return [
    sessions.length > 0 && [h("h3", {}, t("failed_sessions")), h("ul.cards", {}, sessions.map(card))],
    memories.length > 0 && [
      h("h3", {}, t("what_went_wrong")),
      h(
        "ul.short", {},
        memories.map((memory) =>
          h(
            "li", {},
            h(
              "button.memory-link", { type: "button", onclick: () => change({ memory: String(memory.id), panel: "memory" }) },
              kindSign(memory.kind), h("span", {}, memory.snippet ?? memory.content), h("time", {}, brief(memory.observed_at)),
            ),
          ),
        ),
      ),
      h("p.muted", {}, t("memories_n", { n: number(memories.length) === "1" ? 1 : memories.length })),
    ],
  ];
}
