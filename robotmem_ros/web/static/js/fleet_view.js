// The fleet in the panel: how its robots stand, what they are asked to change, and why it does not answer.
import { get, post } from "./api.js";
import { on, tell } from "./bus.js";
import { field, openDialog } from "./dialog.js";
import { h, replace } from "./dom.js";
import { backlogOf, fleetMaps, fleetRobots, isAlone, keyOf, robotSign, shownMap } from "./fleet.js";
import { redraw } from "./panel.js";
import { change } from "./state.js";
import { ago } from "./time.js";
import { toast } from "./toasts.js";
import { number, t, told } from "./words.js";

let status = null;
let requests = null;
let failed = "";

export function fleetView() {
  on("health", (answer) => (status = answer));
  on("robots", () => redraw("fleet"));
  on("fleet-objects", () => redraw("fleet"));
  return { title: () => t("fleet"), draw };
}

function draw(body) {
  show(body);
  get("/api/fleet/requests")
    .then((answer) => {
      failed = answer.reason;
      if (!failed) ({ requests } = answer);
    })
    .catch((error) => (failed = error.message))
    .then(() => body.isConnected && show(body));
}

function show(body) {
  const { robots, reason } = fleetRobots();
  const problem = reason || failed;
  replace(
    body,
    problem && h("p.problem", { role: "alert" }, t("no_fleet", { why: told(problem) })),
    ownFile(problem),
    (robots.length || !problem) && [h("h3", {}, t("robots")), robots.length ? robotTable(robots) : h("p.muted", {}, t("no_robots"))],
    mapChoice(),
    (requests || !problem) && [h("h3", {}, t("requests")), requests === null ? h("p.loading", {}, t("loading")) : requests.length ? requestCards() : h("p.muted", {}, t("no_requests"))],
  );
}

/** Says what of the file the fleet lacks, and why, unless that is said already. */
function ownFile(problem) {
  if (!status || isAlone()) return null;
  return h("dl.fields", {}, h("dt", {}, t("own_file")), h("dd", {}, backlogOf(status.fleet_trouble === problem ? { ...status, fleet_trouble: "" } : status)));
}

function robotTable(robots) {
  const head = ["robot", "last_contact", "stat_memories", "backlog"];
  const row = (one) => {
    const at = one.contact ? BigInt(Date.parse(one.contact)) * 1_000_000n : null;
    return h(
      "tr", {},
      h("th", { scope: "row" }, robotSign(one.name), one.is_own && h("small", {}, t("this_robot"))),
      h("td", { title: one.contact ? new Date(one.contact).toLocaleString(document.documentElement.lang) : "" }, at === null ? t("never") : ago(String(at))),
      [one.memories, one.backlog].map((value) => h("td", {}, number(value))),
    );
  };
  return h(
    "div.scroll-x", { tabindex: 0, role: "group", "aria-label": t("robots") },
    h("table.robots", {}, h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, t(name))))), h("tbody", {}, robots.map(row))),
  );
}

/** Lets choose between the maps of the robots, which cannot lie on each other. */
function mapChoice() {
  const maps = fleetMaps();
  if (!isAlone() || maps.length < 2) return null;
  const press = (map) => h("button.pill", { type: "button", "aria-pressed": String(map === shownMap()), onclick: () => change({ map }) }, map || t("no_name"), ` (${number(maps.find(([name]) => name === map)[1])})`);
  return [h("h3", {}, t("maps")), h("div.buttons", { role: "group", "aria-label": t("maps") }, maps.map(([map]) => press(map)))];
}

const requestCards = () => h("ul.cards", {}, requests.map(requestCard));

function requestCard(one) {
  const key = keyOf({ fleet_robot: one.robot, id: parseInt(one.memory.slice(-10), 16) });
  const open = () => change({ memory: key, panel: "memory" });
  const signs = { open: "▶", done: "✓", refused: "✗" };
  return h(
    "li.card.request", {},
    h("p", {}, h(`span.state-${one.state}`, {}, `${signs[one.state]} ${t(`request_${one.state}`)}`), robotSign(one.robot), h("button.link", { type: "button", onclick: open }, `#${key.split("/")[1]}`)),
    h("p", {}, one.content === null ? t("to_withdraw") : t("to_say", { text: one.content })),
    h("p.details", {}, `${one.asked_by}: ${one.reason}`),
    one.answer && h("p.details", {}, `${one.robot}: ${one.answer}`),
  );
}

/** Asks a robot to correct a memory that it made, or to withdraw it. */
export function askRobot(robot, memory, { correct }) {
  const input = (name, control, hint) => field(t(name), control, hint);
  openDialog({
    title: t(correct ? "ask_correct_title" : "ask_withdraw_title", { robot, id: String(memory.id) }),
    content: [
      correct ? input("content", h("textarea", { name: "content", rows: 3, value: memory.content, autofocus: true })) : h("p.quote", {}, memory.content.slice(0, 200)),
      input("reason", h("input", { name: "reason", required: true, autofocus: !correct, autocomplete: "off" }), t("ask_hint", { robot })),
    ],
    submit: t("ask_robot"),
    onSubmit: async (form) => {
      const reason = form.get("reason").trim();
      const content = correct ? form.get("content").trim() : null;
      if (!reason) throw new Error(t("ask_reason_missing"));
      if (correct && content === memory.content) throw new Error(t("nothing_changed"));
      await post("/api/fleet/requests", { robot, memory: String(memory.id), content, reason });
      toast(t("asked", { robot }));
      tell("robots");
    },
  });
}
