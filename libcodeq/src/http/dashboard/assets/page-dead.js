// Dead tasks, gathered by what killed them.
import {get, may} from "./api.js";
import {h} from "./dom.js";
import {count, exact, plural, time} from "./format.js";
import {live} from "./live.js";
import {startOperation} from "./operations.js";
import {
  act, button, card, empty, exports, failure, icon, loading, resource, table,
} from "./parts.js";
import {taskTable} from "./task-table.js";

const pageSize = 25;
/** So many of the newest are gathered by error; a million would take seconds. */
const gatheredMost = 2000;
/** Up to so many are counted before all that fit are changed. */
const countedMost = 1000;
const ages =
  [["", "any time"], ["10m", "10 minutes"], ["1h", "hour"], ["1d", "day"], ["7d", "week"]];

/**
 * The longest part of an error's text that all of its kind have: numbers and ids are written # in a
 * fingerprint.
 */
export function commonPart(fingerprint) {
  return fingerprint.split("#").map((text) => text.trim()).sort((a, b) => b.length - a.length)[0];
}

export function deadPage({query, changed}) {
  let wanted = query;
  let summary = null;
  let list = null;
  let after = null;
  let tasks = [];

  const filter = () => ({queue: wanted.queue, error: wanted.error, newerThan: wanted.newerThan});
  const load = () => {
    summary?.stop();
    list?.stop();
    tasks = [];
    summary = resource((signal) => get("admin/dead/summary",
                         {queue: wanted.queue, newerThan: wanted.newerThan, newest: gatheredMost},
                         signal),
      changed, 10000);
    list = resource(async (signal) => {
      const found = await get("admin/dead", {...filter(), limit: pageSize}, signal);
      if (tasks.length <= pageSize) ({tasks, after = null} = found);
      return true;
    }, changed, 10000);
  };

  const set = (more) => {
    const next =
      new URLSearchParams(Object.entries({...wanted, ...more}).filter(([, value]) => value));
    history.replaceState(null, "", `#/dead${next.size ? `?${next}` : ""}`);
    wanted = Object.fromEntries(next);
    load();
    changed();
  };

  const more = async () => {
    const found = await get("admin/dead", {...filter(), limit: pageSize, after});
    tasks.push(...found.tasks);
    after = found.after ?? null;
    changed();
  };

  const inWords = (extra) => [wanted.queue ? `of ${wanted.queue}` : "of all queues",
    extra?.error && `whose error contains “${extra.error}”`,
    wanted.newerThan &&
      `that died in the last ${
        ages.find(([key]) => key === wanted.newerThan)?.[1] ?? wanted.newerThan}`,
  ].filter(Boolean).join(", ");

  const bodyOf = (extra) =>
    Object.fromEntries(Object.entries({...filter(), ...extra}).filter(([, value]) => value));

  /** The number of all dead tasks of the queue, or of all queues, as the counters have it. */
  const counted = () => {
    if (wanted.queue) return live.queues.get(wanted.queue)?.dead ?? 0;
    return [...live.queues.values()].reduce((sum, queue) => sum + queue.dead, 0);
  };

  /** How many tasks fit: exactly, or at least. Looks at a bounded number of them. */
  const preview = async (body) => {
    if (!body.error && !body.newerThan && counted() > countedMost)
      return {amount: counted(), isMore: false};
    const found = await get("admin/dead", {...body, limit: countedMost});
    return {amount: found.tasks.length, isMore: Boolean(found.after)};
  };

  /** Says how many tasks fit, asks, and starts an operation on them. */
  const changeAll = async (kind, extra = {}) => {
    const body = bodyOf(extra);
    const fits = await act(() => preview(body));
    if (fits) await startOperation(kind, body, {...fits, where: inWords(body)});
  };

  const actions = (extra, size = "") => [may("POST admin/operations") &&
      button("Redrive", {icon: "redo", kind: size, onclick: () => changeAll("redrive", extra)}),
    may("POST admin/operations") &&
      button("Purge",
        {icon: "trash", kind: `danger-quiet ${size}`, onclick: () => changeAll("purge", extra)}),
  ];

  const kinds = () => {
    if (summary.error) return failure(summary.error);
    if (!summary.data) return loading();
    const {kinds: all, tasks: total, leftOut} = summary.data;
    if (all.length === 0)
      return empty("No dead tasks",
        wanted.queue || wanted.newerThan ?
          "None fits the filter." :
          "A task whose attempts are used up stays here until it is redriven or purged.");
    return [
      table({
        label: "Kinds of errors",
        rows: all,
        keyOf: (kind) => kind.fingerprint,
        columns: [
          {
            title: "Error",
            class: "fill",
            cell: (kind) => h("div", {class: "kind"},
              h("a", {
                href: `#/tasks/${kind.lastTaskId}`,
                class: "mono error-text",
                title: kind.error ?? kind.fingerprint
              },
                kind.error || kind.fingerprint || "no error text"),
              h("div", {class: "share", "aria-hidden": "true"},
                h("i", {style: {width: `${(kind.tasks / total) * 100}%`}})))
          },
          {title: "Tasks", class: "right", cell: (kind) => count(kind.tasks)},
          {title: "First", class: "right", cell: (kind) => time(kind.firstDiedAt)},
          {title: "Last", class: "right", cell: (kind) => time(kind.lastDiedAt)},
          {
            title: "",
            class: "right",
            cell: (kind) => {
              const error = commonPart(kind.fingerprint);
              return h("div", {class: "row-actions"},
                button("List", {kind: "quiet small", onclick: () => set({error})}),
                error && actions({error}, "small"));
            }
          },
        ]
      }),
      leftOut > 0 && h("p", {class: "faint pad"}, `${exact(leftOut)} tasks of further kinds`)
    ];
  };

  /** All of them are known of a queue; of those that fit a time, the newest alone are. */
  const total = () => {
    const {tasks: looked, partial} = summary.data;
    if (!partial) return plural(looked, "task");
    return wanted.newerThan ? `${exact(looked)} and more tasks` :
                              plural(Math.max(counted(), looked), "task");
  };
  const note = () => {
    const about = "numbers and ids in errors do not count";
    return summary.data?.partial ?
      `the newest ${exact(summary.data.tasks)}; ${about}` :
      about;
  };

  load();
  return {
    title: "Dead letters",
    close: () => {
      summary.stop();
      list.stop();
    },
    search: (next) => {
      wanted = next;
      load();
    },
    render: () => [h("div", {class: "page-head"}, h("h1", {}, "Dead letters"),
                     h("span", {class: "faint"}, summary.data ? total() : ""),
                     h("div", {class: "grow"}),
                     h("div", {class: "actions"}, summary.data?.tasks > 0 && actions({}))),
      h("div", {class: "filters"},
        h("label", {class: "filter"}, h("span", {}, "Queue"), h("input", {
          type: "text",
          list: "dead-queues",
          value: wanted.queue ?? "",
          placeholder: "any",
          onchange: (event) => set({queue: event.target.value.trim()})
        })),
        h("datalist", {id: "dead-queues"},
          [...live.queues.values()]
            .filter((queue) => queue.dead > 0)
            .slice(0, 200)
            .map((queue) => h("option", {value: queue.queue}))),
        h("label", {class: "filter"}, h("span", {}, "Error contains"), h("input", {
          type: "text",
          value: wanted.error ?? "",
          placeholder: "any",
          onchange: (event) => set({error: event.target.value.trim()})
        })),
        h("label", {class: "filter"}, h("span", {}, "Died in the last"),
          h("select", {onchange: (event) => set({newerThan: event.target.value})},
            ages.map(([key, label]) => h("option",
                       {value: key, selected: (wanted.newerThan ?? "") === key}, label)))),
        Object.keys(wanted).length > 0 && h("a", {class: "button quiet", href: "#/dead"}, "Clear")),
      card("By error", kinds(), {class: "flush", note: note()}),
      tasks.length > 0 &&
        card("Tasks", taskTable(tasks, {without: ["state", "ended"]}),
          {class: "flush", tools: exports("dead-tasks", () => tasks)}),
      after &&
        h("button", {type: "button", class: "button more", onclick: more}, icon("down"),
          `Show ${pageSize} more`),
  ],
  };
}
