// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/reader.hpp"

#include "coordinator/shard/schedule_planner.hpp"
#include "storage/recovery/audit_reader.hpp"
#include "storage/recovery/schedule_reader.hpp"
#include "storage/recovery/timeline_reader.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace codeq::coordinator {

namespace {

/// The explanation of a task with a fate record: its segment is closed, so the task has ended. The
/// settings of its queue are not known here.
core::task_explained explain_ended(const core::inquiry& why, const core::task_view& view) {
  core::task_explained e;
  e.peer = why.peer;
  e.number = why.number;
  e.view = view;
  e.reason =
    view.entry.state == task_state::completed ? task_reason::completed : task_reason::cancelled;
  return e;
}

} // namespace

reader::reader(reader_options options, reader_port& port)
  : options_(std::move(options)), port_(port) {
}

template <class T>
T reader::or_fail(result<T> r) {
  if (!r)
    port_.fail(r.error());
  if constexpr (!std::is_void_v<T>)
    return std::move(*r);
}

std::optional<core::encoded_tasks> reader::body_of(shard_id shard, const core::granted_run& run) {
  if (run.replaced)
    return or_fail(storage::read_replaced_body(*options_.store, shard, run.first));
  if (auto cached = cache_of(shard).find(run.segment, run.first, run.count))
    return cached;
  auto bodies = or_fail(storage::read_bodies(*options_.store, shard, run.segment, run.aside));
  if (bodies)
    return bodies->part(run.first - run.segment, run.count);
  if (run.aside)
    return std::nullopt;
  // A snapshot may have copied the task since it was asked about.
  return or_fail(storage::read_bodies(*options_.store, shard, run.first, true));
}

segment_cache& reader::cache_of(shard_id shard) {
  return caches_.try_emplace(shard, options_.cache_bytes).first->second;
}

void reader::find_bodies(bodies_wanted& wanted) {
  auto& cache = cache_of(wanted.shard);
  runs_by_segment plain;
  runs_by_segment asides;
  for (std::size_t i = 0; i < wanted.bodies.size(); ++i) {
    const auto& run = wanted.granted.runs[i];
    if (run.replaced || !wanted.bodies[i].sizes.empty())
      continue;
    if (auto cached = cache.find(run.segment, run.first, run.count)) {
      wanted.bodies[i] = std::move(*cached);
      cache.granted(run.segment, run.first, run.count);
      continue;
    }
    (run.aside ? asides : plain)[run.segment].push_back(i);
  }
  read_bodies(wanted, plain, false);
  read_bodies(wanted, asides, true);
}

void reader::read_bodies(bodies_wanted& wanted, const runs_by_segment& runs_of, bool aside) {
  std::vector<sequence> segments;
  segments.reserve(runs_of.size());
  for (const auto& [segment, runs] : runs_of)
    segments.push_back(segment);
  auto take = [&](sequence segment, core::encoded_tasks bodies) {
    auto end = segment;
    for (auto i : runs_of.at(segment)) {
      const auto& run = wanted.granted.runs[i];
      end = run.first + run.count;
      auto part = bodies.part(run.first - segment, run.count);
      // The part must not keep the rest of its segment in memory while it is on its way to a
      // worker.
      if (run.count < bodies.count())
        part.body = bytes(std::string(part.body.view()));
      wanted.bodies[i] = std::move(part);
    }
    if (end < segment + bodies.count())
      cache_of(wanted.shard).insert(segment, {std::move(bodies)});
  };
  or_fail(storage::read_bodies(*options_.store, wanted.shard, segments, aside, take));
}

bytes reader::body_if_wanted(const stored_inquiry& asked, const core::task_view& view) {
  if (!asked.why.with_body || view.segment == 0)
    return {};
  core::granted_run run;
  run.first = view.seq;
  run.count = 1;
  run.segment = view.segment;
  run.aside = view.aside;
  run.replaced = view.replaced;
  auto body = body_of(asked.shard, run);
  return body ? std::move(body->body) : bytes{};
}

