// The health of the memory: what it holds, what is missing, whether the indexes are in step.
import { openIn } from "./activity.js";
import { get } from "./api.js";
import { tell } from "./bus.js";
import { byId, h, replace } from "./dom.js";
import { backlogOf, hasFleet, isAlone } from "./fleet.js";
import { intake, intakeTroubles } from "./intake.js";
import { redraw } from "./panel.js";
import { change } from "./state.js";
import { ago, brief, full, setNow } from "./time.js";
import { named, number, onLanguage, t, told } from "./words.js";

const RECALLS = 100;
const SHOWN = 12;
let status = null;
let stats = null;
let log = null;
let examination = null;
let failed = "";

/** Tells whether the console changes anything, as far as that is known. */
export const mayWrite = () => status?.read_only === false;

/** Asks for the health, and shows its sign on the button. */
export async function loadHealth() {
  const knew = mayWrite();
  try {
    [status, stats, log] = await Promise.all([get("/api/status"), get("/api/stats"), get("/api/recalls", { n: RECALLS })]);
    failed = "";
    setNow(status.answered_at);
    tell("health", status);
    if (mayWrite() !== knew) tell("rights");
  } catch (error) {
    failed = error.message;
  }
  sign();
  redraw("health");
}

const SIGNS = { well: "✓", unseen: "?", unwell: "!" };

/** Returns how the memory is, and in words what is wrong with it, what it takes in included. */
function verdictOf() {
  const problems = failed ? [failed] : [status.reason && told(status.reason), ...intakeTroubles(status.intake)].filter(Boolean);
  if (problems.length) return { name: "unwell", text: problems.join(t("then")) };
  return status.intake.is_seen || isAlone() ? { name: "well", text: t("all_well") } : { name: "unseen", text: t("intake_unseen") };
}

function sign() {
  const mark = byId("health-mark");
  const { name, text } = verdictOf();
  mark.textContent = SIGNS[name];
  mark.className = name;
  mark.parentElement.title = text;
}
onLanguage(() => status && sign());

export const healthView = () => ({
  title: () => t("health"),
  draw: (body) => {
    if (failed) return replace(body, h("p.problem", { role: "alert" }, failed));
    if (!status || !stats) return replace(body, h("p.loading", {}, t("loading")));
    return replace(body, verdict(), atWork(), totals(), !isAlone() && intake(status.intake), doctor(), tables(), used(), recalls(), everything(body.querySelector("details")?.open));
  },
});

function verdict() {
  const { name, text } = verdictOf();
  return h(`p.verdict.${name}`, {}, h("span", { "aria-hidden": "true" }, `${SIGNS[name]} `), text);
}

function atWork() {
  const at = status.last_written_at;
  const rows = [
    ["written", at === null ? t("never") : `${ago(at)}, ${full(at)}`],
    ["programs", openIn(status) || t("not_known")],
    ["free", status.free_bytes === null ? t("not_known") : size(status.free_bytes)],
    hasFleet() && !isAlone() && ["fleet", backlogOf(status)],
  ].filter(Boolean);
  return h("dl.fields", {}, rows.map(([name, value]) => [h("dt", {}, t(`stat_${name}`)), h("dd", {}, value)]));
}

function totals() {
  const shares = log.recalls.length ? log.recalls.filter(({ hits }) => !hits).length / log.recalls.length : null;
  const rows = [
    ...["memories", "facts", "perceptions", "notes"].filter((name) => name in status).map((name) => [name, number(status[name])]),
    ["db_bytes", size(status.db_bytes)],
    ["pending_vectors", number(status.pending_vectors)],
    shares === null ? null : ["without_result", `${number(shares * 100, 0)} %`],
  ].filter(Boolean);
  return h("dl.totals", {}, rows.map(([name, value]) => h("div", {}, h("dd", {}, value), h("dt", {}, named("stat", name)))));
}

function tables() {
  const groups = Object.entries(stats).filter(([, value]) => Array.isArray(value) && value.length);
  return groups.map(([name, rows]) => {
    const most = Math.max(...rows.map((row) => row.memories));
    return [
      h("h3", {}, named("stat", name)),
      h(
        "table.bars", { "aria-label": named("stat", name) },
        h("tbody", {}, rows.slice(0, 12).map((row) =>
          h("tr", {}, h("th", { scope: "row" }, named("kinds", row.value) || t("none")), h("td", {}, h("meter", { min: 0, max: most, value: row.memories, "aria-hidden": "true" })), h("td", {}, number(row.memories))))),
      ),
    ];
  });
}

function doctor() {
  const ask = async (event) => {
    event.currentTarget.disabled = true;
    examination = { wait: true };
    redraw("health");
    examination = await get("/api/doctor").catch((error) => ({ error: error.message }));
    redraw("health");
  };
  const { wait, error, findings } = examination ?? {};
  const signs = { ok: "✓", warn: "!", error: "✗" };
  const row = (one) => h(`tr.${one.severity}`, {}, h("td", { title: t(`doctor_${one.severity}`) }, signs[one.severity]), h("th", { scope: "row" }, one.name), h("td", {}, told(one.seen), one.remedy && h("div", {}, h("code", {}, one.remedy))));
  return [
    h("h3", {}, t("doctor")),
    wait ? h("p.loading", {}, t("doctor_waits")) : h("p", {}, h("button", { type: "button", "data-act": "examine", onclick: ask }, t("examine"))),
    error && h("p.problem", { role: "alert" }, error),
    findings && h("table", { "aria-label": t("doctor") }, h("tbody", {}, findings.map(row))),
  ];
}

function used() {
  const open = (id) => h("button.link", { type: "button", onclick: () => change({ memory: String(id), panel: "memory" }) }, `#${id}`);
  return listed("most_used", ["", "used", ""], log.most_used.map((one) => [open(one.id), t("used_times", { n: one.access_count, last: brief(one.last_accessed) }), one.snippet]));
}

function recalls() {
  const rows = log.recalls.map((one) => [brief(one.recalled_at), one.caller, number(one.hits), one.relevance === null ? "" : `${number(one.relevance * 100, 0)} %`, number(one.milliseconds, 1), one.query || (one.digest ? t("log_no_text") : "")]);
  return listed("recalls", ["when", "log_caller", "log_hits", "log_relevance", "log_milliseconds", "log_query"], rows);
}

function listed(name, head, rows) {
  if (!rows.length) return null;
  const cells = head.map((key) => (key ? h("th", { scope: "col" }, t(key)) : h("td")));
  return [
    h("h3", {}, t(`log_${name}`)),
    h("table", { "aria-label": t(`log_${name}`) }, h("thead", {}, h("tr", {}, cells)), h("tbody", {}, rows.slice(0, SHOWN).map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))),
  ];
}

const shown = (name, value) => (name.includes("bytes") ? size(value) : number(value, 2));

function size(bytes) {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 4);
  return `${number(bytes / 1000 ** power, power ? 1 : 0)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

function everything(open = false) {
  const rows = flat({ ...status, intake: { is_seen: status.intake.is_seen, trouble: status.intake.trouble } });
  return h("details.part", { open }, h("summary", {}, t("all_values")), h("dl.fields", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, cell(name, value))])));
}

function cell(name, value) {
  if (value === null) return t("not_known");
  if (name.endsWith("_at")) return full(value);
  if (typeof value === "number") return shown(name.split(".").at(-1), value);
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  return Array.isArray(value) ? value.join(", ") : String(value);
}

function flat(values, before = "") {
  return Object.entries(values).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value) ? flat(value, `${before}${name}.`) : [[before + name, value]]);
}
