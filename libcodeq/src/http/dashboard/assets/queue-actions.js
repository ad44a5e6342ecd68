// Changes of one queue.
import {change, part} from "./api.js";
import {exact, plural} from "./format.js";
import {act, confirmChange} from "./parts.js";

export async function setPaused(queue, paused) {
  await act(() => change("POST", `admin/queues/${part(queue)}/${paused ? "pause" : "resume"}`),
    paused ? `${queue} is paused; running tasks go on` : `${queue} is resumed`);
}

export async function purge(queue, total) {
  const answer = await confirmChange({
    title: `Remove all tasks of ${queue}?`,
    text: [
      `${plural(total, "task")} waiting, running or dead, and the ended ones that are kept, are`,
      " removed for good. Leases of running tasks are revoked.",
    ],
    yes: `Remove ${plural(total, "task")}`,
    kind: "danger",
    word: queue,
  });
  if (answer)
    await act(() => change("POST", `admin/queues/${part(queue)}/purge`),
      ({changed}) => `Removed ${exact(changed)} tasks of ${queue}`);
}

const retention = [
  ["3600", "1 hour"], ["86400", "1 day"], ["604800", "7 days"], ["2592000", "30 days"],
  ["31536000", "1 year"]
];

/** The fields of the form: name, label, how to show and how to read. */
const fields = [
  {
    name: "maxDepth",
    label: "Live tasks at most",
    type: "number",
    min: 0,
    hint: "0 is no limit; over it producers are refused"
  },
  {
    name: "maxLeased",
    label: "Running tasks at most",
    type: "number",
    min: 0,
    hint: "0 is no limit"
  },
  {name: "maxAttempts", label: "Attempts", type: "number", min: 1, max: 1000},
  {name: "leaseMs", label: "Lease in seconds", type: "number", min: 1, max: 43200, scale: 1000},
  {
    name: "runTimeoutMs",
    label: "Run time in seconds, at most",
    type: "number",
    min: 0,
    scale: 1000,
    hint: "0 is no limit"
  },
  {name: "retentionSeconds", label: "Keep ended tasks for", options: retention},
  {
    name: "deadRetentionSeconds",
    label: "Keep dead tasks for",
    options: [["0", "for ever"], ...retention]
  },
  {
    name: "quarantineAfter",
    label: "Quarantine a task after lost attempts in a row",
    type: "number",
    min: 0,
    max: 255,
    hint: "0 is off; a quarantined task is dead until it is redriven"
  },
  {name: "keepPayload", label: "Keep the payload of completed tasks", type: "checkbox"},
];

function shown(field, value) {
  if (field.type === "checkbox") return Boolean(value);
  if (field.scale) return String((value ?? 0) / field.scale);
  return String(value ?? "");
}

/** Asks for new settings, and sends those that differ. */
export async function editSettings(queue, settings) {
  const known = fields.filter((field) => field.name in settings);
  const before =
    Object.fromEntries(known.map((field) => [field.name, shown(field, settings[field.name])]));
  const answer = await confirmChange({
    title: `Settings of ${queue}`,
    text: "Defaults of its tasks and limits. They hold from now on.",
    fields: known.map(({scale, ...field}) => ({...field, value: before[field.name]})),
    yes: "Save",
  });
  if (!answer) return false;
  const wanted = {};
  for (const field of known) {
    const value = answer[field.name];
    if (value === before[field.name] || value === "") continue;
    wanted[field.name] = field.type === "checkbox" ? value : Number(value) * (field.scale ?? 1);
  }
  if (Object.keys(wanted).length === 0) return false;
  return Boolean(await act(() => change("PUT", `admin/queues/${part(queue)}/settings`, wanted),
    `Settings of ${queue} are saved`));
}
