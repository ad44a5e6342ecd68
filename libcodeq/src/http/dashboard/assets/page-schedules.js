// Schedules: when each fires next, what it has fired, and how to run it now.
import {change, get, may, part} from "./api.js";
import {h} from "./dom.js";
import {duration, exact, fullTime, localTime, plural, time, zoned} from "./format.js";
import {
  act, button, card, chip, confirmChange, empty, exports, facts, failure, icon, loading,
  resource, table, viewer,
} from "./parts.js";

const base = (name) => `schedules/${part(name)}`;

async function runNow(schedule, done) {
  const yes = await confirmChange({
    title: `Run ${schedule.name} now?`,
    text: `It enqueues its task in ${schedule.task.command} at once, beside its usual times.`,
    yes: "Run it now"
  });
  if (yes &&
    await act(() => change("POST", `${base(schedule.name)}/run`), `${schedule.name} has fired`))
    done();
}

async function setPaused(schedule, paused, done) {
  if (await act(() => change("POST", `${base(schedule.name)}/${paused ? "pause" : "resume"}`),
        paused ? `${schedule.name} is paused` : `${schedule.name} is resumed`))
    done();
}

async function remove(schedule) {
  const yes = await confirmChange({
    title: `Delete the schedule ${schedule.name}?`,
    text: "It fires no more. Tasks that it has enqueued go on.",
    yes: "Delete it",
    kind: "danger",
    word: schedule.name
  });
  if (yes && await act(() => change("DELETE", base(schedule.name)), `${schedule.name} is deleted`))
    location.hash = "#/schedules";
}

const actions = (schedule, done, size = "") => [may("POST schedules/:/run") &&
    button("Run now", {icon: "play", kind: size, onclick: () => runNow(schedule, done)}),
  schedule.paused ? may("POST schedules/:/resume") &&
      button("Resume", {kind: size, onclick: () => setPaused(schedule, false, done)}) :
                    may("POST schedules/:/pause") &&
      button("Pause", {icon: "pause", kind: size, onclick: () => setPaused(schedule, true, done)}),
];

const latest = (one) => (one ?
    [chip(one.state === "running" ? "leased" : one.state.replaceAll("_", " ")), " ", time(one.at)] :
    h("span", {class: "faint"}, "never"));

export function schedulesPage({changed}) {
  let all = [];
  let after = null;
  const list = resource(async (signal) => {
    const found =
      await get("schedules", {limit: Math.min(1000, Math.max(100, all.length))}, signal);
    all = found.schedules;
    after = found.after ?? null;
    return true;
  }, changed, 5000);
  const more = async () => {
    const found = await get("schedules", {after, limit: 100});
    all.push(...found.schedules);
    after = found.after ?? null;
    changed();
  };
  const content = () => {
    if (list.error) return failure(list.error);
    if (!list.data) return loading();
    if (all.length === 0)
      return empty("No schedule yet", "A schedule enqueues a task by the clock:",
        "codeqctl schedule set nightly --cron '30 2 * * *' --zone Europe/Berlin --queue reports");
    return table({
      label: "Schedules",
      rows: all,
      keyOf: (row) => row.name,
      columns: [
        {
          title: "Schedule",
          cell: (row) => [h("a", {href: `#/schedules/${row.name}`}, row.name),
            row.paused && chip("paused")]
        },
        {title: "Rule", class: "fill", cell: (row) => h("code", {class: "cut"}, row.rule)},
        {title: "Queue", cell: (row) => row.task.command},
        {
          title: "Next",
          class: "right",
          cell: (row) =>
            (row.paused ? h("span", {class: "faint"}, "paused") : time(row.next[0]?.at))
        },
        {title: "Latest", class: "right", cell: (row) => latest(row.latest)},
        {
          title: "",
          class: "right",
          cell: (row) => h("div", {class: "row-actions"}, actions(row, list.load, "quiet small"))
        },
      ]
    });
  };
  return {
    title: "Schedules",
    close: () => list.stop(),
    render:
      () => [h("div", {class: "page-head"}, h("h1", {}, "Schedules"),
               h("span", {class: "faint"},
                 all.length ? plural(all.length, "schedule") + (after ? " and more" : "") : ""),
               h("div", {class: "grow"}), exports("schedules", () => all)),
        card(null, content(), {class: "flush"}),
        after &&
          h("button", {type: "button", class: "button more", onclick: more}, icon("down"),
            "Show 100 more"),
  ],
  };
}

