// SPDX-License-Identifier: Apache-2.0
#include "http/json/input_reader.hpp"

#include "codeq/ids.hpp"

#include "base/duration_text.hpp"
#include "base/nearest_name.hpp"
#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/input_refusal.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace codeq::http {

namespace {

constexpr std::string_view null = "null";
/// The maximum length of a number in a refusal, in bytes.
constexpr std::size_t digits_max = 32;
/// The maximum number of known names that the refusal of an unknown one lists.
constexpr std::size_t listed_names_max = 18;

/// The whole number that a text is; one of too many digits is the largest or smallest.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end != text.data() + text.size() || failure == std::errc::invalid_argument)
    return std::nullopt;
  using bounds = std::numeric_limits<std::int64_t>;
  if (failure == std::errc::result_out_of_range)
    return text.front() == '-' ? bounds::min() : bounds::max();
  return number;
}

bool contains(const input_range& range, std::int64_t number) {
  return number >= range.least && number <= range.most;
}

/// The member that the parameter `map.NAME` or `map[NAME]` is about; empty for another parameter.
std::string_view member_of(std::string_view map, std::string_view parameter) {
  if (!parameter.starts_with(map))
    return {};
  parameter.remove_prefix(map.size());
  if (parameter.starts_with('.'))
    return parameter.substr(1);
  bool is_in_brackets = parameter.starts_with('[') && parameter.ends_with(']');
  return is_in_brackets ? parameter.substr(1, parameter.size() - 2) : std::string_view();
}

/// True for digits before a unit, however many they are.
bool is_duration(std::string_view text) {
  constexpr auto units = std::to_array<std::string_view>({"ms", "s", "m", "h", "d"});
  auto unit = text.substr(std::min(text.find_first_not_of("0123456789"), text.size()));
  return unit.size() < text.size() && std::find(units.begin(), units.end(), unit) != units.end();
}

/// How many elements an array has, of which not more than so many were read.
std::string elements_text(std::size_t count) {
  if (count > limits::http_json_members_max)
    return "more than " + std::to_string(limits::http_json_members_max) + " elements";
  return std::to_string(count) + (count == 1 ? " element" : " elements");
}

/// Ends the refusal of a name to which no known one is near.
std::string describe_known(const std::vector<std::string_view>& known) {
  if (known.empty())
    return "; none is known here";
  if (known.size() > listed_names_max)
    return "; /openapi.json lists the known ones";
  std::string names;
  for (auto name : known)
    names.append(names.empty() ? "" : ", ").append(name);
  return "; known: " + names;
}

/// True for a time from which on a range has everything.
bool is_unset_time(const input_field& field, const std::string& text) {
  if (field.type != input_type::past || !field.zero_is_unset)
    return false;
  const auto time = base::parse_rfc3339(text);
  return time && *time <= timestamp{};
}

} // namespace

result<input> input_reader::read(const json_object& object) {
  for (const auto& member : object.members())
    if (auto ok = take(member.name, member.raw); !ok)
      return ok.error();
  return read_given();
}

result<input> input_reader::read(const std::map<std::string, std::string>& query) {
  for (const auto& [name, value] : query)
    if (auto ok = take(name, value); !ok)
      return ok.error();
  return read_given();
}

const input_field* input_reader::find_map(std::string_view name) const {
  for (const auto& field : fields_) {
    bool is_map = place_.is_query && field.type == input_type::text_map;
    if (is_map && !member_of(field.name, name).empty())
      return &field;
  }
  return nullptr;
}

result<void> input_reader::take(std::string_view name, std::string_view raw) {
  if (const auto* map = find_map(name)) {
    auto member = std::string(member_of(map->name, name));
    if (!query_maps_[map].emplace(std::move(member), raw).second)
      return given_twice(name);
    if (query_maps_[map].size() == 1)
      given_.push_back({map, raw});
    return {};
  }
  auto at = std::find_if(fields_.begin(), fields_.end(), [&](const auto& f) {
    bool is_map = place_.is_query && f.type == input_type::text_map;
    return f.name == name && !is_map;
  });
  if (at == fields_.end() || !at->instead.empty())
    return unknown(name);
  if (std::find(taken_.begin(), taken_.end(), &*at) != taken_.end())
    return given_twice(name);
  taken_.push_back(&*at);
  if (auto ok = check_empty(*at, raw); !ok)
    return ok;
  bool is_null = !place_.is_query && raw == null && at->type != input_type::json;
  if (!is_null)
    given_.push_back({&*at, raw});
  return {};
}

