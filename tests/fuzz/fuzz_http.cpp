// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/json_reader.hpp"
#include "http/json/task_fields.hpp"
#include "http/json/task_input.hpp"
#include "http/json/task_json.hpp"
#include "http/server/target.hpp"
#include "http/server/url.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace codeq::http {

namespace {

namespace beast = boost::beast;

void check(bool holds) {
  if (!holds)
    std::abort();
}

/// Everything written must be valid JSON.
void check_written(base::json_writer& json) {
  check(is_json(json.take()));
}

/// For any content of a field, each reader either accepts it or reports an error.
void read_members(json_object& object) {
  for (const auto& name : object.names()) {
    static_cast<void>(object.text(name));
    static_cast<void>(object.integer(name));
    static_cast<void>(object.flag(name));
    static_cast<void>(object.texts(name));
    if (auto inner = object.object(name))
      static_cast<void>(inner->names());
    for (auto element : object.elements(name))
      check(is_json(element));
    check(is_json(object.raw(name)));
  }
}

/// Writes a parsed task as a response would.
void show(const task_spec& task) {
  task_detail detail;
  detail.status.tenant = task.tenant;
  detail.status.queue = task.queue;
  detail.status.key = task.key;
  detail.status.group = task.group;
  detail.status.error_text = task.payload;
  detail.payload = task.payload;
  base::json_writer json;
  write_task(json, detail, {});
  check_written(json);
}

/// A refusal is shown to the client, whatever it is about.
void check_refusal(const error& refusal) {
  check(refusal.code == errc::invalid_argument && !refusal.context.empty());
  check(base::is_utf8(refusal.context));
  base::json_writer json;
  json.begin_object().field("error", refusal.context).end_object();
  check_written(json);
}

/// The fields of all types, alone and in lists.
constexpr auto lists = std::to_array<input_field>({
  {.name = "tasks", .type = input_type::items, .members = task_fields},
  {.name = "artifacts", .type = input_type::objects, .members = task_fields},
  {.name = "commands", .type = input_type::queues},
  {.name = "ids", .type = input_type::texts},
  wait_field,
});

void read_tasks(std::string_view text) {
  auto one = input::read(text, {task_fields});
  if (!one)
    return check_refusal(one.error());
  auto task = make_task(*one, "tenant");
  check(is_json(task.payload));
  static_cast<void>(use_key_of_header("k", task));
  static_cast<void>(check_task(task, timestamp{}));
  show(task);
}

void read_lists(std::string_view text) {
  auto all = input::read(text, {lists});
  if (!all)
    return check_refusal(all.error());
  for (const auto& item : all->items("tasks"))
    if (!item)
      check_refusal(item.error());
}

void read_settings(std::string_view text) {
  auto changes = input::read(text, {settings_fields});
  if (!changes)
    return check_refusal(changes.error());
  queue_config config;
  apply_settings(*changes, config);
  base::json_writer json;
  write_settings(json, config);
  check_written(json);
}

/// Parses a body as the routes do that take tasks, batches and settings.
void read_body(std::string_view text) {
  base::json_writer value;
  write_value(value, text);
  check_written(value);
  read_tasks(text);
  read_lists(text);
  read_settings(text);
  auto object = json_object::parse(text);
  check(!object || is_json(text));
  if (!object)
    return;
  read_members(*object);
  static_cast<void>(base::parse_rfc3339(object->text("runAt")));
  static_cast<void>(parse_url(object->text("webhook")));
}

/// Parses the target of a request line.
void read_target_of(std::string_view target) {
  request to;
  if (read_target(target, to))
    for (const auto& part : to.path)
      check(part.size() <= target.size());
  if (auto query = input::read(to.query, lists); !query)
    check_refusal(query.error());
  static_cast<void>(body_bytes_max(target));
}

/// Parses a request as it arrives from a socket.
void read_request(std::string_view bytes) {
  beast::http::request_parser<beast::http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits::http_header_bytes_max));
  parser.body_limit(limits::http_body_bytes_max);
  parser.eager(true);
  beast::error_code failure;
  while (!bytes.empty() && !parser.is_done()) {
    auto used = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), failure);
    if (failure || used == 0)
      return;
    bytes.remove_prefix(used);
  }
  const auto& head = parser.get();
  auto view = [](beast::string_view text) { return std::string_view(text.data(), text.size()); };
  read_target_of(view(head.target()));
  static_cast<void>(bearer_of(view(head[beast::http::field::authorization])));
  static_cast<void>(is_loopback_host(view(head[beast::http::field::host])));
  static_cast<void>(is_loopback_origin(view(head[beast::http::field::origin])));
  static_cast<void>(usable_request_id(view(head["X-Request-Id"])));
  read_body(head.body());
}

} // namespace

} // namespace codeq::http

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  codeq::http::read_request(text);
  // Also without a request around it, which the fuzzer would take long to find.
  codeq::http::read_body(text);
  codeq::http::read_target_of(text);
  return 0;
}
