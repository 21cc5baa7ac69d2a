// News from the server: what changed, and whether there is a connection at all.
import { tell } from "./bus.js";
import { byId } from "./dom.js";
import { onLanguage, t } from "./words.js";

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 15_000;
const PATIENCE = 300; // ms that the page waits for the connection before it asks for anything

let source = null;
let wait = FIRST_WAIT;
let lost = false;
let seen = "";
let isLate = false;

/** Listens for changes, and connects again whenever the connection is lost; what is asked for afterwards is never out of date. */
export async function startLive() {
  onLanguage(describe);
  addEventListener("online", () => lost && connect());
  document.addEventListener("visibilitychange", () => !document.hidden && lost && connect());
  await new Promise((resolve) => {
    connect(resolve);
    setTimeout(resolve, PATIENCE);
  });
  isLate = !document.documentElement.dataset.live;
}

function connect(onOpen = () => {}) {
  source?.close();
  source = new EventSource("/api/events");
  source.addEventListener("open", () => {
    wait = FIRST_WAIT;
    const again = lost || isLate;
    lost = false;
    isLate = false;
    document.documentElement.dataset.live = "true";
    describe();
    if (again) tell("changed");
    onOpen();
  });
  source.addEventListener("change", (event) => {
    if (event.data === seen) return;
    seen = event.data;
    tell("changed");
  });
  source.addEventListener("error", () => {
    source.close();
    lost = true;
    delete document.documentElement.dataset.live;
    describe();
    setTimeout(() => lost && connect(), wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  });
}

function describe() {
  document.body.classList.toggle("lost", lost);
  byId("connection").textContent = lost ? t("connection_lost") : "";
}
