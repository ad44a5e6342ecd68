// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "base/text_encoding.hpp"
#include "http/json/json_reader.hpp"
#include "http/server/gateway_limits.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::http {
namespace {

json_object read(std::string_view text) {
  auto object = json_object::parse(text);
  EXPECT_TRUE(object) << text;
  return object.value_or(json_object());
}

TEST(JsonReader, KeepsValuesAsTheyWereWritten) {
  auto object = read(R"( { "a" : {"x": 1.0, "y": [ 1, "]}" ]} , "b":1e2 } )");

  EXPECT_EQ(R"({"x": 1.0, "y": [ 1, "]}" ]})", object.raw("a"));
  EXPECT_EQ("1e2", object.raw("b"));
  EXPECT_EQ("", object.raw("c"));
}

TEST(JsonReader, DecodesTextsAndNames) {
  auto object = read(R"({"n\u0061me":"a\"b\\c\n\u00e9","":"empty"})");

  EXPECT_EQ("a\"b\\c\n\xC3\xA9", object.text("name"));
  EXPECT_EQ("empty", object.text(""));
  EXPECT_TRUE(object.ok());
}

TEST(JsonReader, OfANameThatComesTwiceTheLastCounts) {
  EXPECT_EQ("2", read(R"({"a":1,"a":2})").raw("a"));
}

TEST(JsonReader, MissingAndNullMembersAreNone) {
  auto object = read(R"({"a":null})");

  EXPECT_FALSE(object.has("a"));
  EXPECT_EQ("null", object.raw("a"));
  EXPECT_FALSE(object.integer("a"));
  EXPECT_FALSE(object.integer("b"));
  EXPECT_EQ("", object.text("a"));
  EXPECT_TRUE(object.texts("a").empty());
  EXPECT_TRUE(object.ok());
}

TEST(JsonReader, AMemberOfAnotherTypeIsNotedNotGuessed) {
  for (const char* name : {"text", "list", "object", "real"}) {
    auto object = read(R"({"text":"1","list":[1],"object":{},"real":1.5})");
    EXPECT_FALSE(object.integer(name)) << name;
    EXPECT_FALSE(object.ok()) << name;
  }
  auto object = read(R"({"list":[1]})");
  EXPECT_TRUE(object.texts("list").empty());
  EXPECT_FALSE(object.ok());
}

TEST(JsonReader, SplitsLists) {
  auto object = read(R"({"a":[ 1 , {"b":[2,3]}, "x,y" ],"e":[ ]})");
  auto found = object.elements("a");

  ASSERT_EQ(3u, found.size());
  EXPECT_EQ("1", found[0]);
  EXPECT_EQ(R"({"b":[2,3]})", found[1]);
  EXPECT_EQ(R"("x,y")", found[2]);
  EXPECT_TRUE(object.elements("e").empty());
}

TEST(JsonReader, RefusesMoreMembersAndElementsThanAnybodyNeeds) {
  auto list = [](std::size_t count) {
    std::string text = "0";
    for (std::size_t i = 1; i < count; ++i)
      text += ",0";
    return "[" + text + "]";
  };
  auto object = [](std::size_t count) {
    std::string text = "\"a\":0";
    for (std::size_t i = 1; i < count; ++i)
      text += ",\"a\":0";
    return "{" + text + "}";
  };
  constexpr auto most = limits::http_json_members_max;

  EXPECT_TRUE(json_object::parse(object(most)));
  EXPECT_FALSE(json_object::parse(object(most + 1)));
  // The limit applies to each list that is read, not to the whole text.
  auto text = "{\"few\":" + list(most) + ",\"many\":" + list(most + 1) + "}";
  auto lists = read(text);
  EXPECT_EQ(most, lists.elements("few").size());
  EXPECT_TRUE(lists.ok());
  EXPECT_TRUE(lists.elements("many").empty());
  EXPECT_FALSE(lists.ok());
  // A value that is only passed on may have any number of elements.
  EXPECT_EQ(2 * (most + 1) + 1, lists.raw("many").size());
  text = "{\"headers\":" + object(most + 1) + "}";
  auto nested = read(text);
  EXPECT_FALSE(nested.object("headers"));
  EXPECT_FALSE(nested.ok());
}

