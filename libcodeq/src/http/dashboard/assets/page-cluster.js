// The coordinators of a cluster, where its shards are, and what they wait for.
import {change, get, may, me, part} from "./api.js";
import {h} from "./dom.js";
import {bytes, clockTime, count, exact, plural, time} from "./format.js";
import {act, button, card, confirmChange, empty, exports, failure, icon, loading, resource, table,
  tile} from "./parts.js";

const squaresMost = 96;
const rowsMost = 200;
const changesKept = 50;

/** The changes of primaries that this tab has seen, the latest first. */
const seen = {since: Date.now(), primaries: new Map(), changes: []};

/** Notes which shards have another primary than at the answer before. */
function compare({shards, nodes}) {
  // The lease of a coordinator that has died lasts longer than the fail-over takes.
  const alive =
    new Set(nodes.filter((node) => node.present && node.answers).map((node) => node.name));
  for (const {shard, primary, epoch} of shards) {
    const before = seen.primaries.get(shard);
    seen.primaries.set(shard, {primary, epoch});
    if (!before || before.epoch === epoch) continue;
    const isSame = before.primary === primary;
    seen.changes.unshift({
      at: new Date().toISOString(),
      shard,
      from: before.primary,
      to: primary,
      epoch,
      what: isSame ? "started again" : alive.has(before.primary) ? "handed over" : "fail-over"
    });
  }
  seen.changes.splice(changesKept);
}

const named = (list) => list.length < 3 ? list.join(" and ") :
  `${list.slice(0, -1).join(", ")} and ${list.at(-1)}`;

/** "shard 3", "shards 1, 2 and 5", "12 shards". */
function shardsNamed(numbers) {
  if (numbers.length === 1) return `shard ${numbers[0]}`;
  return numbers.length > 8 ? plural(numbers.length, "shard") : `shards ${named(numbers)}`;
}

const copyOf = (shard, node) => shard.copies.find((copy) => copy.node === node);

/** Only coordinators that serve shards are asked. */
const isSilent = (node, shards) =>
  !node.answers && shards.some((shard) => shard.primary === node.name);

function stateOf(node, shards) {
  if (!node.present) return ["dead", node.draining ? "gone, drained" : "missing"];
  if (isSilent(node, shards)) return ["dead", "does not answer"];
  if (!node.draining) return ["completed", "present"];
  const holds = shards.some((shard) => copyOf(shard, node.name));
  return ["gated", holds ? "draining" : "drained: may be stopped"];
}

/** Who does not hear from whom, and whose disk is full, as sentences. */
function silences({node: here, nodes, shards}) {
  const list = [];
  for (const node of nodes) {
    if (!node.present) {
      const kept = shards.filter((shard) => copyOf(shard, node.name)).map(({shard}) => shard);
      list.push(`${node.name} is missing: its lease in etcd has ended. ${
        kept.length ? `It has copies of ${shardsNamed(kept)}.` : "It has no copies."}`);
    } else if (isSilent(node, shards))
      list.push(`${here}, which was asked, gets no answer from ${node.name}.`);
    if (node.unreached?.length > 0)
      list.push(`${node.name} has no connection to ${named(node.unreached)}.`);
    if (node.present && node.refusesTasks)
      list.push(`${node.name} has too little free disk space and refuses new tasks: others take ` +
        "over its shards where they can.");
  }
  const present = new Set(nodes.filter((node) => node.present).map((node) => node.name));
  const pairs = new Map();
  for (const {shard, primary, copies} of shards)
    for (const copy of copies)
      if (!copy.inSync && present.has(copy.node) && copy.node !== primary) {
        const key = `${primary}\n${copy.node}`;
        pairs.set(key, [...pairs.get(key) ?? [], shard]);
      }
  for (const [key, numbers] of pairs) {
    const [primary, other] = key.split("\n");
    list.push(`${primary} has no confirmation from ${other} for ${shardsNamed(numbers)}: ` +
      "the copy is behind, or being made.");
  }
  return list;
}

/** One square for each shard of which the node has, or is to have, a copy. */
function squares(node, shards) {
  const own = shards.filter((shard) => copyOf(shard, node.name));
  const primary = own.filter((shard) => shard.primary === node.name);
  const label = `${exact(primary.length)} served, ${exact(own.length - primary.length)} copies`;
  const kindOf = (shard) => {
    if (shard.primary === node.name) return shard.served ? "completed" : "dead";
    return copyOf(shard, node.name).inSync ? "copy" : "behind";
  };
  const wordOf = {completed: "served", dead: "its primary, does not serve", copy: "copy in sync",
    behind: "copy not in sync"};
  return h("div", {class: "slots is-shards", role: "img", "aria-label": label},
    own.slice(0, squaresMost).map((shard) => {
      const kind = kindOf(shard);
      return h("i", {class: `is-${kind}`, title: `shard ${shard.shard}: ${wordOf[kind]}`});
    }),
    own.length > squaresMost && h("span", {class: "faint"}, `+${own.length - squaresMost}`));
}

