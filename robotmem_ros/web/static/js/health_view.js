// The health of the memory: what it holds, what is missing, whether the indexes are in step.
import { openIn } from "./activity.js";
import { get } from "./api.js";
import { tell } from "./bus.js";
import { byId, h, replace } from "./dom.js";
import { redraw } from "./panel.js";
import { ago, full, setNow } from "./time.js";
import { named, number, onLanguage, t, told } from "./words.js";

let doctor = null;
let stats = null;
let failed = "";

/** Tells whether the console changes anything, as far as that is known. */
export const mayWrite = () => doctor?.read_only === false;

/** Asks for the health, and shows its sign on the button. */
export async function loadHealth() {
  const knew = mayWrite();
  try {
    [doctor, stats] = await Promise.all([get("/api/doctor"), get("/api/stats")]);
    failed = "";
    setNow(doctor.answered_at);
    tell("health", doctor);
    if (mayWrite() !== knew) tell("rights");
  } catch (error) {
    failed = error.message;
  }
  sign();
  redraw("health");
}

const isWell = () => !failed && doctor && !doctor.reason;

function sign() {
  const mark = byId("health-mark");
  mark.textContent = isWell() ? "✓" : "!";
  mark.className = isWell() ? "well" : "unwell";
  mark.parentElement.title = isWell() ? t("all_well") : failed || told(doctor.reason);
}
onLanguage(() => doctor && sign());

export const healthView = () => ({
  title: () => t("health"),
  draw: (body) => {
    if (failed) return replace(body, h("p.problem", { role: "alert" }, failed));
    if (!doctor || !stats) return replace(body, h("p.loading", {}, t("loading")));
    return replace(body, verdict(), atWork(), totals(), tables(), everything(body.querySelector("details")?.open));
  },
});

function verdict() {
  if (isWell()) return h("p.verdict.well", {}, h("span", { "aria-hidden": "true" }, "✓ "), t("all_well"));
  return h("div.verdict.unwell", {}, h("p", {}, h("span", { "aria-hidden": "true" }, "! "), told(doctor.reason)));
}

function atWork() {
  const at = doctor.last_written_at;
  const rows = [
    ["written", at === null ? t("never") : `${ago(at)}, ${full(at)}`],
    ["programs", openIn(doctor) || t("not_known")],
    ["free", doctor.free_bytes === null ? t("not_known") : size(doctor.free_bytes)],
  ];
  return h("dl.fields", {}, rows.map(([name, value]) => [h("dt", {}, t(`stat_${name}`)), h("dd", {}, value)]));
}

function totals() {
  const shares = doctor.searches ? doctor.searches_without_result / doctor.searches : null;
  const rows = [
    ...["memories", "facts", "perceptions", "notes"].filter((name) => name in doctor).map((name) => [name, number(doctor[name])]),
    ["db_bytes", size(doctor.db_bytes)],
    ["pending_vectors", number(doctor.pending_vectors)],
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

const shown = (name, value) => (name.includes("bytes") ? size(value) : number(value, 2));

function size(bytes) {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 4);
  return `${number(bytes / 1000 ** power, power ? 1 : 0)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

function everything(open = false) {
  const rows = flat(doctor);
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
