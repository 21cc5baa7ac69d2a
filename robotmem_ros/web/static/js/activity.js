// When the robot last wrote, and whether another program, such as its node, has the file open now.
import { on } from "./bus.js";
import { byId } from "./dom.js";
import { ago, full } from "./time.js";
import { onLanguage, t } from "./words.js";

let status = null;

/** Starts the line below the head of the list. */
export function startActivity() {
  on("health", (answer) => {
    status = answer;
    describe();
  });
  onLanguage(describe);
}

function describe() {
  if (!status) return;
  byId("activity").textContent = [lastWritten(status), openIn(status)].filter(Boolean).join(" · ");
  byId("activity").title = status.last_written_at === null ? "" : full(status.last_written_at);
}

const lastWritten = ({ last_written_at: at }) => (at === null ? t("never_written") : t("last_written", { ago: ago(at) }));

/** Returns which other programs have the file open; "" where the server cannot tell. */
export function openIn({ programs }) {
  if (programs === null) return "";
  return programs.length ? t("open_in", { programs: programs.join(", ") }) : t("open_nowhere");
}
