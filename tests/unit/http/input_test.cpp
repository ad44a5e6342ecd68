// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/json/input.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

namespace codeq::http {
namespace {

using namespace std::chrono_literals;

constexpr auto colors = std::to_array<std::string_view>({"red", "green"});
constexpr auto sizes = std::to_array<std::int64_t>({0, 60, 3600});
constexpr auto inner_fields = std::to_array<input_field>({
  {.name = "baseMs", .type = input_type::milliseconds, .range = {0, 1000}},
  {.name = "name", .is_required = true, .range = {.least = 1}, .refusal = "name is required"},
});
constexpr auto pair_fields = std::to_array<input_field>({
  {.name = "first", .is_required = true},
  {.name = "second", .same_as = "first"},
});
constexpr auto both_fields = std::to_array<input_field>({
  {.name = "first"},
  {.name = "second", .same_as = "first"},
  {.name = "perSeconds", .type = input_type::seconds},
  {.name = "per", .type = input_type::period, .same_as = "perSeconds"},
  {.name = "perMs", .type = input_type::milliseconds, .same_as = "perSeconds"},
});
constexpr auto only = std::to_array<std::string_view>({"one"});
constexpr auto fields = std::to_array<input_field>({
  {.name = "text", .range = at_most(3)},
  {.name = "number", .type = input_type::integer, .range = {1, 9}, .refusal_above = "too much"},
  {.name = "lenient",
   .type = input_type::integer,
   .range = {0, 9},
   .tolerated = input_range{0, 10}},
  {.name = "unset", .type = input_type::integer, .zero_is_unset = true, .range = {1, 5}},
  {.name = "leaseSeconds", .type = input_type::seconds, .range = {1, 60}},
  {.name = "lease",
   .type = input_type::period,
   .same_as = "leaseSeconds",
   .range = milliseconds_in(1s, 60s)},
  {.name = "size", .type = input_type::seconds, .numbers = sizes},
  {.name = "at", .type = input_type::time, .refusal = "invalid 'at'"},
  {.name = "since", .type = input_type::past, .zero_is_unset = true},
  {.name = "until", .type = input_type::past},
  {.name = "flag", .type = input_type::flag},
  {.name = "color", .type = input_type::choice, .choices = colors},
  {.name = "only", .type = input_type::choice, .choices = only},
  {.name = "any", .type = input_type::json, .range = at_most(8)},
  {.name = "pair", .type = input_type::object, .members = pair_fields},
  {.name = "lenient pair",
   .type = input_type::object,
   .takes_all_names = true,
   .members = both_fields},
  {.name = "inner", .type = input_type::object, .members = inner_fields},
  {.name = "headers", .type = input_type::text_map, .range = at_most(8)},
  {.name = "queues", .type = input_type::queues, .range = {1, 2}, .refusal = "invalid command"},
  {.name = "list", .type = input_type::objects, .range = {0, 2}, .members = inner_fields},
  {.name = "items",
   .type = input_type::items,
   .range = {1, 3},
   .members = inner_fields,
   .refusal_above = "exceeds maximum of 3"},
});

result<input> read(std::string_view json) {
  return input::read(json, {fields});
}

std::string why(std::string_view json) {
  auto found = read(json);
  return found ? "taken" : found.error().context;
}

TEST(Input, ValuesAreReadByTheirType) {
  std::string_view json =
    R"({"text":"abc","number":9,"leaseSeconds":7,"at":"1970-01-01T00:00:01Z","flag":true,)"
    R"("color":"green","any":{"a": 1},"inner":{"baseMs":5,"name":"n"},"headers":{"a":"b"},)"
    R"("queues":["q"],"list":[{"name":"x"}],"size":3600})";
  auto in = read(json);

  ASSERT_TRUE(in) << in.error().context;
  EXPECT_EQ("abc", in->text("text"));
  EXPECT_EQ(9, in->integer("number"));
  EXPECT_EQ(7s, in->period("leaseSeconds"));
  EXPECT_EQ(timestamp{1s}, in->time("at"));
  EXPECT_EQ(true, in->flag("flag"));
  EXPECT_EQ(1u, in->choice("color"));
  EXPECT_EQ(R"({"a": 1})", in->raw("any"));
  EXPECT_EQ(5ms, in->object("inner")->period("baseMs"));
  EXPECT_EQ("b", in->text_map("headers")["a"]);
  EXPECT_EQ(std::vector<std::string>{"q"}, in->texts("queues"));
  EXPECT_EQ("x", in->objects("list").front().text("name"));
  EXPECT_EQ(1h, in->period("size"));
}

TEST(Input, NullAndEmptyAndMissingValuesAreNotGiven) {
  auto in = read(R"({"text":"","number":null,"unset":0})");

  ASSERT_TRUE(in);
  for (const char* name : {"text", "number", "unset", "color"})
    EXPECT_FALSE(in->has(name)) << name;
  EXPECT_EQ(nullptr, in->object("inner"));
  EXPECT_TRUE(in->items("items").empty());
}

TEST(Input, AnUnknownFieldIsNamedWithTheNearestOne) {
  EXPECT_EQ("unknown field 'texts'; did you mean 'text'?", why(R"({"texts":1})"));
  EXPECT_EQ(
    "unknown field 'wombat'; /openapi.json lists the known ones", why(R"({"wombat":1})"));
  EXPECT_EQ(
    "unknown field 'inner.basMs'; did you mean 'inner.baseMs'?", why(R"({"inner":{"basMs":1}})"));
  EXPECT_EQ(
    "unknown field 'list[1].nam'; did you mean 'list[1].name'?",
    why(R"({"list":[{"name":"a"},{"nam":"a"}]})"));
  EXPECT_TRUE(why(R"({"a\"b":1})").starts_with("unknown field 'a\\\"b'; "));
}

TEST(Input, AFieldThatIsTakenElsewhereIsRefusedWithWhere) {
  constexpr auto with_hint = std::to_array<input_field>(
    {{.name = "count"}, {.name = "waitSeconds", .instead = "only claims wait"}});
  auto refused = [&](std::string_view json) {
    return input::read(json, {with_hint}).error().context;
  };

  EXPECT_EQ("unknown field 'waitSeconds'; only claims wait", refused(R"({"waitSeconds":1})"));
  EXPECT_EQ("unknown field 'wombat'; known: count", refused(R"({"wombat":1})"));
}

TEST(Input, AnUnknownFieldOfFewIsRefusedWithAllOfThem) {
  EXPECT_EQ(
    "unknown field 'list[0].wombat'; known: baseMs, name", why(R"({"list":[{"wombat":1}]})"));
  auto why_of_none = input::read({{"x", "1"}}, std::span<const input_field>());
  EXPECT_EQ("unknown query parameter 'x'; none is known here", why_of_none.error().context);
}

TEST(Input, ATextThatIsNotUtf8IsNamed) {
  EXPECT_EQ("invalid body: it is not UTF-8", why("{\"text\":\"\xff\"}"));
}

TEST(Input, AnElementOfTheWrongTypeIsNamed) {
  EXPECT_EQ(
    "invalid body: 'list[1]' must be an object, not a string",
    why(R"({"list":[{"name":"a"},"a"]})"));
}

TEST(Input, AFieldThatIsGivenTwiceIsNamed) {
  EXPECT_EQ("field 'number' is given twice", why(R"({"number":1,"text":"a","number":2})"));
  EXPECT_EQ("field 'number' is given twice", why(R"({"number":1,"number":null})"));
  EXPECT_EQ("field 'number' is given twice", why(R"({"number":null,"n\u0075mber":1})"));
  EXPECT_EQ(
    "field 'inner.name' is given twice", why(R"({"inner":{"name":"a","baseMs":1,"name":"a"}})"));
  EXPECT_EQ("field 'list[0].name' is given twice", why(R"({"list":[{"name":"a","name":"b"}]})"));
  EXPECT_EQ("field 'headers.a' is given twice", why(R"({"headers":{"a":"b","a":"b"}})"));
}

TEST(Input, AValueOfAnotherTypeIsNamed) {
  EXPECT_EQ(
    "invalid body: 'number' must be a whole number, not a string", why(R"({"number":"1"})"));
  EXPECT_EQ("invalid body: 'number' must be a whole number, not 1.5", why(R"({"number":1.5})"));
  EXPECT_EQ("invalid body: 'text' must be a string, not a number", why(R"({"text":1})"));
  EXPECT_EQ("invalid body: 'flag' must be true or false, not a string", why(R"({"flag":"yes"})"));
  EXPECT_EQ(
    "invalid body: 'lease' must be a duration such as \"90s\", not a number",
    why(R"({"lease":9})"));
  EXPECT_EQ("invalid body: 'inner' must be an object, not an array", why(R"({"inner":[]})"));
  EXPECT_EQ(
    "invalid body: 'headers.a' must be a string, not a number", why(R"({"headers":{"a":1}})"));
  EXPECT_EQ(
    "invalid command: 'queues[1]' must be a string, not a number", why(R"({"queues":["a",1]})"));
  EXPECT_EQ("invalid 'at': 'at' must be a string, not false", why(R"({"at":false})"));
}

TEST(Input, AValueOutOfRangeIsNamedWithItsLimits) {
  EXPECT_EQ("'number' is 0; it must be 1..9", why(R"({"number":0})"));
  EXPECT_EQ("too much: 'number' is 10; it must be 1..9", why(R"({"number":10})"));
  EXPECT_EQ(
    "too much: 'number' is 99999999999999999999; it must be 1..9",
    why(R"({"number":99999999999999999999})"));
  EXPECT_EQ("'lenient' is 11; it must be 0..9", why(R"({"lenient":11})"));
  EXPECT_EQ("'unset' is -1; it must be 1..5, or 0 for the default", why(R"({"unset":-1})"));
  EXPECT_EQ(R"('lease' is "2m"; it must be 1s..1m)", why(R"({"lease":"2m"})"));
  for (const char* text : {"soon", "", "5", "-1s", "1h30m", "2w", "1.5s", "s"})
    EXPECT_EQ(
      "'lease' is \"" + std::string(text)
        + "\"; it must be a whole number and one of ms, s, m, h, d, such as \"90s\"",
      why(R"({"lease":")" + std::string(text) + "\"}"));
  for (const char* text : {"4000d", "99999d", "99999999999999999999ms"})
    EXPECT_EQ(
      "'lease' is \"" + std::string(text) + "\"; it must be 1s..1m",
      why(R"({"lease":")" + std::string(text) + "\"}"));
  EXPECT_EQ("'size' is 5; it must be one of 0, 60, 3600", why(R"({"size":5})"));
  EXPECT_EQ("'text' is 4 bytes; it must be at most 3", why(R"({"text":"abcd"})"));
  EXPECT_EQ("'color' is \"blue\"; it must be one of red, green", why(R"({"color":"blue"})"));
  EXPECT_EQ("'any' is 9 bytes; it must be at most 8", why(R"({"any":"1234567"})"));
  EXPECT_EQ("'headers' is 9 bytes; it must be at most 8", why(R"({"headers":{"abc":"defghi"}})"));
  EXPECT_EQ(
    "invalid 'at': 'at' is \"x\"; it must be a time such as \"2026-05-20T10:00:00Z\"",
    why(R"({"at":"x"})"));
  EXPECT_EQ(
    "invalid command: 'queues[0]' is \"a b\"; it must be 1 to 128 letters, digits, '.', '_' or '-'",
    why(R"({"queues":["a b"]})"));
  EXPECT_EQ("invalid command: 'queues' has 0 elements; it must have 1..2", why(R"({"queues":[]})"));
  EXPECT_EQ(
    "exceeds maximum of 3: 'items' has 4 elements; it must have 1..3",
    why(R"({"items":[1,2,3,4]})"));
}

