// SPDX-License-Identifier: Apache-2.0
#include "etcd/gateway_json.hpp"

#include "base/json_writer.hpp"
#include "base/text_encoding.hpp"
#include "etcd/etcd_limits.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include <boost/json.hpp>

namespace codeq::etcd {

namespace {

namespace json = boost::json;

// Codes of gRPC, as the gateway tells them.
constexpr std::int64_t code_not_found = 5;
constexpr std::array<std::int64_t, 6> final_codes{3, code_not_found, 7, 11, 12, 16};

std::string as_text(std::uint64_t number) {
  return std::to_string(number);
}

gateway_refusal malformed(const char* what) {
  return {false, std::string("an answer without ") + what};
}

std::string quote(std::string_view text) {
  std::string shown(text.substr(0, limits::quoted_bytes_max));
  for (auto& c : shown)
    if (static_cast<unsigned char>(c) < 32)
      c = ' ';
  return shown;
}

std::optional<unsigned> digit_of(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  if (c == '+')
    return 62;
  return c == '/' ? std::optional<unsigned>(63) : std::nullopt;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (!base::is_base64(text))
    return std::nullopt;
  std::string bytes;
  unsigned bits = 0;
  unsigned count = 0;
  for (char c : text) {
    const auto digit = digit_of(c);
    if (!digit)
      break;
    bits = bits << 6 | *digit;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count & 0xFF));
    }
  }
  return bytes;
}

std::optional<json::object> parse(std::string_view text) {
  json::parse_options options;
  options.max_depth = limits::json_depth_max;
  boost::system::error_code failure;
  auto value = json::parse({text.data(), text.size()}, failure, {}, options);
  if (failure || !value.is_object())
    return std::nullopt;
  return std::move(value.get_object());
}

const json::object* object_in(const json::object& in, const char* name) {
  const auto* found = in.if_contains(name);
  return found ? found->if_object() : nullptr;
}

/// A number, which is zero when it is left out; empty when it is none.
std::optional<std::uint64_t> number_in(const json::object& in, const char* name) {
  const auto* found = in.if_contains(name);
  if (!found)
    return 0;
  if (found->is_int64() && found->get_int64() >= 0)
    return static_cast<std::uint64_t>(found->get_int64());
  const auto* text = found->if_string();
  if (!text || text->empty())
    return std::nullopt;
  std::uint64_t number = 0;
  const auto* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, number);
  return read.ec == std::errc{} && read.ptr == end ? std::optional(number) : std::nullopt;
}

bool flag_in(const json::object& in, const char* name) {
  const auto* found = in.if_contains(name);
  return found && found->is_bool() && found->get_bool();
}

std::string text_in(const json::object& in, const char* name) {
  const auto* found = in.if_contains(name);
  const auto* text = found ? found->if_string() : nullptr;
  return text ? quote({text->data(), text->size()}) : std::string();
}

std::optional<std::string> bytes_in(const json::object& in, const char* name) {
  const auto* found = in.if_contains(name);
  if (!found)
    return std::string();
  const auto* text = found->if_string();
  return text ? from_base64({text->data(), text->size()}) : std::nullopt;
}

std::optional<header> header_in(const json::object& in) {
  const auto* found = object_in(in, "header");
  if (!found)
    return std::nullopt;
  const auto cluster = number_in(*found, "cluster_id");
  const auto revision = number_in(*found, "revision");
  if (!cluster || !revision || *cluster == 0)
    return std::nullopt;
  return header{*cluster, *revision};
}

std::optional<entry> entry_in(const json::object& in) {
  auto key = bytes_in(in, "key");
  auto value = bytes_in(in, "value");
  const auto modified = number_in(in, "mod_revision");
  if (!key || !value || !modified)
    return std::nullopt;
  return entry{std::move(*key), std::move(*value), *modified};
}

/// Reads the list of keys of a range. False when one of them is not well-formed.
bool read_entries(const json::object& in, std::vector<entry>& to) {
  const auto* found = in.if_contains("kvs");
  if (!found)
    return true;
  const auto* list = found->if_array();
  if (!list)
    return false;
  for (const auto& one : *list) {
    auto read = one.is_object() ? entry_in(one.get_object()) : std::nullopt;
    if (!read)
      return false;
    to.push_back(std::move(*read));
  }
  return true;
}

gateway_refusal read_refusal(const gateway_answer& answer) {
  const auto content = parse(answer.body);
  auto words = content ? text_in(*content, "error") : std::string();
  if (words.empty())
    words = quote(answer.body);
  const auto code = content ? number_in(*content, "code") : std::nullopt;
  gateway_refusal refusal;
  refusal.words = "HTTP " + std::to_string(answer.status) + ", " + words;
  if (code && content->if_contains("code"))
    for (auto one : final_codes)
      refusal.is_final = refusal.is_final || static_cast<std::uint64_t>(one) == *code;
  return refusal;
}

