// The shell: who calls, which page is open, and how it is drawn again.
import {
  forgetMissing, may, me, missingShards, signIn, signOut, token, whenSignedOut
} from "./api.js";
import {h, morph} from "./dom.js";
import {duration, plural, relative} from "./format.js";
import {live, setTopics, startLive, stopLive, whenChanged} from "./live.js";
import {button, failure, icon} from "./parts.js";
import {auditPage} from "./page-audit.js";
import {clusterPage} from "./page-cluster.js";
import {deadPage} from "./page-dead.js";
import {limitPage, limitsPage} from "./page-limits.js";
import {operationPage, operationsPage} from "./page-operations.js";
import {overviewPage} from "./page-overview.js";
import {queuePage} from "./page-queue.js";
import {queuesPage} from "./page-queues.js";
import {schedulePage, schedulesPage} from "./page-schedules.js";
import {storePage} from "./page-store.js";
import {taskPage} from "./page-task.js";
import {tasksPage} from "./page-tasks.js";
import {workersPage} from "./page-workers.js";

/**
 * In the order of the navigation; `needs` is the route without which a page has nothing to show.
 */
const pages = [
  {name: "overview", title: "Overview", key: "o", needs: "GET admin/live", open: overviewPage},
  {
    name: "queues",
    title: "Queues",
    key: "q",
    needs: "GET admin/live",
    open: queuesPage,
    one: queuePage
  },
  {name: "tasks", title: "Tasks", key: "t", needs: "GET tasks", open: tasksPage, one: taskPage},
  {name: "dead", title: "Dead letters", key: "d", needs: "GET admin/dead", open: deadPage},
  {
    name: "operations",
    title: "Operations",
    key: "p",
    needs: "GET admin/operations",
    open: operationsPage,
    one: operationPage
  },
  {name: "workers", title: "Workers", key: "w", needs: "GET admin/workers", open: workersPage},
  {
    name: "schedules",
    title: "Schedules",
    key: "s",
    needs: "GET schedules",
    open: schedulesPage,
    one: schedulePage
  },
  {name: "cluster", title: "Cluster", key: "c", needs: "GET admin/cluster", open: clusterPage},
  {
    name: "limits",
    title: "Limits",
    key: "l",
    needs: "GET admin/limits",
    open: limitsPage,
    one: limitPage
  },
  {name: "store", title: "Store", key: "b", needs: "GET /metrics", open: storePage},
  {name: "audit", title: "Audit", key: "a", needs: "GET admin/audit", open: auditPage},
];

const root = document.getElementById("app");
let current = null;
let refused = "";
let isMenuOpen = false;
let isDrawn = false;

const mayOpen = (page) => may(page.needs);
const visible = () => pages.filter(mayOpen);

/** The page, what it is about and its filters, as the address says. */
export function readAddress(text = location.hash) {
  const [path, query] = text.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return {
    name: name || visible()[0]?.name || "tasks",
    subject: rest.length ? decodeURIComponent(rest.join("/")) : null,
    query: Object.fromEntries(new URLSearchParams(query ?? ""))
  };
}

/** Draws the page before the next frame. */
function draw() {
  if (isDrawn) return;
  isDrawn = true;
  // A hidden page has no frames, but tests and screen readers may still read it.
  const later = document.hidden ? (action) => setTimeout(action, 200) : requestAnimationFrame;
  later(() => {
    isDrawn = false;
    const wanted = h("div", {id: "app"}, me() ? shell() : login());
    // The first picture replaces the page that was loading.
    if (!root.codeq) root.codeq = wanted.codeq;
    const focused = document.activeElement;
    morph(root, wanted);
    // An element that changes its place loses the focus.
    if (focused !== document.activeElement && focused?.isConnected)
      focused.focus({preventScroll: true});
  });
}

