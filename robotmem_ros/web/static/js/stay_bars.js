// From when until when an object was at its place, as bars over the strip of time.
import { h } from "./dom.js";
import { clock, toMs } from "./time.js";
import { t } from "./words.js";

/** Returns the bars of stays; the one that goes on lasts until `last`, paler from when it was seen last. */
export function stayBars(stays, { pixelAt, last, width }) {
  return stays.flatMap((stay) => {
    const [from, seen] = [toMs(stay.first_seen), toMs(stay.last_seen)];
    const until = stay.first_absent ? toMs(stay.first_absent) : Math.max(last, seen);
    const title = t(stay.first_absent ? "stayed" : "stays_since", { thing: [stay.label, stay.area].filter(Boolean).join(" · "), from: clock(from), until: clock(until) });
    const bar = (kind, start, end, least = 0) => {
      const left = Math.max(pixelAt(start), -4);
      const long = Math.max(Math.min(pixelAt(end), width + 4) - left, least);
      if (left > width || left + long < 0 || long <= 0) return null;
      const made = h(`div.stay${kind}`, { title });
      Object.assign(made.style, { left: `${left}px`, width: `${long}px` });
      return made;
    };
    return [bar(".stay-unseen", seen, until), bar("", from, seen, 3)].filter(Boolean);
  });
}
