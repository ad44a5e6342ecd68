// SPDX-License-Identifier: Apache-2.0
#include "protocol/task_convert.hpp"

#include "codeq/limits.hpp"

#include "protocol/task_validation.hpp"

#include <capnp/message.h>

#include <cstring>
#include <string>

namespace codeq::protocol {

namespace {

constexpr std::size_t word_bytes = sizeof(capnp::word);

constexpr std::size_t words_for(std::size_t bytes) {
  return (bytes + word_bytes - 1) / word_bytes;
}

/// The exact size of a task's body: root pointer, two pointers, the payload, then the list of
/// headers with its tag and each text's end mark.
std::size_t body_words(const task_spec& task) {
  std::size_t words = 1 + 2 + words_for(task.payload.size());
  if (task.headers.empty())
    return words;
  words += 1 + 2 * task.headers.size();
  for (const auto& [name, value] : task.headers)
    words += words_for(name.size() + 1) + words_for(value.size() + 1);
  return words;
}

capnp::Text::Reader text_of(const std::string& text) {
  return {text.data(), text.size()};
}

capnp::Data::Reader data_of(const std::string& text) {
  return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}

/// Fills `place`, which is zeroed and exactly as large as the body.
void write_body(const task_spec& task, std::span<std::uint64_t> place) {
  capnp::FlatMessageBuilder builder(
    kj::arrayPtr(reinterpret_cast<capnp::word*>(place.data()), place.size()));
  auto body = builder.initRoot<schema::TaskBody>();
  body.setPayload(data_of(task.payload));
  if (!task.headers.empty()) {
    auto headers = body.initHeaders(static_cast<capnp::uint>(task.headers.size()));
    capnp::uint i = 0;
    for (const auto& [name, value] : task.headers) {
      headers[i].setName(text_of(name));
      headers[i].setValue(text_of(value));
      ++i;
    }
  }
  builder.requireFilled();
}

bool shares_run(const task_spec& a, const task_spec& b) {
  return a.queue == b.queue && a.tenant == b.tenant && a.priority == b.priority
         && a.delay == b.delay && a.not_before == b.not_before
         && a.allow_promotion == b.allow_promotion && a.max_attempts == b.max_attempts
         && a.retry == b.retry && a.lease == b.lease && a.run_timeout == b.run_timeout
         && a.group == b.group;
}

task_spec without_body(const task_spec& task) {
  task_spec shared;
  shared.tenant = task.tenant;
  shared.queue = task.queue;
  shared.priority = task.priority;
  shared.delay = task.delay;
  shared.not_before = task.not_before;
  shared.allow_promotion = task.allow_promotion;
  shared.max_attempts = task.max_attempts;
  shared.retry = task.retry;
  shared.lease = task.lease;
  shared.run_timeout = task.run_timeout;
  shared.group = task.group;
  return shared;
}

// Words of the request beside its tasks and of a run beside its names; generous.
constexpr std::size_t request_words = 32;
constexpr std::size_t run_words = 24;

std::string place_of(std::size_t i, std::size_t count) {
  return count > 1 ? "task " + std::to_string(i) + ": " : "";
}

error too_many_bytes(std::size_t request_bytes) {
  return {
    errc::too_large,
    "the request is " + std::to_string(request_bytes) + " bytes; it must be at most "
      + std::to_string(limits::frame_bytes_max) + "; send fewer tasks at once"};
}

} // namespace

void write_settings(const task_spec& task, schema::TaskSettings::Builder to) {
  to.setMaxAttempts(static_cast<std::uint16_t>(task.max_attempts));
  to.setRetryKind(static_cast<schema::RetryKind>(task.retry.kind));
  to.setRetryBaseMs(static_cast<std::uint64_t>(task.retry.base.count()));
  to.setRetryCapMs(static_cast<std::uint64_t>(task.retry.cap.count()));
  to.setLeaseMs(static_cast<std::uint64_t>(task.lease.count()));
  to.setRunTimeoutMs(static_cast<std::uint64_t>(task.run_timeout.count()));
}

result<encoded_tasks> encoded_tasks::encode(std::span<const task_spec> tasks) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (auto ok = validate(tasks[i]); !ok)
      return error{ok.error().code, place_of(i, tasks.size()) + ok.error().context};
    words += body_words(tasks[i]);
  }
  if (words * word_bytes > limits::frame_bytes_max)
    return too_many_bytes(words * word_bytes);
  encoded_tasks encoded;
  encoded.words_.reserve(words);
  for (const auto& task : tasks)
    encoded.append(task);
  if (encoded.request_bytes() > limits::frame_bytes_max)
    return too_many_bytes(encoded.request_bytes());
  return encoded;
}

std::size_t encoded_tasks::request_bytes() const noexcept {
  std::size_t names = 0;
  for (const auto& one : runs_)
    names += run_words + words_for(one.shared.queue.size() + 1)
             + words_for(one.shared.tenant.size() + 1) + words_for(one.shared.group.size());
  return word_bytes * (request_words + names + words_for(ends_.size() * 4) + words_.size());
}

void encoded_tasks::append(const task_spec& task) {
  auto begin = words_.size();
  words_.resize(begin + body_words(task));
  write_body(task, std::span(words_).subspan(begin));
  ends_.push_back(static_cast<std::uint32_t>(words_.size() * word_bytes));
  if (runs_.empty() || !shares_run(runs_.back().shared, task))
    runs_.push_back({0, without_body(task)});
  ++runs_.back().count;
}

void encoded_tasks::write_run(const run& from, schema::EnqueueRun::Builder to) const {
  to.setCount(from.count);
  auto queue = to.initQueue();
  queue.setTenant(text_of(from.shared.tenant));
  queue.setQueue(text_of(from.shared.queue));
  to.setPriority(static_cast<std::uint8_t>(from.shared.priority));
  write_settings(from.shared, to.initSettings());
  if (from.shared.not_before)
    to.setNotBeforeMs(from.shared.not_before->time_since_epoch().count());
  to.setDelayMs(static_cast<std::uint64_t>(from.shared.delay.count()));
  to.setAllowPromotion(from.shared.allow_promotion);
  if (!from.shared.group.empty())
    to.setGroup(data_of(from.shared.group));
}

void encoded_tasks::write_follow_ups(schema::FollowUps::Builder to) const {
  write_runs(to.initRuns(static_cast<capnp::uint>(runs_.size())));
  write_bodies(to.initTasks());
}

void encoded_tasks::write_runs(capnp::List<schema::EnqueueRun>::Builder to) const {
  for (std::size_t i = 0; i < runs_.size(); ++i)
    write_run(runs_[i], to[static_cast<capnp::uint>(i)]);
}

void encoded_tasks::write_bodies(schema::Packed::Builder to) const {
  to.setEnds(kj::arrayPtr(ends_.data(), ends_.size()));
  to.setBytes({reinterpret_cast<const capnp::byte*>(words_.data()), words_.size() * word_bytes});
}

enqueue_request encoded_tasks::to_request(const address& to) const {
  auto fill = [&](schema::EnqueueRequest::Builder request) {
    auto producer = request.initProducer();
    producer.setHigh(to.producer.high);
    producer.setLow(to.producer.low);
    request.setNumber(to.number);
    request.setAnsweredBelow(to.answered_below);
    request.setShard(value(to.shard));
    write_runs(request.initRuns(static_cast<capnp::uint>(runs_.size())));
    write_bodies(request.initTasks());
  };
  return enqueue_request::build(fill, request_bytes() / word_bytes);
}

} // namespace codeq::protocol