TEST(Input, AToleratedNumberCountsAsTheNearestOne) {
  EXPECT_EQ(9, read(R"({"lenient":10})")->integer("lenient"));
}

TEST(Input, ARequiredValueIsNamed) {
  EXPECT_EQ("name is required: 'inner.name' is required", why(R"({"inner":{}})"));
  EXPECT_EQ(
    "name is required: 'inner.name' is \"\"; it must be at least 1 byte",
    why(R"({"inner":{"name":""}})"));
}

TEST(Input, AnotherNameIsReadByTheFirstOneAndNeverBoth) {
  EXPECT_EQ(30s, read(R"({"lease":"30s"})")->period("leaseSeconds"));
  EXPECT_EQ(
    "'leaseSeconds' and 'lease' are names of the same field; give one of them",
    why(R"({"leaseSeconds":30,"lease":"30s"})"));
  EXPECT_TRUE(read(R"({"leaseSeconds":null,"lease":"30s"})"));
}

TEST(Input, AnObjectOfAnAnswerMayHaveAllNamesOfAFieldIfTheySayTheSame) {
  auto in = read(
    R"({"lenient pair":{"first":"a","second":"a","perMs":2000,"per":"2s","perSeconds":2}})");

  ASSERT_TRUE(in) << in.error().context;
  EXPECT_EQ("a", in->object("lenient pair")->text("first"));
  EXPECT_EQ(2s, in->object("lenient pair")->period("perSeconds"));
  EXPECT_EQ(
    "'lenient pair.first' and 'lenient pair.second' are names of the same field and differ",
    why(R"({"lenient pair":{"first":"a","second":"b"}})"));
  EXPECT_EQ(
    "'lenient pair.perMs' and 'lenient pair.perSeconds' are names of the same field and differ",
    why(R"({"lenient pair":{"perMs":2001,"perSeconds":2}})"));
}

