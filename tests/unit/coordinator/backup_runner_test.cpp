// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/backup_runner.hpp"
#include "storage/memory/memory_store.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace codeq::coordinator {
namespace {

/// A store in memory cannot be backed up, so each backup that is started fails.
TEST(BackupRunner, RepeatedRequestOfAClusterStartsOneBackup) {
  backup_options options;
  options.store = std::make_shared<storage::memory_store>();
  options.directory = "backups";
  backup_runner runner(std::move(options));

  ASSERT_TRUE(runner.start(7));
  EXPECT_TRUE(runner.start(7)) << "whether or not the first has ended";

  runner.stop();
  EXPECT_EQ(runner.failures(), 1u);
}

} // namespace
} // namespace codeq::coordinator
