// Short notices, with an undo where there is a way back.
import { byId, h } from "./dom.js";
import { t } from "./words.js";

const STAY = 12_000;
let undoLast = null;

/** Shows a notice; with `undo`, a function, also a button that calls it once. */
export function toast(text, { undo = null, bad = false } = {}) {
  const notice = h(`div.toast${bad ? ".bad" : ""}`, {}, h("span", {}, text));
  let timer = 0;
  const away = () => {
    clearTimeout(timer);
    notice.remove();
    if (undoLast === once) undoLast = null;
  };
  const once = async () => {
    away();
    try {
      await undo();
      toast(t("undone"));
    } catch (error) {
      toast(error.message, { bad: true });
    }
  };
  if (undo) {
    undoLast = once;
    notice.append(h("button", { type: "button", onclick: once, "aria-keyshortcuts": "u" }, t("undo")));
  }
  notice.append(h("button.plain", { type: "button", "aria-label": t("dismiss"), onclick: away }, "×"));
  const wait = () => (timer = setTimeout(away, STAY));
  for (const event of ["pointerenter", "focusin"]) notice.addEventListener(event, () => clearTimeout(timer));
  for (const event of ["pointerleave", "focusout"]) notice.addEventListener(event, wait);
  byId("toasts").append(notice);
  wait();
}

/** Undoes what the last notice offers to undo. */
export const undoNow = () => undoLast?.();