std::variant<json::object, gateway_refusal> read_success(const gateway_answer& answer) {
  if (answer.status != 200)
    return read_refusal(answer);
  auto content = parse(answer.body);
  if (!content)
    return malformed("a JSON object");
  return std::move(*content);
}

base::json_writer& put_operation(base::json_writer& to, const swap& what) {
  if (!what.next)
    return to.begin_object()
      .begin_object("request_delete_range")
      .field("key", base::to_base64(what.key))
      .end_object()
      .end_object();
  to.begin_object().begin_object("request_put");
  to.field("key", base::to_base64(what.key)).field("value", base::to_base64(*what.next));
  if (what.lease > 0)
    to.field("lease", as_text(what.lease));
  return to.end_object().end_object();
}

/// The body of an answer to a request of a stream: one object in an object.
std::optional<json::object> unwrap(json::object& content) {
  auto* found = content.if_contains("result");
  if (!found || !found->is_object())
    return std::nullopt;
  return std::move(found->get_object());
}

gateway_reading<lease_answer> lease_in(const json::object& content) {
  const auto at = header_in(content);
  const auto id = number_in(content, "ID");
  const auto seconds = number_in(content, "TTL");
  if (!at || !id || !seconds)
    return malformed("a lease");
  lease_answer lease{*at, *id, {}};
  // A lease that is over has no time, or less than none.
  constexpr std::uint64_t seconds_max = 9'000'000'000;
  if (*seconds <= seconds_max)
    lease.remaining = std::chrono::seconds{*seconds};
  return lease;
}

result<void> check_size(const std::optional<std::string>& value, const std::string& key) {
  if (!value || value->size() <= limits::value_bytes_max)
    return {};
  return error{
    errc::too_large,
    "etcd key " + key + ": the value has " + std::to_string(value->size()) + " bytes, at most "
      + std::to_string(limits::value_bytes_max)};
}

} // namespace

result<void> check(const swap& what) {
  if (what.key.empty() || what.key.size() > limits::key_bytes_max)
    return error{
      errc::invalid_argument,
      "etcd key: " + std::to_string(what.key.size()) + " bytes, 1 to "
        + std::to_string(limits::key_bytes_max) + " are possible"};
  if (auto fits = check_size(what.expected, what.key); !fits)
    return fits;
  return check_size(what.next, what.key);
}

gateway_request to_request(const swap& what) {
  const auto key = base::to_base64(what.key);
  base::json_writer body;
  body.begin_object().begin_array("compare").begin_object();
  body.field("key", key).field("result", "EQUAL");
  // A comparison with the value of a key that is absent always fails.
  if (what.expected)
    body.field("target", "VALUE").field("value", base::to_base64(*what.expected));
  else
    body.field("target", "CREATE").field("create_revision", "0");
  body.end_object().end_array();
  body.begin_array("success");
  put_operation(body, what).end_array();
  body.begin_array("failure").begin_object().begin_object("request_range");
  body.field("key", key).end_object().end_object().end_array().end_object();
  return {"/v3/kv/txn", body.take()};
}

gateway_request to_request(const key_range& what, std::string_view first) {
  base::json_writer body;
  body.begin_object().field("key", base::to_base64(first));
  if (!what.end.empty())
    body.field("range_end", base::to_base64(what.end));
  if (what.modified_since > 0)
    body.field("min_mod_revision", as_text(what.modified_since));
  const auto is_short = what.keys_max > 0 && what.keys_max < limits::page_keys;
  body.field("limit", as_text(is_short ? what.keys_max : limits::page_keys)).end_object();
  return {"/v3/kv/range", body.take()};
}

gateway_request grant_request(duration length) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(length).count();
  base::json_writer body;
  body.begin_object().field("TTL", std::to_string(seconds)).end_object();
  return {"/v3/lease/grant", body.take()};
}

gateway_request keep_alive_request(std::uint64_t lease) {
  base::json_writer body;
  body.begin_object().field("ID", as_text(lease)).end_object();
  return {"/v3/lease/keepalive", body.take()};
}

gateway_request revoke_request(std::uint64_t lease) {
  base::json_writer body;
  body.begin_object().field("ID", as_text(lease)).end_object();
  return {"/v3/lease/revoke", body.take()};
}

gateway_request watch_request(const key_range& what, std::uint64_t revision) {
  base::json_writer body;
  body.begin_object().begin_object("create_request");
  body.field("key", base::to_base64(what.first));
  if (!what.end.empty())
    body.field("range_end", base::to_base64(what.end));
  if (revision > 0)
    body.field("start_revision", as_text(revision));
  body.field("fragment", true).end_object().end_object();
  return {"/v3/watch", body.take()};
}

