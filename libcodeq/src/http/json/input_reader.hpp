// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/json/input.hpp"
#include "http/json/json_reader.hpp"

namespace codeq::http {

/// The place of an object in its request; used in refusals.
struct input_place {
  /// Before the names of its fields: `retry.` or `artifacts[0].`.
  std::string path;
  /// Begins the refusal of a value that is missing or of another type.
  std::string_view refusal;
  /// The values are those of a query string.
  bool is_query = false;
  /// See `input_field::takes_all_names`.
  bool takes_all_names = false;
};

/// Reads the values of one object or query string, and refuses undeclared fields.
class input_reader {
public:
  input_reader(std::span<const input_field> fields, input_place place)
    : fields_(fields), place_(std::move(place)) {}

  // Each is called once. Errors: `invalid_argument`, in the words of `input_refusal.hpp`.
  [[nodiscard]] result<input> read(const json_object& object);
  [[nodiscard]] result<input> read(const std::map<std::string, std::string>& query);

private:
  /// A field that was given, with its JSON text, or with its text in a query.
  struct given_field {
    const input_field* field = nullptr;
    std::string_view raw;
  };

  /// The map that a parameter of a query is a member of; null when there is none.
  [[nodiscard]] const input_field* find_map(std::string_view name) const;

  /// Refuses an unknown name, and one that was taken before.
  [[nodiscard]] result<void> take(std::string_view name, std::string_view raw);
  /// Refuses null and empty texts of fields that are never empty.
  [[nodiscard]] result<void> check_empty(const input_field& field, std::string_view raw) const;
  [[nodiscard]] result<void> check_pairs() const;
  [[nodiscard]] result<void> check_required() const;
  /// Adds a value, unless another name of its field said the same.
  [[nodiscard]] result<void> add(input::value&& value, input& to) const;
  [[nodiscard]] result<input> read_given();

  // Each fills in a value; false when it counts as not given.
  [[nodiscard]] result<bool> read_value(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool> read_number(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool>
  take_number(const given_field& given, std::int64_t number, input::value& to) const;
  [[nodiscard]] result<bool> read_flag(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool> read_text(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool> read_period(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool> read_json(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool> read_object(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool> read_text_map(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool> read_query_map(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool> read_array(const given_field& given, input::value& to) const;
  [[nodiscard]] result<bool>
  add_text(std::size_t index, std::string_view raw, input::value& to) const;
  [[nodiscard]] result<bool>
  add_object(std::size_t index, std::string_view raw, input::value& to) const;

  /// Checks the text of a field, and what it stands for.
  [[nodiscard]] result<void> check_text(const input_field& field, input::value& to) const;
  [[nodiscard]] result<void> check_time(const input_field& field, input::value& to) const;
  /// True when the field, or the one that it is another name of, has to be given.
  [[nodiscard]] bool is_required(const input_field& field) const;
  [[nodiscard]] std::string name_of(const input_field& field) const;
  /// The name, and the other names of the same field.
  [[nodiscard]] std::string names_of(const input_field& field) const;
  [[nodiscard]] error wrong_type(const given_field& given) const;
  [[nodiscard]] error
  out_of_range(const input_field& field, const std::string& value, const std::string& rule) const;
  [[nodiscard]] error too_long(const input_field& field, std::size_t bytes) const;
  [[nodiscard]] error wrong_count(const input_field& field, std::size_t count) const;
  [[nodiscard]] error given_twice(std::string_view name) const;
  [[nodiscard]] error unknown(std::string_view name) const;
  /// The map of a query that has this name itself; null when there is none.
  [[nodiscard]] const input_field* known_map(std::string_view name) const;

  std::span<const input_field> fields_;
  input_place place_;
  /// The fields that were named, also with null.
  std::vector<const input_field*> taken_;
  std::vector<given_field> given_;
  /// The members of the maps of a query.
  std::map<const input_field*, std::map<std::string, std::string>> query_maps_;
};

/// Explains why a text cannot be read as a JSON object. @pre `json_object::parse` refused it
[[nodiscard]] error refuse_object(std::string_view json, std::string_view refusal);

} // namespace codeq::http
