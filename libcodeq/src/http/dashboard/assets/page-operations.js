// Operations on all tasks that match a filter: their progress, pause, resume and end.
import {get, may, part} from "./api.js";
import {h} from "./dom.js";
import {count, exact, plural, time} from "./format.js";
import {changeOperation, kindOf} from "./operations.js";
import {bar, button, card, empty, exports, facts, failure, icon, loading, resource, table} from
  "./parts.js";

const isOver = ({status}) => status === "completed" || status === "cancelled";

const filterNames = {
  queue: "queue",
  state: "state",
  group: "group",
  key: "key",
  worker: "worker",
  error: "error contains",
  since: "enqueued since",
  until: "enqueued before",
  diedSince: "died since",
  diedUntil: "died before",
};

const times = new Set(["since", "until", "diedSince", "diedUntil"]);

/** The filter in words, without its times. */
function about({filter}) {
  const parts = Object.entries(filterNames)
                  .filter(([name]) => filter[name] && !times.has(name))
                  .filter(([name]) => name !== "state" || filter.state !== "dead")
                  .map(([name, label]) => `${label} ${filter[name]}`);
  for (const [name, value] of Object.entries(filter.headers ?? {}))
    parts.push(`header ${name}=${value}`);
  return parts.join(", ") || "all tasks";
}

const chipStates = {running: "leased", paused: "scheduled", completed: "completed",
  cancelled: "cancelled"};
const statusChip = ({status}) => h("span", {class: `chip is-${chipStates[status]}`}, status);

/** The present step of a running operation, in words. */
function stage(one) {
  const {status, phase, canary, problem, reason, shard, shards, coordinator} = one;
  if (problem) return `waits: ${problem}`;
  if (status === "paused") return reason ? "paused by the coordinator" : "paused by a user";
  if (status !== "running") return "";
  if (phase === "counting") return "counts the tasks that match";
  if (phase === "canary") return "changes the canary";
  if (phase === "watching")
    return `waits until the canary ran: ${canary.ran} ran, ${canary.failed} failed again, ` +
      `${canary.waiting} wait`;
  return `shard ${Math.min(shard + 1, shards)} of ${shards}${coordinator ? " of the cluster" : ""}`;
}

/** Tasks, when their number is known, else shards. */
function progress(one) {
  if (one.total === undefined && !isOver(one))
    return bar([
      {value: one.shard, name: "shards done", state: "completed"},
      {value: one.shards - one.shard, name: "shards to do", state: "scheduled"},
    ]);
  return bar([
    {value: one.done, name: kindOf(one.kind).done, state: "completed"},
    {value: one.unchanged, name: "left alone", state: "gated"},
    {
      value: Math.max(0, (one.total ?? one.matched) - one.matched),
      name: "to do",
      state: "scheduled"
    },
  ]);
}

function actions(one, changed, size = "") {
  const offer = (verb, label, mark, kind) => may(`POST admin/operations/:/${verb}`) &&
    button(label, {
      icon: mark,
      kind: `${kind} ${size}`,
      onclick: async () => {
        if (await changeOperation(one.id, verb)) changed();
      }
    });
  if (isOver(one)) return [];
  return [
    one.status === "running" && offer("pause", "Pause", "pause", ""),
    one.status === "paused" && offer("resume", "Resume", "play", "primary"),
    offer("cancel", "End", "stop", "danger-quiet"),
  ];
}

