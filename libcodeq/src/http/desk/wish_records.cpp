// SPDX-License-Identifier: Apache-2.0
#include "http/desk/wish_records.hpp"

#include "base/json_writer.hpp"
#include "core/commands/routing.hpp"
#include "http/json/json_reader.hpp"
#include "http/server/gateway_limits.hpp"

#include <utility>

namespace codeq::http {

namespace {

const error& unreadable_wish() {
  static const error reason{errc::corruption, "a wish or its answer cannot be read"};
  return reason;
}

} // namespace

task_spec wish_task(
  const queue_address& queue,
  std::string_view name,
  std::string text,
  shard_id shard,
  std::uint16_t shards) {
  task_spec task;
  task.tenant = queue.tenant;
  task.queue = queue.queue;
  task.payload = std::move(text);
  task.retention = limits::retention_classes.front();
  // Its key alone decides about its shard.
  std::uint64_t tries = 0;
  do {
    task.key = std::string(name) + "." + std::to_string(tries++);
  } while (core::shard_of_name(queue, task.key, shards) != shard);
  return task;
}

result<timestamp> time_of_wish(std::string_view text) {
  auto json = json_object::parse(text);
  auto at = json ? json->integer("atMs") : std::nullopt;
  if (!at)
    return unreadable_wish();
  return timestamp{duration{*at}};
}

std::string to_wish_answer(const result<std::string>& done) {
  base::json_writer json;
  json.begin_object()
    .field("code", static_cast<std::uint64_t>(done ? errc::none : done.error().code))
    .field("error", done ? std::string() : done.error().context);
  if (done && !done->empty())
    json.field("told", *done);
  json.end_object();
  return json.take();
}

result<std::string> read_wish_answer(std::string_view answer) {
  auto json = json_object::parse(answer);
  auto code = json ? json->integer("code") : std::nullopt;
  if (!code || *code < 0)
    return unreadable_wish();
  if (*code == 0)
    return json->text("told");
  return error{static_cast<errc>(*code), json->text("error")};
}

} // namespace codeq::http
