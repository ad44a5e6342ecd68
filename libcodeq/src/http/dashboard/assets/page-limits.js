// Limits of tasks: how many run at once and how fast they start, which keys hold tasks back, and
// how to close and open a key.
import {change, get, may, part} from "./api.js";
import {h} from "./dom.js";
import {duration, exact, now, plural, time} from "./format.js";
import {
  act, button, card, chip, confirmChange, empty, exports, facts, failure, icon, loading,
  resource, table,
} from "./parts.js";

const base = (name) => `admin/limits/${part(name)}`;
const pageKeys = 100;

const faint = (text) => h("span", {class: "faint"}, text);

const concurrencyOf = (limit) => (limit.concurrency === undefined ? faint("–") :
                                                                   exact(limit.concurrency));

function rateOf({rate}) {
  if (!rate) return faint("–");
  const burst = rate.burst > 1 ? `, up to ${exact(rate.burst)} at once` : "";
  return `${exact(rate.count)} in ${duration(rate.perMs)}${burst}`;
}

/** The body of a definition that was typed; empty fields limit nothing. */
export function definitionOf({concurrency, count, per, burst}) {
  const body = {};
  if (concurrency !== "") body.concurrency = Number(concurrency);
  if (count !== "") {
    body.rate = {count: Number(count), per};
    if (burst !== "") body.rate.burst = Number(burst);
  }
  return body;
}

async function define(limit, done) {
  const rate = limit?.rate;
  const answer = await confirmChange({
    title: limit ? `Change the limit ${limit.name}` : "Define a limit",
    text: "It takes effect at once. What runs goes on.",
    fields: [
      !limit && {name: "name", label: "Name", required: true},
      {
        name: "concurrency",
        label: "Tasks of a key that run at once",
        type: "number",
        min: 0,
        value: limit?.concurrency ?? "",
        hint: "Empty: no such limit."
      },
      {
        name: "count",
        label: "Starts of a key in each period",
        type: "number",
        min: 1,
        value: rate?.count ?? "",
        hint: "Empty: no such limit."
      },
      {name: "per", label: "Period", value: rate ? `${rate.perMs}ms` : "1s"},
      {
        name: "burst",
        label: "Starts at once after a pause",
        type: "number",
        min: 1,
        value: rate?.burst ?? ""
      },
    ].filter(Boolean),
    yes: limit ? "Change it" : "Define it"
  });
  if (!answer) return;
  const name = limit?.name ?? answer.name;
  if (await act(() => change("PUT", base(name), definitionOf(answer)), `${name} is set`)) done();
}

async function remove(limit) {
  const yes = await confirmChange({
    title: `Delete the limit ${limit.name}?`,
    text: `It holds back ${plural(limit.held, "task")}, which go on without it. New tasks that ` +
      "name it are refused.",
    yes: "Delete it",
    kind: "danger",
    word: limit.name
  });
  if (yes && await act(() => change("DELETE", base(limit.name)), `${limit.name} is deleted`))
    location.hash = "#/limits";
}

const keyPath = (name, key) => (key ? `${base(name)}/keys/${part(key)}` : base(name));
const keyText = (key) => key || "the tasks without a key";

async function closeKey(name, key, done) {
  const answer = await confirmChange({
    title: `Close ${keyText(key)}?`,
    text: "Nothing of it starts for so long. What runs goes on.",
    fields: [{name: "for", label: "For", value: "10m", hint: "Such as 90s, 10m or 1h."}],
    yes: "Close it"
  });
  if (answer && await act(() => change("POST", `${keyPath(name, key)}/close`, {for: answer.for}),
        `${keyText(key)} is closed`))
    done();
}

async function openKey(name, key, done) {
  if (await act(() => change("POST", `${keyPath(name, key)}/open`), `${keyText(key)} is open`))
    done();
}

const isClosed = (row) => Boolean(row.closedUntil) && Date.parse(row.closedUntil) > now();

function startOf(row) {
  if (!row.nextStart) return faint(row.leased > 0 ? "after a lease" : "if raised");
  // One that may start at once has the time of the answer, and clocks differ by up to a second.
  return Date.parse(row.nextStart) <= now() + 1000 ? "now" : time(row.nextStart);
}

