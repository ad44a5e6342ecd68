// SPDX-License-Identifier: Apache-2.0
#include "protocol/task_convert.hpp"

#include "base/tuning.hpp"
#include "core/commands/routing.hpp"
#include "encoding/limit_structs.hpp"
#include "encoding/schema_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/shared_data.hpp"

#include <capnp/message.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>

namespace codeq::protocol {

namespace {

constexpr std::size_t word_bytes = sizeof(capnp::word);

constexpr std::size_t words_for(std::size_t bytes) {
  return (bytes + word_bytes - 1) / word_bytes;
}

/// The exact size of a task's body: root pointer, two pointers, the payload, then the list of
/// headers with its tag and the terminator of each text.
std::size_t body_words(const task_spec& task) {
  std::size_t words = 1 + 2 + words_for(task.payload.size());
  if (task.headers.empty())
    return words;
  words += 1 + 2 * task.headers.size();
  for (const auto& [name, value] : task.headers)
    words += words_for(name.size() + 1) + words_for(value.size() + 1);
  return words;
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

/// True when both tasks may be in one run. A task with a key has a run of its own. `tenant` is that
/// of `b`.
bool shares_run(const task_spec& a, const task_spec& b, std::string_view tenant) {
  return a.key.empty() && b.key.empty() && a.queue == b.queue && a.tenant == tenant
         && a.group == b.group && a.priority == b.priority && a.delay == b.delay
         && a.not_before == b.not_before && a.allow_promotion == b.allow_promotion
         && a.max_attempts == b.max_attempts && a.retry == b.retry && a.lease == b.lease
         && a.run_timeout == b.run_timeout && a.progress_timeout == b.progress_timeout
         && a.retention == b.retention && a.dead_retention == b.dead_retention
         && a.when_dead == b.when_dead && a.fairness_key == b.fairness_key
         && a.fairness_weight == b.fairness_weight && a.limits == b.limits;
}

task_spec without_body(const task_spec& task, std::string_view tenant) {
  task_spec shared;
  shared.tenant = tenant;
  shared.queue = task.queue;
  shared.priority = task.priority;
  shared.delay = task.delay;
  shared.not_before = task.not_before;
  shared.allow_promotion = task.allow_promotion;
  shared.max_attempts = task.max_attempts;
  shared.retry = task.retry;
  shared.lease = task.lease;
  shared.run_timeout = task.run_timeout;
  shared.progress_timeout = task.progress_timeout;
  shared.retention = task.retention;
  shared.dead_retention = task.dead_retention;
  shared.group = task.group;
  shared.when_dead = task.when_dead;
  shared.key = task.key;
  shared.duplicate = task.duplicate;
  shared.replace_payload = task.replace_payload;
  shared.fairness_key = task.fairness_key;
  shared.fairness_weight = task.fairness_weight;
  shared.limits = task.limits;
  return shared;
}

/// The name that determines a task's shard; empty when a limit does, or when any shard will do.
const std::string& name_of(const task_spec& task) {
  return task.group.empty() ? task.key : task.group;
}

// Upper bounds of the words of a request without its tasks, and of a run without its names.
constexpr std::size_t request_words = 32;
constexpr std::size_t run_words = 32;

std::string words_for_place(std::size_t i, std::size_t count, std::string_view noun) {
  if (noun.empty() && count == 1)
    return "";
  return std::string(noun.empty() ? "task" : noun) + ' ' + std::to_string(i) + ": ";
}

error too_many_bytes(std::size_t request_bytes) {
  return {
    errc::too_large,
    "the request is " + std::to_string(request_bytes) + " bytes; it must be at most "
      + std::to_string(tuning::frame_bytes_max) + "; send fewer tasks at once"};
}

void write_run(const task_spec& from, std::uint32_t count, schema::EnqueueRun::Builder to) {
  to.setCount(count);
  encoding::write_queue(to.initQueue(), {from.tenant, from.queue});
  to.setPriority(static_cast<std::uint8_t>(from.priority));
  auto chosen = settings_of(from);
  encoding::write_settings(to.initSettings(), chosen.settings);
  to.setLeftToQueue(chosen.left_to_queue);
  if (from.not_before)
    to.setNotBeforeMs(from.not_before->time_since_epoch().count());
  to.setDelayMs(static_cast<std::uint64_t>(from.delay.count()));
  to.setAllowPromotion(from.allow_promotion);
  if (!from.group.empty())
    to.setGroup(data_of(from.group));
  if (!from.key.empty())
    to.setKey(data_of(from.key));
  to.setOnDuplicate(encoding::to_schema(from.duplicate));
  to.setReplacePayload(from.replace_payload);
  if (!from.fairness_key.empty())
    to.setFairnessKey(data_of(from.fairness_key));
  to.setFairnessWeight(static_cast<std::uint16_t>(from.fairness_weight));
  encoding::write_limits_of(to, from.limits);
}

} // namespace

result<encoded_tasks>
encoded_tasks::encode(
  std::span<const task_spec> tasks, std::string_view noun, std::string_view tenant) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (auto ok = validate(tasks[i]); !ok)
      return error{ok.error().code, words_for_place(i, tasks.size(), noun) + ok.error().context};
    words += body_words(tasks[i]);
  }
  if (words * word_bytes > tuning::frame_bytes_max)
    return too_many_bytes(words * word_bytes);
  encoded_tasks encoded;
  encoded.words_.reserve(words);
  for (const auto& task : tasks)
    encoded.append(task, task.tenant.empty() ? tenant : task.tenant);
  if (encoded.request_bytes() > tuning::frame_bytes_max)
    return too_many_bytes(encoded.request_bytes());
  return encoded;
}

