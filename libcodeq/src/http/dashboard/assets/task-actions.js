// Changes of one or several tasks.
import {change, may, part} from "./api.js";
import {exact, plural} from "./format.js";
import {act, confirmChange, say} from "./parts.js";

const outcomes = {
  cancelled: "is cancelled",
  cancelling: "is told to stop",
  promoted: "may start now",
  redriven: "is added again",
  purged: "is removed",
  unchanged: "stays as it is",
  not_found: "is gone",
  key_taken: "has a key that another live task took",
};
const say1 = ({outcome}) => `The task ${outcomes[outcome] ?? outcome.replaceAll("_", " ")}`;
const idChange = (verb) => (task) => change("POST", `tasks/${part(task.id)}/${verb}`);
const deadChange = (verb) => (task) =>
  change("POST", `admin/dead/${verb}`, {ids: [task.id]}).then(({results}) => results[0]);

const waits = new Set(["scheduled", "gated", "ready"]);

/** Each: whose tasks it fits, its route, how it is asked about and done. */
const changes = [
  {
    name: "promote",
    label: "Run now",
    icon: "up",
    needs: "POST tasks/:/promote",
    fits: (task) => task.state === "scheduled",
    run: idChange("promote")
  },
  {
    name: "redrive",
    label: "Redrive",
    icon: "redo",
    kind: "primary",
    needs: "POST admin/dead/redrive",
    fits: (task) => task.state === "dead",
    run: deadChange("redrive"),
    text: "They start again with all their attempts."
  },
  {
    name: "cancel",
    label: "Cancel",
    icon: "close",
    needs: "POST tasks/:/cancel",
    fits: (task) => waits.has(task.state) || task.state === "leased",
    run: idChange("cancel"),
    text: "A running task is told to stop and has 10 s for it. A cancelled task does not run again."
  },
  {
    name: "purge",
    label: "Purge",
    icon: "trash",
    kind: "danger-quiet",
    needs: "POST admin/dead/purge",
    fits: (task) => task.state === "dead",
    run: deadChange("purge"),
    text: "Payload, errors and history are removed for good."
  },
];

/** The changes that some of the tasks may have, each with these tasks. */
export function changesFor(tasks) {
  return changes.filter((one) => may(one.needs))
    .map((one) => ({...one, tasks: tasks.filter(one.fits)}))
    .filter((one) => one.tasks.length > 0);
}

const atOnce = 8;

/** Asks, then changes the tasks, a few at a time. True when something was sent. */
export async function changeTasks(one, tasks) {
  const what = tasks.length === 1 ? "this task" : plural(tasks.length, "task");
  const isQuick = one.name === "promote" && tasks.length === 1;
  const yes = isQuick || await confirmChange({
    title: `${one.label}: ${what}?`,
    text: one.text,
    yes: `${one.label} ${what}`,
    kind: one.kind === "danger-quiet" ? "danger" : "primary"
  });
  if (!yes) return false;
  if (tasks.length === 1) return Boolean(await act(() => one.run(tasks[0]), say1));
  const left = [...tasks];
  let done = 0;
  const refusals = [];
  const work = async () => {
    for (let task = left.shift(); task; task = left.shift()) {
      try {
        await one.run(task);
        ++done;
      } catch (failure) {
        refusals.push(failure.message);
      }
    }
  };
  await Promise.all(Array.from({length: atOnce}, work));
  if (done > 0) say(`${one.label}: ${plural(done, "task")} done`);
  if (refusals.length > 0) say(`${exact(refusals.length)} refused: ${refusals[0]}`, true);
  return true;
}

const hows = {
  revoke: [
    "Revoke the lease",
    "The worker loses the task and its report is refused; the task is retried by its policy."
  ],
  complete: [
    "Complete it", "The task ends as completed with this result, whatever its worker reports later."
  ],
  fail: [
    "Fail the attempt",
    "The attempt ends as failed with this error, and is retried by the task's policy."
  ],
};

/** The operator's force: ends a lease without its token. */
export async function force(task) {
  const answer = await confirmChange({
    title: "End this attempt by force?",
    text: "This goes past the worker that holds the lease. Timeline and audit log have it.",
    fields: [
      {
        name: "how",
        label: "How",
        options: Object.entries(hows).map(([key, [label]]) => [key, label])
      },
      {
        name: "text",
        label: "Result (JSON) or error text",
        rows: 3,
        hint: "For completing and failing; revoking needs none"
      },
    ],
    yes: "End the attempt",
    kind: "danger",
  });
  if (!answer) return false;
  const body = {how: answer.how};
  if (answer.how === "fail") body.error = answer.text || "failed by an operator";
  if (answer.how === "complete" && answer.text) {
    try {
      body.result = JSON.parse(answer.text);
    } catch {
      body.result = answer.text;
    }
  }
  return Boolean(await act(() => change("POST", `admin/tasks/${part(task.id)}/force`, body),
    ({state}) => `Done; the task is ${state === "leased" ? "running" : state} now`));
}