export function limitsPage({changed}) {
  const list = resource((signal) => get("admin/limits", {}, signal), changed, 5000);
  const content = () => {
    if (list.error) return failure(list.error);
    if (!list.data) return loading();
    if (list.data.limits.length === 0)
      return empty("No limit yet", "Tasks that name a limit run at most so many at once:",
        "codeqctl limit set stripe --concurrency 10 --rate 100/1s --burst 20");
    return table({
      label: "Limits",
      rows: list.data.limits,
      keyOf: (row) => row.name,
      columns: [
        {
          title: "Limit",
          class: "fill",
          cell: (row) => h("a", {href: `#/limits/${row.name}`}, row.name)
        },
        {title: "At once", class: "right", cell: concurrencyOf},
        {title: "Starts", class: "right", cell: rateOf},
        {title: "Running", class: "right", cell: (row) => exact(row.leased)},
        {title: "Held back", class: "right", cell: (row) => exact(row.held)},
        {title: "Keys in use", class: "right", cell: (row) => exact(row.keys)},
      ]
    });
  };
  return {
    title: "Limits",
    close: () => list.stop(),
    render:
      () => [h("div", {class: "page-head"}, h("h1", {}, "Limits"),
               faint(list.data ? plural(list.data.limits.length, "limit") : ""),
               h("div", {class: "grow"}), exports("limits", () => list.data?.limits ?? []),
               may("PUT admin/limits/:") &&
                 button("Define a limit", {onclick: () => define(null, list.load)})),
        card(null, content(), {class: "flush"}),
  ],
  };
}

export function limitPage({subject: name, changed}) {
  let keys = [];
  let more = false;
  const limit = resource((signal) => get(base(name), {}, signal), changed, 5000);
  const page = resource(async (signal) => {
    const found =
      await get(`${base(name)}/keys`, {limit: Math.min(1000, Math.max(pageKeys, keys.length))},
        signal);
    keys = found.keys;
    more = found.more;
    return true;
  }, changed, 5000);
  const next = async () => {
    const found = await get(`${base(name)}/keys`, {after: keys.at(-1).key, limit: pageKeys});
    keys.push(...found.keys);
    more = found.more;
    changed();
  };
  const again = () => [limit, page].forEach((one) => one.load());

  const actions = (row) => h("div", {class: "row-actions"},
    isClosed(row) ?
      may("POST admin/limits/:/keys/:/open") && button("Open",
        {icon: "play", kind: "quiet small", onclick: () => openKey(name, row.key, again)}) :
      may("POST admin/limits/:/keys/:/close") && button("Close",
        {icon: "pause", kind: "quiet small", onclick: () => closeKey(name, row.key, again)}));

  const list = () => {
    if (page.error) return failure(page.error);
    if (!page.data) return loading();
    if (keys.length === 0) return empty("No key is in use");
    return table({
      label: "Keys in use",
      rows: keys,
      keyOf: (row) => row.key ?? row.keyBase64,
      columns: [
        {
          title: "Key",
          class: "fill",
          cell: (row) => [row.key === "" ? faint("none") : h("code", {}, row.key ?? row.keyBase64),
            isClosed(row) && chip("closed")]
        },
        {title: "Running", class: "right", cell: (row) => exact(row.leased)},
        {title: "Held back", class: "right", cell: (row) => exact(row.held)},
        {title: "Next start", class: "right", cell: startOf},
        {
          title: "Closed until",
          class: "right",
          cell: (row) => (isClosed(row) ? time(row.closedUntil) : faint("–"))
        },
        // A key that is no text cannot be in a path.
        {title: "", class: "right", cell: (row) => row.key !== undefined && actions(row)},
      ]
    });
  };

  const head = (one) => h("div", {class: "page-head"},
    h("a", {class: "crumb", href: "#/limits"}, "Limits"), h("h1", {class: "name"}, name),
    h("div", {class: "grow"}),
    h("div", {class: "actions"},
      may("PUT admin/limits/:") && button("Change", {onclick: () => define(one, again)}),
      may("DELETE admin/limits/:") &&
        button("Delete", {icon: "trash", kind: "danger-quiet", onclick: () => remove(one)})));

  return {
    title: name,
    close: () => [limit, page].forEach((one) => one.stop()),
    render: () => {
      const one = limit.data;
      if (!one)
        return limit.error ?
          (limit.error.status === 404 ? empty(`There is no limit ${name}`) :
                                        failure(limit.error)) :
          loading();
      return [
        head(one),
        card("Each key by itself", facts([
          ["Tasks that run at once", concurrencyOf(one)],
          ["Starts", rateOf(one)],
          ["Running", exact(one.leased)],
          ["Held back", exact(one.held)],
          !one.uniform && ["Shards", "differ: set it again"],
        ])),
        card("Keys in use", list(), {class: "flush"}),
        more && h("button", {type: "button", class: "button more", onclick: next}, icon("down"),
          "Show 100 more"),
      ];
    },
  };
}
