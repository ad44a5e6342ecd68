// Parts that pages are made of.
import {h} from "./dom.js";
import {exact} from "./format.js";

const icons = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  queues: "M4 6h16M4 12h16M4 18h10",
  tasks: "M5 5h14v14H5zM9 12l2 2 4-5",
  dead: "M12 4l9 16H3zM12 10v4M12 17v.01",
  operations: "M4 7h10M4 12h6M4 17h8M15 12l2 2 4-5M14 18h6",
  workers: "M4 6h16v10H4zM9 20h6M12 16v4",
  schedules: "M12 4a8 8 0 1 1 0 16a8 8 0 0 1 0-16M12 8v4l3 2",
  store: "M5 7c0-4 14-4 14 0s-14 4-14 0v10c0 4 14 4 14 0V7M5 12c0 4 14 4 14 0",
  audit: "M6 4h9l4 4v12H6zM9 12h6M9 16h6",
  limits: "M4 18a8 8 0 1 1 16 0M12 18l4-6",
  cluster: "M12 4v6M12 10l-6 6M12 10l6 6M4 16h4v4H4zM16 16h4v4h-4zM10 4h4",
  search: "M10.5 4a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13M15.5 15.5L20 20",
  sun: "M12 8a4 4 0 1 1 0 8a4 4 0 0 1 0-8M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4" +
    "M5.6 18.4L7 17M17 7l1.4-1.4",
  moon: "M19 14a8 8 0 0 1-9-9a8 8 0 1 0 9 9",
  pause: "M9 6v12M15 6v12",
  play: "M8 5l11 7-11 7z",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h10v11H9zM5 15V4h10",
  check: "M5 12l5 5 9-10",
  alert: "M12 4a8 8 0 1 1 0 16a8 8 0 0 1 0-16M12 8v5M12 16v.01",
  back: "M14 6l-6 6 6 6",
  next: "M10 6l6 6-6 6",
  help:
    "M12 4a8 8 0 1 1 0 16a8 8 0 0 1 0-16M9.5 10a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 16.5v.01",
  out: "M14 5H6v14h8M11 12h9M17 9l3 3-3 3",
  menu: "M4 7h16M4 12h16M4 17h16",
  redo: "M19 8v4h-4M18.5 12a7 7 0 1 0-1.5 4.5",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  up: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  down: "M12 5v11M7 12l5 5 5-5M5 20h14",
};