export function operationsPage({changed}) {
  const list = resource((signal) => get("admin/operations", {}, signal), changed, 2000);
  const content = () => {
    if (list.error) return failure(list.error);
    if (!list.data) return loading();
    if (list.data.operations.length === 0)
      return empty("No operation yet",
        "Redrive, purge, cancel or run all tasks that match a filter: from the pages of tasks " +
          "and dead letters, or",
        "codeqctl --http URL operation start redrive --queue mail --rate 100");
    return table({
      label: "Operations",
      rows: list.data.operations,
      keyOf: (one) => one.id,
      columns: [
        {
          title: "Operation",
          class: "fill",
          cell: (one) => h("div", {class: "about"},
            h("a", {href: `#/operations/${one.id}`}, h("b", {}, kindOf(one.kind).verb)),
            h("span", {class: "cut", title: about(one)}, about(one)))
        },
        {title: "Status", cell: statusChip},
        {
          title: "Progress",
          cell: (one) => h("div", {class: "operation"}, progress(one),
            h("small", {class: "faint"}, stage(one)))
        },
        {title: "Done", class: "right", cell: (one) => count(one.done)},
        {title: "Left alone", class: "right", cell: (one) => count(one.unchanged)},
        {title: "Started", class: "right", cell: (one) => time(one.startedAt)},
        {
          title: "",
          class: "right",
          cell: (one) => h("div", {class: "row-actions"}, actions(one, list.load, "small"))
        },
      ]
    });
  };
  return {
    title: "Operations",
    close: () => list.stop(),
    render: () => [h("div", {class: "page-head"}, h("h1", {}, "Operations"),
                     h("span", {class: "faint"},
                       list.data ? plural(list.data.operations.length, "operation") : ""),
                     h("div", {class: "grow"}),
                     list.data && exports("operations", () => list.data.operations)),
      card(null, content(), {class: "flush"})],
  };
}

const happened = {
  start: "started",
  pause: "paused",
  resume: "resumed",
  cancel: "ended by a user",
  stop: "paused by the coordinator",
  end: "completed",
};

const percent = (one) => (one.canary ? `${one.canary.maxFailedPercent} % may fail again` : "none");

export function operationPage({subject, changed}) {
  const found = resource((signal) => get(`admin/operations/${part(subject)}`, {}, signal),
    changed, 1000);
  const events = (one) => table({
    label: "Events",
    rows: one.events,
    columns: [
      {title: "When", cell: (row) => time(row.at)},
      {title: "What", cell: (row) => happened[row.what] ?? row.what},
      {
        title: "By",
        class: "fill",
        cell: (row) => h("span", {title: row.remote}, row.subject || row.remote || "coordinator")
      },
    ]
  });
  const render = () => {
    if (found.error) return failure(found.error);
    if (!found.data) return loading();
    const one = found.data;
    return [
      h("div", {class: "page-head"}, h("h1", {}, `${kindOf(one.kind).verb}: ${about(one)}`),
        statusChip(one), h("div", {class: "grow"}),
        h("div", {class: "actions"}, actions(one, found.load))),
      one.reason &&
        h("p", {class: "notice is-bad", role: "alert"}, icon("alert"),
          h("span", {}, `It was paused: ${one.reason}.`,
            one.canary?.failed > 0 && " Resume goes on without a canary.")),
      card("Progress",
        [
          progress(one), h("p", {class: "progress-note", role: "status"}, stage(one)),
          facts([
            ["Done", exact(one.done)],
            ["Left alone", exact(one.unchanged)],
            one.total !== undefined && ["Matched at the start", exact(one.total)],
            one.canary && ["Canary", `${exact(one.canary.ran)} ran, ${
                                       exact(one.canary.failed)} failed again`],
          ])
        ]),
      card("Request", facts([
        ...Object.entries(filterNames)
          .filter(([name]) => one.filter[name])
          .map(([name, label]) =>
            [label, times.has(name) ? time(one.filter[name]) : one.filter[name]]),
        ["Tasks per second, at most", one.rate ? exact(one.rate) : "no limit"],
        ["How many, at most", one.limit ? exact(one.limit) : "all"],
        one.kind === "redrive" && ["Canary", percent(one)],
        ["With the rights of", one.subject || "local user"],
        one.coordinator && ["Run by", `coordinator ${one.coordinator}, on the shards of all`],
      ])),
      card("Events", events(one), {class: "flush"}),
    ];
  };
  return {title: "Operation", close: () => found.stop(), render};
}