void reader::fetch(bodies_wanted wanted) {
  auto peer = wanted.granted.peer;
  find_bodies(wanted);
  task_delivery found{wanted.shard, {}, {}, std::nullopt};
  found.granted.peer = peer;
  found.granted.redelivered = wanted.granted.redelivered;
  found.granted.bytes = wanted.granted.bytes;
  std::uint32_t gone = 0;
  auto& runs = wanted.granted.runs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto body = std::optional{std::move(wanted.bodies[i])};
    if (runs[i].replaced && body->sizes.empty())
      body = or_fail(storage::read_replaced_body(*options_.store, wanted.shard, runs[i].first));
    // Without a body, the lease and its task ended before it was read, so no one needs it.
    if (body && !body->sizes.empty()) {
      or_fail(storage::read_checkpoints(*options_.store, wanted.shard, runs[i]));
      found.granted.runs.push_back(std::move(runs[i]));
      found.bodies.push_back(std::move(*body));
    } else {
      gone += runs[i].count;
    }
  }
  bool is_empty = found.granted.runs.empty();
  if (!is_empty)
    port_.deliver(peer, std::move(found));
  if (gone > 0 && !wanted.granted.redelivered)
    port_.tell_credits(
      peer,
      {.shard = wanted.shard,
       .what = credit_news::kind::returned,
       .credits = gone,
       .bytes = is_empty ? wanted.granted.bytes : 0,
       .being_read = -std::int64_t{gone}});
}

void reader::find(const keys_wanted& wanted) {
  std::vector<core::recalled_key> found;
  found.reserve(wanted.names.size());
  storage::fate_filter as_of{wanted.now, wanted.purged.get()};
  for (const auto& name : wanted.names)
    found.push_back({name, or_fail(storage::read_key(*options_.store, wanted.shard, name, as_of))});
  port_.keys_found(wanted.shard, wanted.number, std::move(found));
}

void reader::read(const survivors_wanted& wanted) {
  auto segment = wanted.tasks.segment;
  auto read = storage::read_bodies(*options_.store, wanted.shard, segment, false);
  // No peer waits for these tasks, so the damage must not stop the process.
  if (!read && read.error().code == errc::corruption)
    return port_.survivors_damaged(wanted, read.error());
  auto bodies = or_fail(std::move(read));
  if (!bodies)
    return;
  core::copy_survivors found{segment, {}};
  for (auto seq : wanted.tasks.tasks) {
    auto body = bodies->part(seq - segment, 1);
    // A slice would hold the bodies of the whole segment.
    body.body = bytes(std::string(body.body.view()));
    found.bodies.emplace(seq, std::move(body));
  }
  port_.survivors_read(wanted.shard, std::move(found));
}

void reader::answer(std::span<const stored_inquiry> asked) {
  storage::fate_reader fates{*options_.store};
  for (const auto& one : asked)
    answer(one, fates);
}

void reader::answer(const stored_inquiry& asked, storage::fate_reader& fates) {
  if (asked.audit)
    return tell_audit(asked);
  if (asked.schedule)
    return tell_schedule(asked);
  if (asked.view)
    return describe(asked, *asked.view);
  auto view = or_fail(fates.read(asked.shard, asked.seq, {asked.now, asked.purged.get()}));
  if (view && (!asked.asker || access::may_see(*asked.asker, view->queue)))
    describe(asked, *view);
  else
    answer_unknown(asked);
}

open_list begin_list(stored_list asked) {
  auto peer = asked.in_memory.peer;
  auto tenant = asked.in_memory.part.filter.tenant;
  return {
    asked.shard,
    peer,
    std::move(tenant),
    storage::task_list(asked.shard, std::move(asked.in_memory), asked.now)};
}

bool reader::go_on(open_list& list) {
  if (!or_fail(list.tasks.read_on(*options_.store, tuning::list_turn_reads)))
    return false;
  port_.reply(list.peer, {list.shard, list.tasks.take()});
  return true;
}

void reader::answer(stored_list asked) {
  auto list = begin_list(std::move(asked));
  while (!go_on(list)) {
  }
}

void reader::refuse(const stored_list& asked, const error& reason) {
  protocol::request_refused<schema::ListRequest> refused{asked.in_memory.number, reason};
  port_.reply(asked.in_memory.peer, {asked.shard, std::move(refused)});
}

void reader::reply_to(const stored_inquiry& asked, protocol::peer_reply reply) {
  port_.reply(asked.why.peer, {asked.shard, std::move(reply)});
}

