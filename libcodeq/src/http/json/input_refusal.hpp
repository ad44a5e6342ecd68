// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "http/json/input_field.hpp"

#include <string>
#include <string_view>

/// The wording of refused input: each refusal names field, value and limit.
namespace codeq::http {

/// Text in quotes, escaped as in JSON, cut when it is long.
[[nodiscard]] std::string quote(std::string_view text);

/// `'a.b'`, a field's name behind the path to its object.
[[nodiscard]] std::string quote_name(std::string_view path, std::string_view name);

/// An `invalid_argument` with `beginning`, a colon and the text; with the text alone when
/// `beginning` is empty.
[[nodiscard]] error refuse_input(std::string_view beginning, const std::string& text);

/// `'a' is 3; it must be 1..2`.
[[nodiscard]] std::string
describe_value(const std::string& field, const std::string& value, const std::string& rule);

/// The type in words, for example `a whole number`.
[[nodiscard]] std::string_view describe_type(input_type type);

/// A JSON value in words: `a string`, `an object`, `1.5`.
[[nodiscard]] std::string describe_json(std::string_view raw);

/// Which numbers the field takes: `1..1000, or 0 for the default`.
[[nodiscard]] std::string describe_range(const input_field& field);

/// Which strings the field takes: `one of a, b`.
[[nodiscard]] std::string describe_choices(const input_field& field);

/// The rule for a queue's name.
[[nodiscard]] std::string describe_queue_name();

/// Refuses a name that no queue can have. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_queue_name(std::string_view field, const std::string& name);

} // namespace codeq::http
