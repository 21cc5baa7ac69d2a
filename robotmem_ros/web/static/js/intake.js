// What the node takes in: its topics, their rates, what was dropped and why, as it reported last.
import { h } from "./dom.js";
import { ago, full } from "./time.js";
import { number, t, told } from "./words.js";

/** Returns in words what is wrong with what comes in, or why that cannot be known. */
export const intakeTroubles = ({ reports }) =>
  reports.filter((report) => report.trouble).map((report) => (reports.length > 1 && report.is_current ? `${report.node}: ` : "") + trouble(report));

const trouble = (report) =>
  !report.is_current ? t("intake_stale", { node: report.node, ago: ago(report.reported_at) }) : told(report.trouble);

/** Returns the part of the health that shows the reports. */
export const intake = ({ reports }) => [
  h("h3", {}, t("intake")),
  reports.length ? reports.map(shown) : h("p.muted", {}, t("intake_none")),
];

function shown(report) {
  const state = t(`intake_${report.state}`, {}, report.state);
  return [
    h("p", { title: full(report.reported_at) }, t("intake_reported", { node: report.node, state, ago: ago(report.reported_at) })),
    h("ul.intake", { "aria-label": `${t("intake")}: ${report.node}` }, report.topics.map(row)),
  ];
}

function row(topic) {
  const keeps = topic.role === "perceptions";
  const last = topic.last_received_at;
  const details = [
    t("intake_received", { n: topic.received }),
    keeps && t("intake_stored", { n: topic.stored }),
    ...Object.entries(topic.drops).map(([reason, n]) => t("intake_dropped", { n, reason })),
    last === null ? "" : h("time", { title: full(last) }, t("intake_last", { ago: ago(last) })),
  ].filter(Boolean);
  return h(
    "li", { title: [topic.type, topic.qos].filter(Boolean).join(" · ") },
    h("p.head", {}, h("b", {}, topic.topic), !keeps && h("span.muted", {}, t(`intake_${topic.role}`)), h("span.rate", {}, t("intake_rate", { n: number(topic.received_per_second, 1) }))),
    h("p.details", {}, details.flatMap((part, nth) => (nth ? [" · ", part] : [part]))),
    topic.problem && h("p.problem", {}, told(topic.problem)),
  );
}