TEST(Input, ItemsAreRefusedOnTheirOwn) {
  auto in = read(R"({"items":[{"name":"a"},{"nmae":"b"},7]})");

  ASSERT_TRUE(in);
  const auto& items = in->items("items");
  ASSERT_EQ(3u, items.size());
  EXPECT_EQ("a", items[0]->text("name"));
  EXPECT_EQ("unknown field 'nmae'; did you mean 'name'?", items[1].error().context);
  EXPECT_EQ("invalid body: it must be an object, not a number", items[2].error().context);
}

TEST(Input, ARequiredFieldIsNamedByAllItsNames) {
  EXPECT_EQ(
    "invalid body: 'pair.first' or 'pair.second' is required", why(R"({"pair":{}})"));
}

TEST(Input, AnEmptyNameOfARequiredFieldIsRefusedAsTheFieldIs) {
  constexpr auto named = std::to_array<input_field>({
    {.name = "command", .type = input_type::queue, .is_required = true},
    {.name = "queue", .type = input_type::queue, .same_as = "command"},
  });

  for (std::string name : {"command", "queue"}) {
    auto in = input::read("{\"" + name + "\":\"\"}", {named});

    ASSERT_FALSE(in);
    EXPECT_EQ(
      "'" + name + "' is \"\"; it must be 1 to 128 letters, digits, '.', '_' or '-'",
      in.error().context);
  }
}