result<void> input_reader::check_empty(const input_field& field, std::string_view raw) const {
  if (!field.is_never_empty || (raw != null && raw != "\"\""))
    return {};
  return out_of_range(field, std::string(raw), "left out, or not empty");
}

result<void> input_reader::check_pairs() const {
  if (place_.takes_all_names)
    return {};
  for (auto one = given_.begin(); one != given_.end(); ++one)
    for (auto other = given_.begin(); other != one; ++other)
      if (one->field->canonical() == other->field->canonical())
        return refuse_input(
          {},
          name_of(*other->field) + " and " + name_of(*one->field)
            + " are names of the same field; give one of them");
  return {};
}

result<void> input_reader::check_required() const {
  for (const auto& field : fields_) {
    bool is_given = std::any_of(given_.begin(), given_.end(), [&](const auto& given) {
      return given.field->canonical() == field.name;
    });
    if (field.is_required && !is_given)
      return refuse_input(
        field.refusal.empty() ? place_.refusal : field.refusal, names_of(field) + " is required");
  }
  return {};
}

result<input> input_reader::read_given() {
  if (auto ok = check_pairs(); !ok)
    return ok.error();
  if (auto ok = check_required(); !ok)
    return ok.error();
  input all;
  all.fields_ = fields_;
  for (const auto& given : given_) {
    input::value value;
    value.field = given.field;
    value.raw = given.raw;
    auto is_given = read_value(given, value);
    if (!is_given)
      return is_given.error();
    if (!*is_given)
      continue;
    if (auto ok = add(std::move(value), all); !ok)
      return ok.error();
  }
  return all;
}

result<void> input_reader::add(input::value&& value, input& to) const {
  const auto* other = to.find(value.field->canonical());
  if (!other) {
    to.values_.push_back(std::move(value));
    return {};
  }
  // A period is compared by its length, whatever its unit.
  bool is_period = value.field->type == input_type::period
                   || other->field->type == input_type::period;
  auto scale = [](const input::value& v) {
    return v.field->type == input_type::seconds ? duration(std::chrono::seconds(1)).count() : 1;
  };
  bool is_equal = value.number * scale(value) == other->number * scale(*other)
                  && (is_period || value.text == other->text);
  if (is_equal)
    return {};
  return refuse_input(
    {},
    name_of(*other->field) + " and " + name_of(*value.field)
      + " are names of the same field and differ");
}

result<bool> input_reader::read_value(const given_field& given, input::value& to) const {
  switch (given.field->type) {
  case input_type::integer:
  case input_type::seconds:
  case input_type::milliseconds:
    return read_number(given, to);
  case input_type::text:
  case input_type::queue:
  case input_type::period:
  case input_type::time:
  case input_type::past:
  case input_type::choice:
    return read_text(given, to);
  case input_type::flag:
    return read_flag(given, to);
  case input_type::json:
    return read_json(given, to);
  case input_type::object:
    return read_object(given, to);
  case input_type::text_map:
    return read_text_map(given, to);
  case input_type::texts:
  case input_type::queues:
  case input_type::objects:
  case input_type::items:
    return read_array(given, to);
  }
  return wrong_type(given);
}

result<bool> input_reader::read_number(const given_field& given, input::value& to) const {
  auto number = whole_number(given.raw);
  return number ? take_number(given, *number, to) : wrong_type(given);
}

