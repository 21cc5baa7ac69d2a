// What the page changes: forget, restore and correct a memory, each with a way back.
import { del, get, post, put } from "./api.js";
import { tell } from "./bus.js";
import { field, openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { offered } from "./conditions.js";
import { toast } from "./toasts.js";
import { t } from "./words.js";

const path = (id) => `/api/memory/${id}`;
const PUT_BACK = ["content", "human_summary", "context", "category", "tags", "confidence", "decay_rate", "label", "perception_type", "pose", "frame_id"];

async function undoForget(id) {
  await post(`${path(id)}/restore`);
  tell("changed", id);
}

/** Asks for the reason and forgets a memory. */
export function forget(memory) {
  openDialog({
    title: t("forget_title", { id: String(memory.id) }),
    content: [h("p.quote", {}, memory.content.slice(0, 200)), field(t("reason"), h("input", { name: "reason", required: true, autofocus: true, autocomplete: "off" }), t("forget_hint"))],
    submit: t("forget"),
    danger: true,
    onSubmit: async (form) => {
      const reason = form.get("reason").trim();
      if (!reason) throw new Error(t("reason_missing"));
      await del(path(memory.id), { reason });
      toast(t("forgotten"), { undo: () => undoForget(memory.id) });
      tell("changed", memory.id);
    },
  });
}

export async function restore(memory) {
  try {
    await undoForget(memory.id);
    toast(t("restored"));
  } catch (error) {
    toast(error.message, { bad: true });
  }
}

/** Opens the fields of a memory to correct them; only what was changed is sent. */
export function correct({ memory }) {
  const names = ["content", "human_summary", "label", "category", "tags", "confidence", "context"];
  const isObservation = memory.kind === "perception";
  const was = {
    content: memory.content, human_summary: memory.human_summary ?? "", label: memory.label ?? "", category: memory.category ?? "",
    tags: (memory.tags ?? []).join(", "), confidence: memory.confidence === null ? "" : memory.confidence.toFixed(2), context: JSON.stringify(memory.context ?? {}, null, 2),
  };
  const list = (name) => {
    const options = h("datalist", { id: `correct-${name}` });
    offered({ label: "labels", category: "categories" }[name])
      .then((found) => options.append(...found.slice(0, 300).map(({ value }) => h("option", { value }))))
      .catch(() => {});
    return options;
  };
  const input = (name, more = {}) => field(t(name === "tags" ? "its_tags" : name), h("input", { name, value: was[name], autocomplete: "off", ...more }));
  openDialog({
    title: t("correct_title", { id: String(memory.id) }),
    wide: true,
    content: [
      field(t("content"), h("textarea", { name: "content", rows: 3, value: was.content, autofocus: true })),
      input("human_summary"),
      h("div.pair", {}, isObservation ? [input("label", { list: "correct-label" }), list("label")] : [input("category", { list: "correct-category" }), list("category")],
        input("confidence", { type: "number", min: 0, max: 1, step: "any" })),
      input("tags", { placeholder: t("tags_hint") }),
      field(t("context"), h("textarea", { name: "context", rows: 4, spellcheck: "false", value: was.context })),
      field(t("reason"), h("input", { name: "reason", autocomplete: "off" }), t("correct_hint")),
    ],
    submit: t("save"),
    onSubmit: async (form) => {
      const changed = names.filter((name) => form.has(name) && form.get(name) !== was[name]);
      if (!changed.length) throw new Error(t("nothing_changed"));
      const values = Object.fromEntries(changed.map((name) => [name, parsed(name, form.get(name))]));
      await put(path(memory.id), { ...values, ...(form.get("reason").trim() && { reason: form.get("reason").trim() }) });
      toast(t("corrected"), { undo: () => undoCorrection(memory.id) });
      tell("changed", memory.id);
    },
  });
}

function parsed(name, text) {
  if (name === "tags") return text.split(",").map((tag) => tag.trim()).filter(Boolean);
  if (name === "confidence") return Number(text);
  if (name !== "context") return text;
  try {
    return JSON.parse(text || "{}");
  } catch (error) {
    throw new Error(t("no_json", { error: error.message }), { cause: error });
  }
}

/** Puts back what a memory was before its last correction. */
async function undoCorrection(id) {
  const { history } = await get(path(id));
  const last = history.find((one) => one.change === "update");
  if (last) await sendBack(id, last);
}

async function sendBack(id, { before }) {
  const kept = Object.entries(before).filter(([name]) => PUT_BACK.includes(name));
  const clear = kept.filter(([, value]) => value === null).map(([name]) => name);
  const values = Object.fromEntries(kept.filter(([, value]) => value !== null));
  await put(path(id), { ...values, ...(clear.length && { clear }), reason: t("undo_reason") });
  tell("changed", id);
}

export async function putBack(id, one) {
  try {
    await sendBack(id, one);
    toast(t("put_back_done"), { undo: () => undoCorrection(id) });
  } catch (error) {
    toast(error.message, { bad: true });
  }
}
