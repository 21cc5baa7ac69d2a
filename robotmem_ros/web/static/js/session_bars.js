// The sessions below the bars of the timeline, in lanes, so that those that overlap are seen.
import { h } from "./dom.js";
import { outcomeOf } from "./marks.js";
import { change } from "./state.js";
import { toMs } from "./time.js";

const LANES = 2;
const LANE = 15; // pixels

/** Returns the bars of sessions; `pixelAt(ms)` tells where a time is, an open session lasts until `last`. */
export function sessionBars(sessions, { pixelAt, last, width }) {
  const ends = new Array(LANES).fill(-Infinity);
  const bars = [];
  for (const session of [...sessions].sort((a, b) => (BigInt(a.started_at) < BigInt(b.started_at) ? -1 : 1))) {
    const start = pixelAt(toMs(session.started_at));
    const end = pixelAt(session.ended_at ? toMs(session.ended_at) : Math.max(last, toMs(session.started_at)));
    if (end < 0 || start > width) continue;
    const lane = ends.findIndex((used) => used <= start);
    const nth = lane < 0 ? LANES - 1 : lane;
    const left = Math.max(start, -4);
    const long = Math.max(Math.min(end, width + 4) - left, 4);
    ends[nth] = left + long;
    const outcome = outcomeOf(session);
    const bar = h(
      `div.session.session-${outcome.name}`, { title: `${session.session_id}: ${outcome.text}`, onclick: () => change({ panel: "sessions", session: session.session_id }) },
      long > 14 && outcome.sign, long > 90 && ` ${session.context?.task ?? session.session_id}`,
    );
    Object.assign(bar.style, { left: `${left}px`, width: `${long}px`, top: `${nth * LANE}px` });
    bars.push(bar);
  }
  return bars;
}
