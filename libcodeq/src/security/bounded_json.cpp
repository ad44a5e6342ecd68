// SPDX-License-Identifier: Apache-2.0
#include "security/bounded_json.hpp"

#include "security/access_limits.hpp"

#include <utility>

namespace codeq::security {

std::optional<boost::json::object> parse_bounded_object(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = limits::jwt_json_depth_max;
  boost::system::error_code failure;
  auto value = boost::json::parse({text.data(), text.size()}, failure, {}, options);
  if (failure || !value.is_object())
    return std::nullopt;
  return std::move(value.get_object());
}

std::string text_of(const boost::json::object& from, std::string_view name) {
  const auto* value = from.if_contains(name);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? std::string(*text) : std::string();
}

} // namespace codeq::security