export function icon(name) {
  return h("svg", {class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true"},
    h("path", {d: icons[name]}));
}

export const stateNames = {
  ready: "ready",
  scheduled: "scheduled",
  gated: "gated",
  leased: "running",
  completed: "completed",
  dead: "dead",
  cancelled: "cancelled",
};

export const chip = (state) => h("span", {class: `chip is-${state}`}, stateNames[state] ?? state);

export function button(label, {icon: name, kind = "", ...properties} = {}) {
  return h("button", {type: "button", class: `button ${kind}`, ...properties}, name && icon(name),
    h("span", {}, label));
}

export function card(title, content, {tools, note, ...properties} = {}) {
  return h("section", {...properties, class: `card ${properties.class ?? ""}`},
    title &&
      h("header", {class: "card-head"}, h("h2", {}, title),
        note && h("span", {class: "faint"}, note), h("div", {class: "grow"}), tools),
    content);
}

export function tile(label, value, {note, state, trend, href} = {}) {
  const content = [
    h("span", {class: "tile-label"}, state && h("i", {class: `dot is-${state}`}), label),
    h("span", {class: "tile-value"}, value),
    h("span", {class: "tile-note"}, note ?? " "),
    trend,
  ];
  return href ? h("a", {class: "tile", href}, content) : h("div", {class: "tile"}, content);
}

/** What to do when there is nothing to show. */
export function empty(title, text, commands) {
  return h("div", {class: "empty"}, h("p", {class: "empty-title"}, title), text && h("p", {}, text),
    commands && h("pre", {class: "code"}, commands));
}

export function failure(error) {
  return h("div", {class: "notice is-bad", role: "alert"}, icon("alert"),
    h("div", {}, h("strong", {}, "This cannot be shown. "), error.message));
}

export const loading = () => h("div", {class: "loading", role: "status"}, "Loading");

/**
 * A table. A column has `title`, `cell(row)`, and maybe `class` and `sort(row)`; rows with `key`
 * keep their elements.
 */
export function table({label, columns, rows, keyOf, rowClass, sort, onsort}) {
  const head = columns.map((column, at) => {
    const isSorted = sort?.at === at;
    const order = isSorted ? (sort.down ? "descending" : "ascending") : null;
    const title = column.sort && onsort ?
      h("button", {type: "button", class: "sort", onclick: () => onsort(at)}, column.title,
        h("span", {class: "sort-mark", "aria-hidden": "true"},
          isSorted ? (sort.down ? "↓" : "↑") : "")) :
      column.title;
    return h("th", {scope: "col", class: column.class, "aria-sort": order}, title);
  });
  const body =
    rows.map((row) => h("tr",
               {"data-key": keyOf ? keyOf(row) : null, class: rowClass ? rowClass(row) : null},
               columns.map((column) => h("td",
                             {class: column.class, "data-label": column.label ?? column.title},
                             column.cell(row)))));
  return h("div", {class: "table-wrap"},
    h("table", {"aria-label": label}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

export function sorted(rows, columns, sort) {
  const by = columns[sort.at]?.sort;
  if (!by) return rows;
  const order = sort.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    return (x < y ? -1 : x > y ? 1 : 0) * order;
  });
}

/**
 * One bar whose parts have the widths of their numbers. Beside others its length tells its size
 * compared with the largest of them, on a logarithmic scale.
 */
export function bar(parts, {label, most} = {}) {
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  const length = most ? Math.max(0.06, Math.log1p(total) / Math.log1p(most)) : 1;
  return h("div", {
    class: "bar",
    role: "img",
    style: {width: `${(length * 100).toFixed(1)}%`},
    "aria-label": label ?? parts.map((part) => `${exact(part.value)} ${part.name}`).join(", ")
  },
    total > 0 && parts.filter((part) => part.value > 0).map((part) => h("i", {
      class: `is-${part.state}`,
      title: `${exact(part.value)} ${part.name}`,
      style: {"flex-grow": String(Math.max(part.value / total, 0.012))}
    })));
}

export function facts(pairs, kind = "") {
  return h("dl", {class: `facts ${kind}`},
    pairs.filter((pair) => pair && pair[1] !== undefined && pair[1] !== null).map(([name,
      value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

export function tabs(names, chosen, choose, label) {
  return h("div", {class: "tabs", role: "group", "aria-label": label},
    names.map(
      ([name, text]) => h("button",
        {type: "button", "aria-pressed": String(name === chosen), onclick: () => choose(name)},
        text)));
}

/** Tells in a corner what was done or refused. */
export function say(text, isBad = false) {
  let region = document.getElementById("toasts");
  if (!region) {
    region = h("div", {id: "toasts", role: "status", "aria-live": "polite"});
    document.body.append(region);
  }
  const toast = h("div", {class: `toast ${isBad ? "is-bad" : ""}`}, icon(isBad ? "alert" : "check"),
    h("span", {}, text));
  region.append(toast);
  setTimeout(() => toast.remove(), isBad ? 9000 : 5000);
}

/** Runs a change and tells its outcome; `done` gets the answer. */
export async function act(run, told) {
  try {
    const answer = await run();
    const text = typeof told === "function" ? told(answer) : told;
    if (text) say(text);
    return answer ?? true;
  } catch (failure) {
    say(failure.message, true);
    return null;
  }
}

/**
 * Asks before something is changed. Resolves to the values of the fields, or to null. With `word`
 * the button works only once the word is typed.
 */
export function confirmChange({title, text, fields = [], yes, kind = "primary", word}) {
  return new Promise((resolve) => {
    const inputs = fields.map((field) => makeInput(field));
    const typed = word && h("input", {
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": `Type ${word} to confirm`
    });
    const accept = h("button", {type: "submit", class: `button ${kind}`}, yes);
    if (typed) {
      accept.disabled = true;
      typed.oninput = () => {
        accept.disabled = typed.value !== word;
      };
    }
    const dialog = h("dialog", {class: "dialog", "aria-labelledby": "dialog-title"},
      h("form", {method: "dialog"}, h("h2", {id: "dialog-title"}, title),
        text && h("div", {class: "dialog-text"}, text),
        fields.map((field, at) => h("label", {class: "field"}, h("span", {}, field.label),
                     inputs[at], field.hint && h("small", {}, field.hint))),
        typed &&
          h("label", {class: "field"}, h("span", {}, "Type ", h("code", {}, word), " to confirm"),
            typed),
        h("div", {class: "dialog-buttons"},
          h("button", {type: "button", class: "button", onclick: () => dialog.close()}, "Go back"),
          accept)));
    let answer = null;
    dialog.querySelector("form").onsubmit = (event) => {
      event.preventDefault();
      answer = Object.fromEntries(fields.map((field, at) => [field.name, valueOf(inputs[at])]));
      dialog.close();
    };
    dialog.onclose = () => {
      dialog.remove();
      resolve(answer);
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}

const valueOf = (input) => (input.type === "checkbox" ? input.checked : input.value.trim());

function makeInput({name, type = "text", value = "", options, rows, ...rest}) {
  if (options)
    return h("select", {name, ...rest},
      options.map(([key, label]) => h("option", {value: key, selected: key === value}, label)));
  if (rows) return h("textarea", {name, rows, spellcheck: "false", ...rest}, value);
  const input = h("input", {name, type, ...rest});
  if (type === "checkbox") input.checked = Boolean(value);
  else
    input.value = value;
  return input;
}

const jsonPart =
  /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
const colouredMost = 200000;

function coloured(text) {
  if (text.length > colouredMost) return [text];
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(jsonPart)) {
    parts.push(text.slice(at, match.index));
    const kind = match[1] ? (match[2] ? "key" : "text") : match[3] ? "word" : "digits";
    const shown = match[1] ?? match[0];
    parts.push(h("span", {class: `json-${kind}`}, shown), match[2] ?? "");
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
}

/** Shows a text, as JSON when it is that. */
export function viewer(text, label) {
  let shown = text;
  let isJson = false;
  try {
    const value = JSON.parse(text);
    // Numbers that JavaScript cannot hold are shown as they came.
    if (typeof value === "object" && !/\d{16}/.test(text)) shown = JSON.stringify(value, null, 2);
    isJson = true;
  } catch {
    // Any text may be a payload.
  }
  return h("div", {class: "viewer", "data-same": `${label} ${text.length} ${hash(text)}`},
    h("div", {class: "viewer-tools"},
      h("span", {class: "faint"},
        `${isJson ? "JSON" : "text"}, ${exact(new Blob([text]).size)} bytes`),
      button("Copy", {icon: "copy", kind: "quiet small", onclick: () => copy(text)})),
    h("pre", {class: "code", tabindex: "0", "aria-label": label},
      isJson ? coloured(shown) : shown));
}

function hash(text) {
  let sum = 0;
  for (let at = 0; at < text.length; ++at) sum = (sum * 31 + text.charCodeAt(at)) | 0;
  return sum;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    say("The browser does not let this page copy", true);
  }
}

const quoteCsv = (value) => {
  const text = value === null || value === undefined ? "" :
    typeof value === "object"                        ? JSON.stringify(value) :
                                                       String(value);
  // A spreadsheet would run a cell that begins like a formula.
  const safe = /^[=+\-@\t\r]/.test(text) && typeof value !== "number" ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll("\"", "\"\"")}"` : safe;
};

function save(name, type, text) {
  const link = h("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function toCsv(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  return `${lines.map((line) => line.map(quoteCsv).join(",")).join("\r\n")}\r\n`;
}

/** Saves what a list shows. */
export function exports(name, rowsOf) {
  return h("div", {class: "exports"}, button("CSV", {
    icon: "down",
    kind: "quiet small",
    title: "Save this list as CSV",
    onclick: () => save(`${name}.csv`, "text/csv", toCsv(rowsOf()))
  }),
    button("JSON", {
      icon: "down",
      kind: "quiet small",
      title: "Save this list as JSON",
      onclick: () => save(`${name}.json`, "application/json", JSON.stringify(rowsOf(), null, 2))
    }));
}

/** Data that are asked for again and again while their page is open. */
export function resource(ask, changed, every = 0) {
  const control = new AbortController();
  const self = {data: null, error: null, isLoading: true};
  let timer = 0;
  let number = 0;
  self.load = async () => {
    clearTimeout(timer);
    const mine = ++number;
    try {
      const data = await ask(control.signal);
      if (mine !== number || control.signal.aborted) return;
      Object.assign(self, {data, error: null, isLoading: false});
    } catch (error) {
      if (mine !== number || control.signal.aborted) return;
      Object.assign(self, {error, isLoading: false});
    }
    changed();
    if (every) timer = setTimeout(self.load, document.hidden ? every * 4 : every);
  };
  self.stop = () => {
    control.abort();
    clearTimeout(timer);
  };
  self.load();
  return self;
}
