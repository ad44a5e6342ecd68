// The fairness keys of a queue: whose tasks wait, and how the keys take turns.
import {get, may, part} from "./api.js";
import {h} from "./dom.js";
import {duration, exact, plural} from "./format.js";
import {card, resource, table} from "./parts.js";

const shown = 20;

const percent = (ppm) => `${(ppm / 10000).toFixed(ppm < 100000 ? 1 : 0)} %`;

/** Nobody knows it while no worker starts tasks of the queue. */
const waitOf = (row) => (row.waitMs === undefined ? "unknown" : duration(row.waitMs));

export function fairnessOf(queue, changed) {
  if (!may("GET admin/queues/:/fairness")) return {stop: () => {}, card: () => null};
  const page = resource(
    (signal) => get(`admin/queues/${part(queue)}/fairness`, {limit: shown}, signal), changed, 5000);
  const columns = [
    {
      title: "Key",
      class: "fill",
      cell: ({fairnessKey: key}) =>
        key === "" ? h("span", {class: "faint"}, "none") : h("code", {}, key)
    },
    {title: "Ready", class: "right", cell: (row) => exact(row.ready)},
    {title: "Weight", class: "right", cell: (row) => exact(row.fairnessWeight)},
    {title: "Share of time", class: "right", cell: (row) => percent(row.sharePpm)},
    {title: "Expected run", class: "right", cell: (row) => duration(row.expectedRunMs)},
    {title: "Next start within", class: "right", cell: waitOf},
  ];
  return {
    stop: () => page.stop(),
    /** Nothing where no task has a fairness key: then there are no turns. */
    card: () => {
      const keys = page.data?.keys ?? [];
      if (!keys.some((row) => row.fairnessKey !== "")) return null;
      const rest = page.data.activeKeys - keys.length;
      return card("Who waits behind whom", table({
        label: "Fairness keys",
        rows: keys,
        keyOf: (row) => row.fairnessKey,
        columns
      }), {
        class: "flush",
        note: rest > 0 ? `${plural(rest, "more key")}: codeqctl queue fairness ${queue}` :
                         plural(keys.length, "key")
      });
    },
  };
}