function openPage() {
  if (!me()) return draw();
  const address = readAddress();
  const page = visible().find((one) => one.name === address.name);
  const isSame = current && current.page === page && current.subject === address.subject;
  if (isSame && current.view?.search) {
    current.view.search(address.query);
    return draw();
  }
  current?.view?.close?.();
  isMenuOpen = false;
  forgetMissing();
  current = {page, subject: address.subject, view: null};
  if (page) {
    const open = address.subject !== null && page.one ? page.one : page.open;
    current.view = open({...address, changed: draw});
  }
  setTopics(current.view?.topics ?? []);
  document.title = `${current.view?.title ?? page?.title ?? "Nothing here"} · codeq`;
  scrollTo(0, 0);
  draw();
}

function shell() {
  return [
    h("a", {class: "skip", href: "#main", onclick: toMain}, "Skip to the content"),
    sidebar(),
    h("div", {class: "frame"}, topbar(), h("main", {id: "main", tabindex: "-1"}, content())),
  ];
}

function toMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function lackingNotice() {
  const shards = missingShards();
  return shards > 0 && h("p", {class: "notice is-warn"},
    `${plural(shards, "shard")} did not answer, so what they know is not shown.`);
}

function content() {
  if (!current?.page)
    return failure(new Error("This address leads to no page that your token may see."));
  try {
    return h("div", {class: "page", "data-key": `${current.page.name} ${current.subject ?? ""}`},
      lackingNotice(), current.view.render());
  } catch (error) {
    console.error(error);
    return failure(error);
  }
}

function sidebar() {
  return h("nav", {class: `side ${isMenuOpen ? "is-open" : ""}`, "aria-label": "Pages"},
    h("a", {class: "brand", href: "#/", "aria-label": "codeq, first page"},
      h("img", {src: "ui/icon.svg", alt: "", width: 26, height: 26}), h("b", {}, "codeq")),
    h("ul", {},
      visible().map((page) => h("li", {},
                      h("a", {
                        href: `#/${page.name}`,
                        title: `g ${page.key}`,
                        "aria-current": current?.page === page ? "page" : null
                      },
                        icon(page.name), h("span", {}, page.title), badge(page))))),
    h("div", {class: "side-foot"}, whoami()));
}

/** What a page would say first. */
function badge(page) {
  let value = 0;
  if (page.name === "dead")
    for (const queue of live.queues.values()) value += queue.dead;
  return value > 0 &&
    h("span", {class: "badge", title: `${value} dead tasks`}, value > 999 ? "999+" : String(value));
}

function whoami() {
  const by = me();
  return [
    h("div", {class: "who"}, h("b", {}, by.withoutToken ? "local user" : by.subject),
      h("span", {class: "faint"},
        `${by.withoutToken ? "no token needed" : by.role} · ${by.tenantId}`)),
    !by.withoutToken && button("Sign out", {icon: "out", kind: "quiet small", onclick: leave}),
  ];
}

function topbar() {
  return h("header", {class: "top"}, button("Menu", {
    icon: "menu",
    kind: "quiet only-phone icon-only",
    "aria-label": "Menu",
    "aria-expanded": String(isMenuOpen),
    onclick: () => {
      isMenuOpen = !isMenuOpen;
      draw();
    }
  }),
    may("GET tasks") && search(), h("div", {class: "grow"}), may("GET admin/live") && liveMark(),
    button("Colours", {
      icon: document.documentElement.dataset.theme === "dark" ? "sun" : "moon",
      kind: "quiet icon-only",
      "aria-label": "Light or dark",
      title: "Light or dark",
      onclick: turn
    }),
    button("Keys", {
      icon: "help",
      kind: "quiet icon-only",
      "aria-label": "Keys",
      title: "Keys (?)",
      onclick: showKeys
    }));
}

function liveMark() {
  const wait = Math.max(0, live.retryAt - Date.now());
  const text = {
    live: "live",
    waiting: "connecting",
    off: "connecting",
    lost: `reconnecting${
      wait > 900 ? ` in ${duration(Math.ceil(wait / 1000) * 1000).replace(".0", "")}` : ""}`
  };
  return h(
    "span", {class: `live is-${live.status}`, role: "status"}, h("i", {}), text[live.status]);
}

function search() {
  return h("form", {class: "find", role: "search", onsubmit: find}, icon("search"), h("input", {
    type: "search",
    id: "find",
    name: "find",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Find a task by id or key",
    "aria-label": "Find a task by id or key"
  }),
    h("kbd", {}, "/"));
}