function copyTag(shard, copy) {
  const isPrimary = copy.node === shard.primary;
  const state = !copy.inSync ? "gated" : copy.lag > 0 ? "scheduled" : "completed";
  const place = copy.position === undefined ? "" : `epoch ${copy.epoch}, change ${
    exact(copy.position)}`;
  const behind = !copy.inSync ? "not in sync" : copy.lag > 0 ? `${exact(copy.lag)} behind` : "";
  return h("span", {class: "copy", title: [isPrimary ? "primary" : "copy", place, behind]
    .filter(Boolean).join("; ")},
    h("i", {class: `dot is-${state}`}), isPrimary ? h("b", {}, copy.node) : copy.node,
    copy.position !== undefined && h("span", {class: "faint num"}, exact(copy.position)),
    behind && h("span", {class: "behind"}, behind));
}

/** The copies whose nodes could serve the shard in place of its primary. */
function targetsOf(shard, nodes) {
  const able = new Set(nodes.filter((node) => node.present).map((node) => node.name));
  return shard.copies.filter(
    (copy) => copy.inSync && copy.node !== shard.primary && able.has(copy.node));
}

async function moveShard(shard, nodes) {
  const targets = targetsOf(shard, nodes);
  const answer = await confirmChange({
    title: `Move shard ${shard.shard}?`,
    text: `${shard.primary} serves it now. Its requests wait for a moment. It stays at its new ` +
      "place until it is moved again or the cluster is balanced.",
    fields: [{name: "to", label: "To the coordinator", value: targets[0].node,
      options: targets.map(({node}) => [node, node])}],
    yes: `Move shard ${shard.shard}`,
  });
  return answer && act(
    () => change("POST", `admin/cluster/shards/${shard.shard}/move`, {to: answer.to}),
    `Shard ${shard.shard} moves to ${answer.to}`);
}

async function setDrained(node, isDrained, {shards, nodes, copies}) {
  const served = shards.filter((shard) => shard.primary === node.name).length;
  const kept = shards.filter((shard) => copyOf(shard, node.name)).length - served;
  const others = nodes.filter(
    (one) => one.name !== node.name && one.present && !one.draining).length;
  const answer = await confirmChange(isDrained ? {
    title: `Drain ${node.name}?`,
    text: [
      `It gives away ${plural(served, "shard")} that it serves and ${
        plural(kept, "copy", "copies")}, and can be stopped then. It stays drained, also over `,
      "restarts, until it is taken back.",
      others < copies && ` Only ${plural(others, "other coordinator")} can take copies, and each ` +
        `shard is to have ${exact(copies)}: some stay here.`,
    ],
    yes: `Drain ${node.name}`,
    kind: "danger",
  } : {
    title: `Take ${node.name} back?`,
    text: "It gets shards and copies again, as many as the others.",
    yes: `Take ${node.name} back`,
  });
  return answer && act(
    () => change("POST",
      `admin/cluster/nodes/${part(node.name)}/${isDrained ? "drain" : "undrain"}`),
    isDrained ? `${node.name} is being drained` : `${node.name} is taken back`);
}

async function balance() {
  const answer = await confirmChange({
    title: "Balance the cluster?",
    text: "All moves are forgotten, and the shards are spread evenly again. Requests of a shard " +
      "that moves wait for a moment.",
    yes: "Balance",
  });
  return answer && act(
    () => change("POST", "admin/cluster/balance"), "The shards are spread evenly from now on");
}

function alone() {
  return [
    h("div", {class: "page-head"}, h("h1", {}, "Cluster")),
    card(null,
      empty("This coordinator is alone",
        "It serves all shards, and nobody takes over when it dies. Copies on other machines and " +
          "fail-over need an etcd. Start this one again with its store, and others with empty " +
          "ones:",
        "codeq-coordinator --data DIR --listen ADDRESS:7400 --cluster NAME \\\n" +
          "  --etcd http://ADDRESS:2379 --replicas 2 --node c1")),
  ];
}

const filters = {
  all: ["All", () => true],
  waiting: ["Waiting", (shard) => shard.waitsFor !== "" || !shard.served],
  behind: ["Behind", (shard) => shard.copies.some((copy) => !copy.inSync || copy.lag > 0)],
};

