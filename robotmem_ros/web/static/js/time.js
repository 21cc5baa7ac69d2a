// Times: nanoseconds since the epoch as text, since a JavaScript number cannot hold them; milliseconds to compute.
import { locale, t } from "./words.js";

const SIM_END = 1e11; // 1973 in ms: no robot wrote before, so a clock that shows less counts from its own start
const DAY = 86_400_000;

export const toMs = (ns) => Number(BigInt(ns) / 1000n) / 1000;
export const toNs = (ms) => (BigInt(Math.round(ms * 1000)) * 1000n).toString();
export const isSim = (ms) => Math.abs(ms) < SIM_END;
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns the zone with its offset at a time, such as `Europe/Berlin (GMT+1)`. */
export function zoneAt(ms) {
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "shortOffset" }).formatToParts(ms);
  if (zone() === "UTC") return "UTC";
  const offset = parts.find((part) => part.type === "timeZoneName").value;
  return `${zone()} (${offset})`;
}

function format(ms, options) {
  return new Intl.DateTimeFormat(locale(), { hourCycle: "h23", ...options }).format(ms);
}

const HM = { hour: "2-digit", minute: "2-digit" };
const HMS = { ...HM, second: "2-digit" };
const MD = { month: "short", day: "numeric" };
const YMD = { ...MD, year: "numeric" };

/** Returns h:mm:ss of a clock that counts from its own start. */
export function simText(ms, digits = 0) {
  const sign = ms < 0 ? "−" : "";
  const seconds = Math.abs(ms) / 1000;
  const whole = digits ? Math.floor(seconds) : Math.round(seconds);
  const two = (value) => String(value).padStart(2, "0");
  const rest = digits ? (seconds - whole).toFixed(digits).slice(1) : "";
  return `${sign}${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}${rest}`;
}

/** Returns a time in full: date, time to the second, and the zone. */
export function full(ns) {
  const ms = toMs(ns);
  if (isSim(ms)) return t("sim_time", { time: simText(ms, 3) });
  return `${format(ms, { ...YMD, ...HMS })} ${zoneAt(ms)}`;
}

/** Returns a time as short as it is clear today. */
export function brief(ns) {
  const ms = toMs(ns);
  if (isSim(ms)) return simText(ms);
  if (format(ms, YMD) === format(now(), YMD)) return format(ms, HMS);
  return format(ms, Math.abs(now() - ms) < 300 * DAY ? { ...MD, ...HM } : { ...YMD, ...HM });
}

let ahead = 0; // ms by which the clock of the server is ahead of that of the browser

/** Takes over the clock of the server, which may be that of a robot without a network. */
export const setNow = (ns) => (ahead = toMs(ns) - Date.now());

/** Returns the time that it is now, in milliseconds. */
export const now = () => Date.now() + ahead;

const UNITS = [["day", DAY], ["hour", 3_600_000], ["minute", 60_000], ["second", 1000]];

/** Returns how long ago a time was, such as `5 days ago`. */
export function ago(ns) {
  const ms = toMs(ns) - now();
  const [unit, length] = UNITS.find(([, size]) => Math.abs(ms) >= size) ?? UNITS.at(-1);
  return new Intl.RelativeTimeFormat(locale()).format(Math.min(Math.trunc(ms / length), 0), unit);
}

/** Returns the time of day, to name a moment on the timeline. */
export function clock(ms) {
  if (isSim(ms)) return simText(ms);
  const today = format(ms, YMD) === format(Date.now(), YMD);
  return today ? format(ms, HMS) : format(ms, { ...MD, ...HMS });
}

/** Returns the label of a tick of the time axis whose ticks lie `step` milliseconds apart. */
export function tick(ms, step) {
  if (isSim(ms)) return simText(ms, step < 1000 ? 1 : 0);
  if (step >= 300 * DAY) return format(ms, { year: "numeric" });
  if (step >= DAY) return format(ms, MD);
  const date = new Date(ms);
  if (date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0) return format(ms, MD);
  return format(ms, step >= 60_000 ? HM : HMS);
}

export function duration(ms) {
  const seconds = ms / 1000;
  if (seconds < 60) return t("seconds", { n: Number(seconds.toFixed(seconds < 10 ? 1 : 0)) });
  if (seconds < 3600) return t("minutes", { n: Math.round(seconds / 60) });
  if (seconds < 172_800) return t("hours", { n: Number((seconds / 3600).toFixed(1)) });
  return t("days", { n: Math.round(seconds / 86_400) });
}

/** Returns the text of an input for a time: of datetime-local, or h:mm:ss of a simulated clock. */
export function toInput(ns, sim) {
  if (!ns) return "";
  const ms = toMs(ns);
  if (sim) return simText(ms, ms % 1000 ? 3 : 0);
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19);
}

/** Returns nanoseconds from the text of an input, "" for none, or null if it is no time. */
export function fromInput(text, sim) {
  const wanted = text.trim();
  if (!wanted) return "";
  if (!sim) {
    const ms = new Date(wanted).getTime();
    return Number.isNaN(ms) ? null : toNs(ms);
  }
  const parts = wanted.split(":").map(Number);
  if (parts.length > 3 || parts.some((part) => !Number.isFinite(part))) return null;
  return toNs(parts.reduce((sum, part) => sum * 60 + part, 0) * 1000);
}
