// SPDX-License-Identifier: Apache-2.0
#include "config/queue_wish.hpp"

#include "codeq/limits.hpp"

#include "base/queue_pattern.hpp"
#include "config/value_options.hpp"
#include "config/values.hpp"

namespace codeq::config {

namespace {

error not_readable(std::string_view text, const std::string& why) {
  return {errc::invalid_argument, quote(text) + " " + why};
}

result<void> take_part(queue_wish& wish, std::string_view part) {
  auto colon = part.find(':');
  auto name = part.substr(0, colon);
  std::string value(colon == std::string_view::npos ? "" : part.substr(colon + 1));
  if (name == "slots")
    return store_count(wish.slots, value, {1, limits::slots_max});
  if (name == "weight")
    return store_count(wish.weight, value, {1, limits::queue_weight_max});
  if (name != "isolation")
    return not_readable(part, "is not slots:N, weight:N or isolation:WHERE");
  if (auto choice = parse_choice(value, {"shared", "thread", "process"}); !choice)
    return choice.error();
  wish.isolation = value;
  return {};
}

} // namespace

result<queue_wish> parse_queue_wish(std::string_view text) {
  queue_wish wish;
  auto equals = text.find('=');
  wish.queue = text.substr(0, equals);
  if (equals == std::string_view::npos || !base::queue_pattern::parse(wish.queue))
    return not_readable(
      text,
      "is not QUEUE=... with a queue of 1 to 128 letters, digits, `.`, `_` or `-`, or a pattern "
      "such as print-* or *");
  for (auto rest = text.substr(equals + 1); !rest.empty();) {
    auto comma = rest.find(',');
    if (auto ok = take_part(wish, rest.substr(0, comma)); !ok)
      return error{ok.error().code, "queue " + wish.queue + ": " + ok.error().context};
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return wish;
}

} // namespace codeq::config