result<bool>
input_reader::take_number(const given_field& given, std::int64_t number, input::value& to) const {
  const auto& field = *given.field;
  if (field.zero_is_unset && number == 0)
    return false;
  bool is_tolerated = field.tolerated && contains(*field.tolerated, number);
  to.number = is_tolerated ? std::clamp(number, field.range.least, field.range.most) : number;
  const auto& numbers = field.numbers;
  bool is_listed =
    numbers.empty() || std::find(numbers.begin(), numbers.end(), number) != numbers.end();
  if (is_listed && contains(field.range, to.number))
    return true;
  auto shown = field.type == input_type::period ? quote(to.text)
                                                : std::string(given.raw.substr(0, digits_max));
  bool is_above = number > field.range.most && !field.refusal_above.empty();
  return refuse_input(
    is_above ? field.refusal_above : field.refusal,
    describe_value(name_of(field), shown, describe_range(field)));
}

result<bool> input_reader::read_flag(const given_field& given, input::value& to) const {
  bool is_true = given.raw == "true";
  if (!is_true && given.raw != "false")
    return wrong_type(given);
  to.number = is_true ? 1 : 0;
  return true;
}

result<bool> input_reader::read_text(const given_field& given, input::value& to) const {
  if (!place_.is_query && !given.raw.starts_with('"'))
    return wrong_type(given);
  to.text = place_.is_query ? std::string(given.raw) : unquote_json(given.raw);
  bool is_period = given.field->type == input_type::period;
  // In a body an empty duration is rather the text of a variable that was not set.
  bool is_unset_if_empty = (!is_period || place_.is_query) && !given.field->takes_empty;
  if (to.text.empty() && is_unset_if_empty && !is_required(*given.field))
    return false;
  if (is_period)
    return read_period(given, to);
  if (is_unset_time(*given.field, to.text))
    return false;
  auto ok = check_text(*given.field, to);
  return ok ? result<bool>(true) : ok.error();
}

result<bool> input_reader::read_period(const given_field& given, input::value& to) const {
  auto period = base::parse_duration(to.text);
  if (period)
    return take_number(given, period->count(), to);
  auto rule = is_duration(to.text) ? describe_range(*given.field)
                                   : "a whole number and one of ms, s, m, h, d, such as \"90s\"";
  return out_of_range(*given.field, quote(to.text), rule);
}

result<void> input_reader::check_text(const input_field& field, input::value& to) const {
  auto bytes = static_cast<std::int64_t>(to.text.size());
  if (bytes > field.range.most)
    return too_long(field, to.text.size());
  if (bytes < field.range.least)
    return out_of_range(field, quote(to.text), "at least 1 byte");
  if (field.type == input_type::queue && !is_valid_name(to.text))
    return out_of_range(field, quote(to.text), describe_queue_name());
  const auto& choices = field.choices;
  bool is_chosen = std::find(choices.begin(), choices.end(), to.text) != choices.end();
  if (field.type == input_type::choice && !is_chosen)
    return out_of_range(field, quote(to.text), describe_choices(field));
  if (field.type == input_type::time || field.type == input_type::past)
    return check_time(field, to);
  return {};
}

result<void> input_reader::check_time(const input_field& field, input::value& to) const {
  bool is_past = field.type == input_type::past;
  // A duration is subtracted from the time of the request, which is not known here.
  if (is_past && base::parse_duration(to.text))
    return {};
  auto time = base::parse_rfc3339(to.text);
  bool is_plus_lost = place_.is_query && to.text.find(' ') != std::string::npos;
  if (!time)
    return out_of_range(
      field,
      quote(to.text),
      std::string("a time such as \"2026-05-20T10:00:00Z\"")
        + (is_past ? " or an age such as \"1h\"" : "")
        + (is_plus_lost ? "; write + as %2B in a URL" : ""));
  // To a filter the epoch is no bound.
  if (is_past && *time <= timestamp{})
    return out_of_range(field, quote(to.text), "after 1970");
  to.number = time->time_since_epoch().count();
  return {};
}

bool input_reader::is_required(const input_field& field) const {
  auto named = [&](const auto& known) {
    return known.is_required && known.name == field.canonical();
  };
  return field.is_required || std::any_of(fields_.begin(), fields_.end(), named);
}

