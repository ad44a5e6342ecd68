// One queue: what waits, why, and what to do about it.
import {get, may, part} from "./api.js";
import {h} from "./dom.js";
import {fairnessOf} from "./fairness.js";
import {count, duration, exact, number, plural, rate} from "./format.js";
import {live, rateOf} from "./live.js";
import {charts} from "./page-overview.js";
import {bar, button, card, empty, facts, failure, loading, resource, tile} from "./parts.js";
import {editSettings, purge, setPaused} from "./queue-actions.js";
import {taskTable} from "./task-table.js";
import {drainText, reasons, workersOf} from "./troubles.js";

/** A sentence about the time that the backlog takes. */
function drains(queue) {
  const text = drainText(queue);
  const sentences = {
    "": "",
    "keeps up": "The workers keep up.",
    grows: "The backlog grows.",
    "stands still": "Nothing is taken."
  };
  return sentences[text] ?? `At the present rate it drains in about ${text}.`;
}

/** The limit keys that hold most of its tasks, and shards whose tasks are not counted. */
function heldBy({keys, missingShards}) {
  return [
    keys.length > 0 && h("p", {class: "faint small"}, "Most are held by ",
      keys.slice(0, 3).map((one) => `${one.limit}:${one.key ?? "…"} (${exact(one.held)})`)
        .join(", "), "."),
    missingShards.length > 0 && h("p", {class: "notice is-warn"},
      `Without the tasks of ${plural(missingShards.length, "shard")} that did not answer.`)
  ];
}

