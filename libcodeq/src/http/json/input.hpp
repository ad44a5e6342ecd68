// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "http/json/input_field.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// The values that a request gave in a JSON object or in its query string, checked against the
/// fields declared for it. A value is read by its canonical name, whatever name the client used.
/// null and an empty string count as not given; only an empty duration of a body is refused. `raw`
/// refers to the text that was read, which must outlive this object.
class input {
public:
  /// No values of no fields.
  input() = default;

  /// Reads the JSON text of an object. Errors: `invalid_argument` names the field, its value and
  /// what is allowed.
  [[nodiscard]] static result<input> read(std::string_view json, const input_shape& shape);

  /// Reads the parameters of a query string. Errors: as above.
  [[nodiscard]] static result<input>
  read(const std::map<std::string, std::string>& query, std::span<const input_field> fields);

  // Each asks for a declared field, of a fitting type, by its canonical name.

  [[nodiscard]] bool has(std::string_view name) const;

  /// The value of a text, queue or choice field; empty when it was not given.
  [[nodiscard]] std::string text(std::string_view name) const;

  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;

  /// The value of a field of type seconds, milliseconds or period.
  [[nodiscard]] std::optional<duration> period(std::string_view name) const;

  [[nodiscard]] std::optional<timestamp> time(std::string_view name) const;

  /// A time, or one so long before `now`.
  [[nodiscard]] std::optional<timestamp> past(std::string_view name, timestamp now) const;


  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;

  /// The index of the string among the field's choices.
  [[nodiscard]] std::optional<std::size_t> choice(std::string_view name) const;

  /// The value as it was written; empty when it was not given.
  [[nodiscard]] std::string_view raw(std::string_view name) const;

  /// The elements of a field of type texts or queues.
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;

  [[nodiscard]] std::map<std::string, std::string> text_map(std::string_view name) const;

  /// Null when it was not given.
  [[nodiscard]] const input* object(std::string_view name) const;

  [[nodiscard]] const std::vector<input>& objects(std::string_view name) const;

  /// The elements of an array whose elements are refused on their own.
  [[nodiscard]] const std::vector<result<input>>& items(std::string_view name) const;

private:
  friend class input_reader;

  /// The member that the field's type needs is set.
  struct value {
    const input_field* field = nullptr;
    std::string_view raw;
    /// Also of times, in milliseconds, and of flags.
    std::int64_t number = 0;
    std::string text;
    std::vector<std::string> texts;
    std::map<std::string, std::string> text_map;
    /// One of an object, all of an array.
    std::vector<input> objects;
    std::vector<result<input>> items;
  };

  /// Null when it was not given. @pre the field is declared
  [[nodiscard]] const value* find(std::string_view name) const;

  std::span<const input_field> fields_;
  std::vector<value> values_;
};

} // namespace codeq::http
