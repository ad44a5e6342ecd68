// The store and the process: space, writes, background work, backups, shards, limits.
import {get, getText, may} from "./api.js";
import {h} from "./dom.js";
import {bytes, count, duration, exact, number, rate} from "./format.js";
import {card, empty, exports, failure, loading, resource, table, tile} from "./parts.js";

const line = /^([a-z_]+)(?:\{([^}]*)\})? (\S+)$/;

/** Prometheus' text as `{name: [{labels, value}]}`. */
export function readMetrics(text) {
  const all = {};
  for (const one of text.split("\n")) {
    const match = line.exec(one);
    if (!match || match[1].endsWith("_bucket")) continue;
    const labels =
      Object.fromEntries([...(match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
        ([, name, value]) => [name, value]));
    (all[match[1]] ??= []).push({labels, value: Number(match[3])});
  }
  return all;
}

const dayMs = 86400000;

export function storePage({changed}) {
  let before = null;
  let speed = {};
  const metrics = resource(async () => {
    const all = readMetrics(await getText("/metrics"));
    const one = (name) => all[name]?.[0]?.value;
    const at = performance.now();
    if (before) {
      const seconds = (at - before.at) / 1000;
      const grown = (name) => (one(name) - before.one(name)) / seconds;
      const groups = grown("codeq_journal_groups_total");
      speed = {
        groups,
        bytes: grown("codeq_journal_bytes_total"),
        stall: grown("codeq_store_stall_seconds_total"),
        commit: groups > 0 ? (grown("codeq_journal_commit_seconds_total") / groups) * 1000 : null,
        parts: groups > 0 ? grown("codeq_journal_parts_total") / groups : null
      };
    }
    before = {at, one};
    return {all, one};
  }, changed, 2500);
  const shards = may("GET admin/shards") ?
    resource((signal) => get("admin/shards", {}, signal), changed, 10000) :
    null;

  const backups = (one) => {
    const age = one("codeq_backup_age_seconds");
    const failed = one("codeq_backups_failed_total") ?? 0;
    if (age === undefined)
      return empty("No backup",
        "Start the coordinator with --backup-dir, then make one by cron:", "codeqctl backup");
    const isOld = age * 1000 > dayMs;
    return [
      h("p", {class: "lead"}, `The newest backup is ${duration(age * 1000)} old.`),
      isOld &&
        h("p", {class: "notice is-warn"}, "It is more than a day old. ",
          h("code", {}, "codeqctl backup"), " makes another."),
      failed > 0 &&
        h("p", {class: "notice is-bad"},
          `${exact(failed)} backups failed since the start; the log says why.`)
    ];
  };

  const counters = (all) => {
    const rows = Object.entries(all)
                   .filter(([name]) => name.startsWith("codeq_store_") && name.endsWith("_total"))
                   .map(([name, [{value}]]) => ({
                     name: name.slice(12, -6).replaceAll("_", " "),
                     isBytes: name.includes("bytes"),
                     value
                   }))
                   .filter((row) => row.name !== "stall seconds");
    return table({
      label: "Counters of the store",
      rows,
      keyOf: (row) => row.name,
      columns: [
        {title: "Counter", class: "fill", cell: (row) => row.name},
        {
          title: "Since it was opened",
          class: "right",
          cell: (row) => (row.isBytes ? bytes(row.value) : count(row.value))
        },
      ]
    });
  };

  const limits = (all) => {
    const rows = (all.codeq_limits_met_total ?? []).filter((row) => row.value > 0);
    if (rows.length === 0)
      return empty(
        "No limit was met", "Since the start nothing was refused or put off at a limit.");
    return table({
      label: "Limits that were met",
      rows,
      keyOf: (row) => row.labels.limit,
      columns: [
        {title: "Limit", class: "fill", cell: (row) => h("code", {}, row.labels.limit)},
        {title: "Times", class: "right", cell: (row) => count(row.value)},
      ]
    });
  };

  const shardTable = () => {
    if (!shards.data) return shards.error ? failure(shards.error) : loading();
    const names = [
      ["codeq_leases", "Leases"], ["codeq_commands_waiting", "Commands waiting"],
      ["codeq_segments_unpacked", "Open segments"], ["codeq_cache_bytes", "Cache"],
      ["codeq_schedules", "Schedules"]
    ];
    return table({
      label: "Shards",
      rows: shards.data.shards,
      keyOf: (row) => String(row.shard),
      columns: [
        {title: "Shard", cell: (row) => String(row.shard)},
        {title: "Queues", class: "right", cell: (row) => count(row.queues)},
        ...names.filter(([name]) => name in (shards.data.shards[0] ?? {})).map(([name, title]) => ({
          title,
          class: "right",
          cell: (row) => (name.endsWith("bytes") ? bytes(row[name]) : count(row[name]))
        })),
      ]
    });
  };

  return {
    title: "Store",
    close: () => {
      metrics.stop();
      shards?.stop();
    },
    render: () => {
      if (!metrics.data) return metrics.error ? failure(metrics.error) : loading();
      const {all, one} = metrics.data;
      const free = one("codeq_disk_free_bytes");
      const slow = speed.stall > 0.05;
      return [
        h("div", {class: "page-head"}, h("h1", {}, "Store")),
        h("div", {class: "tiles"}, free !== undefined && tile("free on the disk", bytes(free), {
          state: free < 2 ** 30 ? "dead" : "completed",
          note: `${bytes(one("codeq_disk_reserve_bytes") ?? 0)} kept for when it is full`
        }),
          tile("written", speed.bytes === undefined ? "–" : `${bytes(speed.bytes)}/s`, {
            state: "ready",
            note: `${bytes(one("codeq_journal_bytes_total") ?? 0)} since the start`
          }),
          tile("commits", speed.groups === undefined ? "–" : rate(speed.groups), {
            state: "leased",
            note: speed.parts ? `${number(speed.parts)} turns in each` : "group commits"
          }),
          tile("commit time", duration(speed.commit),
            {state: "scheduled", note: "mean, until it is durable"}),
          tile("compaction debt",
            speed.stall === undefined ? "–" : `${(speed.stall * 100).toFixed(1)} %`, {
              state: slow ? "dead" : "completed",
              note: slow ? "writes wait for background work" : "no write waits for background work"
            })),
        h("div", {class: "grid"}, card("Backups", backups(one)),
          card("Limits that were met", limits(all), {class: "flush"}),
          shards && card("Shards", shardTable(), {
            class: "flush wide",
            tools: shards.data && exports("shards", () => shards.data.shards)
          }),
          card("Counters of the store", counters(all), {class: "flush wide"})),
      ];
    },
  };
}
