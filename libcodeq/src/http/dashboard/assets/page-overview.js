// What is stuck, why, and how the last hour and day went.
import {get, may} from "./api.js";
import {chart, columnsOf, trendLine} from "./chart.js";
import {h} from "./dom.js";
import {count, duration, number, plural, rate} from "./format.js";
import {live, rateOf, sums} from "./live.js";
import {card, empty, icon, loading, resource, table, tabs, tile} from "./parts.js";
import {queueBar, sizeOf} from "./queue-bar.js";
import {findTroubles} from "./troubles.js";

const spans = {
  hour: 3600000,
  day: 86400000
};
const busiestMost = 8;

/** Charts of what was counted for the tenant or one queue. */
export function charts(history, span, choose) {
  const tools = tabs([["hour", "1 hour"], ["day", "1 day"]], span, choose, "Time shown");
  if (!history.data)
    return card(
      "Throughput", history.error ? h("p", {}, history.error.message) : loading(), {tools});
  const past = columnsOf(history.data);
  const note = history.data.recorded ?
    undefined :
    "Nothing was recorded yet. The coordinator keeps the past of the queues that it has room for.";
  const shared = {times: past.at, span: spans[span], note};
  return [
    card("Throughput", chart({
      ...shared,
      title: "Tasks per second",
      text: rate,
      series: [
        {name: "completed", state: "completed", values: past.rates("completed")},
        {name: "enqueued", state: "ready", values: past.rates("enqueued")},
        {name: "retried", state: "gated", values: past.rates("retried")},
        {name: "died", state: "dead", values: past.rates("died")},
      ]
    }),
      {tools, class: "wide"}),
    card("From enqueue to start", chart({
      ...shared,
      title: "Dispatch latency",
      text: duration,
      gap: true,
      series: [
        {name: "p50", state: "ready", values: past.dispatchP50Ms},
        {name: "p95", state: "scheduled", values: past.dispatchP95Ms},
        {name: "p99", state: "dead", values: past.dispatchP99Ms},
      ]
    })),
    card("Run time", chart({
      ...shared,
      title: "Run time",
      text: duration,
      gap: true,
      series: [
        {name: "p50", state: "ready", values: past.runP50Ms},
        {name: "p95", state: "scheduled", values: past.runP95Ms},
        {name: "p99", state: "dead", values: past.runP99Ms},
      ]
    })),
    card("Waiting and running", chart({
      ...shared,
      title: "Tasks",
      text: number,
      series: [
        {name: "ready", state: "ready", values: past.ready},
        {name: "running", state: "leased", values: past.leased},
        {name: "scheduled", state: "scheduled", values: past.scheduled},
      ]
    })),
    card("Oldest ready task", chart({
      ...shared,
      title: "Age of the oldest ready task",
      text: duration,
      series: [
        {name: "age", state: "gated", values: past.oldestReadyAgeMs},
      ]
    })),
  ];
}

const ageOf = ({oldestReadyAgeMs: age}) =>
  age > 0 ? duration(age) : h("span", {class: "faint"}, "–");

export function overviewPage({changed}) {
  let span = "hour";
  let history = null;
  const load = () => {
    history?.stop();
    history = resource(
      (signal) => get("admin/history", {span}, signal), changed, span === "hour" ? 10000 : 60000);
  };
  load();

  const verdict = () => {
    if (live.status !== "live" && live.queues.size === 0) return loading();
    if (live.queues.size === 0) return welcome();
    const troubles = findTroubles(live);
    if (troubles.length === 0)
      return h("div", {class: "verdict is-good"}, icon("check"),
        h("div", {}, h("h1", {}, "Everything flows"),
          h("p", {},
            "No queue is stuck, paused or full, and every queue with tasks has a worker.")));
    return h("section", {class: "verdict is-bad"},
      h("h1", {},
        troubles.length === 1 ? "One thing needs you" : `${troubles.length} things need you`),
      h("ul", {class: "troubles"},
        troubles.slice(0, 6).map(
          (one) => h("li", {class: `is-${one.level}`, "data-key": one.key}, icon("alert"),
            h("div", {}, h("strong", {}, one.what), h("span", {}, one.why)),
            h("a", {class: "button small", href: one.href}, one.action)))),
      troubles.length > 6 &&
        h("p", {class: "faint"}, `and ${plural(troubles.length - 6, "more thing")}`));
  };

  const tiles = () => {
    const sum = sums();
    const line = (pick, state) => trendLine(live.trend.map(pick), state);
    return h("div", {class: "tiles"}, tile("running", count(sum.leased), {
      state: "leased",
      note: `${rate(sum.rates.granted)} started`,
      trend: line((one) => one.leased, "leased"),
      href: "#/tasks?state=leased"
    }),
      tile("ready", count(sum.ready), {
        state: "ready",
        note: sum.oldest ? `oldest ${duration(sum.oldest)}` : "none waits",
        trend: line((one) => one.ready, "ready"),
        href: "#/tasks?state=ready"
      }),
      tile("scheduled", count(sum.scheduled), {
        state: "scheduled",
        note: sum.gated ? `${number(sum.gated)} behind their group` : "deferred or retrying",
        trend: line((one) => one.scheduled, "scheduled"),
        href: "#/tasks?state=scheduled"
      }),
      tile("completed", rate(sum.rates.completed), {
        state: "completed",
        note: `${number(sum.completed)} in all`,
        trend: line((one) => one.rates.completed, "completed"),
        href: "#/tasks?state=completed"
      }),
      tile("dead", count(sum.dead), {
        state: "dead",
        note: sum.rates.died ? `${rate(sum.rates.died)} now` : "none died just now",
        trend: line((one) => one.rates.died, "dead"),
        href: may("GET admin/dead") ? "#/dead" : "#/tasks?state=dead"
      }));
  };

  const busiest = () => {
    const weight = (queue) => queue.ready + queue.leased + queue.scheduled + queue.gated;
    const rows = [...live.queues.values()]
                   .filter((queue) => weight(queue) + queue.dead > 0)
                   .sort((a, b) => weight(b) - weight(a) || b.dead - a.dead)
                   .slice(0, busiestMost);
    const most = Math.max(...rows.map(sizeOf));
    if (rows.length === 0) return empty("No tasks are waiting", "All queues are empty.");
    return table({
      label: "Queues with most tasks",
      rows,
      keyOf: (row) => row.queue,
      columns: [
        {title: "Queue", cell: (row) => h("a", {href: `#/queues/${row.queue}`}, row.queue)},
        {title: "Tasks", class: "fill", cell: (row) => queueBar(row, most)},
        {title: "Live", class: "right", cell: (row) => count(weight(row))},
        {title: "Completed", class: "right", cell: (row) => rate(rateOf(row, "completed"))},
        {title: "Oldest ready", class: "right", cell: (row) => ageOf(row)},
      ]
    });
  };

  return {
    topics: ["workers"],
    close: () => history.stop(),
    render: () => [verdict(),
      live.queues.size > 0 &&
        [
          tiles(),
          h("div", {class: "grid"},
            charts(history, span,
              (name) => {
                span = name;
                load();
                changed();
              })),
          card("Largest queues", busiest(),
            {tools: h("a", {class: "button quiet small", href: "#/queues"}, "All queues")}),
        ],
  ],
  };
}

function welcome() {
  return card(null,
    empty("No queue yet", "A queue begins with its first task. Start a worker and add one:",
      "codeq-worker --name w1 --handlers build/lib/libhello.so &\ncodeqctl enqueue hello Ada"));
}