void reader::describe(const stored_inquiry& asked, const core::task_view& view) {
  const auto& why = asked.why;
  switch (why.what) {
  case core::inquiry::kind::repeated_report: {
    bool was_accepted = core::is_repeat(view.entry, why.token, why.reported);
    auto code = was_accepted ? errc::already : errc::stale_lease;
    return reply_to(asked, core::reports_answered{why.peer, {{view.seq, why.token, code}}});
  }
  case core::inquiry::kind::change: {
    core::change_answered unchanged{why.peer, why.number, asked.seq};
    unchanged.state = view.entry.state;
    return reply_to(asked, unchanged);
  }
  case core::inquiry::kind::explain:
    return reply_to(asked, explain_ended(why, view));
  case core::inquiry::kind::history:
    return tell_history(asked, view);
  case core::inquiry::kind::audit:
  case core::inquiry::kind::schedule:
    return;
  case core::inquiry::kind::status:
  case core::inquiry::kind::ending:
    return tell_text(asked, view);
  }
}

void reader::tell_text(const stored_inquiry& asked, const core::task_view& view) {
  auto text = or_fail(storage::read_text(*options_.store, asked.shard, view, asked.now));
  if (!text)
    return answer_unknown(asked);
  if (asked.why.what == core::inquiry::kind::status)
    return reply_to(
      asked,
      protocol::status_answered{
        asked.why.number, view, {std::move(*text), body_if_wanted(asked, view)}});
  const auto& entry = view.entry;
  reply_to(
    asked,
    protocol::tasks_told{{{view.seq, errc::none, entry.state, entry.attempt, std::move(*text)}}});
}

void reader::tell_history(const stored_inquiry& asked, const core::task_view& view) {
  auto source = asked.view ? storage::view_source::memory : storage::view_source::fate;
  auto timeline = or_fail(storage::read_timeline(*options_.store, asked.shard, view, source));
  if (timeline)
    reply_to(asked, protocol::history_answered{asked.why.number, std::move(*timeline)});
  else
    answer_unknown(asked);
}

void reader::tell_audit(const stored_inquiry& asked) {
  const auto is_of_shard = asked.shard_count == 0;
  std::vector<shard_id> shards(is_of_shard ? 1 : asked.shard_count, asked.shard);
  for (std::uint16_t i = 0; i < asked.shard_count; ++i)
    shards[i] = shard_id{i};
  auto page = or_fail(storage::read_audit(*options_.store, shards, *asked.audit, asked.now));
  reply_to(asked, protocol::audit_answered{asked.why.number, std::move(page), is_of_shard});
}

void reader::tell_schedule(const stored_inquiry& asked) {
  auto told = *asked.schedule;
  const auto& name = told.schedules.front().view.name;
  auto history = or_fail(storage::read_occurrences(*options_.store, asked.shard, name));
  for (const auto& entry : history)
    told.history.push_back(show(entry, asked.zone.get()));
  reply_to(asked, std::move(told));
}

void reader::refuse(const stored_inquiry& asked, const error& reason) {
  const auto& why = asked.why;
  auto refuse = [&]<class S>(std::type_identity<S>) {
    reply_to(asked, protocol::request_refused<S>{why.number, reason});
  };
  switch (why.what) {
  case core::inquiry::kind::explain:
    return refuse(std::type_identity<schema::ExplainRequest>{});
  case core::inquiry::kind::history:
    return refuse(std::type_identity<schema::EventsRequest>{});
  case core::inquiry::kind::audit:
    return refuse(std::type_identity<schema::AuditRequest>{});
  case core::inquiry::kind::schedule:
    return refuse(std::type_identity<schema::ScheduleRequest>{});
  case core::inquiry::kind::status:
    return refuse(std::type_identity<schema::StatusRequest>{});
  case core::inquiry::kind::change:
    return refuse(std::type_identity<schema::ChangeRequest>{});
  case core::inquiry::kind::ending:
    return reply_to(asked, protocol::tasks_told{{{asked.seq, reason.code, {}, 0, {}}}});
  case core::inquiry::kind::repeated_report:
    return reply_to(asked, core::reports_answered{why.peer, {{asked.seq, why.token, reason.code}}});
  }
}

} // namespace codeq::coordinator
