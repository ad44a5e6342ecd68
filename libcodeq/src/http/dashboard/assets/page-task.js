// One task: what happens to it and why, what it carries, and what was done with it.
import {follow, get, may, part} from "./api.js";
import {h} from "./dom.js";
import {duration, exact, fullTime, plural, time} from "./format.js";
import {
  button, card, chip, copy, empty, facts, failure, loading, resource, viewer,
} from "./parts.js";
import {changeTasks, changesFor, force} from "./task-actions.js";

const live = new Set(["scheduled", "gated", "ready", "leased"]);
const quick = 1500;
const slow = 10000;

export function taskPage({subject: id, changed}) {
  const path = `tasks/${part(id)}`;
  const task = resource((signal) => get(path, {}, signal), onTask, quick);
  const why = resource((signal) => get(`${path}/explain`, {}, signal), changed, quick);
  const events = resource((signal) => get(`${path}/events`, {}, signal), changed, quick * 2);
  let result = null;
  let seen = null;
  let progress = null;
  let following = null;

  /** Listens to what the attempt says of itself while the task runs. */
  async function watch() {
    if (following || !may("GET tasks/:/progress")) return;
    following = new AbortController();
    const {signal} = following;
    try {
      await follow(id, (name, data) => {
        if (name !== "progress") return;
        progress = data;
        changed();
      }, signal);
    } catch {
      // The task itself is asked for again in any case, and with it this stream.
    }
    if (!signal.aborted) following = null;
  }

  const unwatch = () => {
    following?.abort();
    following = null;
    progress = null;
  };

  function onTask() {
    const state = task.data?.state;
    if (state === "leased") watch();
    else
      unwatch();
    if (state !== seen) {
      seen = state;
      // Whatever changed the task changed the rest, too.
      why.load();
      events.load();
      if (state && !live.has(state)) {
        result?.stop();
        result =
          resource((signal) => get(`${path}/result`, {payload: "json"}, signal), changed, slow * 6);
      }
    }
    changed();
  }

  const again = () => {
    task.load();
    why.load();
    events.load();
  };

  const head = (one) => h("div", {class: "page-head"},
    h("a", {class: "crumb", href: `#/tasks?queue=${one.queue}`}, one.queue),
    h("h1", {class: "mono id"}, id), button("Copy id", {
      icon: "copy",
      kind: "quiet small icon-only",
      "aria-label": "Copy the id",
      onclick: () => copy(id)
    }),
    chip(one.state), h("div", {class: "grow"}),
    h("div", {class: "actions"}, changesFor([one]).map((able) => button(able.label, {
      icon: able.icon,
      kind: able.kind,
      onclick: async () => {
        if (await changeTasks(able, [one])) again();
      }
    })),
      one.state === "leased" && may("POST admin/tasks/:/force") && button("Force", {
        icon: "stop",
        kind: "danger-quiet",
        onclick: async () => {
          if (await force(one)) again();
        }
      })));

  const sentence = (one) => {
    if (!why.data) return null;
    const text = why.data.sentence;
    return h("div", {class: `because is-${one.state}`, role: "status"},
      h("span", {class: "because-label"},
        !live.has(one.state)     ? "What happened" :
          one.state === "leased" ? "What happens" :
                                   "Why it does not run"),
      h("p", {}, text.charAt(0).toUpperCase() + text.slice(1), "."),
      why.data.blocker &&
        h("a", {class: "mono", href: `#/tasks/${why.data.blocker}`}, why.data.blocker),
      h("div", {class: "because-facts"},
        why.data.until && h("span", {}, "until ", time(why.data.until)),
        why.data.leaseLeftMs !== undefined &&
          h("span", {},
            `lease ends in ${duration(why.data.leaseLeftMs)} unless its worker extends it`),
        live.has(one.state) &&
          h("span", {}, `${plural(why.data.workers ?? 0, "worker")} for this queue`)));
  };

  const howFar = () => progress && card("Progress", [
    h("div", {
      class: "progress",
      role: "progressbar",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": String(progress.percent),
      "aria-label": "Progress"
    },
      h("i", {style: {width: `${progress.percent}%`}})),
    h("p", {class: "progress-note"}, h("b", {}, `${progress.percent} %`), " ", progress.note,
      h("span", {class: "faint"}, " ", time(progress.at))),
  ]);

  const about = (one) => facts([
    [
      "Queue",
      may("GET admin/live") ? h("a", {href: `#/queues/${one.queue}`}, one.queue) : one.queue
    ],
    ["Attempt", `${one.attempts} of ${one.maxAttempts}`],
    ["Priority", String(one.priority)],
    ["Enqueued", fullTime(one.createdAt)],
    one.eligibleAt && live.has(one.state) && ["Due", fullTime(one.eligibleAt)],
    ["Last change", fullTime(one.updatedAt)],
    one.workerId && ["Worker", one.workerId],
    one.leaseUntil && ["Lease until", fullTime(one.leaseUntil)],
    one.key && ["Key", h("code", {}, one.key)],
    one.group &&
      [
        "Group",
        h("a", {href: `#/tasks?queue=${one.queue}&group=${encodeURIComponent(one.group)}`},
          one.group)
      ],
    one.fencingToken && ["Fencing token", h("code", {}, one.fencingToken)],
    ["Tenant", one.tenantId],
  ]);

  const payload = (one) => {
    if (one.payloadExpired)
      return empty(
        "The payload is gone", "It leaves when its task has completed, unless the queue keeps it.");
    if (one.payloadBase64) return viewer(one.payloadBase64, "Payload, binary, as base64");
    return one.payload ? viewer(one.payload, "Payload") : empty("No payload");
  };

  const outcome = () => {
    if (!result) return null;
    if (!result.data)
      return result.error && result.error.status !== 404 ? failure(result.error) : null;
    const {result: record} = result.data;
    // The error of a dead task is shown above.
    if (!record || record.error) return null;
    return card("Result", viewer(JSON.stringify(record.result ?? null), "Result"),
      {note: record.completedAt ? [time(record.completedAt)] : null});
  };

  const timeline = () => {
    if (!events.data) return events.error ? failure(events.error) : loading();
    const list = [...events.data.events].reverse();
    return h("ol", {class: "timeline"},
      list.map(
        (event, at) => h("li", {
          class: `is-${event.state}`,
          "data-key": `${event.at} ${event.event} ${list.length - at}`
        },
          h("div", {class: "event"}, h("b", {}, event.event.replaceAll("_", " ")),
            event.attempt && h("span", {class: "tag"}, `attempt ${event.attempt}`),
            h("div", {class: "grow"}), time(event.at)),
          h("div", {class: "event-about"}, event.workerId && `by ${event.workerId} `,
            event.subject && `by ${event.subject} `, event.until && ["until ", time(event.until)],
            event.text && h("pre", {class: "event-text"}, event.text)))),
      events.data.dropped > 0 &&
        h("li", {class: "faint"}, `${exact(events.data.dropped)} earlier events are not kept`));
  };

  return {
    title: `Task ${id.slice(0, 8)}`,
    close: () => {
      unwatch();
      [task, why, events, result].forEach((one) => one?.stop());
    },
    render: () => {
      const one = task.data;
      if (task.error?.status === 404)
        return empty("There is no such task",
          "Its id is wrong, its retention is over, or it belongs to another tenant.");
      if (!one) return task.error ? failure(task.error) : loading();
      if (!one.state)
        return [
          h("div", {class: "page-head"}, h("h1", {class: "mono id"}, id)),
          empty("The record of this task is gone",
            `It ended${one.outcome ? ` as ${one.outcome}` : ""}; its retention is over.`)
        ];
      return [
        head(one),
        sentence(one),
        howFar(),
        one.error &&
          card(one.state === "dead" ? "Why it died" : "Latest error",
            h("pre", {class: "code is-error"}, one.error)),
        h("div", {class: "grid two"},
          h("div", {class: "column"}, card("Payload", payload(one)), outcome(),
            one.headers && card("Headers", facts(Object.entries(one.headers).map(([name,
              value]) => [name, h("code", {}, value)])))),
          h("div", {class: "column"}, card("About", about(one)), card("Timeline", timeline()))),
      ];
    },
  };
}
