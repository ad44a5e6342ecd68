// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/damage_mark.hpp"
#include "coordinator/hub/etcd_history.hpp"
#include "node/damaged_store.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace codeq::node {
namespace {

namespace fs = std::filesystem;

using coordinator::damage_mark;
using coordinator::damage_mark_file;
using coordinator::read_damage_mark;
using coordinator::write_damage_mark;

class DamagedStore : public testing::Test {
protected:
  DamagedStore() {
    fs::create_directory(data());
    std::ofstream(data() / "000012.sst") << "table";
  }

  [[nodiscard]] fs::path data() const { return directory_.path() / "store"; }

  /// As a coordinator leaves it that has entered its cluster.
  void enter_cluster() { std::ofstream(coordinator::etcd_history_file(data())) << "known"; }

  [[nodiscard]] std::optional<damage_mark> mark() const {
    return read_damage_mark(data()).value();
  }

  test::temporary_directory directory_;
  const error damage_{errc::corruption, "block checksum\nmismatch"};
};

TEST_F(DamagedStore, OfAClusterIsMarkedAndARestartHelps) {
  enter_cluster();

  const auto told = note_damage(damage_, {data(), "main", "c1"});

  EXPECT_EQ(told.code, errc::unavailable);
  EXPECT_NE(told.context.find("the next start sets it aside"), std::string::npos);
  EXPECT_EQ(mark(), (damage_mark{"main", "c1", "corruption: block checksum mismatch"}));
}

TEST_F(DamagedStore, OfACoordinatorThatIsAloneIsNotMarked) {
  const auto told = note_damage(damage_, {data(), "", ""});

  EXPECT_EQ(told.code, errc::corruption);
  EXPECT_NE(told.context.find("restore the newest backup"), std::string::npos);
  EXPECT_EQ(mark(), std::nullopt);
}

TEST_F(DamagedStore, ThatWasNeverOpenInTheClusterIsNotMarked) {
  const auto told = note_damage(damage_, {data(), "main", "c1"});

  EXPECT_EQ(told.code, errc::corruption);
  EXPECT_EQ(mark(), std::nullopt);
}

TEST_F(DamagedStore, IsNotNotedForOtherErrors) {
  enter_cluster();

  const auto told = note_damage({errc::io_error, "no disk"}, {data(), "main", "c1"});

  EXPECT_EQ(told.code, errc::io_error);
  EXPECT_EQ(told.context, "no disk");
  EXPECT_EQ(mark(), std::nullopt);
}

TEST_F(DamagedStore, WithAFileThatIsNoMarkIsAnError) {
  std::ofstream(damage_mark_file(data())) << "cluster main\n";

  const auto read = read_damage_mark(data());

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::corruption);
}

TEST_F(DamagedStore, IsKeptBesideTheEmptyOneThatTakesItsPlace) {
  const auto kept = set_aside(data() / "");

  ASSERT_TRUE(kept) << kept.error().context;
  EXPECT_TRUE(kept->string().starts_with(fs::canonical(data()).string() + ".damaged-"));
  EXPECT_TRUE(fs::exists(*kept / "000012.sst"));
  EXPECT_TRUE(fs::is_empty(data()));
  EXPECT_EQ(stores_set_aside(data()), std::vector{*kept});
}

TEST_F(DamagedStore, IsKeptWhereALinkLeads) {
  const auto link = directory_.path() / "link";
  fs::create_symlink(data(), link);

  const auto kept = set_aside(link);

  ASSERT_TRUE(kept) << kept.error().context;
  EXPECT_EQ(stores_set_aside(link), std::vector{*kept});
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::is_empty(data()));
}

TEST_F(DamagedStore, IsNotReplacedWithoutAMark) {
  coordinator_node_options options;
  options.data = data();
  options.cluster.name = "main";

  EXPECT_TRUE(replace_damaged_store(options));
  EXPECT_TRUE(fs::exists(data() / "000012.sst"));
}

TEST_F(DamagedStore, OfAnotherNodeIsRefused) {
  coordinator_node_options options;
  options.data = data();
  options.cluster.name = "main";
  options.cluster.node = "c2";
  ASSERT_TRUE(write_damage_mark(data(), {"main", "c1", "corruption"}));

  const auto refused = replace_damaged_store(options);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::incompatible_store);
  EXPECT_NE(refused.error().context.find("that of node c1 of cluster main"), std::string::npos);
}

TEST_F(DamagedStore, IsNotSetAsideBesideManyOthers) {
  coordinator_node_options options;
  options.data = data();
  options.cluster.name = "main";
  options.cluster.node = "c1";
  ASSERT_TRUE(write_damage_mark(data(), {"main", "c1", "corruption"}));
  for (std::size_t i = 0; i < damaged_stores_max; ++i)
    fs::create_directory(data().string() + ".damaged-" + std::to_string(i));

  const auto refused = replace_damaged_store(options);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::corruption);
  EXPECT_NE(refused.error().context.find("check or replace the disk"), std::string::npos);
}

} // namespace
} // namespace codeq::node