function nodeTable(status, load) {
  const {nodes, shards} = status;
  const mayDrain = may("POST admin/cluster/nodes/:/drain");
  return table({
    label: "Coordinators",
    rows: nodes,
    keyOf: (node) => node.name,
    columns: [
      {
        title: "Coordinator",
        cell: (node) => h("div", {class: "about"},
          h("a", {href: `#/cluster?node=${part(node.name)}`}, h("b", {}, node.name)),
          node.name === status.node &&
            h("span", {class: "tag", title: "The coordinator that serves this page"}, "here"))
      },
      {
        title: "State",
        cell: (node) => {
          const [state, text] = stateOf(node, shards);
          return h("span", {class: `chip is-${state}`}, text);
        }
      },
      {title: "Shards", class: "fill", cell: (node) => squares(node, shards)},
      {
        title: "Serves",
        class: "right",
        cell: (node) => count(shards.filter((shard) => shard.primary === node.name).length)
      },
      {
        title: "Free disk",
        class: "right",
        cell: (node) => (node.present ? bytes(node.freeBytes) : h("span", {class: "faint"}, "–"))
      },
      {title: "Zone", cell: (node) => node.zone || h("span", {class: "faint"}, "–")},
      {
        title: "Address",
        cell: (node) => h("span", {class: "mono", title: node.httpAddress ?
          `HTTP: ${node.httpAddress}` : "no HTTP"}, node.address || "–")
      },
      mayDrain && {
        title: "",
        class: "right",
        cell: (node) => h("div", {class: "row-actions"},
          button(node.draining ? "Take back" : "Drain", {
            kind: "small",
            "aria-label": `${node.draining ? "Take back" : "Drain"} ${node.name}`,
            onclick: async () => {
              if (await setDrained(node, !node.draining, status)) load();
            }
          }))
      },
    ].filter(Boolean)
  });
}

function shardTable(rows, nodes, load) {
  return table({
    label: "Shards",
    rows: rows.slice(0, rowsMost),
    keyOf: (shard) => String(shard.shard),
    columns: [
      {
        title: "Shard",
        cell: (shard) => h("b", {}, h("span", {class: "only-phone"}, "Shard "),
          String(shard.shard))
      },
      {
        title: "Primary",
        cell: (shard) => [
          h("a", {href: `#/cluster?node=${part(shard.primary)}`}, shard.primary || "none"),
          !shard.served && h("span", {class: "chip is-dead"}, "not served"),
          shard.pinned && h("span", {class: "chip is-scheduled", title: "An operator has moved " +
            `it to ${shard.pinned}, where it stays until the cluster is balanced`}, "pinned"),
        ]
      },
      {title: "Epoch", class: "right", cell: (shard) => count(shard.epoch)},
      {
        title: "Copies and their last change",
        class: "fill",
        cell: (shard) => h("div", {class: "copies"}, shard.copies.map((copy) =>
          copyTag(shard, copy)))
      },
      {
        title: "Waits for",
        cell: (shard) => (shard.waitsFor ? h("span", {class: "waits"}, shard.waitsFor) :
                                           h("span", {class: "faint"}, "nothing"))
      },
      may("POST admin/cluster/shards/:/move") && {
        title: "",
        class: "right",
        cell: (shard) => h("div", {class: "row-actions"},
          button("Move", {
            kind: "small",
            "aria-label": `Move shard ${shard.shard}`,
            disabled: targetsOf(shard, nodes).length === 0,
            onclick: async () => {
              if (await moveShard(shard, nodes)) load();
            }
          }))
      },
    ].filter(Boolean)
  });
}

function changeTable() {
  if (seen.changes.length === 0)
    return empty("No shard has changed its primary",
      `since this page was opened at ${clockTime(seen.since)}. The epoch of a shard grows with ` +
        "each new primary.");
  return table({
    label: "Changes of primaries",
    rows: seen.changes,
    columns: [
      {title: "When", cell: (row) => time(row.at)},
      {title: "Shard", class: "right", cell: (row) => String(row.shard)},
      {
        title: "What",
        cell: (row) => h("span",
          {class: `chip is-${row.what === "fail-over" ? "dead" : "scheduled"}`}, row.what)
      },
      {
        title: "Primary",
        class: "fill",
        cell: (row) => (row.from === row.to ? row.to : `${row.from} → ${row.to}`)
      },
      {title: "Epoch", class: "right", cell: (row) => count(row.epoch)},
    ]
  });
}