TEST(JsonReader, RefusesWhatIsNoObject) {
  for (const char* text :
       {"", " ", "7", "[]", "\"{}\"", "{", "{}x", "{\"a\"}", "{\"a\":}", "{'a':1}", "{\"a\":\xff}"})
    EXPECT_FALSE(json_object::parse(text)) << text;
}

TEST(JsonReader, RefusesDeepNesting) {
  auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };

  EXPECT_TRUE(json_object::parse(nested(limits::http_json_depth_max - 1)));
  EXPECT_FALSE(json_object::parse(nested(limits::http_json_depth_max)));
  EXPECT_FALSE(json_object::parse(nested(100'000)));
}

TEST(JsonWriter, WritesWhatAReaderReads) {
  base::json_writer json;
  json.begin_object()
    .field("text", "a\"b\\c\n\x01")
    .field("number", -7)
    .field("flag", true)
    .key("list")
    .begin_array()
    .text("x")
    .number(std::uint64_t{18446744073709551615u})
    .begin_object()
    .end_object()
    .null()
    .end_array()
    .key("raw")
    .raw("{\"a\": 1.0}")
    .end_object();

  EXPECT_EQ(
    R"({"text":"a\"b\\c\n\u0001","number":-7,"flag":true,)"
    R"("list":["x",18446744073709551615,{},null],"raw":{"a": 1.0}})",
    json.take());
}

TEST(JsonWriter, EscapesAnyByteThatNeedsItWhereverItStands) {
  const std::string filling = "abcdefgh\x7f\x80\xff !#[]~ijklmnop";
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t place = 0; place <= filling.size(); ++place) {
      auto text = filling;
      text.insert(place, 1, static_cast<char>(byte));
      bool is_escaped = byte < 0x20 || byte == '"' || byte == '\\';
      base::json_writer json;

      auto written = json.text(text).take();

      auto begin = "\"" + filling.substr(0, place);
      auto end = filling.substr(place) + "\"";
      EXPECT_TRUE(written.starts_with(begin) && written.ends_with(end)) << byte << ' ' << place;
      auto shown = written.substr(begin.size(), written.size() - begin.size() - end.size());
      EXPECT_EQ(!is_escaped, shown == std::string(1, static_cast<char>(byte)))
        << byte << ' ' << place;
      EXPECT_EQ(is_escaped, shown.starts_with('\\')) << byte << ' ' << place;
    }
  }
}

TEST(JsonWriter, KnowsUtf8) {
  EXPECT_TRUE(base::is_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
  for (const char* text :
       {"\x80", "\xC0\x80", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"})
    EXPECT_FALSE(base::is_utf8(text)) << text;
}

TEST(Base64, WritesEveryLength) {
  EXPECT_EQ("", base::to_base64(""));
  EXPECT_EQ("Zg==", base::to_base64("f"));
  EXPECT_EQ("Zm8=", base::to_base64("fo"));
  EXPECT_EQ("Zm9v", base::to_base64("foo"));
  EXPECT_EQ("/+8=", base::to_base64("\xff\xef"));
}

TEST(Base64, KnowsItself) {
  for (const char* text : {"", "Zg==", "Zm8=", "Zm9v", "+/+/"})
    EXPECT_TRUE(base::is_base64(text)) << text;
  for (const char* text : {"Z", "Zg=", "Z===", "Zg=a", "Zm9v\n", "Zm 9"})
    EXPECT_FALSE(base::is_base64(text)) << text;
}

TEST(Base64, KnowsTheAlphabetOfUrls) {
  for (const char* text : {"", "Zg", "Zm8", "Zm9v", "-_-_"})
    EXPECT_TRUE(base::is_base64url(text)) << text;
  for (const char* text : {"Z", "Zg==", "Zg=a", "Zm9v\n", "+/+/", "Zm9vZ"})
    EXPECT_FALSE(base::is_base64url(text)) << text;
}

} // namespace
} // namespace codeq::http