result<bool> input_reader::read_json(const given_field& given, input::value&) const {
  if (static_cast<std::int64_t>(given.raw.size()) > given.field->range.most)
    return too_long(*given.field, given.raw.size());
  return true;
}

result<bool> input_reader::read_object(const given_field& given, input::value& to) const {
  if (!given.raw.starts_with('{'))
    return wrong_type(given);
  auto object = json_object::parse(given.raw);
  if (!object)
    return refuse_object(given.raw, place_.refusal);
  auto path = place_.path + std::string(given.field->name) + ".";
  input_place inside{path, place_.refusal, false, given.field->takes_all_names};
  auto read = input_reader(given.field->members, std::move(inside)).read(*object);
  if (!read)
    return read.error();
  to.objects.push_back(std::move(*read));
  return true;
}

result<bool> input_reader::read_query_map(const given_field& given, input::value& to) const {
  to.text_map = query_maps_.at(given.field);
  std::size_t bytes = 0;
  for (const auto& [name, value] : to.text_map)
    bytes += name.size() + value.size();
  if (static_cast<std::int64_t>(bytes) > given.field->range.most)
    return too_long(*given.field, bytes);
  return true;
}

result<bool> input_reader::read_text_map(const given_field& given, input::value& to) const {
  if (place_.is_query)
    return read_query_map(given, to);
  if (!given.raw.starts_with('{'))
    return wrong_type(given);
  auto object = json_object::parse(given.raw);
  if (!object)
    return refuse_object(given.raw, place_.refusal);
  std::size_t bytes = 0;
  for (const auto& [name, raw] : object->members()) {
    input_field member{.name = name};
    auto path = place_.path + std::string(given.field->name) + ".";
    input_reader of_member({}, {path, place_.refusal});
    if (!raw.starts_with('"'))
      return of_member.wrong_type({&member, raw});
    if (to.text_map.contains(name))
      return of_member.given_twice(name);
    to.text_map[name] = unquote_json(raw);
    bytes += name.size() + to.text_map[name].size();
  }
  if (static_cast<std::int64_t>(bytes) > given.field->range.most)
    return too_long(*given.field, bytes);
  return true;
}

result<bool> input_reader::read_array(const given_field& given, input::value& to) const {
  const auto& field = *given.field;
  auto elements = elements_of(given.raw, limits::http_json_members_max + 1);
  if (!elements)
    return wrong_type(given);
  if (!contains(field.range, static_cast<std::int64_t>(elements->size())))
    return wrong_count(field, elements->size());
  bool has_objects = field.type == input_type::objects || field.type == input_type::items;
  for (std::size_t i = 0; i < elements->size(); ++i) {
    auto ok = has_objects ? add_object(i, (*elements)[i], to) : add_text(i, (*elements)[i], to);
    if (!ok)
      return ok;
  }
  return true;
}

result<bool>
input_reader::add_text(std::size_t index, std::string_view raw, input::value& to) const {
  const auto& field = *to.field;
  auto name = std::string(field.name) + "[" + std::to_string(index) + "]";
  bool is_queue = field.type == input_type::queues;
  input_field element{.name = name, .type = is_queue ? input_type::queue : input_type::text};
  element.is_required = true;
  element.refusal = field.refusal;
  input::value text;
  if (auto ok = read_text({&element, raw}, text); !ok)
    return ok;
  to.texts.push_back(std::move(text.text));
  return true;
}

result<bool>
input_reader::add_object(std::size_t index, std::string_view raw, input::value& to) const {
  const auto& field = *to.field;
  bool is_item = field.type == input_type::items;
  auto name = std::string(field.name) + "[" + std::to_string(index) + "]";
  if (!is_item && !raw.starts_with('{'))
    return refuse_input(
      place_.refusal,
      quote_name(place_.path, name) + " must be an object, not " + describe_json(raw));
  auto path = place_.path + name + ".";
  auto object = json_object::parse(raw);
  auto read = object
                ? input_reader(field.members, {is_item ? "" : path, place_.refusal}).read(*object)
                : result<input>(refuse_object(raw, place_.refusal));
  if (is_item)
    to.items.push_back(std::move(read));
  else if (read)
    to.objects.push_back(std::move(*read));
  else
    return read.error();
  return true;
}

