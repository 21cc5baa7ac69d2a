// Signs for kinds and outcomes: a shape and a word each, so that nothing is told by colour alone.
import { h } from "./dom.js";
import { named, number, t } from "./words.js";

const KIND_SIGNS = { fact: "◆", perception: "●", note: "■" };

export const kindSign = (kind) =>
  h(`span.kind.kind-${kind}`, { title: named("kind", kind), role: "img", "aria-label": named("kind", kind) }, KIND_SIGNS[kind] ?? "○");

/** Returns what came of a session: its class, sign and words. */
export function outcomeOf(session) {
  if (session.outcome === null || session.outcome === undefined) {
    return session.ended_at ? { name: "unknown", sign: "–", text: t("outcome_unknown") } : { name: "open", sign: "▶", text: t("outcome_open") };
  }
  const percent = number(session.outcome * 100, 0);
  if (session.outcome >= 0.5) return { name: "good", sign: "✓", text: t("outcome_good", { percent }) };
  return { name: "bad", sign: "✗", text: t("outcome_bad", { percent }) };
}

/** Returns nodes of a snippet whose `**` become marks. */
export function marked(snippet) {
  return snippet.split("**").map((part, place) => (place % 2 ? h("mark", {}, part) : part));
}

export const metres = (value) => t("metres", { n: number(value, value < 10 ? 2 : 1) });
export const position = (point) => point.slice(0, 3).map((value) => number(value, 2)).join(", ");
