// SPDX-License-Identifier: Apache-2.0
#include "codeq/json_codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace {

enum class colour { red, blue };
BOOST_DESCRIBE_ENUM(colour, red, blue)

struct line {
  std::string item;
  std::uint8_t count = 0;
};
BOOST_DESCRIBE_STRUCT(line, (), (item, count))

struct document {
  bool is_paid = false;
  double rate = 0;
  colour shade = colour::red;
  std::optional<std::string> note;
  std::vector<line> lines;
  std::map<std::string, std::int64_t> prices;
  boost::json::value any;
};
BOOST_DESCRIBE_STRUCT(document, (), (is_paid, rate, shade, note, lines, prices, any))

struct precise {
  float share = 0;
};
BOOST_DESCRIBE_STRUCT(precise, (), (share))

struct matrix {
  std::vector<std::array<int, 2>> rows;
};
BOOST_DESCRIBE_STRUCT(matrix, (), (rows))

const std::string whole =
  R"({"is_paid":true,"rate":5E-1,"shade":"blue","note":"n","lines":[{"item":"x","count":2}],)"
  R"("prices":{"x":-9223372036854775808},"any":[null,1]})";

/// The whole document, with a part of its text replaced.
std::string with(const std::string& part, const std::string& by) {
  auto text = whole;
  return text.replace(text.find(part), part.size(), by);
}

std::string refusal_of(const std::string& text) {
  auto read = codeq::decode<document>(text);
  return read ? "none" : codeq::to_string(read.error());
}

TEST(JsonCodec, WritesWhatItReads) {
  auto read = codeq::decode<document>(whole);

  ASSERT_TRUE(read) << codeq::to_string(read.error());
  EXPECT_EQ(codeq::encode(*read), whole);
}

TEST(JsonCodec, RefusalNamesTheField) {
  const std::string of = "invalid_argument: ";

  EXPECT_EQ(
    refusal_of(with("true", "1")), of + "field `is_paid` is an integer; it must be true or false");
  EXPECT_EQ(refusal_of(with("5E-1", "null")), of + "field `rate` is null; it must be a number");
  EXPECT_EQ(
    refusal_of(with(R"("blue")", R"("green")")),
    of + R"(field `shade` is "green"; it must be one of red, blue)");
  EXPECT_EQ(
    refusal_of(with(R"("item":"x")", R"("item":{})")),
    of + "field `lines[0].item` is an object; it must be a string");
  EXPECT_EQ(
    refusal_of(with(R"("count":2)", R"("count":256)")),
    of + "field `lines[0].count` is 256; it must be 0..255");
  EXPECT_EQ(
    refusal_of(with("-9223372036854775808", "1.5")),
    of + "field `prices.x` is a fraction; it must be an integer");
  EXPECT_EQ(
    refusal_of(with("-9223372036854775808", "18446744073709551615")),
    of
      + "field `prices.x` is 18446744073709551615; it must be "
        "-9223372036854775808..9223372036854775807");
}

TEST(JsonCodec, FractionThatItsTypeCannotHoldIsRefused) {
  auto most = [](const std::string& found, const std::string& bound) {
    return "invalid_argument: field `" + found + "; it must be -" + bound + ".." + bound;
  };

  EXPECT_EQ(refusal_of(with("5E-1", "1e400")), most("rate` is Infinity", "1.7976931348623157E308"));
  auto read = codeq::decode<precise>(R"({"share":-1e39})");
  ASSERT_FALSE(read);
  EXPECT_EQ(to_string(read.error()), most("share` is -1E39", "3.4028234663852886E38"));
}

TEST(JsonCodec, LongTextIsNotRepeatedInTheRefusal) {
  auto refusal = refusal_of(with("blue", std::string(1000, 'x')));

  EXPECT_EQ(refusal, "invalid_argument: field `shade` is a string; it must be one of red, blue");
}

TEST(JsonCodec, NameOfAnEnumeratorIsComparedAsAWhole) {
  EXPECT_EQ(
    refusal_of(with("blue", R"(blue\u0000)")),
    R"(invalid_argument: field `shade` is "blue\u0000"; it must be one of red, blue)");
}

TEST(JsonCodec, TypesWithConversionsOfTheirOwnAreReadAndNamed) {
  auto read = codeq::decode<matrix>(R"({"rows":[[1,2],[3,4]]})");
  ASSERT_TRUE(read) << codeq::to_string(read.error());
  EXPECT_EQ(codeq::encode(*read), R"({"rows":[[1,2],[3,4]]})");

  auto refused = codeq::decode<matrix>(R"({"rows":[[1,2],["x",4]]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().context, "field `rows[1]` cannot be read: not a number");
}

TEST(JsonCodec, ValueThatJsonDoesNotHaveIsNotWritten) {
  document written;
  written.rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(
    [&] { static_cast<void>(codeq::encode(written)); },
    testing::ThrowsMessage<std::invalid_argument>(
      "field `rate` is not finite, and JSON has no such number"));

  written.rate = 1;
  written.shade = static_cast<colour>(7);
  EXPECT_THAT(
    [&] { static_cast<void>(codeq::encode(written)); },
    testing::ThrowsMessage<std::invalid_argument>("field `shade` is an enumerator without a name"));
}

TEST(JsonCodec, FieldThatIsMissingIsNamed) {
  EXPECT_EQ(refusal_of(with(R"("rate":5E-1,)", "")), "invalid_argument: field `rate` is missing");
  EXPECT_EQ(
    refusal_of(with(R"("item":"x",)", "")), "invalid_argument: field `lines[0].item` is missing");
}

TEST(JsonCodec, OptionalFieldMayBeMissingOrNull) {
  for (const char* text : {"", R"("note":null,)"}) {
    auto read = codeq::decode<document>(with(R"("note":"n",)", text));

    ASSERT_TRUE(read) << codeq::to_string(read.error());
    EXPECT_EQ(read->note, std::nullopt);
    EXPECT_EQ(codeq::encode(*read), with(R"("note":"n",)", ""));
  }
}

TEST(JsonCodec, UnknownFieldsAreIgnored) {
  EXPECT_EQ(refusal_of(with(R"("rate")", R"("new":{"a":[1]},"rate")")), "none");
}

TEST(JsonCodec, OtherValuesAndTextsAreRefused) {
  EXPECT_EQ(refusal_of("[]"), "invalid_argument: the JSON value is an array; it must be an object");
  EXPECT_EQ(refusal_of("{"), "invalid_argument: not JSON: incomplete JSON at line 1, column 2");
  EXPECT_EQ(refusal_of(""), "invalid_argument: empty; it must be JSON");
  EXPECT_EQ(
    refusal_of("{}x"), "invalid_argument: not JSON: extra data at line 1, column 3");
}

TEST(JsonCodec, ASyntaxErrorIsRefusedWithItsPlace) {
  EXPECT_EQ(
    refusal_of("{\n  \"id\": \"a\",\n  'n': 1\n}"),
    "invalid_argument: not JSON: syntax error at line 3, column 3");
}

} // namespace