function find(event) {
  event.preventDefault();
  const text = event.target.find.value.trim();
  if (!text) return;
  event.target.find.value = "";
  event.target.find.blur();
  const isId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
  location.hash = isId ? `#/tasks/${text}` : `#/tasks?key=${encodeURIComponent(text)}`;
}

function turn() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("codeq-theme", next);
  draw();
}

function login() {
  return h("main", {class: "login"},
    h("form", {class: "card", onsubmit: enter},
      h("img", {src: "ui/icon.svg", alt: "", width: 44, height: 44}),
      h("h1", {}, "Sign in to codeq"),
      h("p", {class: "faint"},
        "The page keeps the token until this tab is closed, and sends it to this server alone."),
      refused &&
        h("p", {class: "notice is-bad", role: "alert"}, icon("alert"), h("span", {}, refused)),
      h("label", {class: "field"}, h("span", {}, "Access token"),
        h("input",
          {type: "password", name: "token", autocomplete: "off", required: true, autofocus: true})),
      h("button", {class: "button primary", type: "submit"}, "Sign in"),
      h("p", {class: "faint small"}, "Make one with ",
        h("code", {}, "codeqctl token create --role reader"))));
}

async function enter(event) {
  event.preventDefault();
  const field = event.target.token;
  await begin(field.value.trim());
}

async function begin(text) {
  refused = "";
  try {
    await signIn(text);
    startLive();
    openPage();
  } catch (error) {
    const isFirst = text === undefined && !token() && error.status === 401;
    refused = isFirst      ? "" :
      error.status === 401 ? "The server does not accept this token." :
                             error.message;
    if (error.status === 0) setTimeout(() => begin(text), 2000);
    draw();
  }
}

function leave() {
  signOut();
  stopLive();
  current?.view?.close?.();
  current = null;
  draw();
}

whenSignedOut(() => {
  if (!me()) return;
  leave();
  refused = "The token is not valid any more.";
});

const keys = [
  ["/", "find a task"],
  ["g then a letter", "open a page"],
  ["j, k", "next and previous row"],
  ["Enter", "open the row"],
  ["?", "this list"],
];

function showKeys() {
  if (document.querySelector("dialog")) return;
  const dialog = h("dialog", {class: "dialog", "aria-labelledby": "keys-title"},
    h("h2", {id: "keys-title"}, "Keys"),
    h("dl", {class: "keys"},
      [...keys, ...visible().map((page) => [`g ${page.key}`, page.title])].map(
        ([key, text]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)))),
    h("div", {class: "dialog-buttons"},
      h("button", {type: "button", class: "button", onclick: () => dialog.close()}, "Close")));
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}

let waitsForPage = false;

function onKey(event) {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  if (!me() || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (waitsForPage) {
    waitsForPage = false;
    const page = visible().find((one) => one.key === event.key);
    if (page) location.hash = `#/${page.name}`;
  } else if (event.key === "g") {
    waitsForPage = true;
    setTimeout(() => {
      waitsForPage = false;
    }, 1500);
  } else if (event.key === "/") {
    event.preventDefault();
    document.getElementById("find")?.focus();
  } else if (event.key === "?") {
    showKeys();
  } else if (event.key === "j" || event.key === "k") {
    step(event.key === "j" ? 1 : -1);
  }
}

/** Moves the focus to the link of the next row. */
function step(by) {
  const links = [...document.querySelectorAll("main tbody tr a:first-of-type")].filter(
    (link, at, all) => all.findIndex((one) => one.closest("tr") === link.closest("tr")) === at);
  const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
}

/** Distances in time grow, whatever the page does. */
function ageTimes() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    const text = relative(Date.parse(element.dateTime));
    if (element.firstChild && element.firstChild.nodeValue !== text)
      element.firstChild.nodeValue = text;
  }
  if (live.status === "lost") draw();
}

whenChanged(() => {
  current?.view?.onlive?.();
  draw();
});
addEventListener("hashchange", openPage);
addEventListener("keydown", onKey);
setInterval(ageTimes, 1000);
begin(undefined);