std::size_t encoded_tasks::bytes_of(const run_numbers& runs) const {
  std::size_t words = request_words;
  for (auto number : runs) {
    const auto& one = runs_[number];
    words += run_words + words_for(one.shared.queue.size() + 1)
             + words_for(one.shared.tenant.size() + 1) + words_for(one.shared.group.size())
             + words_for(one.shared.key.size()) + words_for(one.shared.fairness_key.size())
             + encoding::limit_words(one.shared.limits)
             + words_for(one.count * sizeof(std::uint32_t))
             + words_for(end_of(one) - begin_of(one));
  }
  return word_bytes * words;
}

void encoded_tasks::append(const task_spec& task, std::string_view tenant) {
  auto begin = words_.size();
  words_.resize(begin + body_words(task));
  write_body(task, std::span(words_).subspan(begin));
  ends_.push_back(static_cast<std::uint32_t>(words_.size() * word_bytes));
  if (runs_.empty() || !shares_run(runs_.back().shared, task, tenant))
    runs_.push_back({static_cast<std::uint32_t>(ends_.size() - 1), 0, without_body(task, tenant)});
  ++runs_.back().count;
}

bool encoded_tasks::is_addressed() const noexcept {
  return std::any_of(
    runs_.begin(), runs_.end(), [](const run& one) { return owner_of(one, 1).has_value(); });
}

encoded_tasks::run_numbers encoded_tasks::all_runs() const {
  run_numbers all(runs_.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<std::uint32_t> encoded_tasks::tasks_of(const run_numbers& runs) const {
  std::vector<std::uint32_t> places;
  for (auto number : runs) {
    for (std::uint32_t i = 0; i < runs_[number].count; ++i)
      places.push_back(runs_[number].first + i);
  }
  return places;
}

std::vector<encoded_tasks::part>
encoded_tasks::split(const run_numbers& runs, std::uint16_t shard_count, shard_id anywhere) const {
  auto owner = [&](std::uint32_t number) { return owner_of(runs_[number], shard_count); };
  auto first_owned = std::find_if(runs.begin(), runs.end(), owner);
  if (first_owned != runs.end())
    anywhere = *owner(*first_owned);
  std::vector<part> parts;
  std::unordered_map<std::uint16_t, std::size_t> place_of_shard;
  for (auto number : runs) {
    auto shard = owner(number).value_or(anywhere);
    auto [place, is_new] = place_of_shard.try_emplace(value(shard), parts.size());
    if (is_new)
      parts.push_back({shard, {}});
    parts[place->second].runs.push_back(number);
  }
  return parts;
}

std::optional<shard_id> encoded_tasks::owner_of(const run& of, std::uint16_t shard_count) {
  const auto& task = of.shared;
  return core::shard_of_task({task.tenant, task.queue}, name_of(task), task.limits, shard_count);
}

std::uint32_t encoded_tasks::begin_of(const run& of) const {
  return of.first == 0 ? 0 : ends_[of.first - 1];
}

std::uint32_t encoded_tasks::end_of(const run& of) const {
  return ends_[of.first + of.count - 1];
}

void encoded_tasks::write_follow_ups(schema::FollowUps::Builder to) const {
  auto runs = all_runs();
  write_runs(runs, to.initRuns(static_cast<capnp::uint>(runs.size())));
  write_bodies(runs, to.initTasks());
}

void encoded_tasks::write_runs(
  const run_numbers& runs, capnp::List<schema::EnqueueRun>::Builder to) const {
  capnp::uint i = 0;
  for (auto number : runs)
    write_run(runs_[number].shared, runs_[number].count, to[i++]);
}

void encoded_tasks::write_bodies(const run_numbers& runs, schema::Packed::Builder to) const {
  std::uint32_t tasks = 0;
  std::uint32_t byte_count = 0;
  for (auto number : runs) {
    tasks += runs_[number].count;
    byte_count += end_of(runs_[number]) - begin_of(runs_[number]);
  }
  auto ends = to.initEnds(tasks);
  auto bytes = to.initBytes(byte_count);
  capnp::uint next = 0;
  std::uint32_t written = 0;
  for (auto number : runs) {
    const auto& one = runs_[number];
    auto begin = begin_of(one);
    const auto* from = reinterpret_cast<const capnp::byte*>(words_.data()) + begin;
    std::copy(from, from + (end_of(one) - begin), bytes.begin() + written);
    for (std::uint32_t i = 0; i < one.count; ++i)
      ends.set(next++, written + ends_[one.first + i] - begin);
    written += end_of(one) - begin;
  }
}

enqueue_request encoded_tasks::to_request(const address& to, const run_numbers& runs) const {
  auto fill = [&](schema::EnqueueRequest::Builder request) {
    encoding::write_producer(request.initProducer(), to.producer);
    request.setNumber(to.number);
    request.setAnsweredBelow(to.answered_below);
    request.setShard(value(to.shard));
    write_runs(runs, request.initRuns(static_cast<capnp::uint>(runs.size())));
    write_bodies(runs, request.initTasks());
  };
  return enqueue_request::build(fill, bytes_of(runs) / word_bytes);
}

} // namespace codeq::protocol
