// A list of rows of one height of which only those in sight are in the document: a listbox for the keyboard.
import { h } from "./dom.js";

let lists = 0;

export class VirtualList {
  /** `row(item, index)` returns the content of a row; `onOpen(item)`, `onActive(item)` and `onEnd()` are told. */
  constructor(container, { height, label, row, onOpen, onActive = () => {}, onEnd = () => {} }) {
    Object.assign(this, { container, height, row, onOpen, onActive, onEnd });
    this.name = `list-${(lists += 1)}`;
    this.items = [];
    this.active = -1;
    this.selected = null;
    this.shown = new Map();
    this.inner = h("div.rows", { role: "listbox", tabindex: 0, "aria-label": label });
    this.inner.addEventListener("keydown", (event) => this.#key(event));
    // A click focuses the list first: that must not move the row away from under the pointer.
    this.inner.addEventListener("focus", () => this.inner.matches(":focus-visible") && this.#activate(Math.max(this.active, 0)));
    this.inner.addEventListener("click", (event) => this.#click(event));
    container.replaceChildren(this.inner);
    container.addEventListener("scroll", () => this.#draw(), { passive: true });
    new ResizeObserver(() => this.#draw()).observe(container);
  }

  rename(label) {
    this.inner.setAttribute("aria-label", label);
  }

  /** Shows other items; with `stay` the active one and the place in the list are kept. */
  show(items, { stay = false } = {}) {
    const activeKey = this.items[this.active]?.key;
    this.items = items;
    this.active = stay ? items.findIndex((item) => item.key === activeKey) : -1;
    if (!stay) this.container.scrollTop = 0;
    this.redraw();
  }

  redraw() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
    this.inner.style.height = `${this.items.length * this.height}px`;
    // An empty listbox is no listbox for a screen reader.
    this.inner.hidden = this.items.length === 0;
    this.#draw();
  }

  /** Marks the item that is open. */
  select(key) {
    this.selected = key;
    for (const [index, element] of this.shown) this.#mark(index, element);
  }

  focus() {
    this.inner.focus();
  }

  #draw() {
    const { scrollTop, clientHeight } = this.container;
    const first = Math.max(0, Math.floor(scrollTop / this.height) - 4);
    const last = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / this.height) + 4);
    for (const [index, element] of this.shown) {
      if (index < first || index >= last) {
        element.remove();
        this.shown.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) if (!this.shown.has(index)) this.#add(index);
    if (last >= this.items.length && this.items.length) this.onEnd();
  }

  #add(index) {
    const element = h(
      "div.row",
      { role: "option", id: `${this.name}-${index}`, "aria-posinset": index + 1, "aria-setsize": this.items.length },
      this.row(this.items[index], index),
    );
    element.dataset.index = index;
    element.style.transform = `translateY(${index * this.height}px)`;
    element.style.height = `${this.height}px`;
    this.#mark(index, element);
    const after = [...this.shown.entries()].filter(([other]) => other > index).sort(([a], [b]) => a - b)[0];
    this.inner.insertBefore(element, after ? after[1] : null);
    this.shown.set(index, element);
  }

  #mark(index, element) {
    element.classList.toggle("active", index === this.active);
    element.setAttribute("aria-selected", String(this.items[index]?.key === this.selected && this.selected !== null));
  }

  #activate(index) {
    if (!this.items.length) return;
    this.active = Math.min(Math.max(index, 0), this.items.length - 1);
    const top = this.active * this.height;
    const { scrollTop, clientHeight } = this.container;
    if (top < scrollTop) this.container.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) this.container.scrollTop = top + this.height - clientHeight;
    this.#draw();
    for (const [other, element] of this.shown) this.#mark(other, element);
    this.inner.setAttribute("aria-activedescendant", `${this.name}-${this.active}`);
    this.onActive(this.items[this.active]);
  }

  #click(event) {
    const row = event.target.closest("[role=option]");
    if (!row) return;
    this.#activate(Number(row.dataset.index));
    this.onOpen(this.items[this.active]);
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.container.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    if (event.key in steps && !event.altKey && !event.ctrlKey && !event.metaKey) {
      this.#activate(this.active + steps[event.key]);
    } else if ((event.key === "Enter" || event.key === " ") && this.items[this.active]) {
      this.onOpen(this.items[this.active]);
    } else return;
    event.preventDefault();
  }
}
