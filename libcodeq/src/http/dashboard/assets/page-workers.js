// Workers, their slots, and what each runs.
import {change, may, part} from "./api.js";
import {h} from "./dom.js";
import {duration, exact, now, plural, shortId} from "./format.js";
import {live} from "./live.js";
import {act, button, card, confirmChange, empty, exports, loading, tile} from "./parts.js";

const runningShown = 6;
const queuesShown = 6;
const slotsShown = 64;

function slots(worker) {
  const total = worker.leases + worker.freeSlots;
  const label = `${exact(worker.leases)} of ${exact(total)} places for tasks in use`;
  if (total > slotsShown)
    return h("div", {class: "bar", role: "img", "aria-label": label},
      h("i", {class: "is-leased", style: {"flex-grow": String(worker.leases)}}),
      h("i", {class: "is-free", style: {"flex-grow": String(worker.freeSlots)}}));
  return h("div", {class: "slots", role: "img", "aria-label": label},
    Array.from({length: total},
      (none, at) => h("i", {class: at < worker.leases ? "is-leased" : "is-free"})));
}

function running(worker) {
  if (worker.running.length === 0)
    return h("p", {class: "faint"},
      worker.connected ?
        worker.queueCount ? "idle" : "idle: none of its queues has had a task yet" :
        "its leases end soon");
  return [
    h("ul", {class: "running"},
      worker.running.slice(0, runningShown)
        .map((lease) => h("li", {"data-key": lease.id},
               h("a", {class: "mono", href: `#/tasks/${lease.id}`, title: lease.id},
                 shortId(lease.id)),
               h("span", {class: "cut"}, lease.queue), h("div", {class: "grow"}),
               h("span", {title: `lease ends in ${duration(lease.leaseLeftMs)}`},
                 duration(Math.max(0, now() - Date.parse(lease.startedAt))))))),
    worker.leases > runningShown &&
      h("p", {class: "faint"},
        `and ${exact(worker.leases - Math.min(runningShown, worker.running.length))} more`)
  ];
}

async function setDraining({workerId, leases}, isDrained) {
  const answer = !isDrained || await confirmChange({
    title: `Drain ${workerId}?`,
    text: `It gets no more tasks until it is taken back. ${
      leases ? `It finishes the ${plural(leases, "task")} that it has. ` : ""}A restart of its ` +
      "process, or of the coordinator, ends the drain.",
    yes: `Drain ${workerId}`
  });
  return answer && act(
    () => change("POST", `admin/workers/${part(workerId)}/${isDrained ? "drain" : "resume"}`),
    isDrained ? `${workerId} gets no more tasks` : `${workerId} gets tasks again`);
}

function drainButton(worker) {
  if (worker.http || !may("POST admin/workers/:/drain")) return null;
  return worker.draining ?
    button("Resume", {
      icon: "play",
      kind: "primary small",
      "aria-label": `Resume ${worker.workerId}`,
      onclick: () => setDraining(worker, false)
    }) :
    worker.connected && button("Drain", {
      icon: "pause",
      kind: "small",
      "aria-label": `Drain ${worker.workerId}`,
      onclick: () => setDraining(worker, true)
    });
}

function stateChip({connected, draining}) {
  if (!connected)
    return h("span", {class: "chip is-dead"}, draining ? "gone, drained" : "gone");
  return draining ? h("span", {class: "chip is-gated"}, "draining") :
                    h("span", {class: "chip is-completed"}, "connected");
}

function workerCard(worker) {
  const total = worker.leases + worker.freeSlots;
  return h("article",
    {class: `card worker ${worker.connected ? "" : "is-gone"}`, "data-key": worker.workerId},
    h("header", {class: "card-head"}, h("h2", {class: "cut"}, worker.workerId),
      worker.http ? h("span", {class: "tag"}, "HTTP") : stateChip(worker),
      h("div", {class: "grow"}),
      h("span", {class: "faint"},
        worker.http ? plural(worker.leases, "lease") : `${worker.leases}/${total}`)),
    !worker.http && slots(worker), running(worker),
    h("p", {class: "queues-of faint"},
      worker.queues.slice(0, queuesShown)
        .map((queue) => h("a", {class: "tag", href: `#/queues/${queue}`}, queue)),
      worker.queueCount > queuesShown &&
        `and ${
          exact(worker.queueCount - Math.min(queuesShown, worker.queues.length))} more queues`,
      h("span", {class: "grow"}), drainButton(worker)));
}

const filters = {
  all: ["All", () => true],
  busy: ["Busy", (one) => one.leases > 0],
  full: ["Full", (one) => one.connected && !one.http && one.freeSlots === 0],
  gone: ["Gone", (one) => !one.connected && !one.http]
};

export function workersPage({query, changed}) {
  let wanted = query;
  const set = (more) => {
    const next =
      new URLSearchParams(Object.entries({...wanted, ...more}).filter(([, value]) => value));
    history.replaceState(null, "", `#/workers${next.size ? `?${next}` : ""}`);
    wanted = Object.fromEntries(next);
    changed();
  };
  return {
    title: "Workers",
    topics: ["workers"],
    search: (next) => {
      wanted = next;
    },
    render: () => {
      if (!live.workers) return loading();
      const [, fits] = filters[wanted.show] ?? filters.all;
      const shown = live.workers.filter((one) => fits(one) &&
          one.workerId.toLowerCase().includes((wanted.name ?? "").toLowerCase()));
      const nodes = live.workers.filter((one) => !one.http);
      const inUse = live.workers.reduce((sum, one) => sum + one.leases, 0);
      const free = nodes.reduce((sum, one) => sum + (one.connected ? one.freeSlots : 0), 0);
      return [
        h("div", {class: "page-head"}, h("h1", {}, "Workers"), h("div", {class: "grow"}),
          exports("workers", () => shown)),
        h("div", {class: "tiles"},
          tile("connected", exact(nodes.filter((one) => one.connected).length), {
            state: "completed",
            note: `${exact(nodes.filter((one) => !one.connected).length)} gone`
          }),
          tile("running", exact(inUse), {state: "leased", note: "leases of all workers"}),
          tile("free slots", exact(free), {
            state: "ready",
            note: free === 0 && nodes.length ? "all slots are in use" : "of slots and prefetch"
          })),
        h("div", {class: "filters"}, h("input", {
          type: "search",
          placeholder: "Filter by name",
          "aria-label": "Filter by name",
          value: wanted.name ?? "",
          oninput: (event) => set({name: event.target.value})
        }),
          h("div", {class: "tabs", role: "group", "aria-label": "Show"},
            Object.entries(filters).map(([name, [label]]) => h("button", {
              type: "button",
              "aria-pressed": String((wanted.show ?? "all") === name),
              onclick: () => set({show: name === "all" ? "" : name})
            },
                                          label)))),
        live.workers.length === 0 ?
          card(null,
            empty("No worker is connected", "Start one with your handlers:",
              "codeq-worker --name w1 --handlers build/lib/libhello.so")) :
          shown.length === 0 ?
          card(null, empty("No worker fits", "Change the name or the filter above.")) :
          h("div", {class: "workers"}, shown.map(workerCard)),
        h("p", {class: "faint small"}, "A drained worker gets no more tasks, and finishes those ",
          "that it has. To stop one, send its process SIGTERM: it claims no more, and gives back ",
          "what it has not started."),
      ];
    },
  };
}