std::string input_reader::name_of(const input_field& field) const {
  return quote_name(place_.path, field.name);
}

std::string input_reader::names_of(const input_field& field) const {
  auto names = name_of(field);
  for (const auto& other : fields_)
    if (other.same_as == field.name)
      names += " or " + name_of(other);
  return names;
}

error input_reader::wrong_type(const given_field& given) const {
  const auto& field = *given.field;
  auto found = place_.is_query ? quote(given.raw) : describe_json(given.raw);
  return refuse_input(
    field.refusal.empty() ? place_.refusal : field.refusal,
    name_of(field) + " must be " + std::string(describe_type(field.type)) + ", not " + found);
}

error input_reader::out_of_range(
  const input_field& field, const std::string& value, const std::string& rule) const {
  return refuse_input(field.refusal, describe_value(name_of(field), value, rule));
}

error input_reader::too_long(const input_field& field, std::size_t bytes) const {
  auto limit = "at most " + std::to_string(field.range.most);
  return refuse_input(
    field.refusal, describe_value(name_of(field), std::to_string(bytes) + " bytes", limit));
}

error input_reader::wrong_count(const input_field& field, std::size_t count) const {
  bool is_above = static_cast<std::int64_t>(count) > field.range.most;
  auto allowed = std::to_string(field.range.least) + ".." + std::to_string(field.range.most);
  return refuse_input(
    is_above && !field.refusal_above.empty() ? field.refusal_above : field.refusal,
    name_of(field) + " has " + elements_text(count) + "; it must have " + allowed);
}

error input_reader::given_twice(std::string_view name) const {
  return refuse_input({}, "field " + quote_name(place_.path, name) + " is given twice");
}

error input_reader::unknown(std::string_view name) const {
  std::vector<std::string_view> known;
  std::string_view instead;
  for (const auto& field : fields_)
    if (field.instead.empty())
      known.push_back(field.name);
    else if (field.name == name)
      instead = field.instead;
  auto text = std::string(place_.is_query ? "unknown query parameter " : "unknown field ")
              + quote_name(place_.path, name);
  if (!instead.empty())
    return refuse_input({}, text + "; " + std::string(instead));
  if (const auto* map = known_map(name))
    return refuse_input({}, text + "; write " + quote_name({}, std::string(map->name) + ".NAME"));
  if (auto nearest = base::nearest_name(name, known))
    return refuse_input({}, text + "; did you mean " + quote_name(place_.path, *nearest) + "?");
  return refuse_input({}, text + describe_known(known));
}

const input_field* input_reader::known_map(std::string_view name) const {
  auto at = std::find_if(fields_.begin(), fields_.end(), [&](const auto& field) {
    return place_.is_query && field.type == input_type::text_map && field.name == name;
  });
  return at == fields_.end() ? nullptr : &*at;
}

error refuse_object(std::string_view json, std::string_view refusal) {
  if (json.find_first_not_of(" \t\r\n") == json.npos)
    return refuse_input(refusal, "it is empty; it must be a JSON object");
  auto fault = check_json(json);
  if (fault.kind == json_fault::malformed && !base::is_utf8(json))
    return refuse_input(refusal, "it is not UTF-8");
  if (fault.kind == json_fault::malformed)
    return refuse_input(
      refusal, "it is not JSON: " + fault.text + " at byte " + std::to_string(fault.at));
  if (fault.kind == json_fault::too_deep)
    return refuse_input(
      refusal, "it is nested deeper than " + std::to_string(limits::http_json_depth_max));
  auto value = json.substr(json.find_first_not_of(" \t\r\n"));
  if (!value.starts_with('{'))
    return refuse_input(refusal, "it must be an object, not " + describe_json(value));
  return refuse_input(
    refusal,
    "an object has more than " + std::to_string(limits::http_json_members_max) + " fields");
}

} // namespace codeq::http
