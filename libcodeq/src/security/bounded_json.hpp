// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

namespace codeq::security {

/// Parses a JSON object whose nesting is within `limits::jwt_json_depth_max`; empty for any other
/// text. The caller bounds the bytes.
[[nodiscard]] std::optional<boost::json::object> parse_bounded_object(std::string_view text);

/// The text of a member; empty when there is none or it is no text.
[[nodiscard]] std::string text_of(const boost::json::object& from, std::string_view name);

} // namespace codeq::security
