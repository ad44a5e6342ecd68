// What operators changed in the last 30 days.
import {get} from "./api.js";
import {h} from "./dom.js";
import {count, exact, time} from "./format.js";
import {card, empty, exports, failure, icon, loading, resource, table} from "./parts.js";

const pageSize = 100;

export function auditPage({query, changed}) {
  let wanted = query;
  let commands = [];
  let after = null;
  let list = null;
  const load = () => {
    list?.stop();
    commands = [];
    list = resource(async (signal) => {
      const found = await get("admin/audit", {limit: pageSize, since: wanted.since}, signal);
      if (commands.length <= pageSize) ({commands, after = null} = found);
      return true;
    }, changed, 5000);
  };
  const more = async () => {
    const found = await get("admin/audit", {limit: pageSize, since: wanted.since, after});
    commands.push(...found.commands);
    after = found.after ?? null;
    changed();
  };
  const set = (text) => {
    wanted = {...wanted, text};
    history.replaceState(null, "", `#/audit${text ? `?text=${encodeURIComponent(text)}` : ""}`);
    changed();
  };
  const content = (rows) => {
    if (list.error) return failure(list.error);
    if (!list.data) return loading();
    if (rows.length === 0)
      return empty("Nothing here", "Each change that an operator makes is noted for 30 days.");
    return table({
      label: "Changes by operators",
      rows,
      columns: [
        {title: "When", cell: (row) => time(row.at)},
        {title: "Action", cell: (row) => h("b", {}, row.action)},
        {title: "By", cell: (row) => h("span", {title: row.remote}, row.subject || row.remote)},
        {
          title: "What",
          class: "fill",
          cell: (row) => h("div", {class: "about"},
            row.queue && h("a", {class: "tag", href: `#/queues/${row.queue}`}, row.queue),
            row.taskId && h("a", {class: "mono", href: `#/tasks/${row.taskId}`}, row.taskId),
            row.detail && h("span", {class: "cut", title: row.detail}, row.detail))
        },
        {
          title: "Changed",
          class: "right",
          cell: (row) => (row.changed === undefined ? "" : count(row.changed))
        },
      ]
    });
  };
  load();
  return {
    title: "Audit",
    close: () => list.stop(),
    search: (next) => {
      wanted = next;
    },
    render: () => {
      const text = (wanted.text ?? "").toLowerCase();
      const rows =
        commands.filter((row) => !text || JSON.stringify(row).toLowerCase().includes(text));
      return [
        h("div", {class: "page-head"}, h("h1", {}, "Audit"),
          h("span", {class: "faint"}, rows.length ? `${exact(rows.length)} changes` : ""),
          h("div", {class: "grow"}), exports("audit", () => rows)),
        h("div", {class: "filters"}, h("input", {
          type: "search",
          placeholder: "Filter what is shown",
          "aria-label": "Filter what is shown",
          value: wanted.text ?? "",
          oninput: (event) => set(event.target.value)
        })),
        card(null, content(rows), {class: "flush"}),
        after &&
          h("button", {type: "button", class: "button more", onclick: more}, icon("down"),
            `Show ${pageSize} more`),
      ];
    },
  };
}
