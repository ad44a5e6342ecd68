// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/reader.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "support/write_sets.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace codeq::coordinator {
namespace {

constexpr shard_id shard_of_all{1};
constexpr sequence damaged = 5;

/// Ends the process in production.
struct store_failed : std::runtime_error {
  explicit store_failed(const error& reason) : std::runtime_error(to_string(reason)) {}
};

/// Reads from a store in which the bodies of one segment are damaged.
class ReaderTest : public testing::Test, public reader_port {
protected:
  ReaderTest() {
    auto writes = test::puts(
      {{storage::segment_key{shard_of_all, damaged}.encode(), "no record of a segment"}});
    EXPECT_TRUE(store_->commit({&writes, 1}, storage::durability::sync));
  }

  void reply(core::peer_id, shard_reply) override {}

  void deliver(core::peer_id, task_delivery) override { FAIL(); }

  void tell_credits(core::peer_id, const credit_news&) override {}

  void keys_found(shard_id, std::uint64_t, std::vector<core::recalled_key>) override {}

  void survivors_read(shard_id, core::copy_survivors) override { FAIL(); }

  void survivors_damaged(const survivors_wanted& wanted, const error& reason) override {
    EXPECT_EQ(reason.code, errc::corruption);
    left_.push_back(wanted.tasks.segment);
  }

  void fail(const error& reason) override { throw store_failed(reason); }

  std::shared_ptr<storage::memory_store> store_ = std::make_shared<storage::memory_store>();
  /// Segments that stay as they are.
  std::vector<sequence> left_;
  reader reader_{{store_}, *this};
};

TEST_F(ReaderTest, DamagedSegmentIsNotClosedAndStopsNothing) {
  reader_.read(survivors_wanted{shard_of_all, {damaged, {damaged}}});

  EXPECT_EQ(left_, std::vector{damaged});
}

TEST_F(ReaderTest, DamagedBodyOfALeasedTaskIsFatal) {
  bodies_wanted wanted{shard_of_all, {}, {{}}};
  wanted.granted.peer = 1;
  auto& run = wanted.granted.runs.emplace_back();
  run.first = damaged;
  run.segment = damaged;
  run.count = 1;

  EXPECT_THROW(reader_.fetch(std::move(wanted)), store_failed);
}

} // namespace
} // namespace codeq::coordinator
