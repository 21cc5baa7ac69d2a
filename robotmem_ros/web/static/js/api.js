// Asks the server. Every answer that is an error becomes an ApiError with the server's own sentence.
import { t, told } from "./words.js";

export class ApiError extends Error {
  constructor(status, body) {
    super(body?.error ? told(body.error) : t("error_status", { status }));
    this.status = status;
    this.field = body?.field ?? "";
  }
}

const whenRefused = [];

/** Calls back when the server wants a token. */
export function onRefused(listener) {
  whenRefused.push(listener);
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { error: t("unreachable") });
  }
  const body = answer.headers.get("content-type")?.includes("json") ? await answer.json() : null;
  if (answer.status === 401) for (const listener of whenRefused) listener();
  if (!answer.ok) throw new ApiError(answer.status, body);
  return body;
}

/** Returns the query string of named values; a list repeats its name, what is empty is left out. */
export function queryString(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== "" && one !== null && one !== undefined) {
        query.append(name, typeof one === "object" ? JSON.stringify(one) : String(one));
      }
    }
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

export const get = (path, values = {}, signal = undefined) => ask(path + queryString(values), { signal });

const change = (method) => (path, body = {}) =>
  ask(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const post = change("POST");
export const put = change("PUT");
export const del = change("DELETE");

/** Returns a function that asks, and forgets the answers that come after a newer question. */
export function latest() {
  let controller = null;
  return async (path, values) => {
    controller?.abort();
    controller = new AbortController();
    return get(path, values, controller.signal);
  };
}

export const isAbort = (error) => error.name === "AbortError";
