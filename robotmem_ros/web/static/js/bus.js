// News that concern several parts of the page.

const listeners = new Map();

export function on(news, listener) {
  listeners.set(news, [...(listeners.get(news) ?? []), listener]);
}

export function tell(news, ...details) {
  for (const listener of listeners.get(news) ?? []) listener(...details);
}
