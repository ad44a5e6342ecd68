// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/etcd_history.hpp"

#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace codeq::coordinator {
namespace {

class EtcdHistory : public testing::Test {
protected:
  test::temporary_directory directory_{test::temporary_directory::in_memory()};
  std::filesystem::path file_ = etcd_history_file(directory_.path());
};

TEST_F(EtcdHistory, IsReadAsItWasWrittenLast) {
  EXPECT_EQ(read_etcd_history(file_).value(), etcd_history{});
  etcd_history known{{14841639068965178418u, 7}, 0xFFFF'FFFF'FFFF'FFFFu, 12, 2, 1, {"a", "b"}};
  ASSERT_TRUE(write_etcd_history(file_, known));
  EXPECT_EQ(read_etcd_history(file_).value(), known);

  known.known.revision = 8;
  known.nodes.clear();
  ASSERT_TRUE(write_etcd_history(file_, known));
  EXPECT_EQ(read_etcd_history(file_).value(), known);
}

TEST_F(EtcdHistory, FileThatIsCutOrOfSomebodyElseIsRefused) {
  ASSERT_TRUE(write_etcd_history(file_, {{5, 7}, 9, 12, 2, 1, {"a"}}));
  const auto cut = std::filesystem::file_size(file_) - 10;
  std::filesystem::resize_file(file_, cut);
  EXPECT_EQ(read_etcd_history(file_).error().code, errc::corruption);

  std::ofstream(file_) << "etcd";
  EXPECT_EQ(read_etcd_history(file_).error().code, errc::corruption);
}

} // namespace
} // namespace codeq::coordinator
