// The keys, and what the page is made with.
import { h } from "./dom.js";
import { openDialog } from "./dialog.js";
import { keep, recall, t } from "./words.js";

const KEYS = [
  ["/", "key_search"], ["↑ ↓", "key_walk"], ["Enter", "key_open"], ["Esc", "key_close"], ["t", "key_target"], ["a", "key_area"],
  ["m", "key_map"], ["l", "key_timeline"], ["u", "key_undo"], ["?", "key_help"],
];
const KEPT = "robotmem.keys";

/** Tells whether single letters are keys; who speaks to the computer may want them off. */
export const lettersAreKeys = () => recall(KEPT) !== "off";

export function showHelp() {
  const letters = h("input", { type: "checkbox", checked: lettersAreKeys() });
  letters.addEventListener("change", () => keep(KEPT, letters.checked ? "on" : "off"));
  openDialog({
    title: t("keys"),
    content: [
      h("dl.keys", {}, KEYS.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, t(text))])),
      h("label.flag", {}, letters, t("letter_keys")),
      h("p.muted", {}, t("on_map_keys")),
      h("p.muted", {}, t("on_timeline_keys")),
      h("p.muted", {}, t("made_with")),
    ],
  });
}
