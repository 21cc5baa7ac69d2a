// The page's own words, in the language that was chosen, else in that of the browser.
import { english } from "../text/en.js";
import { chinese } from "../text/zh.js";
import { sentences } from "../text/zh_server.js";

const TABLES = { en: english, zh: chinese };
const KEY = "robotmem.language";
const MOST_DIGITS = 1e15; // from which on a number is written by its power of ten
const listeners = [];
let current = chosen();

function chosen() {
  const kept = recall(KEY);
  if (kept in TABLES) return kept;
  return navigator.languages.some((name, place) => name.startsWith("zh") && !earlierEnglish(place)) ? "zh" : "en";
}

function earlierEnglish(place) {
  return navigator.languages.slice(0, place).some((name) => name.startsWith("en"));
}

/** Returns what the browser keeps under a key, or "" where it keeps nothing. */
export function recall(key) {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

export function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A browser that keeps nothing only forgets the choice.
  }
}

export const language = () => current;
export const locale = () => (current === "zh" ? "zh-CN" : navigator.languages.find((name) => name.startsWith("en")) ?? "en");

/** Returns a text of the table, else `other`; `{name}` stands for a value, and `key_one` is taken for n = 1 if there is one. */
export function t(key, values = {}, other = key) {
  const table = TABLES[current];
  const text = (values.n === 1 && table[`${key}_one`]) || table[key] || other;
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? shown(values[name]) : all));
}

const shown = (value) => (typeof value === "number" ? number(value) : String(value));

export const number = (value, digits = 20) =>
  Math.abs(value) < MOST_DIGITS ? value.toLocaleString(locale(), { maximumFractionDigits: digits }) : value.toExponential(2);

// A placeholder stands for a word, a quoted text or a list.
const PATTERNS = Object.entries(sentences).map(([english, text]) => [
  new RegExp(english.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{(\w+)\}/g, "(?<$1>'(?:[^'\\\\]|\\\\.)*'|\\[.*\\]|\\S+)"), "g"),
  text.replace(/\{(\w+)\}/g, "$$<$1>"),
]);

/** Returns what the server says in the language of the page, as far as there is a translation. */
export function told(sentence) {
  if (current !== "zh") return sentence;
  return PATTERNS.reduce((text, [pattern, chinese]) => text.replace(pattern, chinese), sentence).replaceAll("; ", "；");
}

/** Returns the word for a value of a closed set, such as a kind, or the value itself where the table has none. */
export const named = (group, value) => TABLES[current][`${group}_${value}`] ?? value;

export function onLanguage(listener) {
  listeners.push(listener);
}

export function setLanguage(name) {
  current = name;
  keep(KEY, name);
  translatePage();
  for (const listener of listeners) listener();
}

/** Fills in the words of the static page. */
export function translatePage() {
  document.documentElement.lang = current === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll("[data-t-label]")) {
    element.setAttribute("aria-label", t(element.dataset.tLabel));
  }
  for (const element of document.querySelectorAll("[data-t-placeholder]")) {
    element.setAttribute("placeholder", t(element.dataset.tPlaceholder));
  }
}