gateway_reading<decision> read_decision(const gateway_answer& answer, const swap& asked) {
  auto content = read_success(answer);
  if (auto* refusal = std::get_if<gateway_refusal>(&content))
    return *refusal;
  const auto& object = std::get<json::object>(content);
  const auto at = header_in(object);
  if (!at)
    return malformed("a header");
  if (flag_in(object, "succeeded"))
    return decision{*at, true, asked.next};
  const auto* list = object.if_contains("responses");
  const auto* responses = list ? list->if_array() : nullptr;
  if (!responses || responses->size() != 1 || !responses->front().is_object())
    return malformed("the current value");
  const auto* range = object_in(responses->front().get_object(), "response_range");
  std::vector<entry> found;
  if (!range || !read_entries(*range, found) || found.size() > 1)
    return malformed("the current value");
  decision made{*at, false, std::nullopt};
  if (!found.empty())
    made.current = std::move(found.front().value);
  // Values carry their version, so an equal one was decided by a copy of this request.
  made.is_applied = made.current == asked.next;
  if (made.current == asked.expected && !made.is_applied)
    return malformed("a reason why the comparison failed");
  return made;
}

gateway_reading<range_answer> read_range(const gateway_answer& answer) {
  auto content = read_success(answer);
  if (auto* refusal = std::get_if<gateway_refusal>(&content))
    return *refusal;
  const auto& object = std::get<json::object>(content);
  const auto at = header_in(object);
  const auto count = number_in(object, "count");
  range_answer read;
  if (!at || !count || !read_entries(object, read.found))
    return malformed("a list of keys");
  read.at = *at;
  read.count = *count;
  read.has_more = flag_in(object, "more");
  return read;
}

gateway_reading<lease_answer> read_grant(const gateway_answer& answer) {
  auto content = read_success(answer);
  if (auto* refusal = std::get_if<gateway_refusal>(&content))
    return *refusal;
  auto lease = lease_in(std::get<json::object>(content));
  const auto* read = std::get_if<lease_answer>(&lease);
  return read && read->id == 0 ? malformed("a lease") : lease;
}

gateway_reading<lease_answer> read_keep_alive(const gateway_answer& answer) {
  auto content = read_success(answer);
  if (auto* refusal = std::get_if<gateway_refusal>(&content))
    return *refusal;
  auto inner = unwrap(std::get<json::object>(content));
  if (!inner)
    return malformed("a lease");
  return lease_in(*inner);
}

gateway_reading<lease_answer> read_revoke(const gateway_answer& answer) {
  auto content = read_success(answer);
  if (auto* refusal = std::get_if<gateway_refusal>(&content)) {
    const auto told = parse(answer.body);
    const auto code = told ? number_in(*told, "code") : std::nullopt;
    return code == code_not_found ? gateway_reading<lease_answer>(lease_answer{}) : *refusal;
  }
  const auto at = header_in(std::get<json::object>(content));
  if (!at)
    return malformed("a header");
  return lease_answer{*at, 0, {}};
}

result<watch_line> read_watch_line(std::string_view text) {
  auto content = parse(text);
  if (!content)
    return error{errc::protocol_error, "a line of a watch that is no JSON object: " + quote(text)};
  auto inner = unwrap(*content);
  if (!inner)
    return error{errc::unavailable, "the watch ended: " + quote(text)};
  const auto at = header_in(*inner);
  const auto compacted = number_in(*inner, "compact_revision");
  if (!at || !compacted)
    return error{errc::protocol_error, "a line of a watch without a header"};
  watch_line line;
  line.at = *at;
  line.is_created = flag_in(*inner, "created");
  line.is_canceled = flag_in(*inner, "canceled");
  line.compacted = *compacted;
  line.reason = text_in(*inner, "cancel_reason");
  const auto* events = inner->if_contains("events");
  if (events && !events->is_array())
    return error{errc::protocol_error, "a line of a watch with malformed changes"};
  for (std::size_t i = 0; events && i < events->get_array().size(); ++i) {
    const auto& event = events->get_array()[i];
    const auto* kv = event.is_object() ? object_in(event.get_object(), "kv") : nullptr;
    auto change = kv ? entry_in(*kv) : std::nullopt;
    if (!change)
      return error{errc::protocol_error, "a line of a watch with a malformed change"};
    if (text_in(event.get_object(), "type") == "DELETE")
      change->value.reset();
    line.changes.push_back(std::move(*change));
  }
  return line;
}

} // namespace codeq::etcd