TEST(Input, AgesAreBeforeTheTimeOfTheRequest) {
  timestamp now{duration{1'769'860'800'000}};

  EXPECT_EQ(now - 1h, read(R"({"since":"1h"})")->past("since", now));
  EXPECT_EQ(now, read(R"({"since":"2026-01-31T12:00:00Z"})")->past("since", now));
  EXPECT_EQ(std::nullopt, read("{}")->past("since", now));
  EXPECT_EQ(timestamp{1ms}, read(R"({"since":"36500d"})")->past("since", now));
  EXPECT_EQ(
    "'since' is \"soon\"; it must be a time such as \"2026-05-20T10:00:00Z\" or an age such as "
    "\"1h\"",
    why(R"({"since":"soon"})"));
}

TEST(Input, ARangeMayBeginWithTheEpochWhichIsNoBoundButNotEndThere) {
  for (std::string time : {"1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z"}) {
    EXPECT_EQ(
      "'until' is \"" + time + "\"; it must be after 1970", why("{\"until\":\"" + time + "\"}"));
    auto from_start = read("{\"since\":\"" + time + "\"}");
    ASSERT_TRUE(from_start) << time;
    EXPECT_FALSE(from_start->has("since"));
  }
  EXPECT_TRUE(read(R"({"since":"1970-01-01T00:00:01Z"})")->has("since"));
  EXPECT_EQ("taken", why(R"({"until":"1970-01-01T00:00:01Z"})"));
}

