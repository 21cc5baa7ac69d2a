// A control for a list of names: what was chosen as buttons that remove, and an input that offers what there is.
import { h, replace } from "./dom.js";
import { number, t } from "./words.js";

let controls = 0;

/** Returns a control; `offered()` gives a promise of [{value, memories}], `onChange(names)` is told of each change. */
export function namesInput({ label, names, offered, onChange }) {
  const id = `names-${(controls += 1)}`;
  let chosen = [...names];
  let asked = false;
  const options = h("datalist", { id: `${id}-options` });
  const input = h("input", { id, list: options.id, autocomplete: "off", spellcheck: "false" });
  const chips = h("span.chips");
  const element = h("div.field.names", {}, h("label", { for: id }, label), h("div.names-box", {}, chips, input), options);

  const set = (next) => {
    chosen = next;
    draw();
    onChange(chosen);
  };
  const add = () => {
    const name = input.value.trim();
    input.value = "";
    if (name && !chosen.includes(name)) set([...chosen, name]);
  };
  const draw = () =>
    replace(
      chips,
      chosen.map((name) =>
        h(
          "button.chip",
          { type: "button", "aria-label": t("remove_name", { label, name }), onclick: () => { set(chosen.filter((other) => other !== name)); input.focus(); } },
          name, h("span", { "aria-hidden": "true" }, "×"),
        ),
      ),
    );

  input.addEventListener("focus", async () => {
    if (asked) return;
    asked = true;
    const found = await offered().catch(() => []);
    replace(options, found.slice(0, 300).map(({ value, memories }) => h("option", { value }, number(memories))));
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      add();
    } else if (event.key === "Backspace" && !input.value && chosen.length) {
      set(chosen.slice(0, -1));
    }
  });
  input.addEventListener("change", add);
  draw();
  return { element, show: (next) => { chosen = [...next]; draw(); } };
}