function tiles({nodes, shards, copies}) {
  const there = nodes.filter((node) => node.present && !isSilent(node, shards)).length;
  const served = shards.filter((shard) => shard.served).length;
  const all = shards.flatMap((shard) => shard.copies);
  const inSync = all.filter((copy) => copy.inSync).length;
  const wanted = Math.max(all.length, shards.length * copies);
  const lag = Math.max(0, ...all.map((copy) => copy.lag ?? 0));
  const failed = seen.changes.filter((one) => one.what === "fail-over").length;
  const state = (isGood) => (isGood ? "completed" : "dead");
  return h("div", {class: "tiles"},
    tile("coordinators", `${exact(there)} of ${exact(nodes.length)}`, {
      state: state(there === nodes.length),
      note: there === nodes.length ? "all answer" : "answer",
    }),
    tile("shards served", `${exact(served)} of ${exact(shards.length)}`,
      {state: state(served === shards.length), note: "each by its primary"}),
    tile("copies in sync", `${exact(inSync)} of ${exact(wanted)}`,
      {state: inSync === wanted ? "completed" : "gated", note: `${exact(copies)} of each shard`}),
    tile("largest lag", exact(lag),
      {state: "scheduled", note: lag ? "changes not confirmed" : "all changes confirmed"}),
    tile("fail-overs", exact(failed), {
      state: failed ? "dead" : "completed",
      note: `since ${clockTime(seen.since)}, in this tab`,
    }));
}

/** For an export: one row for each copy. */
const flat = (shards) => shards.flatMap((shard) => shard.copies.map((copy) => ({
  shard: shard.shard, primary: shard.primary, served: shard.served, epoch: shard.epoch,
  pinned: shard.pinned ?? "",
  node: copy.node, inSync: copy.inSync, position: copy.position ?? null, lag: copy.lag ?? null,
  waitsFor: shard.waitsFor
})));

export function clusterPage({query, changed}) {
  if (!me().inCluster) return {title: "Cluster", render: alone};
  let wanted = query;
  const found = resource(async (signal) => {
    const status = await get("admin/cluster", {}, signal);
    compare(status);
    return status;
  }, changed, 2000);
  const set = (more) => {
    const next =
      new URLSearchParams(Object.entries({...wanted, ...more}).filter(([, value]) => value));
    history.replaceState(null, "", `#/cluster${next.size ? `?${next}` : ""}`);
    wanted = Object.fromEntries(next);
    changed();
  };
  const filterBar = (nodes) => h("div", {class: "filters"},
    h("label", {class: "filter"}, h("span", {}, "Coordinator"),
      h("select", {name: "node", value: wanted.node ?? "",
        onchange: (event) => set({node: event.target.value})},
        h("option", {value: ""}, "all"),
        nodes.map(({name}) =>
          h("option", {value: name, selected: name === wanted.node}, name)))),
    h("div", {class: "tabs", role: "group", "aria-label": "Show"},
      Object.entries(filters).map(([name, [label]]) => h("button", {
        type: "button",
        "aria-pressed": String((wanted.show ?? "all") === name),
        onclick: () => set({show: name === "all" ? "" : name})
      }, label))));
  const render = () => {
    if (!found.data) return found.error ? failure(found.error) : loading();
    const status = found.data;
    const {nodes, shards} = status;
    const [, fits] = filters[wanted.show] ?? filters.all;
    const shown = shards.filter(
      (shard) => fits(shard) && (!wanted.node || copyOf(shard, wanted.node)));
    const silent = silences(status);
    return [
      h("div", {class: "page-head"}, h("h1", {}, "Cluster"),
        h("span", {class: "tag"}, status.cluster), h("div", {class: "grow"}),
        exports("cluster", () => flat(shown)),
        may("POST admin/cluster/balance") && button("Balance", {
          onclick: async () => {
            if (await balance()) found.load();
          }
        })),
      found.error && failure(found.error),
      tiles(status),
      silent.length > 0 && h("div", {class: "notice is-bad", role: "alert"}, icon("alert"),
        h("ul", {}, silent.map((text) => h("li", {}, text)))),
      card("Coordinators", nodeTable(status, found.load),
        {class: "flush", note: "a full square: serves the shard; an empty one: has a copy"}),
      filterBar(nodes),
      card("Shards",
        shown.length === 0 ?
          empty("No shard fits", "Choose another coordinator, or all.") :
          shardTable(shown, nodes, found.load),
        {
          class: "flush",
          note: shown.length > rowsMost ? `the first ${rowsMost} of ${exact(shown.length)}` :
                                          plural(shown.length, "shard"),
        }),
      card("Changes of primaries", changeTable(), {class: "flush"}),
    ];
  };
  return {
    title: "Cluster",
    close: () => found.stop(),
    search: (next) => {
      wanted = next;
    },
    render,
  };
}
