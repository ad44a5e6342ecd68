// Numbers and times that a person can read.
import {h} from "./dom.js";

const whole = new Intl.NumberFormat("en-US");

/** 1,234 · 12.3k · 4.56M */
export function number(value) {
  const size = Math.abs(value);
  if (size < 10000) return whole.format(Math.round(value));
  const [divisor, mark] = size < 1e6 ? [1e3, "k"] : size < 1e9 ? [1e6, "M"] : [1e9, "G"];
  const scaled = value / divisor;
  return `${scaled.toFixed(Math.abs(scaled) < 10 ? 2 : Math.abs(scaled) < 100 ? 1 : 0)}${mark}`;
}

/** A number with all its digits in the title. */
export const count = (value) =>
  h("span", {class: "num", title: value >= 10000 ? whole.format(value) : null}, number(value));

export const exact = (value) => whole.format(value);

export function plural(amount, one, many = `${one}s`) {
  return `${exact(amount)} ${amount === 1 ? one : many}`;
}

/** Per second. */
export function rate(value) {
  if (!value) return "0/s";
  if (value < 0.1) return `${(value * 60).toFixed(1)}/min`;
  return value < 10 ? `${value.toFixed(1)}/s` : `${number(value)}/s`;
}

const units = [
  ["d", 86400000],
  ["h", 3600000],
  ["min", 60000],
  ["s", 1000],
];

/** 850 ms · 4.2 s · 3 min 10 s · 2 h 5 min · 3 d 4 h */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10000) return `${ms % 1000 === 0 ? ms / 1000 : (ms / 1000).toFixed(1)} s`;
  const at = units.findIndex(([, size]) => ms >= size);
  const [mark, size] = units[at];
  const first = Math.floor(ms / size);
  const below = units[at + 1];
  const rest = below ? Math.floor((ms - first * size) / below[1]) : 0;
  return rest && below ? `${first} ${mark} ${rest} ${below[0]}` : `${first} ${mark}`;
}

export function bytes(value) {
  const marks = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1024 && at < marks.length - 1) {
    value /= 1024;
    ++at;
  }
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${marks[at]}`;
}

/** How far the server's clock is ahead of this one. */
let ahead = 0;
export function setServerTime(text) { ahead = Date.parse(text) - Date.now(); }
export const now = () => Date.now() + ahead;

export function relative(when) {
  const difference = now() - when;
  if (Math.abs(difference) < 1500) return "now";
  // The second unit is of no use in a distance that grows.
  const text = duration(Math.floor(Math.abs(difference) / 1000) * 1000).replace(/\.0/, "");
  return difference > 0 ? `${text} ago` : `in ${text}`;
}

const local = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "medium"});
const clock = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit"});

export const localTime = (when) => local.format(new Date(when));
export const clockTime = (when) => clock.format(new Date(when));

/** A time as people say it; its title has local time and the exact one. */
export function time(text) {
  if (!text) return h("span", {class: "faint"}, "–");
  const when = Date.parse(text);
  return h("time", {datetime: text, title: `${localTime(when)}\n${text}`}, relative(when));
}

/** Local time first, and the distance behind it. */
export function fullTime(text) {
  if (!text) return h("span", {class: "faint"}, "–");
  return h("span", {}, localTime(Date.parse(text)), " ",
    h("span", {class: "faint"}, "(", time(text), ")"));
}

/** A local time with its offset, as the server writes it, for people. */
export const zoned = (text) => text.replace("T", " ").replace(/([+-]\d\d:\d\d)$/, " $1");

/** The first and the last part of an id, which are what differs. */
export const shortId = (id) => `${id.slice(0, 8)}…${id.slice(14, 23)}`;
