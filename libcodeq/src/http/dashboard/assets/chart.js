// Line charts over time, and small trends.
import {h} from "./dom.js";
import {clockTime, duration, localTime} from "./format.js";

const width = 1000;
const height = 200;
const niceSeconds = [
  2,
  4,
  6,
  10,
  20,
  30,
  40,
  60,
  120,
  240,
  360,
  600,
  1200,
  1800,
  2400,
  3600,
  7200,
  14400,
  28800,
  43200,
  86400,
  172800,
  345600,
  604800,
  2592000,
  31536000,
  Infinity,
];

/** A number above the largest value, of which a half can be read, too. */
function roundUp(value, isTime) {
  if (value <= 0) return 1;
  if (isTime && value > 1000) return niceSeconds.find((one) => one * 1000 >= value) * 1000;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10]
    .map((factor) => factor * power)
    .find((one) => one >= value * 0.9999);
}

function pathOf(values, times, top, [begin, end]) {
  let path = "";
  let isDown = false;
  values.forEach((value, at) => {
    if (value === null || value === undefined) {
      isDown = false;
      return;
    }
    const x = end > begin ? ((times[at] - begin) / (end - begin)) * width : width;
    const y = height - (Math.min(value, top) / top) * (height - 4) - 1;
    path += `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    isDown = true;
  });
  return path;
}

function areaOf(values, times, top, range) {
  const points = values.map((value) => value ?? 0);
  const [begin, end] = range;
  const x = (time) => (end > begin ? ((time - begin) / (end - begin)) * width : width).toFixed(1);
  return `${pathOf(points, times, top, range)}L${x(times.at(-1))} ${height}L${x(times[0])} ${
    height}Z`;
}

const lastOf = ({values}, text) => (values.at(-1) ?? null) === null ? "–" : text(values.at(-1));

/**
 * Lines over time. `series`: `{name, state, values}`; `text(value)` writes a value; `span` in
 * milliseconds, so that a short past does not look like a long one.
 */
export function chart({title, times, series, text, span, note, gap}) {
  const shown = series.filter((one) => one.values.some((value) => value));
  const most = Math.max(0, ...series.flatMap((one) => one.values.map((value) => value ?? 0)));
  if (most === 0 && times.length > 1)
    return h("div", {class: "chart is-empty"}, h("p", {}, "Nothing in this time."));
  const top = roundUp(most, text === duration);
  if (times.length < 2)
    return h("div", {class: "chart is-empty"},
      h("p", {}, note ?? "The first points come within half a minute."));
  const end = times.at(-1);
  const range = [Math.max(end - span, Math.min(times[0], end - span / 12)), end];
  const latest = series.map((one) => `${one.name} ${lastOf(one, text)}`).join(", ");
  const same = `${title}${end}${times.length}${series.map((one) => one.values.at(-1)).join()}`;
  const tip = h("div", {class: "tip", hidden: true});
  const cross = h("i", {class: "cross", hidden: true});
  const plot = h("div", {class: "plot"},
    h("svg",
      {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true"},
      [0.5, 1].map((part) => h("line", {
        class: "grid",
        x1: 0,
        x2: width,
        y1: height - part * (height - 4) - 1,
        y2: height - part * (height - 4) - 1
      })),
      shown.map(
        (one, at) => [at === 0 && !gap &&
            h("path", {class: `area is-${one.state}`, d: areaOf(one.values, times, top, range)}),
          h("path", {class: `curve is-${one.state}`, d: pathOf(one.values, times, top, range)})])),
    cross, tip);
  const axis = h("div", {class: "axis", "aria-hidden": "true"},
    [most > 0 ? text(top) : "", most > 0 ? text(top / 2) : "", "0"].map(
      (label) => h("span", {}, label)));
  plot.onpointermove = (event) => point(plot, cross, tip, event, {times, series, text, range});
  plot.onpointerleave = () => {
    tip.hidden = true;
    cross.hidden = true;
  };
  return h("figure",
    {class: "chart", "data-same": same, role: "img", "aria-label": `${title}: ${latest}`},
    h("figcaption", {class: "legend"},
      series.map((one) => h("span", {}, h("i", {class: `dot is-${one.state}`}), one.name, " ",
                   h("b", {}, lastOf(one, text))))),
    h("div", {class: "plot-row"}, axis, plot), h("div", {class: "times"}, [0, 0.5,
      1].map((part) => h("span", {}, clockTime(range[0] + (range[1] - range[0]) * part)))));
}

function point(plot, cross, tip, event, {times, series, text, range}) {
  const box = plot.getBoundingClientRect();
  const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  const wanted = range[0] + part * (range[1] - range[0]);
  let at = 0;
  times.forEach((time, index) => {
    if (Math.abs(time - wanted) < Math.abs(times[at] - wanted)) at = index;
  });
  const place = (times[at] - range[0]) / (range[1] - range[0]);
  cross.style.left = `${place * 100}%`;
  tip.replaceChildren(h("b", {}, localTime(times[at])),
    ...series.map((one) => h("span", {}, h("i", {class: `dot is-${one.state}`}), `${one.name} `,
                    h("b", {}, one.values[at] === null ? "–" : text(one.values[at])))));
  tip.style.left = `${place * 100}%`;
  tip.classList.toggle("is-left", place > 0.6);
  tip.hidden = false;
  cross.hidden = false;
}

/** A line without axes, for a tile. */
export function trendLine(values, state) {
  if (values.length < 2)
    return h("svg", {class: "trend", viewBox: "0 0 100 24", "aria-hidden": "true"});
  const top = Math.max(...values, 1e-9);
  const step = 100 / (values.length - 1);
  const line =
    values
      .map((value, at) =>
             `${at ? "L" : "M"}${(at * step).toFixed(1)} ${(22 - (value / top) * 20).toFixed(1)}`)
      .join("");
  return h("svg",
    {class: "trend", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true"},
    h("path", {class: `area is-${state}`, d: `${line}L100 24L0 24Z`}),
    h("path", {class: `curve is-${state}`, d: line}));
}

/** The columns of a history as arrays, with rates for what was counted. */
export function columnsOf(history) {
  const columns = {};
  history.columns.forEach((name, at) => {
    columns[name] = history.points.map((point) => point[at]);
  });
  const seconds = history.stepMs / 1000;
  const rates = (name) => columns[name].map((value) => value / seconds);
  return {...columns, rates};
}
