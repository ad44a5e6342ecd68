// SPDX-License-Identifier: Apache-2.0
#include "worker/host/plugin_loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace codeq::worker {
namespace {

using testing::HasSubstr;

std::string library(const char* name) {
  return std::string(CODEQ_TEST_LIBRARIES "/") + name + ".so";
}

TEST(PluginLoader, LibraryRegistersItsHandlers) {
  handler_registry registry;

  auto loaded = load_handlers(library("good_handlers"), registry);

  ASSERT_TRUE(loaded) << to_string(loaded.error());
  ASSERT_EQ(registry.entries().size(), 2u);
  EXPECT_EQ(registry.entries()[0].queue, "by-function");
  EXPECT_EQ(registry.entries()[1].queue, "by-actor");
}

TEST(PluginLoader, LibraryThatExportsNothingByDefaultIsLoaded) {
  handler_registry registry;

  auto loaded = load_handlers(library("hidden_handlers"), registry);

  ASSERT_TRUE(loaded) << to_string(loaded.error());
  ASSERT_EQ(registry.entries().size(), 1u);
  EXPECT_EQ(registry.entries()[0].queue, "hidden");
}

TEST(PluginLoader, OtherAbiIsRefusedWithBothVersions) {
  handler_registry registry;

  auto loaded = load_handlers(library("foreign_handlers"), registry);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::unavailable);
  EXPECT_THAT(loaded.error().context, HasSubstr("foreign_handlers.so"));
  EXPECT_THAT(
    loaded.error().context,
    HasSubstr(
      "ABI " + std::to_string(handler_abi_version + 41) + ", this worker has "
      + std::to_string(handler_abi_version)));
}

TEST(PluginLoader, MissingEntryPointsAreNamed) {
  handler_registry registry;

  auto loaded = load_handlers(library("empty_library"), registry);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::unavailable);
  EXPECT_THAT(loaded.error().context, HasSubstr("CODEQ_HANDLERS"));
}

TEST(PluginLoader, TargetToLinkIsNamedWhenASymbolIsMissing) {
  handler_registry registry;

  auto loaded = load_handlers(library("unlinked_handlers"), registry);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::unavailable);
  EXPECT_THAT(
    loaded.error().context, HasSubstr("target_link_libraries(NAME PRIVATE codeq::json_codec)"));
}

TEST(PluginLoader, MissingFileIsNamedInOneLine) {
  handler_registry registry;

  auto loaded = load_handlers("no-such-library.so", registry);

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::unavailable);
  EXPECT_THAT(loaded.error().context, HasSubstr("no-such-library.so"));
  EXPECT_EQ(loaded.error().context.find('\n'), std::string::npos);
}

} // namespace
} // namespace codeq::worker