export function queuePage({subject: name, changed}) {
  let span = "hour";
  let history = null;
  const load = () => {
    history?.stop();
    history = resource((signal) => get("admin/history", {span, queue: name}, signal), changed,
      span === "hour" ? 10000 : 60000);
  };
  load();
  const settings =
    resource((signal) => get(`admin/queues/${part(name)}/settings`, {}, signal), changed, 15000);
  const explained =
    resource((signal) => get(`admin/queues/${part(name)}/explain`, {}, signal), changed, 5000);
  const oldest = resource(
    (signal) => get("tasks", {queue: name, state: "ready", order: "oldest", limit: 5}, signal),
    changed, 5000);
  const fairness = fairnessOf(name, changed);

  const head = (queue) => {
    const total = queue.ready + queue.scheduled + queue.gated + queue.leased + queue.dead;
    return h("div", {class: "page-head"}, h("a", {class: "crumb", href: "#/queues"}, "Queues"),
      h("h1", {class: "name"}, name),
      Boolean(queue.paused) && h("span", {class: "chip is-gated"}, "paused"),
      h("div", {class: "grow"}),
      h("div", {class: "actions"},
        may("POST admin/queues/:/pause") &&
          (queue.paused ?
              button(
                "Resume", {icon: "play", kind: "primary", onclick: () => setPaused(name, false)}) :
              button("Pause", {icon: "pause", onclick: () => setPaused(name, true)})),
        may("PUT admin/queues/:/settings") && settings.data && button("Settings", {
          onclick: async () => {
            if (await editSettings(name, settings.data.settings)) settings.load();
          }
        }),
        may("POST admin/queues/:/purge") &&
          button(
            "Purge", {icon: "trash", kind: "danger-quiet", onclick: () => purge(name, total)})));
  };

  const tiles = (queue) => h("div", {class: "tiles"}, tile("running", count(queue.leased), {
    state: "leased",
    note: `${rate(rateOf(queue, "granted"))} started`,
    href: `#/tasks?queue=${name}&state=leased`
  }),
    tile("ready", count(queue.ready), {
      state: "ready",
      note: queue.oldestReadyAgeMs ? `oldest ${duration(queue.oldestReadyAgeMs)}` : "none waits",
      href: `#/tasks?queue=${name}&state=ready`
    }),
    tile("scheduled", count(queue.scheduled), {
      state: "scheduled",
      note: queue.gated ? `${number(queue.gated)} behind their group` : "deferred or retrying",
      href: `#/tasks?queue=${name}&state=scheduled`
    }),
    tile("completed", rate(rateOf(queue, "completed")), {
      state: "completed",
      note: `${number(queue.completed)} in all`,
      href: `#/tasks?queue=${name}&state=completed`
    }),
    tile("dead", count(queue.dead), {
      state: "dead",
      note: `${number(queue.lost)} leases lost, ${number(queue.retried)} retries`,
      href: may("GET admin/dead") ? `#/dead?queue=${name}` : `#/tasks?queue=${name}&state=dead`
    }));

  const why = (queue) => {
    if (!explained.data) return explained.error ? failure(explained.error) : loading();
    const list = reasons(explained.data, queue);
    const total = list.reduce((sum, one) => sum + one.value, 0);
    if (total === 0)
      return empty(
        "Nothing waits", "Add a task to see it here:", `codeqctl enqueue ${name} PAYLOAD`);
    return [
      h("p", {class: "lead"}, `${plural(total, "task")} wait${total === 1 ? "s" : ""}. `,
        drains(queue)),
      bar(list, {
        label:
          `Reasons of waiting: ${list.map((one) => `${exact(one.value)} ${one.name}`).join(", ")}`
      }),
      h("ul", {class: "reasons"},
        list.map(
          (one) => h("li", {}, h("i", {class: `dot is-${one.state}`}), h("b", {}, exact(one.value)),
            h("span", {}, h("strong", {}, one.name), " · ", one.text)))),
      ...heldBy(explained.data),
    ];
  };

  const served = (queue) => {
    const able = workersOf(name, live.workers);
    if (able === null) return loading();
    if (able.length === 0)
      return empty("No worker serves this queue",
        "Start one with handlers for it:", "codeq-worker --name w1 --handlers HANDLERS.so");
    const free = able.reduce((sum, worker) => sum + worker.freeSlots, 0);
    return [
      h("p", {class: "lead"}, `${plural(able.length, "worker")}, ${plural(free, "free slot")}.`),
      h("ul", {class: "inline-list"},
        able.slice(0, 24).map(
          (worker) =>
            h("li", {}, h("a", {href: `#/workers?name=${worker.workerId}`}, worker.workerId),
              h("span", {class: "faint"}, `${worker.freeSlots} free`))))
    ];
  };

  const limits = () => {
    if (!settings.data) return settings.error ? failure(settings.error) : loading();
    const {settings: one, uniform} = settings.data;
    const most = (value) => (value ? exact(value) : "no limit");
    return [
      facts(
        [
          ["Live tasks at most", most(one.maxDepth)],
          ["Running at most", most(one.maxLeased)],
          ["Attempts", one.maxAttempts ? exact(one.maxAttempts) : undefined],
          ["Paused because of", settings.data.pauseReason || undefined],
          [
            "Pauses itself when",
            one.pauseWhenFailing?.percent ?
              `over ${one.pauseWhenFailing.percent} % failed in ${
                duration(one.pauseWhenFailing.windowMs)}` :
              undefined
          ],
          [
            "Quarantined after",
            one.quarantineAfter ? `${exact(one.quarantineAfter)} lost in a row` : undefined
          ],
          [
            "Limits of its tasks",
            (one.limits ?? []).map(({name, header}) =>
              header ? `${name} by header ${header}` : name).join(", ") || undefined
          ],
          ["Fairness key", one.fairnessHeader ? `header ${one.fairnessHeader}` : undefined],
          ["Lease", one.leaseMs ? duration(one.leaseMs) : undefined],
          [
            "Retry",
            one.retry &&
              `${one.retry.kind.replaceAll("_", " ")}, ${duration(one.retry.baseMs)} to ${
                duration(one.retry.capMs)}`
          ],
          [
            "Run time at most",
            one.runTimeoutMs === undefined ? undefined :
              one.runTimeoutMs             ? duration(one.runTimeoutMs) :
                                             "no limit"
          ],
          [
            "Ended tasks are kept",
            one.retentionSeconds ? duration(one.retentionSeconds * 1000) : undefined
          ],
          [
            "Dead tasks are kept",
            one.deadRetentionSeconds ? duration(one.deadRetentionSeconds * 1000) : "for ever"
          ],
        ],
        "columns"),
      !uniform &&
        h("p", {class: "notice is-warn"},
          "Not every shard has these settings yet; save them again.")
    ];
  };

  return {
    title: name,
    topics: ["workers"],
    close: () => {
      history.stop();
      settings.stop();
      explained.stop();
      oldest.stop();
      fairness.stop();
    },
    render: () => {
      const queue = live.queues.get(name);
      if (!queue)
        return live.status === "live" ?
          empty(`There is no queue ${name}`,
            "It begins with its first task:", `codeqctl enqueue ${name} PAYLOAD`) :
          loading();
      return [
        head(queue),
        tiles(queue),
        h("div", {class: "grid"}, card("Why tasks wait", why(queue)),
          card("Who serves it", served(queue)),
          charts(history, span,
            (next) => {
              span = next;
              load();
              changed();
            }),
          card("Settings", limits(), {class: "wide"})),
        fairness.card(),
        queue.ready > 0 && oldest.data?.tasks.length > 0 &&
          card("Oldest ready tasks", taskTable(oldest.data.tasks, {without: ["queue", "state"]}), {
            class: "flush",
            tools: h("a",
              {class: "button quiet small", href: `#/tasks?queue=${name}&state=ready&order=oldest`},
              "All ready tasks")
          }),
      ];
    },
  };
}
