// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// A JSON object that came from outside, read member by member. A member of another type than asked
/// for makes the object not `ok`; what is unknown is left alone. Values that are only passed on are
/// kept as the text that they were.
class json_object {
public:
  /// Reads a whole text. Empty when it is no JSON, no object, nested deeper than
  /// `limits::http_json_depth_max`, or has more than `limits::http_json_members_max` members.
  [[nodiscard]] static std::optional<json_object> parse(std::string_view text);

  [[nodiscard]] bool has(std::string_view name) const;

  // Empty when the member is missing or null.

  [[nodiscard]] std::string text(std::string_view name);
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name);
  [[nodiscard]] std::optional<bool> flag(std::string_view name);
  [[nodiscard]] std::vector<std::string> texts(std::string_view name);
  [[nodiscard]] std::optional<json_object> object(std::string_view name);

  /// The elements of an array, each as its text. One with more than `limits::http_json_members_max`
  /// makes the object not `ok`.
  [[nodiscard]] std::vector<std::string_view> elements(std::string_view name);

  /// The value as its text, without the spaces around it. Shares the text that was parsed.
  [[nodiscard]] std::string_view raw(std::string_view name) const;

  struct member {
    std::string name;
    /// The value as its text.
    std::string_view raw;
  };

  /// The names of all members.
  [[nodiscard]] std::vector<std::string> names() const;

  /// All members in their order; a name may come twice.
  [[nodiscard]] const std::vector<member>& members() const noexcept { return members_; }

  /// No member that was asked for had another type.
  [[nodiscard]] bool ok() const noexcept { return ok_; }

private:
  [[nodiscard]] const member* find(std::string_view name) const;
  /// Empty when there are too many.
  [[nodiscard]] static std::optional<json_object> members_of(std::string_view object);

  std::vector<member> members_;
  bool ok_ = true;
};

/// True when the text is one JSON value.
[[nodiscard]] bool is_json(std::string_view text);

/// Why a text cannot be read as JSON.
struct json_fault {
  enum kind_type : std::uint8_t { none, malformed, too_deep };

  kind_type kind = none;
  /// The fault in words, and its offset in bytes. Only set if `malformed`.
  std::string text{};
  std::size_t at = 0;
};

[[nodiscard]] json_fault check_json(std::string_view text);

/// The characters that a JSON string stands for. @pre `raw` is a valid JSON string
[[nodiscard]] std::string unquote_json(std::string_view raw);

/// The elements of an array, each as its text, but not more than `most`; empty for another value.
/// @pre `raw` is valid JSON
[[nodiscard]] std::optional<std::vector<std::string_view>>
elements_of(std::string_view raw, std::size_t most);

} // namespace codeq::http
