// All queues.
import {may} from "./api.js";
import {h} from "./dom.js";
import {count, duration, plural, rate} from "./format.js";
import {live, rateOf} from "./live.js";
import {card, empty, exports, loading, sorted, table} from "./parts.js";
import {queueBar, sizeOf} from "./queue-bar.js";
import {setPaused} from "./queue-actions.js";
import {drainText, drainTime, isUnserved} from "./troubles.js";

const shownFirst = 100;

const columns = (most) => [{
  title: "Queue",
  sort: (row) => row.queue,
  cell: (row) => [h("a", {href: `#/queues/${row.queue}`}, row.queue),
    Boolean(row.paused) && h("span", {class: "chip is-gated"}, "paused"),
    unserved(row) && h("span", {class: "chip is-dead"}, "no worker")]
},
  {title: "Tasks", class: "fill", sort: sizeOf, cell: (row) => queueBar(row, most)},
  amount("Running", "leased"),
  amount("Ready", "ready"),
  amount("Scheduled", "scheduled"),
  amount("Gated", "gated"),
  amount("Dead", "dead"),
  {
    title: "Completed",
    class: "right",
    sort: (row) => rateOf(row, "completed"),
    cell: (row) => rate(rateOf(row, "completed"))
  },
  {
    title: "Oldest ready",
    class: "right",
    sort: (row) => row.oldestReadyAgeMs,
    cell: (row) => (row.oldestReadyAgeMs ? duration(row.oldestReadyAgeMs) : faint())
  },
  {
    title: "Drains in",
    class: "right",
    sort: (row) => drainTime(row) ?? Infinity,
    cell: (row) => drainText(row) || faint()
  },
  may("POST admin/queues/:/pause") && {
    title: "",
    class: "right",
    cell: (row) => h("button", {
      type: "button",
      class: "button quiet small",
      onclick: () => setPaused(row.queue, !row.paused),
      "aria-label": `${row.paused ? "Resume" : "Pause"} ${row.queue}`
    },
      row.paused ? "Resume" : "Pause")
  },
].filter(Boolean);

const faint = () => h("span", {class: "faint"}, "–");
const unserved = (row) => isUnserved(row, live.workers);

function amount(title, name) {
  return {
    title,
    class: "right",
    sort: (row) => row[name],
    cell: (row) => (row[name] ? count(row[name]) : faint())
  };
}

const filters = {
  all: ["All", () => true],
  busy: ["With tasks", (row) => row.ready + row.leased + row.scheduled + row.gated > 0],
  paused: ["Paused", (row) => row.paused],
  unserved: ["No worker", unserved],
  dead: ["With dead tasks", (row) => row.dead > 0],
};

const bare = ({past, ...row}) => row;

export function queuesPage({query, changed}) {
  let wanted = query;
  let most = shownFirst;
  const change = (more) => {
    const next =
      new URLSearchParams(Object.entries({...wanted, ...more}).filter(([, value]) => value));
    history.replaceState(null, "", `#/queues${next.size ? `?${next}` : ""}`);
    wanted = Object.fromEntries(next);
    changed();
  };
  const render = () => {
    if (live.queues.size === 0)
      return live.status === "live" ?
        card(null,
          empty(
            "No queue yet", "A queue begins with its first task:", "codeqctl enqueue hello Ada")) :
        loading();
    const all = columns(Math.max(0, ...[...live.queues.values()].map(sizeOf)));
    const sort = {at: Number(wanted.sort ?? 3), down: wanted.up !== "1"};
    const [, fits] = filters[wanted.show] ?? filters.all;
    const rows = sorted([...live.queues.values()].filter((row) => fits(row) &&
                            row.queue.toLowerCase().includes((wanted.name ?? "").toLowerCase())),
      all, sort);
    return [
      h("div", {class: "page-head"}, h("h1", {}, "Queues"),
        h("span", {class: "faint"}, plural(live.queues.size, "queue"))),
      h("div", {class: "filters"}, h("input", {
        type: "search",
        placeholder: "Filter by name",
        "aria-label": "Filter by name",
        value: wanted.name ?? "",
        oninput: (event) => change({name: event.target.value})
      }),
        h("div", {class: "tabs", role: "group", "aria-label": "Show"},
          Object.entries(filters).map(([name, [label]]) => h("button", {
            type: "button",
            "aria-pressed": String((wanted.show ?? "all") === name),
            onclick: () => change({show: name === "all" ? "" : name})
          },
                                        label))),
        h("div", {class: "grow"}), exports("queues", () => rows.map(bare))),
      card(null,
        rows.length === 0 ? empty("No queue fits", "Change the name or the filter above.") : table({
          label: "Queues",
          columns: all,
          rows: rows.slice(0, most),
          keyOf: (row) => row.queue,
          sort,
          onsort: (at) => change({sort: String(at), up: sort.at === at && sort.down ? "1" : ""})
        }),
        {class: "flush"}),
      rows.length > most &&
        h("button", {
          type: "button",
          class: "button more",
          onclick: () => {
            most += shownFirst * 2;
            changed();
          }
        },
          `Show more of ${plural(rows.length, "queue")}`),
    ];
  };
  return {
    title: "Queues",
    topics: ["workers"],
    render,
    search: (next) => {
      wanted = next;
    }
  };
}
