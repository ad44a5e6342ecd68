// Which queues are stuck, and why, judged by what is known of all queues and workers.
import {duration, exact, plural} from "./format.js";
import {rateOf} from "./live.js";

const oldMs = 30000;
const fullPart = 0.9;

const calmSeconds = 5;

/** A worker that claims from more queues does not name them all. */
const namedMost = 20;

/** The connected workers that claim from a queue; null when that is not known. */
export function workersOf(queue, workers) {
  if (!workers) return null;
  // A worker of HTTP names the queues that it asks for just now.
  const isUnnamed = ({http, queues, queueCount}) =>
    !http && queues.length >= namedMost && queueCount > queues.length;
  return workers.filter(
    (worker) => worker.connected && (worker.queues.includes(queue) || isUnnamed(worker)));
}

/** True when tasks of the queue are ready and nothing takes them. */
export function isUnserved(queue, workers) {
  const able = workersOf(queue.queue, workers);
  const isIdle = queue.leased === 0 && rateOf(queue, "granted") === 0;
  return queue.ready > 0 && !queue.paused && able !== null && able.length === 0 && isIdle;
}

/** Milliseconds until what is ready has run, at the present rate; null when that is never. */
export function drainTime(queue) {
  if (queue.ready === 0) return 0;
  const ends = rateOf(queue, "completed") + rateOf(queue, "died") + rateOf(queue, "cancelled");
  const shrinks = ends - rateOf(queue, "enqueued");
  return shrinks > 0 ? (queue.ready / shrinks) * 1000 : null;
}

/** The same in words. */
export function drainText(queue) {
  const time = drainTime(queue);
  if (time === 0) return "";
  const starts = rateOf(queue, "granted");
  if (starts > 0 && queue.ready / starts < calmSeconds) return "keeps up";
  if (time !== null) return duration(time);
  return starts === 0 ? "stands still" : "grows";
}

const waits = {
  queue_paused: ["gated", "paused", "an operator paused the queue"],
  no_worker: ["dead", "no worker", "no connected worker claims from it"],
  queue_at_max_leased: ["gated", "full", "as many tasks run as the queue may have"],
  no_free_slots: ["ready", "no free slot", "all slots of its workers are in use"],
  fairness: ["ready", "behind other keys", "other fairness keys get the next slots"],
  next: ["ready", "next", "handed out as soon as a worker asks"],
  limited: ["gated", "held by a limit", "their limit key has no free slot, or not yet"],
  deferred: ["scheduled", "not due", "deferred by the producer"],
  retry_waiting: ["scheduled", "retry", "waiting for the next attempt"],
  gated: ["gated", "behind its group", "an earlier task of the same group is before it"]
};

/** Why tasks of the queue wait, as the coordinator accounts for them: all of the backlog. */
export function reasons(explained, queue) {
  // A worker of HTTP claims from the queue only while it asks.
  const isServed = rateOf(queue, "granted") > 0;
  return Object.entries(explained.waiting).map(([reason, value]) => {
    const known = reason === "no_worker" && isServed ? waits.next : waits[reason];
    const [state, name, text] = known ?? ["gated", reason, ""];
    return {value, state, name, text};
  });
}

function troubleOf(queue, workers) {
  const name = queue.queue;
  const href = `#/queues/${name}`;
  const since =
    queue.oldestReadyAgeMs ? `, the oldest for ${duration(queue.oldestReadyAgeMs)}` : "";
  const waiting = `${plural(queue.ready, "task")} wait${queue.ready === 1 ? "s" : ""}${since}.`;
  if (queue.ready > 0 && queue.paused)
    return {
      level: "warn",
      weight: 2,
      what: `${name} is paused`,
      why: waiting,
      action: "Resume it",
      href
    };
  if (isUnserved(queue, workers))
    return {
      level: "bad",
      weight: 4,
      what: `No worker serves ${name}`,
      why: waiting,
      action: "See the queue",
      href
    };
  if (queue.maxDepth > 0 &&
    queue.ready + queue.scheduled + queue.gated + queue.leased > queue.maxDepth * fullPart)
    return {
      level: "bad",
      weight: 3,
      what: `${name} is nearly full`,
      why: `It may have ${plural(queue.maxDepth, "task")}; then producers are refused.`,
      action: "Change the limit",
      href
    };
  if (queue.ready > 0 && queue.maxLeased > 0 && queue.leased >= queue.maxLeased &&
    queue.oldestReadyAgeMs > oldMs)
    return {
      level: "warn",
      weight: 1,
      what: `${name} runs as many tasks as it may`,
      why: `Its limit is ${exact(queue.maxLeased)}. ${waiting}`,
      action: "Change the limit",
      href
    };
  if (queue.oldestReadyAgeMs > oldMs && queue.ready > 0) {
    const time = drainTime(queue);
    return {
      level: "warn",
      weight: 1,
      what: `${name} is behind`,
      why: `${waiting} ${
        time === null ? "The backlog does not shrink." : `It drains in about ${duration(time)}.`}`,
      action: "See the queue",
      href
    };
  }
  return null;
}

/** What an operator should look at, the worst first. */
export function findTroubles({queues, workers}) {
  const found = [];
  for (const queue of queues.values()) {
    const one = troubleOf(queue, workers);
    if (one) found.push({...one, key: `queue ${queue.queue}`, size: queue.ready});
    const died = rateOf(queue, "died");
    if (died > 0)
      found.push({
        key: `dying ${queue.queue}`,
        level: "bad",
        weight: 3,
        size: queue.dead,
        what: `Tasks of ${queue.queue} are dying`,
        why: `${plural(queue.dead, "dead task")} so far, ${(died * 60).toFixed(0)} a minute now.`,
        action: "See the errors",
        href: `#/dead?queue=${queue.queue}`
      });
  }
  for (const worker of workers ?? [])
    if (!worker.connected && !worker.http && worker.leases > 0)
      found.push({
        key: `worker ${worker.workerId}`,
        level: "warn",
        weight: 2,
        size: worker.leases,
        what: `Worker ${worker.workerId} is gone`,
        why: `It had ${plural(worker.leases, "task")}; they come back when their leases end.`,
        action: "See the workers",
        href: "#/workers"
      });
  return found.sort((a, b) => b.weight - a.weight || b.size - a.size);
}