const because = (text) => h("div", {class: "because", role: "status"},
  h("span", {class: "because-label"}, "What happens next"),
  h("p", {}, text.charAt(0).toUpperCase() + text.slice(1)));

function taskOf({task}) {
  const payload = task.payload ?? null;
  const about = facts([
    ["Queue", h("a", {href: `#/queues/${task.command}`}, task.command)],
    ["Priority", String(task.priority ?? 0)],
    task.group && ["Group", task.group],
  ]);
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  return [about, payload !== null && viewer(text, "Payload")];
}

function ruleOf(one) {
  const missed = one.misfire.replaceAll("_", " ");
  return facts([
    ["Rule", h("code", {}, one.rule)],
    ["Overlap", one.overlap.replaceAll("_", " ")],
    ["Missed times", `${missed}, within ${duration(one.catchUpMs)}`],
    ["Occurrences so far", exact(one.occurrences)],
    ["Running", exact(one.running)],
    one.latest && ["Latest", fullTime(one.latest.at)],
  ]);
}

export function schedulePage({subject: name, changed}) {
  const schedule = resource((signal) => get(base(name), {}, signal), changed, 5000);
  const next = resource((signal) => get(`${base(name)}/next`, {count: 10}, signal), changed, 15000);
  const past = resource((signal) => get(`${base(name)}/history`, {}, signal), changed, 5000);
  const again = () => [schedule, next, past].forEach((one) => one.load());

  const fires = () => {
    if (!next.data) return next.error ? failure(next.error) : loading();
    if (next.data.next.length === 0) return empty("It does not fire again");
    return h("ol", {class: "fires"},
      next.data.next.map((one) => h("li", {}, h("span", {}, zoned(one.local)),
                           h("div", {class: "grow"}), time(one.at))));
  };

  const history = () => {
    if (!past.data) return past.error ? failure(past.error) : loading();
    if (past.data.occurrences.length === 0) return empty("It has not fired yet");
    return table({
      label: "Occurrences",
      rows: past.data.occurrences,
      keyOf: (row) => String(row.number),
      columns: [
        {
          title: "Time",
          cell: (row) => h("span", {title: row.nominalTime},
            row.local ? zoned(row.local) : localTime(Date.parse(row.at)))
        },
        {
          title: "State",
          cell: (row) => chip(row.state === "running" ? "leased" : row.state.replaceAll("_", " "))
        },
        {
          title: "Cause",
          cell: (row) =>
            row.cause.replaceAll("_", " ") + (row.count > 1 ? ` × ${exact(row.count)}` : "")
        },
        {
          title: "Task",
          class: "fill",
          cell: (row) => (row.taskId ?
              h("a", {class: "mono", href: `#/tasks/${row.taskId}`}, row.taskId.slice(0, 23)) :
              h("span", {class: "faint"}, "–"))
        },
        {
          title: "Took",
          class: "right",
          cell: (row) => (row.endedAt && row.decidedAt ?
              duration(Date.parse(row.endedAt) - Date.parse(row.decidedAt)) :
              h("span", {class: "faint"}, "–"))
        },
      ]
    });
  };

  const head = (one) =>
    h("div", {class: "page-head"}, h("a", {class: "crumb", href: "#/schedules"}, "Schedules"),
      h("h1", {class: "name"}, name), one.paused && chip("paused"), h("div", {class: "grow"}),
      h("div", {class: "actions"}, actions(one, again), may("DELETE schedules/:") && removal(one)));

  const removal = (one) =>
    button("Delete", {icon: "trash", kind: "danger-quiet", onclick: () => remove(one)});

  const save = () => exports(`${name}-history`, () => past.data.occurrences);

  return {
    title: name,
    close: () => [schedule, next, past].forEach((one) => one.stop()),
    render: () => {
      const one = schedule.data;
      if (!one)
        return schedule.error ?
          (schedule.error.status === 404 ? empty(`There is no schedule ${name}`) :
                                           failure(schedule.error)) :
          loading();
      return [
        head(one),
        one.explanation && because(one.explanation),
        h("div", {class: "grid two"},
          h("div", {class: "column"}, card("Next times", fires()), card("Its task", taskOf(one))),
          h("div", {class: "column"}, card("Rule", ruleOf(one)))),
        card("History", history(), {class: "flush", tools: past.data && save()}),
      ];
    },
  };
}
