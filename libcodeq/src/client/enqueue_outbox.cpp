// SPDX-License-Identifier: Apache-2.0
#include "client/enqueue_outbox.hpp"

#include "codeq/limits.hpp"

#include "protocol/error_code.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace codeq::client {

namespace {

/// With `overloaded` and no hint, or an absurd one.
constexpr duration pause_min{10};
constexpr duration pause_max = std::chrono::minutes(1);

error store_changed() {
  return {
    errc::session_expired,
    "the coordinator now serves another store than the one that the request was sent to; whether "
    "its tasks were added is unknown"};
}

} // namespace

/// An `EnqueueReply`, read and bounded.
struct enqueue_outbox::answer {
  std::uint64_t number = 0;
  errc code = errc::none;
  std::string context;
  duration pause{0};
  std::vector<task_id> ids;
};

enqueue_outbox::enqueue_outbox(options opts)
  : options_(std::move(opts)), window_(options_.in_flight_max) {
}

void enqueue_outbox::connect(send_function send, store_identity store) {
  if (store_ && *store_ != store)
    expire_sent();
  else if (!store_)
    session_ = options_.new_session();
  store_ = store;
  send_ = std::move(send);
  window_.for_each([this](std::uint64_t, request& one) {
    if (one.pausing)
      return;
    one.repeated = true;
    send_(*one.frame);
  });
  send_waiting();
}

void enqueue_outbox::disconnect() {
  send_ = nullptr;
}

void enqueue_outbox::submit(tasks_ptr tasks, done_function done) {
  waiting_.push_back({.tasks = std::move(tasks), .done = std::move(done)});
  send_waiting();
}

void enqueue_outbox::send_waiting() {
  while (send_ && !waiting_.empty() && window_.has_room()) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    open(std::move(next));
  }
}

void enqueue_outbox::open(request fresh) {
  auto number = window_.next_number();
  auto spread = number + std::hash<producer_id>{}(session_);
  auto shard = static_cast<shard_id>(spread % store_->shard_count);
  fresh.frame = fresh.tasks->to_request({session_, number, window_.answered_below(), shard});
  fresh.session = session_;
  send_(*fresh.frame);
  window_.open(std::move(fresh));
}

result<enqueue_outbox::answer> enqueue_outbox::read(const protocol::enqueue_reply& reply) {
  return reply.read([](auto reader) -> result<answer> {
    answer from;
    from.number = reader.getNumber();
    from.code = protocol::from_schema(reader.getCode());
    from.pause = duration{reader.getRetryAfterMs()};
    from.context = std::string(reader.getContext().cStr(), reader.getContext().size());
    auto shard = static_cast<shard_id>(reader.getShard());
    for (auto run : reader.getTasks()) {
      if (run.getCount() > limits::enqueue_tasks_max - from.ids.size())
        return error{errc::protocol_error, "an enqueue reply names more tasks than a request has"};
      for (std::uint32_t i = 0; i < run.getCount(); ++i)
        from.ids.push_back({shard, run.getFirst() + i});
    }
    return from;
  });
}

result<std::optional<enqueue_outbox::retry>>
enqueue_outbox::accept(const protocol::enqueue_reply& reply) {
  auto from = read(reply);
  if (!from)
    return from.error();
  auto* open = window_.find(from->number);
  // The answer to a copy of a request that was answered already.
  if (open == nullptr)
    return std::optional<retry>{};
  return settle(*open, *from);
}

result<std::optional<enqueue_outbox::retry>> enqueue_outbox::settle(request& open, answer& from) {
  if (from.code == errc::overloaded) {
    open.pausing = true;
    return std::optional<retry>{{from.number, std::clamp(from.pause, pause_min, pause_max)}};
  }
  if (from.code == errc::none && from.ids.size() != open.tasks->count())
    return error{
      errc::protocol_error,
      "the reply to request number=" + std::to_string(from.number) + " names "
        + std::to_string(from.ids.size()) + " tasks of " + std::to_string(open.tasks->count())};
  auto closed = std::move(*window_.close(from.number));
  if (!renew(closed, from.code)) {
    if (from.code == errc::none)
      closed.done(std::move(from.ids));
    else
      closed.done(error{from.code, std::move(from.context)});
  }
  send_waiting();
  return std::optional<retry>{};
}

bool enqueue_outbox::renew(request& refused, errc code) {
  if (code != errc::session_expired)
    return false;
  // Later requests would meet the same refusal under the old session.
  if (refused.session == session_)
    session_ = options_.new_session();
  // A request that was said once and refused was not executed: it may be said anew.
  if (refused.repeated || refused.renewed)
    return false;
  refused.renewed = true;
  refused.frame.reset();
  waiting_.push_front(std::move(refused));
  return true;
}

void enqueue_outbox::retry_due(std::uint64_t number) {
  auto* open = window_.find(number);
  if (open == nullptr || !open->pausing)
    return;
  open->pausing = false;
  if (!send_)
    return;
  send_(*open->frame);
}

void enqueue_outbox::expire_sent() {
  session_ = options_.new_session();
  for (auto& one : window_.close_all())
    one.done(store_changed());
}

void enqueue_outbox::fail_all(const error& reason) {
  for (auto& one : window_.close_all())
    one.done(reason);
  for (auto& one : std::exchange(waiting_, {}))
    one.done(reason);
}

} // namespace codeq::client
