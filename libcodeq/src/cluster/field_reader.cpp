// SPDX-License-Identifier: Apache-2.0
#include "cluster/field_reader.hpp"

#include "codeq/ids.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace codeq::cluster {

namespace {

namespace json = boost::json;

constexpr std::size_t id_digits = 16;

std::optional<std::uint64_t> id_of(std::string_view text) {
  std::uint64_t id = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  const auto is_whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return is_whole && text.size() == id_digits ? std::optional(id) : std::nullopt;
}

template <class T>
bool is_ascending(const std::vector<T>& list) {
  return std::adjacent_find(list.begin(), list.end(), std::greater_equal<T>()) == list.end();
}

std::string_view text_of(const json::value& value) {
  const auto* text = value.if_string();
  return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

} // namespace

void field_reader::fail(const std::string& name, const std::string& why) {
  if (problem_.code == errc::none)
    problem_ = {errc::corruption, "field " + name + " " + why};
}

json::value field_reader::take(const char* name) {
  const auto found = from_.find(name);
  if (found == from_.end()) {
    fail(name, "is missing");
    return nullptr;
  }
  auto value = std::move(found->value());
  from_.erase(found);
  return value;
}

std::uint64_t field_reader::number(const char* name, std::uint64_t most) {
  const auto value = take(name);
  const auto* number = value.if_int64();
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) > most) {
    fail(name, "is no number from 0 to " + std::to_string(most));
    return 0;
  }
  return static_cast<std::uint64_t>(*number);
}

std::uint32_t field_reader::number32(const char* name, std::uint32_t most) {
  return static_cast<std::uint32_t>(number(name, most));
}

std::uint64_t field_reader::id(const char* name) {
  const auto id = id_of(text_of(take(name)));
  if (!id)
    fail(name, "is no text of 16 hexadecimal digits");
  return id.value_or(0);
}

bool field_reader::flag(const char* name) {
  const auto value = take(name);
  if (!value.is_bool())
    fail(name, "is neither true nor false");
  return value.is_bool() && value.get_bool();
}

std::string field_reader::text(const char* name, std::size_t bytes_max) {
  const auto value = take(name);
  const auto text = text_of(value);
  const auto is_printable = [](char c) { return c >= 32 && c < 127; };
  const auto is_good = value.is_string() && text.size() <= bytes_max
                       && std::all_of(text.begin(), text.end(), is_printable);
  if (!is_good)
    fail(name, "is no text of at most " + std::to_string(bytes_max) + " printable characters");
  return std::string(text);
}

std::string field_reader::name(const char* name) {
  auto text = std::string(text_of(take(name)));
  if (!is_valid_name(text))
    fail(name, "is no name");
  return text;
}

std::string field_reader::name_or_none(const char* name) {
  const auto value = take(name);
  const auto text = text_of(value);
  if (!value.is_string() || (!text.empty() && !is_valid_name(text)))
    fail(name, "is neither empty nor a name");
  return std::string(text);
}

std::vector<std::string> field_reader::names(const char* name, std::size_t most) {
  const auto value = take(name);
  const auto* list = value.if_array();
  std::vector<std::string> names;
  for (std::size_t i = 0; list && i < list->size(); ++i)
    names.emplace_back(text_of((*list)[i]));
  if (!list || names.size() > most || !is_ascending(names)
      || !std::all_of(names.begin(), names.end(), [](const auto& one) {
           return is_valid_name(one);
         }))
    fail(name, "is no ascending list of at most " + std::to_string(most) + " names");
  return names;
}

std::vector<replication::replica_id> field_reader::replicas(const char* name) {
  const auto value = take(name);
  const auto* list = value.if_array();
  std::vector<replication::replica_id> replicas;
  bool is_good = list && list->size() <= replicas_max;
  for (std::size_t i = 0; is_good && i < list->size(); ++i) {
    const auto id = id_of(text_of((*list)[i]));
    is_good = id.has_value();
    replicas.push_back(replication::replica_id{id.value_or(0)});
  }
  if (!is_good || !is_ascending(replicas))
    fail(
      name, "is no ascending list of at most " + std::to_string(replicas_max) + " identities");
  return replicas;
}

std::map<replication::replica_id, std::string> field_reader::places(const char* name) {
  const auto value = take(name);
  const auto* list = value.if_object();
  std::map<replication::replica_id, std::string> places;
  bool is_good = list && list->size() <= replicas_max;
  if (is_good)
    for (const auto& [text, node] : *list) {
      const auto id = id_of({text.data(), text.size()});
      is_good = is_good && id && is_valid_name(text_of(node));
      places.emplace(replication::replica_id{id.value_or(0)}, text_of(node));
    }
  if (!is_good || places.size() != list->size())
    fail(name, "is no list of at most " + std::to_string(replicas_max) + " identities and nodes");
  return places;
}

extra_fields field_reader::rest() {
  extra_fields rest;
  for (const auto& [name, value] : from_)
    rest.emplace(std::string(name), json::serialize(value));
  return rest;
}

} // namespace codeq::cluster
