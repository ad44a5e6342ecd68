// What the queues and workers do now, as the server says it once a second.
import {listen, may} from "./api.js";
import {setServerTime} from "./format.js";

const windowLength = 12;
const trendLength = 90;
const retryFirst = 500;
const retryMost = 8000;
const hiddenMost = 10000;
const silentMost = 12000;

/** Counters whose growth is a rate. */
const counters = ["enqueued", "granted", "completed", "retried", "died", "cancelled", "lost"];

export const live = {
  /** waiting, live, lost or off */
  status: "off",
  at: 0,
  queues: new Map(),
  workers: null,
  /** One entry a second: sums over all queues. */
  trend: [],
  retryAt: 0,
};

let columns = [];
let topics = new Set(["queues"]);
let stop = null;
let changed = () => {};

export const whenChanged = (action) => {
  changed = action;
};

/** Begins to listen, unless the caller may not. */
export function startLive() {
  if (!may("GET admin/live") || stop) return;
  const control = new AbortController();
  stop = control;
  run(control.signal);
}

function pauseLive() {
  stop?.abort();
  stop = null;
}

// A browser opens few connections to one server, which tabs that nobody sees must not use up.
let hiding = 0;
addEventListener("pagehide", pauseLive);
addEventListener("pageshow", startLive);
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(pauseLive, hiddenMost);
  else
    startLive();
});

export function stopLive() {
  pauseLive();
  Object.assign(live, {status: "off", queues: new Map(), workers: null, trend: []});
}

/** Asks for the topics that a page needs, beside the queues. */
export function setTopics(wanted) {
  const next = new Set(["queues", ...wanted]);
  if ([...next].every((one) => topics.has(one)) && next.size === topics.size) return;
  topics = next;
  if (!stop) return;
  stop.abort();
  stop = null;
  startLive();
}

const pause = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    done();
  });
});

/** Listens until the stream ends, or until it has been silent for so long that it must be dead. */
async function listenOnce(signal, onEvent) {
  const attempt = new AbortController();
  const end = () => attempt.abort();
  signal.addEventListener("abort", end);
  let heard = Date.now();
  const watchdog = setInterval(() => {
    if (Date.now() - heard > silentMost) end();
  }, silentMost / 4);
  try {
    await listen([...topics].join(","), (name, data) => {
      heard = Date.now();
      onEvent();
      take(name, data);
    }, attempt.signal);
  } finally {
    clearInterval(watchdog);
    signal.removeEventListener("abort", end);
  }
}

async function run(signal) {
  let wait = retryFirst;
  while (!signal.aborted) {
    if (live.status === "off") live.status = "waiting";
    try {
      await listenOnce(signal, () => {
        wait = retryFirst;
      });
    } catch (failure) {
      if (signal.aborted || failure.status === 401 || failure.status === 403) return;
    }
    if (signal.aborted) return;
    live.status = "lost";
    live.retryAt = Date.now() + wait;
    changed();
    await pause(wait, signal);
    wait = Math.min(wait * 2, retryMost);
  }
}

function take(name, data) {
  setServerTime(data.at);
  live.status = "live";
  live.at = Date.parse(data.at);
  if (name === "workers") live.workers = data.workers;
  if (name === "queues") takeQueues(data);
  changed();
}

function takeQueues({whole, columns: names, rows, gone}) {
  columns = names;
  const before = whole ? live.queues : null;
  if (whole) live.queues = new Map();
  for (const row of rows) {
    const counts = Object.fromEntries(columns.map((column, at) => [column, row[at]]));
    counts.past = (before ?? live.queues).get(counts.queue)?.past ?? [];
    live.queues.set(counts.queue, counts);
  }
  for (const name of gone) live.queues.delete(name);
  for (const queue of live.queues.values()) {
    // Its row does not change while the oldest task only grows older.
    queue.oldestReadyAgeMs = queue.oldestReadyAt ? Math.max(0, live.at - queue.oldestReadyAt) : 0;
    remember(queue);
  }
  // Rates begin with the second event.
  if (!whole) rememberSum();
}

/** Keeps the counters of the last seconds, of which the rates are made. */
function remember(queue) {
  const {past} = queue;
  const latest = past.at(-1);
  // The counters of a coordinator that has started again begin anew.
  if (latest && counters.some((name) => queue[name] < latest[name])) past.length = 0;
  const sample = {at: live.at};
  for (const name of counters) sample[name] = queue[name];
  if (latest?.at === live.at) past.pop();
  past.push(sample);
  if (past.length > windowLength) past.shift();
}

/** Growth of a counter per second, over the last seconds. */
export function rateOf(queue, name) {
  const {past} = queue;
  if (!past || past.length < 2) return 0;
  const [first, last] = [past[0], past.at(-1)];
  return last.at > first.at ? ((last[name] - first[name]) * 1000) / (last.at - first.at) : 0;
}

const levels = ["ready", "scheduled", "gated", "leased", "dead"];

/** The sums over all queues. */
export function sums() {
  const sum = Object.fromEntries([...levels, ...counters].map((name) => [name, 0]));
  const rates = Object.fromEntries(counters.map((name) => [name, 0]));
  let oldest = 0;
  for (const queue of live.queues.values()) {
    for (const name of levels) sum[name] += queue[name];
    for (const name of counters) {
      sum[name] += queue[name];
      rates[name] += rateOf(queue, name);
    }
    oldest = Math.max(oldest, queue.oldestReadyAgeMs);
  }
  return {...sum, rates, oldest};
}

function rememberSum() {
  const sum = sums();
  if (live.trend.at(-1)?.at === live.at) live.trend.pop();
  live.trend.push({at: live.at, ...sum});
  if (live.trend.length > trendLength) live.trend.shift();
}
