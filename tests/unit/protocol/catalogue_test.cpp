// SPDX-License-Identifier: Apache-2.0
#include "encoding/operator_enums.hpp"
#include "protocol/error_code.hpp"
#include "protocol/messages.hpp"

#include <capnp/schema.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace codeq::protocol {

namespace {

bytes empty_body() {
  return bytes(std::string(8, '\0'));
}

/// Id of the schema type for a frame type number; 0 when the number is unknown.
std::uint64_t type_behind(std::uint16_t number) {
  std::uint64_t id = 0;
  auto visited = visit_frame({number, empty_body()}, [&]<class S>(frame<S>) {
    if (frame_type<S> == number)
      id = capnp::typeId<S>();
  });
  return visited ? id : 0;
}

std::string to_snake_case(std::string_view camel) {
  std::string snake;
  for (char c : camel) {
    if (std::isupper(static_cast<unsigned char>(c)))
      snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return snake;
}

TEST(Catalogue, EveryMessageHasTheFrameNumberOfItsOrdinal) {
  auto members = capnp::Schema::from<schema::Message>().getUnionFields();

  for (auto member : members) {
    auto number = member.getProto().getDiscriminantValue();
    EXPECT_EQ(type_behind(number), member.getType().asStruct().getProto().getId())
      << member.getProto().getName().cStr();
  }
}

TEST(Catalogue, NumbersBeyondItAreRefused) {
  auto members = capnp::Schema::from<schema::Message>().getUnionFields();

  EXPECT_EQ(type_behind(static_cast<std::uint16_t>(members.size())), 0u);
  EXPECT_EQ(type_behind(0xffff), 0u);
}

/// Checks that every value of the schema's enum is in the table of its C++ enum.
template <class Enum>
void expect_whole() {
  auto names = capnp::Schema::from<encoding::schema_enum<Enum>>();
  EXPECT_EQ(encoding::enum_size<Enum>, names.getEnumerants().size())
    << names.getProto().getDisplayName().cStr();
}

TEST(SchemaEnums, EveryNameHasItsEnumInCode) {
  expect_whole<task_state>();
  expect_whole<retry_kind>();
  expect_whole<on_dead>();
  expect_whole<on_duplicate>();
  expect_whole<task_change>();
  expect_whole<disposition>();
  expect_whole<core::lease_end_kind>();
  expect_whole<change_result>();
  expect_whole<force_kind>();
  expect_whole<core::bulk_kind>();
  expect_whole<task_reason>();
  expect_whole<task_event::kind>();
  expect_whole<task_event::author>();
  expect_whole<backup_state>();
  expect_whole<core::change_kind>();
}

TEST(SchemaEnums, ANumberOfALaterVersionIsNotCutToAKnownOne) {
  auto later = static_cast<schema::ForceKind>(0x100);

  EXPECT_FALSE(encoding::is_known<force_kind>(later));
  EXPECT_GE(
    static_cast<std::size_t>(encoding::from_schema<force_kind>(later)),
    encoding::enum_size<force_kind>);
}

TEST(ErrorCode, EveryNameOnTheWireIsTheNameOfItsCode) {
  for (auto enumerant : capnp::Schema::from<schema::ErrorCode>().getEnumerants()) {
    auto code = static_cast<schema::ErrorCode>(enumerant.getOrdinal());
    EXPECT_EQ(to_string(from_schema(code)), to_snake_case(enumerant.getProto().getName().cStr()));
    EXPECT_EQ(to_schema(from_schema(code)), code);
  }
}

TEST(ErrorCode, EveryCodeHasAPlaceOnTheWire) {
  for (int number = 0; number < 256; ++number) {
    auto code = static_cast<errc>(number);
    if (to_string(code) != "unknown_code") {
      EXPECT_EQ(from_schema(to_schema(code)), code) << number;
    }
  }
}

TEST(ErrorCode, ACodeOfALaterVersionIsUnsupported) {
  EXPECT_EQ(from_schema(static_cast<schema::ErrorCode>(9999)), errc::unsupported);
}

} // namespace

} // namespace codeq::protocol