TEST(Input, AnOnlyChoiceIsNamedAlone) {
  EXPECT_EQ("'only' is \"two\"; it must be one", why(R"({"only":"two"})"));
}

TEST(Input, WhatIsNoJsonIsInvalidAndTheRefusalSaysWhere) {
  EXPECT_EQ("invalid body: it is empty; it must be a JSON object", why(""));
  EXPECT_EQ("invalid body: it is empty; it must be a JSON object", why(" \n"));
  EXPECT_EQ("invalid body: it is not JSON: incomplete JSON at byte 6", why("{\"a\":1"));
  EXPECT_EQ("invalid body: it is not JSON: syntax error at byte 1", why("{'a':1}"));
  EXPECT_EQ("invalid body: it is not JSON: syntax error at byte 0", why("queue=mail"));
  EXPECT_EQ("invalid body: it is not JSON: there is more after the value at byte 2", why("{}{}"));
  EXPECT_EQ("invalid body: it must be an object, not an array", why(" []"));
  auto deep = std::string(R"({"any":)") + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_EQ("invalid body: it is nested deeper than 64", why(deep));
}

std::string why_query(std::map<std::string, std::string> query) {
  auto in = input::read(query, fields);
  return in ? "taken" : in.error().context;
}

TEST(Input, AMapInAQueryIsRefusedWithItsSpelling) {
  EXPECT_EQ(
    "unknown query parameter 'headers'; write 'headers.NAME'", why_query({{"headers", "a:b"}}));
}

TEST(Input, APlusThatAQueryTurnedIntoASpaceIsNamed) {
  EXPECT_EQ(
    "invalid 'at': 'at' is \"2026-05-20T10:00:00 02:00\"; it must be a time such as "
    "\"2026-05-20T10:00:00Z\"; write + as %2B in a URL",
    why_query({{"at", "2026-05-20T10:00:00 02:00"}}));
}

TEST(Input, AQueryIsReadWithTheSameWords) {
  std::map<std::string, std::string> query{
    {"number", "5"}, {"color", "red"}, {"text", ""}, {"lease", ""}};
  auto in = input::read(query, fields);

  ASSERT_TRUE(in) << in.error().context;
  EXPECT_EQ(5, in->integer("number"));
  EXPECT_EQ(0u, in->choice("color"));
  EXPECT_FALSE(in->has("text"));
  EXPECT_EQ("'number' must be a whole number, not \"foo\"", why_query({{"number", "foo"}}));
  EXPECT_EQ("'number' must be a whole number, not \"\"", why_query({{"number", ""}}));
  EXPECT_EQ("'number' is 0; it must be 1..9", why_query({{"number", "0"}}));
  EXPECT_EQ("unknown query parameter 'numbr'; did you mean 'number'?", why_query({{"numbr", "1"}}));
  EXPECT_EQ(
    "'color' is \"base64:/w==\"; it must be one of red, green", why_query({{"color", "\xff"}}));
}

TEST(Input, AMapInAQueryHasAParameterForEachMember) {
  std::map<std::string, std::string> query{{"headers.a.b", "1"}, {"headers[c]", "2"}};
  auto in = input::read(query, fields);

  ASSERT_TRUE(in) << in.error().context;
  std::map<std::string, std::string> members{{"a.b", "1"}, {"c", "2"}};
  EXPECT_EQ(members, in->text_map("headers"));
  EXPECT_NE("taken", why_query({{"headers", "x"}}));
  EXPECT_NE("taken", why_query({{"headers.", "x"}}));
  EXPECT_NE("taken", why_query({{"headers[]", "x"}}));
  EXPECT_NE("taken", why_query({{"headers.a", "1"}, {"headers[a]", "2"}})) << "given twice";
  EXPECT_NE("taken", why_query({{"headers.a", "123456789"}})) << "too long";
}

} // namespace
} // namespace codeq::http
