// SPDX-License-Identifier: Apache-2.0
#include "coordinator/reader.hpp"

#include "coordinator/access.hpp"
#include "coordinator/task_batches.hpp"
#include "protocol/operator_convert.hpp"
#include "protocol/operator_reply.hpp"
#include "protocol/reply.hpp"
#include "storage/task_reader.hpp"
#include "storage/timeline_reader.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace codeq::coordinator {

namespace {

/// Explains a task that has a fate: it runs no more, for its segment is closed.
core::task_explained over(std::uint64_t number, const core::task_view& view) {
  core::task_explained e;
  e.number = number;
  e.view = view;
  e.reason = view.entry.state == task_state::completed ? core::task_reason::completed
                                                       : core::task_reason::cancelled;
  return e;
}

} // namespace

void reader_state::start(actors::reader_actor::pointer self, reader_options options) {
  self_ = self;
  options_ = std::move(options);
}

template <class T>
T reader_state::or_fail(result<T> r) {
  if (!r)
    options_.on_failure(r.error());
  if constexpr (!std::is_void_v<T>)
    return std::move(*r);
}

std::optional<core::encoded_tasks>
reader_state::body_of(shard_id shard, const core::granted_run& run) {
  if (run.replaced)
    return or_fail(storage::read_replaced_body(*options_.store, shard, run.first));
  if (auto cached = cache_of(shard).find(run.segment, run.first, run.count))
    return cached;
  auto bodies = or_fail(storage::read_bodies(*options_.store, shard, run.segment, run.aside));
  if (!bodies)
    return std::nullopt;
  return bodies->part(run.first - run.segment, run.count);
}

segment_cache& reader_state::cache_of(shard_id shard) {
  return caches_.try_emplace(shard, options_.cache_bytes).first->second;
}

void reader_state::find_bodies(actors::fetch_bodies& request) {
  auto& cache = cache_of(request.shard);
  runs_by_segment plain;
  runs_by_segment asides;
  for (std::size_t i = 0; i < request.bodies.size(); ++i) {
    const auto& run = request.granted.runs[i];
    if (run.replaced || !request.bodies[i].sizes.empty())
      continue;
    if (auto cached = cache.find(run.segment, run.first, run.count)) {
      request.bodies[i] = std::move(*cached);
      cache.granted(run.segment, run.first, run.count);
      continue;
    }
    (run.aside ? asides : plain)[run.segment].push_back(i);
  }
  read_bodies(request, plain, false);
  read_bodies(request, asides, true);
}

void reader_state::read_bodies(
  actors::fetch_bodies& request, const runs_by_segment& runs_of, bool aside) {
  std::vector<sequence> segments;
  segments.reserve(runs_of.size());
  for (const auto& [segment, runs] : runs_of)
    segments.push_back(segment);
  auto take = [&](sequence segment, core::encoded_tasks bodies) {
    auto end = segment;
    for (auto i : runs_of.at(segment)) {
      const auto& run = request.granted.runs[i];
      end = run.first + run.count;
      auto part = bodies.part(run.first - segment, run.count);
      // What is on its way to a worker must not hold what stays behind.
      if (run.count < bodies.count())
        part.body = bytes::from(std::string(part.body.view()));
      request.bodies[i] = std::move(part);
    }
    if (end < segment + bodies.count())
      cache_of(request.shard).insert(segment, {std::move(bodies)});
  };
  or_fail(storage::read_bodies(*options_.store, request.shard, segments, aside, take));
}

bytes reader_state::body_if_wanted(
  const actors::answer_inquiry& request, const core::task_view& view) {
  if (!request.why.with_body || view.segment == 0)
    return {};
  core::granted_run run;
  run.first = view.seq;
  run.count = 1;
  run.segment = view.segment;
  run.aside = view.aside;
  run.replaced = view.replaced;
  auto body = body_of(request.shard, run);
  return body ? std::move(body->body) : bytes{};
}

void reader_state::fetch(actors::fetch_bodies& request) {
  auto& runs = request.granted.runs;
  task_batches batches(request.shard, request.granted.redelivered, [&](actors::tasks_for_peer m) {
    self_->send(request.session, std::move(m));
  });
  std::uint32_t gone = 0;
  find_bodies(request);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto body = std::optional{std::move(request.bodies[i])};
    if (runs[i].replaced && body->sizes.empty())
      body = or_fail(storage::read_replaced_body(*options_.store, request.shard, runs[i].first));
    // Without a body, the lease ended, and its task with it, before it was read: nobody waits.
    if (body && !body->sizes.empty()) {
      or_fail(storage::read_checkpoints(*options_.store, request.shard, runs[i]));
      batches.add(std::move(runs[i]), std::move(*body));
    } else {
      gone += runs[i].count;
    }
  }
  batches.send();
  if (gone > 0 && !request.granted.redelivered)
    self_->send(request.session, actors::credits_returned{request.shard, gone});
}

