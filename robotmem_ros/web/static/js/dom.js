// Builds elements. Data becomes text nodes only, so HTML in a memory is shown as text.

/** Returns an element: h("button.primary", {onclick, "aria-label": "Go"}, "text", child). */
export function h(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  append(element, children);
  return element;
}

function set(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "value" || name === "checked" || name === "disabled" || name === "open") element[name] = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** Adds children: nodes, texts, lists of them; what is null, undefined, false or "" is left out. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

export const byId = (id) => document.getElementById(id);

/** Calls a function once, `wait` milliseconds after the last of many calls. */
export function debounced(wait, run) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(run, wait, ...given);
  };
}

/** Calls a function at most once a frame, with the last arguments. */
export function eachFrame(run) {
  let asked = null;
  return (...given) => {
    if (asked === null) {
      requestAnimationFrame(() => {
        const last = asked;
        asked = null;
        run(...last);
      });
    }
    asked = given;
  };
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
