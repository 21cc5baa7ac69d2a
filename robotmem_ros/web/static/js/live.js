// News from the server: what changed, and whether there is a connection at all.
import { get } from "./api.js";
import { tell } from "./bus.js";
import { byId } from "./dom.js";
import { onLanguage, t } from "./words.js";

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 15_000;

let source = null;
let wait = FIRST_WAIT;
let lost = false;
let seen = "";
let tellLive = () => {};

/** Settles once changes are told for the first time. */
export const live = new Promise((resolve) => (tellLive = resolve));

/** Listens for changes, and connects again whenever the connection is lost. */
export function startLive() {
  connect();
  onLanguage(describe);
  addEventListener("online", () => lost && connect());
  document.addEventListener("visibilitychange", () => !document.hidden && lost && connect());
}

function connect() {
  source?.close();
  source = new EventSource("/api/events");
  source.addEventListener("open", () => {
    wait = FIRST_WAIT;
    const again = lost;
    lost = false;
    document.documentElement.dataset.live = "true";
    describe();
    if (again) tell("changed");
    tellLive();
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
    get("/api/status").catch(() => {}); // a stream does not tell that a login has ended; this asks for it again
    setTimeout(() => lost && connect(), wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  });
}

function describe() {
  document.body.classList.toggle("lost", lost);
  byId("connection").textContent = lost ? t("connection_lost") : "";
}
