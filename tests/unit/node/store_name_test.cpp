// SPDX-License-Identifier: Apache-2.0
#include "node/store_name.hpp"

#include "codeq/operator.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace codeq::node {
namespace {

class StoreName : public testing::Test {
protected:
  [[nodiscard]] const std::filesystem::path& data() const { return directory_.path(); }

  test::temporary_directory directory_{test::temporary_directory::in_memory()};
};

TEST_F(StoreName, StoreThatHasNoneIsThatOfAnyName) {
  EXPECT_TRUE(check_store_name(data(), "c1"));
  EXPECT_FALSE(std::filesystem::exists(store_name_file(data())));
}

TEST_F(StoreName, StoreIsRefusedUnderAnotherName) {
  ASSERT_TRUE(keep_store_name(data(), "c1"));

  EXPECT_TRUE(check_store_name(data(), "c1"));
  const auto refused = check_store_name(data(), "c2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::incompatible_store);
  EXPECT_EQ(
    refused.error().context,
    "the store in " + data().string()
      + " is that of node c1, and --node is c2; give --node c1, or another directory");
}

TEST_F(StoreName, CopiesOfAnotherNameAreNotTold) {
  ASSERT_TRUE(keep_store_name(data(), "c1"));

  const auto told = tell_copies(data(), "c2");
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::incompatible_store);
}

TEST_F(StoreName, LastNameThatWasKeptCounts) {
  ASSERT_TRUE(keep_store_name(data(), "c1"));
  ASSERT_TRUE(keep_store_name(data(), "c1"));
  ASSERT_TRUE(keep_store_name(data(), "c2"));

  EXPECT_TRUE(check_store_name(data(), "c2"));
  EXPECT_FALSE(check_store_name(data(), "c1"));
}

TEST_F(StoreName, FileOfSomethingElseIsAnError) {
  for (const char* text : {"", "node", "node c/1\n", "nodes c1\n", "node c1 c2\n"}) {
    std::ofstream(store_name_file(data())) << text;
    EXPECT_EQ(check_store_name(data(), "c1").error().code, errc::corruption) << text;
    EXPECT_EQ(keep_store_name(data(), "c1").error().code, errc::corruption) << text;
  }
}

} // namespace
} // namespace codeq::node