void reader_state::answer(const actors::answer_inquiry& request) {
  if (request.view)
    return describe(request, *request.view);
  auto view = or_fail(storage::read_fate(
    *options_.store, request.shard, request.seq, {request.now, request.purged.get()}));
  if (view && (!request.asker || access::may_see(*request.asker, view->queue)))
    describe(request, *view);
  else
    answer_unknown(request);
}

void reader_state::describe(const actors::answer_inquiry& request, const core::task_view& view) {
  const auto& entry = view.entry;
  if (request.why.what == core::inquiry::kind::repeated_report) {
    bool was_accepted = core::is_repeat(entry, request.why.token, request.why.reported);
    core::report_answer a{
      view.seq, request.why.token, was_accepted ? errc::already : errc::stale_lease};
    self_->send(request.session, protocol::make_result_reply(request.shard, {&a, 1}).to_wire());
    return;
  }
  if (request.why.what == core::inquiry::kind::change) {
    core::change_answered unchanged{};
    unchanged.number = request.why.number;
    unchanged.seq = request.seq;
    unchanged.state = entry.state;
    self_->send(request.session, protocol::make_change_reply(request.shard, unchanged).to_wire());
    return;
  }
  if (request.why.what == core::inquiry::kind::explain)
    return self_->send(
      request.session,
      protocol::make_explain_reply(request.shard, over(request.why.number, view)).to_wire());
  if (request.why.what == core::inquiry::kind::history)
    return tell_history(request, view);
  auto text = or_fail(storage::read_text(*options_.store, request.shard, view, request.now));
  if (!text)
    return answer_unknown(request);
  if (request.why.what == core::inquiry::kind::status) {
    auto reply = protocol::make_status_reply(
      request.shard, request.why.number, view, {*text, body_if_wanted(request, view)});
    self_->send(request.session, reply.to_wire());
    return;
  }
  protocol::ended_task ended{view.seq, errc::none, entry.state, entry.attempt, *text};
  self_->send(request.session, protocol::make_tasks_ended(request.shard, {&ended, 1}).to_wire());
}

void reader_state::tell_history(
  const actors::answer_inquiry& request, const core::task_view& view) {
  auto source = request.view ? storage::view_source::memory : storage::view_source::fate;
  auto timeline = or_fail(storage::read_timeline(*options_.store, request.shard, view, source));
  if (timeline)
    self_->send(
      request.session, protocol::make_events_reply(request.why.number, *timeline).to_wire());
  else
    answer_unknown(request);
}

void reader_state::answer_unknown(const actors::answer_inquiry& request) {
  const error unknown = access::unknown_task();
  switch (request.why.what) {
  case core::inquiry::kind::explain: {
    auto reply = protocol::make_refusal<schema::ExplainRequest>(request.why.number, unknown);
    return self_->send(request.session, reply.to_wire());
  }
  case core::inquiry::kind::history: {
    auto reply = protocol::make_refusal<schema::EventsRequest>(request.why.number, unknown);
    return self_->send(request.session, reply.to_wire());
  }
  case core::inquiry::kind::status: {
    auto reply = protocol::make_refusal<schema::StatusRequest>(request.why.number, unknown);
    return self_->send(request.session, reply.to_wire());
  }
  case core::inquiry::kind::ending: {
    protocol::ended_task ended{request.seq, errc::unknown_task, {}, 0, {}};
    auto reply = protocol::make_tasks_ended(request.shard, {&ended, 1});
    return self_->send(request.session, reply.to_wire());
  }
  case core::inquiry::kind::repeated_report: {
    core::report_answer a{request.seq, request.why.token, errc::unknown_task};
    auto reply = protocol::make_result_reply(request.shard, {&a, 1});
    return self_->send(request.session, reply.to_wire());
  }
  case core::inquiry::kind::change: {
    auto reply = protocol::make_refusal<schema::ChangeRequest>(request.why.number, unknown);
    return self_->send(request.session, reply.to_wire());
  }
  }
}

actors::reader_actor::behavior_type
reader(actors::reader_actor::stateful_pointer<reader_state> self, const reader_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](actors::fetch_bodies& request) { self->state.fetch(request); },
    [self](const actors::answer_inquiry& request) { self->state.answer(request); },
  };
}

} // namespace codeq::coordinator
