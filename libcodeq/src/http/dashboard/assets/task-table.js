// Rows of tasks.
import {h} from "./dom.js";
import {shortId, time} from "./format.js";
import {chip, table} from "./parts.js";

const columns = {
  id: {
    title: "Task",
    cell: (task) =>
      h("a", {class: "mono", href: `#/tasks/${task.id}`, title: task.id}, shortId(task.id))
  },
  queue: {title: "Queue", cell: (task) => h("span", {class: "cut"}, task.queue)},
  state: {title: "State", cell: (task) => chip(task.state)},
  attempts:
    {title: "Attempt", class: "right", cell: (task) => `${task.attempts}/${task.maxAttempts}`},
  detail: {title: "About", class: "fill", cell: detail},
  created: {title: "Enqueued", class: "right", cell: (task) => time(task.createdAt)},
  ended: {title: "Ended", class: "right", cell: (task) => time(task.endedAt)},
};

/** What says most of a task in its state. */
function detail(task) {
  const parts = [];
  if (task.error) parts.push(h("span", {class: "error-text", title: task.error}, task.error));
  else if (task.state === "scheduled" && task.eligibleAt)
    parts.push(h("span", {}, "due ", time(task.eligibleAt)));
  else if (task.workerId)
    parts.push(h("span", {}, `by ${task.workerId}`));
  if (task.key) parts.push(h("span", {class: "tag", title: "key"}, task.key));
  if (task.group) parts.push(h("span", {class: "tag", title: "group"}, task.group));
  if (task.priority) parts.push(h("span", {class: "tag"}, `priority ${task.priority}`));
  return h("div", {class: "about"}, parts);
}

export function taskTable(tasks, {without = [], chosen, choose} = {}) {
  const shown =
    Object.entries(columns).filter(([name]) => !without.includes(name)).map(([, one]) => one);
  if (chosen)
    shown.unshift({
      title: "",
      label: "Choose",
      class: "check",
      cell: (task) => h("input", {
        type: "checkbox",
        "aria-label": `Choose ${task.id}`,
        checked: chosen.has(task.id),
        onchange: () => choose(task.id)
      })
    });
  return table({label: "Tasks", columns: shown, rows: tasks, keyOf: (task) => task.id});
}
