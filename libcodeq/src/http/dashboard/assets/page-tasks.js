// Tasks by state, queue, key, group, worker, header, error text and time.
import {get, may, me} from "./api.js";
import {h} from "./dom.js";
import {exact, plural} from "./format.js";
import {live} from "./live.js";
import {startOperation} from "./operations.js";
import {
  act, button, card, empty, exports, failure, icon, loading, resource, stateNames,
} from "./parts.js";
import {changeTasks, changesFor} from "./task-actions.js";
import {taskTable} from "./task-table.js";

const pageSize = 50;
/** As many tasks as a page may have are counted before all that fit are changed. */
const countedMost = 1000;
const ended = new Set(["completed", "dead", "cancelled"]);
const canPromote = new Set(["", "scheduled", "gated"]);
const filterNames =
  ["queue", "state", "key", "group", "worker", "header", "error", "since", "until", "order"];

const toLocal = (text) => {
  if (!text) return "";
  const when = new Date(text);
  return new Date(when - when.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};

/** The parameters of the request: a header is written NAME=VALUE. */
function parameters(query) {
  const wanted = {limit: pageSize};
  // The list of a token for some queues is of one of them.
  if (me().queues?.length > 0) wanted.queue = me().queues[0];
  for (const name of filterNames)
    if (query[name]) wanted[name] = query[name];
  if (wanted.header) {
    const [name, ...value] = wanted.header.split("=");
    wanted[`header.${name}`] = value.join("=");
    delete wanted.header;
  }
  return wanted;
}

export function tasksPage({query, changed}) {
  let wanted = query;
  let tasks = [];
  let after = null;
  let isPartial = false;
  let isMoreOpen =
    ["group", "worker", "header", "error", "since", "until"].some((name) => query[name]);
  let list = null;
  const chosen = new Set();

  const load = () => {
    list?.stop();
    tasks = [];
    chosen.clear();
    list = resource(async (signal) => {
      const found = await get("tasks", parameters(wanted), signal);
      // Pages that were added stay below the first one, which is asked for again.
      const first = new Set(found.tasks.map((task) => task.id));
      const rest = tasks.slice(pageSize).filter((task) => !first.has(task.id));
      if (rest.length === 0) ({after = null} = found);
      isPartial = Boolean(found.partial);
      tasks = [...found.tasks, ...rest];
      return true;
    }, changed, 5000);
  };

  const more = async () => {
    const found = await get("tasks", {...parameters(wanted), after});
    after = found.after ?? null;
    isPartial = Boolean(found.partial);
    const known = new Set(tasks.map((task) => task.id));
    tasks.push(...found.tasks.filter((task) => !known.has(task.id)));
    changed();
  };

  const change = (name, value) => {
    const next = {...wanted, [name]: value};
    const text = new URLSearchParams(Object.entries(next).filter(([, one]) => one));
    history.replaceState(null, "", `#/tasks${text.size ? `?${text}` : ""}`);
    wanted = Object.fromEntries(text);
    load();
    changed();
  };

  const field = (name, label, properties = {}) =>
    h("label", {class: "filter"}, h("span", {}, label), h("input", {
      type: "text",
      value: wanted[name] ?? "",
      autocomplete: "off",
      spellcheck: "false",
      ...properties,
      onchange: (event) => change(name, event.target.value.trim())
    }));

  const timeField = (name, label) =>
    h("label", {class: "filter"}, h("span", {}, label), h("input", {
      type: "datetime-local",
      value: toLocal(wanted[name]),
      onchange: (event) =>
        change(name, event.target.value ? new Date(event.target.value).toISOString() : "")
    }));

  const filters = () => h("div", {class: "filter-box"},
    h("div", {class: "filters"},
      h("div", {class: "tabs", role: "group", "aria-label": "State"},
        [["", "All"], ...Object.entries(stateNames)].map(([name, label]) => h("button", {
          type: "button",
          "aria-pressed": String((wanted.state ?? "") === name),
          onclick: () => change("state", name)
        },
                                                           label)))),
    h("div", {class: "filters"}, field("queue", "Queue", {list: "queue-names", placeholder: "any"}),
      h("datalist", {id: "queue-names"},
        (me().queues ?? [...live.queues.keys()]).slice(0, 200).map((name) => h("option", {
          value: name
        }))),
      field("key", "Key", {placeholder: "any"}),
      h("label", {class: "filter"}, h("span", {}, "Order"),
        h("select", {onchange: (event) => change("order", event.target.value)},
          [["", "newest first"], ["oldest", "oldest first"]].map(
            ([name, label]) =>
              h("option", {value: name, selected: (wanted.order ?? "") === name}, label)))),
      h("button", {
        type: "button",
        class: "button quiet",
        "aria-expanded": String(isMoreOpen),
        onclick: () => {
          isMoreOpen = !isMoreOpen;
          changed();
        }
      },
        isMoreOpen ? "Fewer filters" : "More filters"),
      Object.keys(wanted).length > 0 && h("a", {class: "button quiet", href: "#/tasks"}, "Clear")),
    isMoreOpen &&
      h("div", {class: "filters"}, field("group", "Group"), field("worker", "Worker"),
        field("header", "Header", {placeholder: "name=value"}), field("error", "Error contains"),
        timeField("since", "Enqueued from"), timeField("until", "until")));

  /** Counts the tasks that fit, as far as a page goes, asks, and starts an operation on them. */
  const changeAll = async (kind) => {
    const {order, header, ...filter} = wanted;
    if (kind === "promote") filter.state ||= "scheduled";
    const asked = {...parameters({...wanted, ...filter}), limit: countedMost};
    const found = await act(() => get("tasks", asked));
    if (!found) return;
    const live = found.tasks.filter((task) => !ended.has(task.state));
    if (header) {
      const [name, ...value] = header.split("=");
      filter.headers = {[name]: value.join("=")};
    }
    const where = Object.entries(filter)
                    .filter(([name, value]) => value && name !== "headers")
                    .map(([name, value]) => `${name} ${value}`)
                    .join(", ");
    await startOperation(kind, filter, {
      amount: live.length,
      isMore: Boolean(found.after),
      where: where ? `with ${where}` : "of this tenant"
    });
  };

  const all = () => may("POST admin/operations") && tasks.length > 0 &&
    h("div", {class: "actions"},
      canPromote.has(wanted.state ?? "") &&
        button("Run all now", {icon: "up", kind: "small", onclick: () => changeAll("promote")}),
      !ended.has(wanted.state) &&
        button("Cancel all",
          {icon: "close", kind: "danger-quiet small", onclick: () => changeAll("cancel")}));

  const selection = () => {
    const some = tasks.filter((task) => chosen.has(task.id));
    const able = changesFor(some);
    return h("div", {class: "selection", role: "region", "aria-label": "Chosen tasks"},
      h("b", {}, `${plural(some.length, "task")} chosen`), h("div", {class: "grow"}),
      able.map((one) => button(`${one.label} ${exact(one.tasks.length)}`, {
        icon: one.icon,
        kind: one.kind,
        onclick: async () => {
          if (await changeTasks(one, one.tasks)) {
            chosen.clear();
            list.load();
          }
        }
      })),
      button("Choose none", {
        kind: "quiet",
        onclick: () => {
          chosen.clear();
          changed();
        }
      }));
  };

  const rows = () => {
    if (list.error) return failure(list.error);
    if (list.isLoading && tasks.length === 0) return loading();
    if (tasks.length === 0) {
      if (isPartial)
        return empty("None among those that were looked at", "Many tasks do not fit; go on below.");
      return Object.keys(wanted).length > 0 ?
        empty("No task fits",
          "No task that is kept has all of this. Ended tasks leave after their retention.") :
        empty("No task yet", "Add one:", "codeqctl enqueue hello Ada");
    }
    return taskTable(tasks, {
      chosen: may("POST tasks/:/cancel") ? chosen : null,
      choose: (id) => {
        if (!chosen.delete(id)) chosen.add(id);
        changed();
      }
    });
  };

  load();
  return {
    title: "Tasks",
    close: () => list.stop(),
    search: (next) => {
      wanted = next;
      load();
    },
    render: () => [h("div", {class: "page-head"}, h("h1", {}, "Tasks"),
                     h("span", {class: "faint"},
                       tasks.length ? `${exact(tasks.length)}${after ? " and more" : ""}` : ""),
                     h("div", {class: "grow"}), all(), exports("tasks", () => tasks)),
      filters(),
      chosen.size > 0 && selection(),
      card(null, rows(), {class: "flush"}),
      after &&
        h("button", {type: "button", class: "button more", onclick: more}, icon("down"),
          isPartial ? "Look further" : `Show ${pageSize} more`),
  ],
  };
}
