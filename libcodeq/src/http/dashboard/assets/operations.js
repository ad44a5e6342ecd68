// Operations on all tasks that match a filter: how they are started and changed.
import {change, me, part} from "./api.js";
import {exact, plural} from "./format.js";
import {act, confirmChange} from "./parts.js";

const kinds = {
  redrive: {
    verb: "Redrive",
    done: "redriven",
    task: "dead task",
    text: "They start again with all their attempts."
  },
  purge: {
    verb: "Purge",
    done: "purged",
    task: "dead task",
    text: "Payloads, errors and history are removed for good."
  },
  cancel: {
    verb: "Cancel",
    done: "cancelled",
    task: "live task",
    text: "Running tasks are told to stop. A cancelled task does not run again."
  },
  promote: {
    verb: "Run now",
    done: "may start",
    task: "waiting task",
    text: "Tasks whose producer deferred them for good reason stay as they are."
  },
};

export const kindOf = (name) => kinds[name];

const numberField = (name, label, value, hint, max) =>
  ({name, label, type: "number", min: 0, max, value, hint});

function fieldsOf(kind, amount) {
  const fields = [
    numberField("rate", "Tasks per second, at most", amount > 100 && kind !== "purge" ? "100" : "0",
      "0 is as fast as possible", 1000000),
    numberField("limit", "How many, at most", "0",
      "0 is all; try a few first when you are not sure"),
  ];
  if (kind === "redrive")
    fields.push(numberField("canary", "Canary: percentage that may fail again", "",
      "1 % goes first, and the rest only if not more than this share of it fails again; " +
        "empty: no canary",
      100));
  return fields;
}

/**
 * Asks about the change of so many tasks, of which there may be more, and starts it. `where` says
 * which tasks, `filter` is that of the request. Opens the page of the operation.
 */
export async function startOperation(kind, filter, {amount, isMore = false, where}) {
  const {verb, task, text} = kinds[kind];
  if (amount === 0 && !isMore) {
    await act(async () => true, `No ${task} fits`);
    return;
  }
  const what = !isMore ? plural(amount, task) :
    amount > 0         ? `${exact(amount)} and more ${task}s` :
                         `all ${task}s that match`;
  const isLoss = kind === "purge" || kind === "cancel";
  const answer = await confirmChange({
    title: `${verb} ${what}?`,
    text: `All ${where}${me().inCluster ? ", on the shards of all coordinators" : ""}. ${
      text} Tasks that arrive later are left alone.`,
    fields: fieldsOf(kind, isMore ? Infinity : amount),
    yes: `${verb} ${what}`,
    kind: isLoss ? "danger" : "primary",
    word: isLoss ? kind : undefined,
  });
  if (!answer) return;
  const body = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  if (isLoss && Object.keys(body).length === 0) body.all = true;
  Object.assign(body, {kind, rate: Number(answer.rate), limit: Number(answer.limit)});
  if (answer.canary) body.canary = Number(answer.canary);
  const begun = await act(() => change("POST", "admin/operations", body), "The operation begins");
  if (begun) location.hash = `#/operations/${begun.id}`;
}

/** Pauses, resumes or cancels an operation; true when that was done. */
export async function changeOperation(id, verb) {
  if (verb === "cancel") {
    const isSure = await confirmChange({
      title: "End this operation?",
      text: "It stops for good. What it has changed stays as it is.",
      yes: "End the operation",
      kind: "danger"
    });
    if (!isSure) return false;
  }
  const told = {pause: "Paused", resume: "Resumed", cancel: "Ended"}[verb];
  return Boolean(await act(
    () => change("POST", `admin/operations/${part(id)}/${verb}`), `${told}, and stored`));
}
