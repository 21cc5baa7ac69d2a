// Dialogs: the browser's own, which keep the focus inside and give it back.
import { append, h } from "./dom.js";
import { t } from "./words.js";

let dialogs = 0;

/** Opens a dialog with a form. `onSubmit` may throw: its message is shown, and the dialog stays. */
export function openDialog({ title, content, submit = "", danger = false, wide = false, onSubmit = async () => {}, onClose = () => {} }) {
  const id = `dialog-${(dialogs += 1)}`;
  const problem = h("p.problem", { role: "alert" });
  const dialog = h(`dialog.dialog${wide ? ".wide" : ""}`, { "aria-labelledby": id });
  const go = submit && h(`button.${danger ? "danger" : "primary"}`, { type: "submit" }, submit);
  const close = h("button", { type: "button", onclick: () => dialog.close() }, submit ? t("cancel") : t("close"));
  const form = h("form", { novalidate: true }, h("h2", { id }, title), content, problem, h("div.buttons", {}, close, go));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!go) return dialog.close();
    problem.textContent = "";
    go.disabled = true;
    try {
      await onSubmit(new FormData(form));
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      go.disabled = false;
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClose();
  });
  append(dialog, [form]);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Returns a labelled control: `field("Reason", h("input", {name: "reason"}))`. */
export function field(label, control, hint = "") {
  const id = control.id || `field-${(dialogs += 1)}`;
  control.id = id;
  const note = hint && h("small", { id: `${id}-hint` }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div.field", {}, h("label", { for: id }, label), control, note);
}
