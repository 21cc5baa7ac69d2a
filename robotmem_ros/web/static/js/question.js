// Turns the state of the page into the question that the server is asked.
import { scopeOf } from "./fleet.js";
import { CONDITIONS, LISTS, state } from "./state.js";

export const PAGE = 50;

const given = (value) => value !== "" && value !== false && value !== null && !(Array.isArray(value) && !value.length);

/** Tells whether it takes a recall, or whether the memories are only listed, newest first. */
export const isSearch = (from = state()) =>
  given(from.q.trim()) || given(from.radius) || given(from.target) || CONDITIONS.some((row) => row.needsSearch && given(from[row.name]));

/** Tells whether what is found comes by its score, and not by its distance or, without words, by its time. */
export const isRanked = (from = state()) => given(from.q.trim()) && !searching(from, null).spatial_sort;

/** Returns how many conditions hold, without the text. */
export const countConditions = (from = state()) =>
  CONDITIONS.reduce((sum, { name, isList }) => sum + (isList ? from[name].length : Number(given(from[name]))), 0);

function shared(from) {
  return {
    ...Object.fromEntries(LISTS.map(({ name }) => [name, from[name]])),
    ...Object.fromEntries(CONDITIONS.filter((row) => row.isDescribed && !row.isList).map(({ name }) => [name, from[name] || ""])),
    collections: from.collections.length ? from.collections : ["*"],
    after: from.after,
    before: from.before,
    ...scopeOf(),
  };
}

/** Returns the parameters of /api/memories. */
export function listing(from, cursor) {
  return {
    ...shared(from),
    min_confidence: from.min_confidence,
    include_forgotten: from.include_forgotten || "",
    n: PAGE,
    cursor,
  };
}

/** Returns the parameters of /api/search; `view` is the visible box of the map: {min_corner, max_corner}. */
export function searching(from, view) {
  const place = from.target && { target: [...from.target] };
  if (place && given(from.radius)) place.max_distance = Number(from.radius);
  // Without a radius there is nothing but the distance to go by.
  const isBestFirst = from.best_first && place?.max_distance > 0 && !from.since_visit;
  return {
    ...shared(from),
    q: from.q.trim(),
    min_confidence: from.min_confidence || 0,
    n: from.n || PAGE,
    min_relevance: from.min_relevance,
    context_filter: from.context_filter,
    ids: from.ids.split(/[\s,]+/).filter(Boolean),
    fold: from.unfolded ? "false" : "",
    spatial_sort: from.since_visit || isBestFirst ? "" : place,
    near: isBestFirst ? place : "",
    since_last_visit: from.since_visit && place ? { max_distance: 1, ...place } : "",
    within: from.in_view && view ? view : "",
  };
}
